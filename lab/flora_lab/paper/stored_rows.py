"""What is in a folder of results: every row, of every protocol, box and split."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.errors import InputError
from flora_lab.paper.cells import Protocol
from flora_lab.paper.compare import PERCENT
from flora_lab.paper.machine import FOLDER

Row = Mapping[str, Any]
COMMON = frozenset({"family", "dataset", "parties", "seed", "protocol", "baseline", "surfaces", "versions"})
CELL = COMMON | {"split", "trials", "send", "gamma", *PERCENT}
BED = COMMON | {"rows", "held_out", "held_out_classes"}
MACHINE = frozenset({"cores", "memory_gib", "processor", "platform"})


@dataclass(frozen=True)
class Stored:
    """The rows of the tables, the rows of the testbed, and the machines that computed them."""

    rows: Sequence[Row]
    beds: Sequence[Row]
    machines: Sequence[Row]

    @classmethod
    def read(cls, results: Path) -> "Stored":
        """Read a folder of results; one that is not there has none."""
        return cls(
            [{**row, "protocol": Protocol(**row["protocol"])} for row in _rows(results, "*/cells/*.json", CELL)],
            [{**row, "protocol": Protocol(**row["protocol"])} for row in _rows(results, "*/testbed/*.json", BED)],
            _rows(results, f"{FOLDER}/*.json", MACHINE),
        )

    @property
    def protocols(self) -> list[str]:
        """The names of the protocols, of which each number has one."""
        return sorted({row["protocol"].name for row in self.rows} | {bed["protocol"].local for bed in self.beds})

    @property
    def versions(self) -> dict[str, list[str]]:
        """The versions of each library that any row was computed with."""
        found: dict[str, set[str]] = {}
        for row in (*self.rows, *self.beds):
            for name, version in row["versions"].items():
                found.setdefault(name, set()).add(version)
        return {name: sorted(versions) for name, versions in found.items()}


def _rows(results: Path, pattern: str, fields: frozenset[str]) -> list[dict[str, Any]]:
    """Return the rows, of which the first did not name their box."""
    return [{"box": "published", **_read(file, fields)} for file in sorted(results.glob(pattern))]


def _read(file: Path, fields: frozenset[str]) -> dict[str, Any]:
    try:
        row = json.loads(file.read_bytes())
    except ValueError as error:
        raise InputError(f"{file}: not a JSON file ({error})") from error
    if not isinstance(row, dict) or not fields <= set(row):
        raise InputError(f"{file}: must have the fields {sorted(fields)}, got {row!s:.80}")
    return row
