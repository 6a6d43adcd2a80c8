"""Small tables that pass for the paper's: it is the machinery that is tested with them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from flora_lab.datasets import DATASETS
from flora_lab.paper.published import TESTBED
from tests.conftest import two_moons

SMALL_SIZES = {"sonar": (27, 33), "oil-spill": (42, 48)}


def shrink_the_paper(sizes: Mapping[str, tuple[int, int]]) -> None:
    """Let small tables, with classes of these sizes, pass for datasets in this process."""
    for name, classes in sizes.items():
        DATASETS[name] = replace(DATASETS[name], rows=sum(classes), features=2, classes=classes)
    TESTBED["oil-spill"] = TESTBED["oil-spill"]._replace(rows=20)


@pytest.fixture
def small_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of small tables that pass for sonar and oil spill."""
    for name, classes in SMALL_SIZES.items():
        table = two_moons(sum(classes), 1)
        table = table.assign(target=(table.pop("kind") == "upper").astype(int))
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        monkeypatch.setitem(DATASETS, name, DATASETS[name])  # so that they are put back
    monkeypatch.setitem(TESTBED, "oil-spill", TESTBED["oil-spill"])
    shrink_the_paper(SMALL_SIZES)
    return tmp_path
