"""``flora-lab null``: how often the product says "use" where labels are coin tosses, and nothing can be gained."""

import math
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from flora.aggregator.verdict import Verdict
from flora.cli.arguments import add_json
from flora.cli.parsed import check_jobs, options_of
from flora.cli.table_arguments import add_jobs
from flora.core.codec import read, to_document
from flora.problem.plan import at_least
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.result import versions
from flora.program.single_shot import recommend
from flora.randomness import stream
from flora_lab.cells import Protocol
from flora_lab.evidence import RunEvidence
from flora_lab.judge.run import asked_parties
from flora_lab.options import add_results
from flora_lab.pieces import Bench, at_hand, keep
from flora_lab.tables import table_of_numbers

EXPERIMENT = "null"
COLUMNS, TARGET = 6, "label"
FAMILIES = ("hgb", "svm", "mlp")
PARTIES = (3, 5, 20)


@dataclass(frozen=True)
class NullOptions:
    """What ``flora-lab null`` was asked for."""

    family: list[str]
    parties: list[int]
    rows: int
    trials: int
    folds: int
    runs: int
    first: int
    results: Path
    stored: bool
    jobs: int
    json: bool

    def __post_init__(self) -> None:
        at_least("runs", self.runs, 1)
        check_jobs(self.jobs)

    @property
    def bench(self) -> Bench:
        """Where the runs are kept."""
        return Bench(self.results.absolute(), EXPERIMENT, None, Protocol(self.trials, self.folds))

    def pieces(self) -> "list[list[NullRun]]":
        """Return the runs of each family and number of parties."""
        seeds = range(self.first, self.first + self.runs)
        groups = product(self.family or FAMILIES, self.parties or PARTIES)
        return [[NullRun(family, parties, self.rows, seed) for seed in seeds] for family, parties in groups]


@dataclass(frozen=True)
class NullRun:
    """One run of the product on labels that nothing predicts, up to the verdict."""

    family: str
    parties: int
    rows: int
    seed: int

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"runs/{self.family}-p{self.parties}-n{self.rows}-s{self.seed}"

    def compute(self, bench: Bench) -> dict[str, Any]:
        """Run the product."""
        protocol = bench.protocol
        request = Request(
            self.family, task="classification", trials=protocol.trials, folds=protocol.folds, seed=self.seed
        )
        ask = asked_parties(coin_tosses(self.rows, self.seed), TARGET, self.parties, "iid", self.seed)
        outcome = drive(recommend(request), ask)
        return {
            "evidence": to_document(RunEvidence.of(outcome.found.choice, outcome.comparison)),
            "versions": versions(),
        }

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is, beside other runs; there are no parts of it."""
        return float(bench.protocol.trials * self.parties), 0.0

    def evidence(self, bench: Bench) -> RunEvidence:
        """Return what the verdict rests on; it is computed if it is not there."""
        return read(RunEvidence, keep(self, bench)["evidence"]).beside_guess(0.5)


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    several = {"action": "append", "default": []}
    parser.add_argument("--family", **several, choices=FAMILIES, help="may be repeated (all)")
    parser.add_argument("--parties", **several, type=int, metavar="P", help="may be repeated (3, 5 and 20)")
    for name, default, words in (
        ("rows", 300, "rows of a table"),
        ("trials", 8, "trials at each party"),
        ("folds", 5, "folds of the search"),
        ("runs", 10, "runs, each with a table and a seed of its own"),
        ("first", 0, "seed of the first run"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{words} (%(default)s)")
    add_results(parser)
    parser.add_argument("--stored", action="store_true", help="show what is stored already, and compute nothing")
    add_jobs(parser)
    add_json(parser)


def run(parsed: Namespace) -> dict[str, Any]:
    """Run the product on tables of noise, as far as that is not stored yet, and count what it says."""
    options = options_of(NullOptions, parsed)
    bench, asked = options.bench, options.pieces()
    there = set(at_hand([piece for group in asked for piece in group], bench, stored=options.stored, jobs=options.jobs))
    groups = [kept for group in asked if (kept := [piece for piece in group if piece in there])]
    lines = [counted(group, [piece.evidence(bench) for piece in group]) for group in groups]
    if not options.json:
        Console().print(_table(options, lines))
    return {"benchmark": "null", "options": {**asdict(options), "results": str(options.results)}, "runs": lines}


def coin_tosses(rows: int, seed: int) -> pd.DataFrame:
    """Return columns of normal numbers, and labels that have nothing to do with them."""
    rng = stream(seed, "null")
    table = pd.DataFrame(rng.normal(size=(rows, COLUMNS)), columns=[f"x{k}" for k in range(COLUMNS)])
    return table.assign(**{TARGET: np.where(rng.random(rows) < 0.5, "heads", "tails")})


def counted(runs: Sequence[NullRun], found: Sequence[RunEvidence]) -> dict[str, Any]:
    """Return what the product says of some runs, and what it would say without trainings beside the model's."""
    return {
        "family": runs[0].family,
        "parties": runs[0].parties,
        **said([each.verdict(runs[0].parties) for each in found]),
        "measured": said([each.without_trainings for each in found]),
    }


def said(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the rate of "use" with its standard error, the mean stated gains, and how often each grade was given."""
    uses = [each.stated for each in verdicts if each.decision == "use"]
    rate = len(uses) / len(verdicts)
    return {
        "runs": len(verdicts),
        "use": len(uses),
        "rate": rate,
        "rate_error": math.sqrt(rate * (1 - rate) / len(verdicts)),
        "stated": float(np.mean([each.stated for each in verdicts])),
        "stated_of_use": float(np.mean(uses)) if uses else None,
        "chances": [each.chance for each in verdicts],
        "grades": dict(sorted(Counter(f"{each.decision}, {each.grade}" for each in verdicts).items())),
    }


def _table(options: NullOptions, lines: Sequence[dict[str, Any]]) -> Any:
    title = f"Labels are coin tosses: {options.rows} rows, {options.trials} trials; stated gains in points"
    table = table_of_numbers(title, ["parties", "use", "rate", "stated", 'of "use"', "use, --trainings 1"])
    for line in lines:
        gain = line["stated_of_use"]
        table.add_row(
            line["family"],
            str(line["parties"]),
            f"{line['use']} of {line['runs']}",
            f"{line['rate']:.2f} ± {line['rate_error']:.2f}",
            f"{100 * line['stated']:+.1f}",
            "-" if gain is None else f"{100 * gain:+.1f}",
            f"{line['measured']['use']} of {line['runs']}",
        )
    return table
