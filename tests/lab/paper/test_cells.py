"""The paper's tables as lists of cells."""

import pytest
from flora_lab.paper.cells import QUICK, SEED, TABLES, Cell, Protocol, cells_of, datasets_of
from flora_lab.paper.datasets import DATASETS

from flora.errors import InputError


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


def test_cells_of_other_t_share_their_searches() -> None:
    cell = Cell("svm", "sonar")
    assert Cell("svm", "sonar", trials=5).searches == Cell("svm", "sonar", send=9).searches == cell.searches
    assert len({cell.name, Cell("svm", "sonar", trials=5).name, Cell("svm", "sonar", send=5).name}) == 3


def test_a_wide_box_has_searches_of_its_own_and_the_published_one_its_old_name() -> None:
    assert Cell("svm", "sonar", trials=5).name == "svm-sonar-p3-iid-s5489-T5"
    assert Cell("svm", "sonar", trials=5, box="wide").name == "svm-sonar-p3-iid-s5489-wide-T5"
    assert {cell.box for cell in cells_of("svm", box="wide")} == {"wide"}


def test_a_protocol_has_a_folder_of_its_own() -> None:
    assert Protocol().name != QUICK.name


def test_a_protocol_is_named_by_its_numbers_and_refuses_what_cannot_be() -> None:
    assert Protocol().name == "T100-k10-c600-r60"
    assert Protocol(trials=7, folds=2).name == "T7-k2-c600-r60"
    for change, words in {
        "trials": "--trials must be a whole number of at least 1, got 0",
        "folds": "--cv must be a whole number of at least 2, got 0",
        "central": "--central must be .* at least 1, got 0",
        "random": "--random must be .* at least 1, got 0",
    }.items():
        with pytest.raises(InputError, match=words):
            Protocol(**{change: 0})


def test_every_table_has_datasets() -> None:
    assert datasets_of("svm") == ["pollen", "sonar", "heart-statlog", "oil-spill", "eeg-eye-state", "pc3"]
    assert datasets_of("parties") == ["eeg-eye-state", "electricity", "pollen"]
    for table in TABLES:
        assert set(datasets_of(table)) <= set(DATASETS)
