"""The paper's tables as lists of cells."""

import pytest

from flora.errors import InputError
from flora_lab.datasets import DATASETS
from flora_lab.paper.as_published import SEED
from flora_lab.paper.contents import TABLES, cells_of, datasets_of


@pytest.mark.parametrize(
    ("table", "count"),
    [("hgb", 7), ("svm", 6), ("mlp", 7), ("parties", 14), ("rounds", 24), ("communication", 24), ("aggregate", 20)],
)
def test_a_table_has_the_papers_rows_for_each_split(table: str, count: int) -> None:
    cells = cells_of(table, splits=3)
    assert len(cells) == 3 * count
    assert len({cell.name for cell in cells}) == 3 * count
    assert {cell.seed for cell in cells} == {SEED, SEED + 1, SEED + 2}


def test_datasets_and_splits_are_chosen() -> None:
    cells = cells_of("parties", datasets=["pollen"], split="dirichlet:0.5")
    assert [cell.parties for cell in cells] == [3, 6, 10]
    assert {cell.split for cell in cells} == {"dirichlet:0.5"}
    with pytest.raises(InputError, match=r"table svm: has no dataset 'electricity'"):
        cells_of("svm", datasets=["electricity"])
    assert [cell.family for cell in cells_of("aggregate", datasets=["electricity"])] == ["hgb", "mlp"]
    with pytest.raises(InputError, match="splits must be a whole number of at least 1, got 0"):
        cells_of("svm", splits=0)


def test_the_testbeds_cells_are_the_papers() -> None:
    assert [cell.dataset for cell in cells_of("testbed")] == ["oil-spill", "eeg-eye-state", "electricity"]
    assert cells_of("testbed", datasets=["oil-spill"])[0].name == "hgb-oil-spill-p3-n200-h40-s5489"
    assert {cell.parties for cell in cells_of("testbed", datasets=["electricity"], splits=3)} == {6}
    names = {cell.name for box in ("published", "wide") for cell in cells_of("testbed", splits=2, box=box)}
    assert len(names) == 12
    with pytest.raises(InputError, match="table testbed: has no dataset 'sonar'"):
        cells_of("testbed", datasets=["sonar"])
    with pytest.raises(InputError, match=r"got --split dirichlet:0\.5"):
        cells_of("testbed", split="dirichlet:0.5")


def test_every_table_has_datasets() -> None:
    assert datasets_of("svm") == ["pollen", "sonar", "heart-statlog", "oil-spill", "eeg-eye-state", "pc3"]
    assert datasets_of("parties") == ["eeg-eye-state", "electricity", "pollen"]
    for table in TABLES:
        assert set(datasets_of(table)) <= set(DATASETS)
