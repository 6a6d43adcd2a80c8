"""What several tests share: small tables, and the parties made from them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from flora.core.collective import Alone, Collective, Integers, PassesOn
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.tables.table import Table
from flora.problem.space import SearchSpace

settings.register_profile("no deadline", deadline=None)  # a busy machine is no failure
settings.load_profile("no deadline")


@dataclass(frozen=True)
class Recorder(PassesOn):
    """A party's end of a collective that remembers what the party sent."""

    inner: Collective = field(default_factory=Alone)
    sums: list[Integers] = field(default_factory=list)
    gathered: list[bytes] = field(default_factory=list)

    def add_integers(self, values: Integers) -> Integers:
        self.sums.append(np.array(values))
        return self.inner.add_integers(values)

    def allgather(self, data: bytes) -> Sequence[bytes]:
        self.gathered.append(data)
        return self.inner.allgather(data)

    def check(self, rows: int) -> None:
        """Raise unless sums were sent, and sums alone, of which none has an entry per row."""
        assert self.sums
        assert not self.gathered
        assert all(rows not in values.shape and values.dtype == np.int64 for values in self.sums)


SVM_SPACE = SearchSpace.from_json(
    {
        "C": {"type": "real", "space": "log", "range": [0.01, 1000.0], "default": 1.0},
        "gamma": {"type": "real", "space": "log", "range": [1e-5, 10.0], "default": 0.1},
        "tol": {"type": "real", "space": "log", "range": [1e-5, 1e-1], "default": 1e-3},
    }
)


def two_moons(rows: int, seed: int, *, shift: float = 0.0) -> pd.DataFrame:
    """Return a small table with a text label that an SVM with tuned HPs learns better than the default one."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    angle = rng.uniform(0, np.pi, rows)
    x = np.where(label == 0, np.cos(angle), 1 - np.cos(angle)) + shift + rng.normal(0, 0.15, rows)
    y = np.where(label == 0, np.sin(angle), 0.5 - np.sin(angle)) + rng.normal(0, 0.15, rows)
    return pd.DataFrame({"x": x, "y": y, "kind": np.where(label == 0, "upper", "lower")})


def gate(name: str, frame: pd.DataFrame, target: str = "kind", **more: Any) -> Gate:
    """Return an open gate before a party with this table."""
    return Gate(Party(name, Table(frame, target), **more))


@pytest.fixture
def party_files(tmp_path: Path) -> list[Path]:
    """Three parties' tables of unequal size, with their columns in different orders."""
    return write_party_files(tmp_path)


def write_party_files(folder: Path) -> list[Path]:
    """Write the same into another folder."""
    files = []
    for name, rows, shift in (("north", 60, 0.0), ("south", 45, 0.3), ("west", 80, -0.2)):
        table = two_moons(rows, rows, shift=shift)
        path = folder / f"{name}.csv"
        (table[["kind", "y", "x"]] if name == "south" else table).to_csv(path, index=False)
        files.append(path)
    return files


@pytest.fixture
def paper_data() -> Path:
    """The folder of the paper's datasets; tests that need it are skipped without it."""
    folder = Path(os.environ.get("FLORA_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the paper's datasets are not here: set FLORA_DATA")
    return folder
