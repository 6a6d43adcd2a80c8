"""What the product said of its gains, against what was true: by family and number of parties."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np
from rich.console import Console

from flora_lab.cells import Cell
from flora_lab.tables import number, table_of_numbers


@dataclass(frozen=True)
class Answer:
    """What the product said of one cell, and what was true of it, as scores."""

    cell: Cell
    decision: str
    grade: str
    basis: str
    stated: Mapping[str, float]  # a StatedGain
    true: float
    true_error: float
    default_score: float

    @classmethod
    def stored(cls) -> list[str]:
        """Return the names of what is stored of it."""
        return [part.name for part in fields(cls) if part.name != "cell"]

    @property
    def use(self) -> bool:
        """Whether it said "use"."""
        return self.decision == "use"

    @property
    def kept(self) -> float:
        """The true gain of what would be trained."""
        return self.true if self.use else 0.0

    @property
    def holds(self) -> bool:
        """Whether the true gain, as far as the rows tell it, is in the stated interval."""
        return self.stated["low"] - self.true_error <= self.true <= self.stated["high"] + self.true_error

    def to_json(self) -> dict[str, Any]:
        """Return it with the cell's name."""
        return {"name": self.cell.name, **{key: value for key, value in asdict(self).items() if key != "cell"}}


@dataclass(frozen=True)
class Calibration:
    """A family's answers with one number of parties, in points."""

    family: str
    parties: int
    cells: int
    use: int
    stated: float | None  # mean of the "use"
    true: float | None  # of the same
    all_true: float  # over all cells, with 0 where the defaults stay
    missed: float  # mean true gain of the recommendations that were not used
    worse: int  # "use" whose true gain is below 0 by more than its error
    holding: int  # intervals of all cells that hold the truth

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Self:
        """Count and average."""
        uses = [answer for answer in answers if answer.use]
        others = [answer.true for answer in answers if not answer.use]
        cell = answers[0].cell
        return cls(
            cell.family,
            cell.parties,
            len(answers),
            len(uses),
            _points([answer.stated["estimate"] for answer in uses]) if uses else None,
            _points([answer.true for answer in uses]) if uses else None,
            _points([answer.kept for answer in answers]),
            _points(others) if others else 0.0,
            sum(answer.true < -answer.true_error for answer in uses),
            sum(answer.holds for answer in answers),
        )


def calibrated(answers: Sequence[Answer]) -> list[Calibration]:
    """Return a line for each family and number of parties."""
    keys = sorted({(answer.cell.family, answer.cell.parties) for answer in answers})
    return [Calibration.of([a for a in answers if (a.cell.family, a.cell.parties) == key]) for key in keys]


def show_calibration(lines: Sequence[Calibration], console: Console) -> None:
    """Print the lines."""
    heads = ["parties", "cells", "use", "stated", "true", "over all", "missed", "worse", "interval holds"]
    table = table_of_numbers("Stated against true gains, in points of balanced accuracy", heads)
    for line in lines:
        counts = [str(line.parties), str(line.cells), str(line.use)]
        gains = [number(value, 1) for value in (line.stated, line.true, line.all_true, line.missed)]
        table.add_row(line.family, *counts, *gains, str(line.worse), f"{line.holding} of {line.cells}")
    console.print(table)


def _points(values: Sequence[float]) -> float:
    return 100 * float(np.mean(values))
