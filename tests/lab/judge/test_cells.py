"""What is stored of a cell."""

from dataclasses import replace
from pathlib import Path

import pytest
from flora_lab.judge.cells import Cell, Pick, Protocol, Record, Truth

from flora.errors import FloraError, InputError
from flora.problem.space import Config
from tests.lab.judge.cases import FOLDS, OTHER, made_up_record


def by_rate(config: Config) -> float:
    return 0.3 - 0.1 * float(config["learning_rate"]) - 0.0001 * float(config["max_iter"])


def test_all_that_decides_a_cell_is_in_its_name() -> None:
    cell = Cell("pima", "hgb", 6)
    others = [
        replace(cell, dataset="german"),
        replace(cell, family="svm"),
        replace(cell, parties=7),
        replace(cell, split="dirichlet:0.5"),
        replace(cell, seed=1),
        replace(cell, liar=True),
    ]
    assert len({each.name for each in (cell, *others)}) == 7
    assert replace(cell, liar=True).searches == cell.searches
    assert Protocol().name != Protocol(trials=16).name


def test_a_cell_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="a liar is one of at least 5 parties, got 4"):
        Cell("pima", "hgb", 4, liar=True)
    with pytest.raises(InputError, match="the dataset must be one of"):
        Cell("iris", "hgb")
    with pytest.raises(InputError, match="parties must be a whole number of at least 1, got 0"):
        Cell("pima", "hgb", 0)


def test_a_truth_between_two_stops_lies_between_their_losses() -> None:
    truth = Truth({}, ((0.4, 0.2), (0.2, 0.3), (0.1, 0.5)), (10, 40, 160), (40, 10))
    assert truth.at(40) == (0.2, 0.3)
    assert truth.at(20) == pytest.approx((0.3, 0.25))  # halfway on a log scale
    assert truth.as_chosen() == (0.2, 0.2)
    with pytest.raises(FloraError, match="the truth is known from 10 to 160, a rule picked 161"):
        truth.at(161)


def test_a_pick_has_the_losses_of_its_place_on_the_path() -> None:
    record = made_up_record("hgb", by_rate, by_rate, chosen=(10, 10, 10, 10, 200))
    other = OTHER["hgb"]
    assert record.losses(Pick(other)) == pytest.approx([by_rate(other) + fold for fold in FOLDS])
    at_ten, at_top = (by_rate({**other, "max_iter": stop}) for stop in (10, 200))
    expected = [*(at_ten + fold for fold in FOLDS[:4]), at_top + FOLDS[4]]
    assert record.losses(Pick(other, in_training=True)) == pytest.approx(expected)
    with pytest.raises(FloraError, match="has no truth of"):
        record.losses(Pick({**other, "learning_rate": 0.31}))


@pytest.mark.parametrize("family", ["hgb", "svm"])
def test_a_cell_that_is_stored_and_read_is_the_same(family: str, tmp_path: Path) -> None:
    record = made_up_record(family, lambda config: 0.25, lambda config: 0.2, chosen=(10, 16, 27, 45, 200))
    (tmp_path / "cell.json").write_text(record.to_json())
    again = Record.read(tmp_path / "cell.json")
    assert again == record
    assert again.to_json() == record.to_json()


@pytest.mark.parametrize("text", ["", "{}", '{"format": "flora-recommend-cell", "version": 1}', "[1]"])
def test_what_is_no_cell_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "cell.json").write_text(text)
    with pytest.raises(InputError, match=r"cell\.json: not a cell that can be read"):
        Record.read(tmp_path / "cell.json")
