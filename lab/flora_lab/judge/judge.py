"""Scores rules on stored cells: relative regret, what is won and lost against the default, and against APLM."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from flora.party.measure import paired_gain
from flora.problem.trials import Gain
from flora.randomness import stream
from flora_lab.judge.cells import Cell, Pick, Record
from flora_lab.judge.rules import APLM, Rule
from flora_lab.paper.statistics import relative_regret

Outcome = Literal["win", "tie", "loss"]
RESAMPLES = 10_000
INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class Score:
    """What a rule's recommendation is worth in one cell."""

    pick: Pick
    loss: float
    gain: Gain  # over the default, on the same folds
    regret: float | None  # 0 is the best of the search on all rows, 1 the default; None where the default is no worse

    @property
    def outcome(self) -> Outcome:
        """Whether the default is beaten; a tie is a difference within its standard error."""
        if abs(self.gain.estimate) <= self.gain.error:
            return "tie"
        return "win" if self.gain.estimate > 0 else "loss"


@dataclass(frozen=True)
class Line:
    """One cell: how much there is to gain in it, and each rule's score."""

    cell: Cell
    rows: int
    gap: Gain  # of the best over the default
    scores: dict[str, Score]

    @property
    def counts(self) -> bool:
        """Whether the gap is beyond its noise; where it is not, a regret divides by nothing."""
        return self.gap.low > 0


@dataclass(frozen=True)
class Versus:
    """A rule's regrets minus APLM's, in the same cells."""

    median: float
    low: float  # the ends of the median's bootstrap interval, of 95 %
    high: float
    p_value: float  # Wilcoxon's signed-rank test, two-sided


@dataclass(frozen=True)
class Summary:
    """A rule over all cells."""

    rule: str
    cells: int  # those whose gap is beyond its noise: quartiles and the comparison are over them
    quartiles: tuple[float, float, float] | None
    wins: int  # against the default, over all cells
    ties: int
    losses: int
    gain: float  # over the default: the mean over all cells, and the lowest
    lowest_gain: float
    versus_aplm: Versus | None


def judge(records: Sequence[Record], rules: Sequence[Rule]) -> list[Line]:
    """Score each rule in each cell."""
    return [_line(record, rules) for record in records]


def _line(record: Record, rules: Sequence[Rule]) -> Line:
    default, best = record.losses(Pick(record.default)), record.losses(Pick(record.best))
    gap = paired_gain(default, best)
    return Line(
        record.cell,
        sum(record.rows.values()),
        gap,
        {rule.name: _score(record, rule.pick(record), default, best) for rule in rules},
    )


def _score(record: Record, pick: Pick, default: Sequence[float], best: Sequence[float]) -> Score:
    losses = record.losses(pick)
    ours, start, end = (float(np.mean(each)) for each in (losses, default, best))
    regret = relative_regret(-end, -ours, -start) if end < start else None  # 1 - loss could round the gap away
    return Score(pick, ours, paired_gain(default, losses), regret)


def summarise(lines: Sequence[Line], seed: int = 0) -> list[Summary]:
    """Return each rule over all lines; the seed is the bootstrap's."""
    return [_summary(name, lines, seed) for name in (lines[0].scores if lines else ())]


def _summary(rule: str, lines: Sequence[Line], seed: int) -> Summary:
    counted = [line for line in lines if line.counts]
    regrets = _regrets(rule, counted)
    outcomes = [line.scores[rule].outcome for line in lines]
    gains = [line.scores[rule].gain.estimate for line in lines]
    low, middle, high = (float(q) for q in np.quantile(regrets, [0.25, 0.5, 0.75])) if counted else (0.0, 0.0, 0.0)
    return Summary(
        rule,
        len(counted),
        (low, middle, high) if counted else None,
        outcomes.count("win"),
        outcomes.count("tie"),
        outcomes.count("loss"),
        float(np.mean(gains)),
        min(gains),
        versus(regrets, _regrets(APLM, counted), seed) if counted else None,
    )


def _regrets(rule: str, lines: Sequence[Line]) -> list[float]:
    return [regret for line in lines if (regret := line.scores[rule].regret) is not None]


def versus(regrets: Sequence[float], others: Sequence[float], seed: int) -> Versus:
    """Compare regrets with others' in the same cells.

    Cells count as independent; deals of one dataset are not quite, so over few datasets the interval is too narrow.
    """
    differences = np.subtract(regrets, others)
    places = stream(seed, "bootstrap").integers(len(differences), size=(RESAMPLES, len(differences)))
    low, high = (float(q) for q in np.quantile(np.median(differences[places], axis=1), INTERVAL))
    return Versus(float(np.median(differences)), low, high, _wilcoxon(differences))


def _wilcoxon(differences: Any) -> float:
    from scipy import stats

    if not np.any(differences):
        return 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns that a sample is small for an approximation
        return float(stats.wilcoxon(differences).pvalue)


def line_to_json(line: Line) -> dict[str, Any]:
    """Return a line as JSON's types."""
    scores = {
        name: {
            "config": dict(score.pick.config),
            "in_training": score.pick.in_training,
            "loss": score.loss,
            "regret": score.regret,
            "gain": score.gain.to_json(),
            "outcome": score.outcome,
        }
        for name, score in line.scores.items()
    }
    return {
        **asdict(line.cell),
        "rows": line.rows,
        "gap": line.gap.to_json(),
        "gap_beyond_noise": line.counts,
        "scores": scores,
    }
