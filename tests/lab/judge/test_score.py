"""Regrets, ties and comparisons with known numbers."""

from dataclasses import replace

import numpy as np
import pytest

from flora.problem.trials import Gain
from flora_lab.judge.record import Pick, Record, Truth
from flora_lab.judge.rules import RULES, JudgedRule
from flora_lab.judge.score import RuleScore, ScoredCell, score_cells, score_rules
from tests.lab.judge.cases import BEST, OTHER, made_up_record

LOSSES = {"default": 0.30, "other": 0.25, "best": 0.20}


def truth_of(config: object) -> float:
    if config == OTHER["svm"]:
        return LOSSES["other"]
    return LOSSES["best"] if config == BEST["svm"] else LOSSES["default"]


@pytest.fixture
def record() -> Record:
    return made_up_record("svm", truth_of, truth_of)


def with_noise(record: Record, best: float, noise: float) -> Record:
    """Let the best config's losses be ``best``, apart from the default's by a different amount in each fold."""
    default, other, last = record.truths
    folds = np.array(default.losses[0]) - LOSSES["default"] + best + noise * np.array([1, -1, 2, -2, 0])
    return replace(record, truths=(default, other, Truth(last.config, (tuple(folds.tolist()),))))


def test_regret_is_0_at_the_best_and_1_at_the_default(record: Record) -> None:
    rules = [*RULES, JudgedRule("best", lambda record: Pick(record.best))]
    [cell] = score_cells([record], rules)
    regrets = {name: score.regret for name, score in cell.scores.items()}
    assert regrets["default"] == pytest.approx(1)
    assert regrets["best"] == pytest.approx(0)
    assert regrets["aplm"] == regrets["flora"] == pytest.approx(0.5)
    assert cell.gap.estimate == pytest.approx(0.1)
    assert cell.counts
    assert [cell.scores[name].outcome for name in ("default", "aplm")] == ["tie", "win"]


def test_a_gap_of_one_rounding_is_no_division_by_zero(record: Record) -> None:
    losses = (0.01, 0.01, float(np.nextafter(0.01, 0)))
    truths = tuple(Truth(truth.config, ((loss,) * 5,)) for truth, loss in zip(record.truths, losses, strict=True))
    [cell] = score_cells([replace(record, truths=truths)], RULES)
    assert 0 < cell.gap.estimate < 1e-17
    assert cell.scores["default"].regret == 1


def test_a_gap_within_its_noise_is_marked_and_does_not_count(record: Record) -> None:
    noisy = with_noise(record, best=0.29, noise=0.02)
    none = with_noise(record, best=0.31, noise=0.0)
    cells = score_cells([record, noisy, none], RULES)
    assert [cell.counts for cell in cells] == [True, False, False]
    assert cells[2].scores["aplm"].regret is None
    summary = next(each for each in score_rules(cells) if each.rule == "aplm")
    assert summary.cells == 1
    assert summary.quartiles == pytest.approx((0.5, 0.5, 0.5))
    assert (summary.wins, summary.ties, summary.losses) == (3, 0, 0)
    [nothing] = {each.quartiles for each in score_rules(cells[1:])}
    assert nothing is None


def test_a_tie_is_a_difference_within_its_standard_error() -> None:
    outcomes = [RuleScore(Pick({}), 0.2, Gain(gain, 0.01), 0.5).outcome for gain in (0.011, 0.01, 0.0, -0.01, -0.011)]
    assert outcomes == ["win", "tie", "tie", "tie", "loss"]


def test_the_error_is_the_paired_one_of_the_folds(record: Record) -> None:
    [cell] = score_cells([with_noise(record, best=0.2, noise=0.01)], RULES)
    variance = 0.01**2 * 10 / 4
    assert cell.gap.error == pytest.approx(np.sqrt((1 / 5 + 1 / 4) * variance))  # without the folds' own hardness


def test_quartiles_and_outcomes_are_over_the_cells() -> None:
    record = made_up_record("svm", truth_of, truth_of)

    def scored(regret: float) -> ScoredCell:
        score = RuleScore(Pick({}), 0.2, Gain(1 - regret, 0.1), regret)
        return ScoredCell(record.cell, 300, Gain(0.1, 0.01), {"aplm": score})

    [summary] = score_rules([scored(regret) for regret in (0.0, 0.2, 0.4, 1.05, 2.0)])
    assert summary.quartiles == pytest.approx((0.2, 0.4, 1.05))
    assert (summary.wins, summary.ties, summary.losses) == (3, 1, 1)
    assert (summary.gain, summary.lowest_gain) == pytest.approx((1 - 0.73, -1.0))


def test_a_cell_says_what_was_picked(record: Record) -> None:
    [cell] = score_cells([record], RULES)
    document = cell.to_json()
    assert document["scores"]["aplm"]["config"] == OTHER["svm"]
    assert document["scores"]["aplm"]["regret"] == pytest.approx(0.5)
    assert document["gap_beyond_noise"] is True
    assert document["dataset"] == "pima"
    assert document["rows"] == 300
