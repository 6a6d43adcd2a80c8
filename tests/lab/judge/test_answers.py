"""Stated against true gains: what is counted, and what an interval holds."""

from dataclasses import replace

import pytest
from rich.console import Console

from flora.aggregator.verdict import Verdict
from flora.problem.trials import Gain
from flora_lab.cells import Cell
from flora_lab.judge.answers import JudgedAnswer, calibrated, show_calibration


def answer(
    gain: float, true: float, *, dataset: str = "pima", parties: int = 3, true_error: float = 0.01
) -> JudgedAnswer:
    return JudgedAnswer(Cell("svm", dataset, parties), Verdict(Gain(gain, 0.01, 4), "trained", 2), true, true_error)


def test_an_answer_knows_what_it_is_worth() -> None:
    good = answer(0.1, 0.09)
    assert (good.use, good.kept, good.worse, good.holds) == (True, 0.09, False, True)
    assert good.too_much == pytest.approx(0.1 * (1 - 0.01) - 0.09)
    bad = answer(0.1, -0.02)
    assert (bad.use, bad.kept, bad.worse, bad.holds) == (True, -0.02, True, False)
    within = answer(0.1, -0.02, true_error=0.03)  # as far as the rows tell, it may be as good
    assert not within.worse
    kept = answer(-0.1, -0.1)
    assert (kept.use, kept.kept) == (False, 0.0)
    assert good.to_json()["stated"]["level"] == 0.9


def test_a_line_for_each_family_and_number_of_parties(capsys: pytest.CaptureFixture[str]) -> None:
    answers = [
        answer(0.1, 0.09),
        answer(0.1, -0.02),
        answer(0.0, 0.04),
        answer(0.1, 0.1, dataset="wdbc"),
        answer(0.1, 0.1, dataset="breast_cancer"),  # the same tumours
        answer(0.1, 0.1, parties=20),
    ]
    few, many = calibrated(answers)
    assert (few.cells, few.datasets, few.use, few.worse, few.holding) == (5, 2, 4, 1, 3)
    assert (few.true, few.all_true, few.missed) == pytest.approx((6.75, 5.4, 4.0))
    assert few.too_much is not None
    assert few.too_much.value == pytest.approx(9.9 - 6.75)
    assert few.too_much.low == pytest.approx(9.9 - 10)  # that of the tumours alone
    assert (many.cells, many.parties) == (1, 20)
    assert many.too_much is not None
    assert many.too_much.low is None
    show_calibration("A title", [few, many], Console(width=110))
    shown = capsys.readouterr().out
    assert "5 (2)" in shown
    assert "3 of 5" in shown


def test_a_line_for_all_families_of_a_number_of_parties_where_there_are_several() -> None:
    mlp = [replace(one, cell=replace(one.cell, family="mlp")) for one in (answer(0.0, 0.05), answer(0.1, 0.0))]
    lines = calibrated([answer(0.1, 0.09, dataset="wdbc"), *mlp, answer(0.1, 0.1, parties=20)])
    assert [(line.family, line.parties) for line in lines] == [("mlp", 3), ("svm", 3), ("svm", 20), ("all", 3)]
    both = lines[-1]
    assert (both.cells, both.datasets, both.use) == (3, 2, 2)
    assert (both.all_true, both.missed) == pytest.approx((3.0, 5.0))
