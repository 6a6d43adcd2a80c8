"""Scores rules on stored cells: relative regret, what is won and lost against the default, and against APLM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from flora.problem.trials import Gain, paired_gain
from flora_lab.cells import Cell
from flora_lab.datasets import rows_of
from flora_lab.judge.record import KEYS, Pick, Record
from flora_lab.judge.rules import APLM, JudgedRule
from flora_lab.statistics import Versus, quartiles, relative_regret, versus


@dataclass(frozen=True)
class RuleScore:
    """What a rule's recommendation is worth in one cell."""

    pick: Pick
    loss: float
    gain: Gain  # over the default, on the same folds
    regret: float | None  # 0 is the best of the search on all rows, 1 the default; None where the default is no worse

    @property
    def outcome(self) -> Literal["win", "tie", "loss"]:
        """Whether the default is beaten; a tie is a difference within its standard error."""
        if abs(self.gain.estimate) <= self.gain.error:
            return "tie"
        return "win" if self.gain.estimate > 0 else "loss"


@dataclass(frozen=True)
class ScoredCell:
    """One cell: how much there is to gain in it, and each rule's score."""

    cell: Cell
    rows: int
    gap: Gain  # of the best over the default
    scores: dict[str, RuleScore]

    @property
    def counts(self) -> bool:
        """Whether the gap is beyond its noise; where it is not, a regret divides by nothing."""
        return self.gap.low > 0

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        return {
            **{key: getattr(self.cell, key) for key in KEYS},
            "rows": self.rows,
            "gap": self.gap.to_json(),
            "gap_beyond_noise": self.counts,
            "scores": {
                name: {
                    "config": dict(score.pick.config),
                    "in_training": score.pick.in_training,
                    "loss": score.loss,
                    "regret": score.regret,
                    "gain": score.gain.to_json(),
                    "outcome": score.outcome,
                }
                for name, score in self.scores.items()
            },
        }


@dataclass(frozen=True)
class ScoredRule:
    """A rule over all cells."""

    rule: str
    cells: int  # those whose gap is beyond its noise: quartiles and the comparison are over them
    datasets: int  # that they are of: the comparison with APLM counts each once
    quartiles: tuple[float, float, float] | None
    wins: int  # against the default, over all cells
    ties: int
    losses: int
    gain: float  # over the default: the mean over all cells, and the lowest
    lowest_gain: float
    versus_aplm: Versus | None


def score_cells(records: Sequence[Record], rules: Sequence[JudgedRule]) -> list[ScoredCell]:
    """Score each rule in each cell."""
    return [_scored(record, rules) for record in records]


def _scored(record: Record, rules: Sequence[JudgedRule]) -> ScoredCell:
    default, best = record.losses(Pick(record.default)), record.losses(Pick(record.best))
    scores = {rule.name: _score(record, rule.pick(record), default, best) for rule in rules}
    return ScoredCell(record.cell, sum(record.rows.values()), paired_gain(default, best), scores)


def _score(record: Record, pick: Pick, default: Sequence[float], best: Sequence[float]) -> RuleScore:
    losses = record.losses(pick)
    ours, start, end = (float(np.mean(each)) for each in (losses, default, best))
    regret = relative_regret(-end, -ours, -start) if end < start else None  # 1 - loss could round the gap away
    return RuleScore(pick, ours, paired_gain(default, losses), regret)


def score_rules(cells: Sequence[ScoredCell], seed: int = 0) -> list[ScoredRule]:
    """Return each rule over all cells; the seed is the bootstrap's."""
    return [_over_all(name, cells, seed) for name in (cells[0].scores if cells else ())]


def _over_all(rule: str, cells: Sequence[ScoredCell], seed: int) -> ScoredRule:
    counted = [cell for cell in cells if cell.counts]
    regrets = _regrets(rule, counted)
    datasets = [rows_of(cell.cell.dataset) for cell in counted]
    outcomes = [cell.scores[rule].outcome for cell in cells]
    gains = [cell.scores[rule].gain.estimate for cell in cells]
    return ScoredRule(
        rule,
        len(counted),
        len(set(datasets)),
        quartiles(regrets) if counted else None,
        outcomes.count("win"),
        outcomes.count("tie"),
        outcomes.count("loss"),
        float(np.mean(gains)),
        min(gains),
        versus(datasets, regrets, _regrets(APLM, counted), seed) if counted else None,
    )


def _regrets(rule: str, cells: Sequence[ScoredCell]) -> list[float]:
    return [regret for cell in cells if (regret := cell.scores[rule].regret) is not None]
