"""What the product said of its gains, against what was true: by family and number of parties."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from rich.console import Console

from flora.aggregator.verdict import Verdict
from flora.program.result_parts import StatedGain
from flora_lab.cells import Cell
from flora_lab.datasets import rows_of
from flora_lab.statistics import Mean, mean_over
from flora_lab.tables import number, table_of_numbers

ALL = "all"  # families


@dataclass(frozen=True)
class JudgedAnswer:
    """What the product said of one cell, and what was true of it, as scores."""

    cell: Cell
    verdict: Verdict
    true: float
    true_error: float

    @property
    def use(self) -> bool:
        """Whether it said "use"."""
        return self.verdict.decision == "use"

    @property
    def kept(self) -> float:
        """The true gain of what would be trained."""
        return self.true if self.use else 0.0

    @property
    def too_much(self) -> float:
        """The stated gain minus the true one."""
        return self.verdict.stated - self.true

    @property
    def worse(self) -> bool:
        """Whether what was recommended is worse than the default by more than the error of that."""
        return self.true < -self.true_error

    @property
    def holds(self) -> bool:
        """Whether the true gain, as far as it is known, is in the stated interval."""
        low, high = self.verdict.interval
        return low - self.true_error <= self.true <= high + self.true_error

    def to_json(self) -> dict[str, Any]:
        """Return it with the cell's name."""
        verdict = self.verdict
        return {
            "name": self.cell.name,
            **{key: getattr(verdict, key) for key in ("decision", "grade", "basis", "chance")},
            "stated": asdict(StatedGain.by(verdict)),
            "true": self.true,
            "true_error": self.true_error,
        }


@dataclass(frozen=True)
class Calibration:
    """A family's answers with one number of parties, or those of all families, in points."""

    family: str
    parties: int
    cells: int
    datasets: int
    use: int
    stated: float | None  # mean of the "use"
    true: float | None  # of the same
    too_much: Mean | None  # stated minus true, of the same
    all_too_much: Mean  # the same over all cells: a gain is stated of each
    all_true: float  # over all cells, with 0 where the defaults stay
    missed: float  # mean true gain of the recommendations that were not used
    worse: int  # "use" whose true gain is below 0 by more than its error
    holding: int  # intervals of all cells that hold the truth

    @classmethod
    def of(cls, family: str, answers: Sequence[JudgedAnswer]) -> Self:
        """Count and average; the ends of intervals are by dataset."""
        uses = [answer for answer in answers if answer.use]
        others = [answer.true for answer in answers if not answer.use]
        return cls(
            family,
            answers[0].cell.parties,
            len(answers),
            len({rows_of(answer.cell.dataset) for answer in answers}),
            len(uses),
            _points([answer.verdict.stated for answer in uses]) if uses else None,
            _points([answer.true for answer in uses]) if uses else None,
            _too_much(uses) if uses else None,
            _too_much(answers),
            _points([answer.kept for answer in answers]),
            _points(others) if others else 0.0,
            sum(answer.worse for answer in uses),
            sum(answer.holds for answer in answers),
        )


def calibrated(answers: Sequence[JudgedAnswer]) -> list[Calibration]:
    """Return a line for each family and number of parties, and for each number one of all its families, if several."""
    groups: dict[tuple[str, int], list[JudgedAnswer]] = {}
    for answer in answers:
        groups.setdefault((answer.cell.family, answer.cell.parties), []).append(answer)
    lines = [Calibration.of(family, group) for (family, _), group in sorted(groups.items(), key=lambda item: item[0])]
    for parties in sorted({parties for _, parties in groups}):
        families = [group for (_, number), group in groups.items() if number == parties]
        if len(families) > 1:
            lines.append(Calibration.of(ALL, [answer for group in families for answer in group]))
    return lines


def show_calibration(title: str, lines: Sequence[Calibration], console: Console) -> None:
    """Print the lines."""
    heads = ("parties", "cells", "use", "stated", "true", "too much", "95 %", "over all", "missed", "worse", "holds")
    table = table_of_numbers(title, heads, width=None)
    for line in lines:
        counts = [str(line.parties), f"{line.cells} ({line.datasets})", str(line.use)]
        gains = [number(value, 1) for value in (line.stated, line.true)]
        others = [number(value, 1) for value in (line.all_true, line.missed)]
        table.add_row(
            line.family, *counts, *gains, *_shown(line.too_much), *others, str(line.worse), _share(line.holding, line)
        )
    console.print(table)
    console.print(
        'Stated and true gains are those of the "use", in points; "too much" is stated minus true, with its interval '
        "by dataset. Over all: the true gain of what is trained. Missed: that of what was not used. Worse: "
        '"use" that is worse than the default by more than the error of its true gain. Holds: intervals of '
        "90 %, of all cells, that hold the truth. In brackets: datasets.",
        highlight=False,
    )


def _too_much(answers: Sequence[JudgedAnswer]) -> Mean:
    return mean_over([rows_of(answer.cell.dataset) for answer in answers], [100 * a.too_much for a in answers])


def _shown(mean: Mean | None) -> tuple[str, str]:
    if mean is None:
        return "-", "-"
    return f"{mean.value:+.1f}", "-" if mean.low is None else f"{mean.low:+.1f} {mean.high:+.1f}"


def _share(count: int, line: Calibration) -> str:
    return f"{count} of {line.cells}"


def _points(values: Sequence[float]) -> float:
    return 100 * float(np.mean(values))
