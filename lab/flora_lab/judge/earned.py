"""Which part of what could be gained is lost to the verdict, and which to the candidates, over stored cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from flora_lab.cells import Cell
from flora_lab.datasets import rows_of
from flora_lab.judge.answers import ALL, JudgedAnswer
from flora_lab.judge.record import Pick, Record
from flora_lab.judge.rules import as_trained, choice_of
from flora_lab.tables import number, table_of_numbers

Floats = NDArray[np.float64]
TITLE = "What is gained over the default config, and what could be, in points"
STEPS = {
    "default": "as trained",
    "trained": "by the verdict",
    "chosen": "all used",
    "candidate": "best candidate",
    "searched": "best of all rows",
}


@dataclass(frozen=True)
class Earned:
    """Mean gains of a cell over the default config as it stands, each in place of what is trained."""

    cell: Cell
    gains: Mapping[str, float]  # by the names of STEPS

    @classmethod
    def of(cls, record: Record, answers: Sequence[JudgedAnswer]) -> Self:
        """Return a cell's, by the verdicts of all folds but one.

        The best candidate is that of the other folds, too: of many, one is the best of its own folds by chance.
        """
        choice = choice_of(record, record.path)
        start, default = (_losses(record, pick) for pick in (Pick(record.default), as_trained(record, record.default)))
        chosen = _losses(record, as_trained(record, choice.chosen.config))
        used = np.array([answer.use for answer in answers])
        every = [default, *(_losses(record, as_trained(record, each.config)) for each in choice.candidates)]
        losses = {
            "default": default,
            "trained": np.where(used, chosen, default),
            "chosen": chosen,
            "candidate": _best_elsewhere(np.array(every)),
            "searched": _losses(record, Pick(record.best)),
        }
        return cls(record.cell, {name: float(np.mean(start - each)) for name, each in losses.items()})


@dataclass(frozen=True)
class EarnedLine:
    """The mean of some cells, in points."""

    family: str
    parties: int
    cells: int
    datasets: int
    gains: Mapping[str, float]

    @classmethod
    def of(cls, family: str, found: Sequence[Earned]) -> Self:
        """Average."""
        gains = {name: 100 * float(np.mean([each.gains[name] for each in found])) for name in STEPS}
        datasets = {rows_of(each.cell.dataset) for each in found}
        return cls(family, found[0].cell.parties, len(found), len(datasets), gains)


def earned_lines(found: Sequence[Earned]) -> list[EarnedLine]:
    """Return a line for each family and number of parties, and for each number one of all its families, if several."""
    keys = sorted({(each.cell.family, each.cell.parties) for each in found})
    lines = [EarnedLine.of(key[0], [e for e in found if (e.cell.family, e.cell.parties) == key]) for key in keys]
    for parties in sorted({parties for _, parties in keys}):
        if len([key for key in keys if key[1] == parties]) > 1:
            lines.append(EarnedLine.of(ALL, [each for each in found if each.cell.parties == parties]))
    return lines


def show_earned(lines: Sequence[EarnedLine], console: Console) -> None:
    """Print the lines."""
    table = table_of_numbers(TITLE, ("parties", "cells", *STEPS.values()), width=None)
    for line in lines:
        gains = [number(line.gains[name], 1) for name in STEPS]
        table.add_row(line.family, str(line.parties), f"{line.cells} ({line.datasets})", *gains)
    console.print(table)
    console.print(
        "As trained: the default, with its trees counted in the training where there are 5,000 rows. By the verdict: "
        "what is trained. All used: each recommendation, whatever the verdict. Best candidate: by the other folds. "
        "Best of all rows: of a search on them.",
        highlight=False,
    )


def _losses(record: Record, pick: Pick) -> Floats:
    return np.array(record.losses(pick))


def _best_elsewhere(losses: NDArray[Any]) -> Floats:
    """Return each fold's loss of the config that is best in the others: (configs, folds) -> (folds,)."""
    others = losses.sum(axis=1, keepdims=True) - losses
    picked: Floats = losses[others.argmin(axis=0), np.arange(losses.shape[1])]
    return picked
