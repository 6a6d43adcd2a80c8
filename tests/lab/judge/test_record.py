"""What is stored of a cell."""

import json

import pytest

from flora.errors import FloraError, InputError
from flora.problem.space import Config
from flora_lab.judge.record import Pick, Record, Truth
from tests.lab.judge.cases import FOLDS, OTHER, made_up_record


def by_rate(config: Config) -> float:
    return 0.3 - 0.1 * float(config["learning_rate"]) - 0.0001 * float(config["max_iter"])


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
def test_a_cell_that_is_stored_and_read_is_the_same(family: str) -> None:
    record = made_up_record(family, lambda config: 0.25, lambda config: 0.2, chosen=(10, 16, 27, 45, 200))
    text = json.dumps(record.to_document())
    again = Record.from_document(json.loads(text), "cell")
    assert again == record
    assert json.dumps(again.to_document()) == text


def test_a_stored_confirmation_is_what_a_party_sends() -> None:
    record = made_up_record("svm", lambda config: 0.25, lambda config: 0.2)
    said = record.to_document()["confirmed"]["party-1"][0]
    assert list(said) == ["config", "loss", "error", "folds", "rows", "gain", "gain_error"]


def test_an_older_cell_chose_within_the_range() -> None:
    document = made_up_record("hgb", by_rate, by_rate, chosen=(10, 16, 27, 45, 200)).to_document()
    for truth in document["truths"]:
        del truth["chosen_in_range"]
    truth = Record.from_document(document, "cell").truths[0]
    assert truth.as_chosen(in_range=True) == truth.as_chosen()


@pytest.mark.parametrize("document", [{}, {"format": "flora-recommend-cell", "version": 1}, [1], "", {"format": "x"}])
def test_what_is_no_cell_is_refused(document: object) -> None:
    with pytest.raises(InputError, match="cells/a: not a cell that can be read"):
        Record.from_document(document, "cells/a")
