"""What decides a number has its place in a name."""

from dataclasses import replace

import pytest

from flora.errors import InputError
from flora_lab.cells import Cell, Protocol
from flora_lab.judge.command import USUAL
from flora_lab.paper.contents import THOROUGH, THOROUGH_TESTBED


def test_all_that_decides_a_cell_is_in_its_name() -> None:
    cell = Cell("hgb", "pima", 6)
    others = [
        replace(cell, dataset="german"),
        replace(cell, family="svm"),
        replace(cell, parties=7),
        replace(cell, split="dirichlet:0.5"),
        replace(cell, seed=1),
        replace(cell, liar=True),
        replace(cell, trials=5),
        replace(cell, send=5),
        replace(cell, box="wide"),
    ]
    assert len({each.name for each in (cell, *others)}) == 10
    assert replace(cell, liar=True).searches == cell.searches


def test_a_cell_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="a liar is one of at least 5 parties, got 4"):
        Cell("hgb", "pima", 4, liar=True)
    with pytest.raises(InputError, match="the dataset must be one of"):
        Cell("hgb", "iris")
    with pytest.raises(InputError, match="parties must be a whole number of at least 1, got 0"):
        Cell("hgb", "pima", 0)


def test_cells_of_other_t_share_their_searches() -> None:
    cell = Cell("svm", "sonar")
    assert Cell("svm", "sonar", trials=5).searches == Cell("svm", "sonar", send=9).searches == cell.searches
    assert len({cell.name, Cell("svm", "sonar", trials=5).name, Cell("svm", "sonar", send=5).name}) == 3


def test_a_wide_box_has_searches_of_its_own_and_the_published_one_its_old_name() -> None:
    assert Cell("svm", "sonar", trials=5, seed=5489).name == "svm-sonar-p3-iid-s5489-T5"
    assert Cell("svm", "sonar", trials=5, seed=5489, box="wide").name == "svm-sonar-p3-iid-s5489-wide-T5"


def test_a_protocol_is_named_by_its_numbers_and_refuses_what_cannot_be() -> None:
    assert THOROUGH.name == "T100-k10-c600-r60"
    assert THOROUGH_TESTBED.name == "T500-k10"
    assert USUAL.name == "T20-k5-c40-n8"
    assert replace(THOROUGH, trials=7, folds=2).name == "T7-k2-c600-r60"
    assert replace(USUAL, raced=1).name == "T20-k5-c40-n8-x1"
    assert Protocol(**USUAL.numbers) == USUAL
    for change, words in {
        "trials": "--trials must be a whole number of at least 1, got 0",
        "folds": "--cv must be a whole number of at least 2, got 0",
        "central": "--central must be .* at least 1, got 0",
        "random": "--random must be .* at least 1, got 0",
    }.items():
        with pytest.raises(InputError, match=words):
            replace(THOROUGH, **{change: 0})
