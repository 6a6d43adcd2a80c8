"""``flora-lab null``: how often the product says "use" where labels are coin tosses, and nothing can be gained."""

import math
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from flora.cli.arguments import add_jobs, add_json
from flora.cli.options import check_jobs, options_of
from flora.core.workers import workers
from flora.engines.threads import in_process
from flora.errors import FloraError
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.split import split
from flora.party.table import Table
from flora.problem.plan import at_least
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import single_shot
from flora.randomness import stream
from flora_lab.tables import table_of_numbers

COLUMNS, TARGET = 6, "label"


@dataclass(frozen=True)
class NullOptions:
    """What ``flora-lab null`` was asked for."""

    family: str
    parties: int
    rows: int
    trials: int
    folds: int
    trainings: int | None
    runs: int
    first: int
    jobs: int
    json: bool

    def __post_init__(self) -> None:
        at_least("runs", self.runs, 1)
        check_jobs(self.jobs)


@dataclass(frozen=True)
class NullRun:
    """One run of the product on labels that nothing predicts."""

    options: NullOptions
    seed: int


@dataclass(frozen=True)
class Said:
    """What the product said of it."""

    decision: str
    gain: float  # as stated
    grade: str
    chance: float


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("--family", choices=("hgb", "svm", "mlp"), default="svm", help="(%(default)s)")
    for name, default, words in (
        ("parties", 3, "parties of a run"),
        ("rows", 300, "rows of a table"),
        ("trials", 8, "trials at each party"),
        ("folds", 5, "folds of the search"),
        ("runs", 10, "runs, each with a table and a seed of its own"),
        ("first", 0, "seed of the first run"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{words} (%(default)s)")
    parser.add_argument("--trainings", type=int, metavar="N", help="federated trainings of a run (by cost)")
    add_jobs(parser)
    add_json(parser)


def run(parsed: Namespace) -> dict[str, Any]:
    """Run the product on tables of noise, and count what it says."""
    options = options_of(NullOptions, parsed)
    runs = [NullRun(options, seed) for seed in range(options.first, options.first + options.runs)]
    with workers(options.jobs) as spread:
        said = spread(said_of, runs)
    document = {"benchmark": "null", "options": asdict(options), **counted(said)}
    if not options.json:
        Console().print(_table(document))
    return document


def said_of(null: NullRun) -> Said:
    """Return what the product says of a table whose labels are coin tosses."""
    options = null.options
    request = Request(
        options.family,
        task="classification",
        trials=options.trials,
        folds=options.folds,
        seed=null.seed,
        trainings=options.trainings,
    )
    tables = split(coin_tosses(options.rows, null.seed), TARGET, options.parties, "iid", null.seed)
    gates = [Gate(Party(name, Table(rows, TARGET))) for name, rows in tables.items()]
    verdict = drive(single_shot(request), in_process(gates)).found.verdict
    if verdict is None:
        raise FloraError(f"the family {options.family} has no default to compare with")
    return Said(verdict.decision, verdict.gain.estimate, verdict.grade, verdict.chance)


def coin_tosses(rows: int, seed: int) -> pd.DataFrame:
    """Return columns of normal numbers, and labels that have nothing to do with them."""
    rng = stream(seed, "null")
    table = pd.DataFrame(rng.normal(size=(rows, COLUMNS)), columns=[f"x{k}" for k in range(COLUMNS)])
    return table.assign(**{TARGET: np.where(rng.random(rows) < 0.5, "heads", "tails")})


def counted(said: Sequence[Said]) -> dict[str, Any]:
    """Return the rate of "use" with its standard error, the mean stated gains, and how often each grade was given."""
    uses = [each.gain for each in said if each.decision == "use"]
    rate = len(uses) / len(said)
    return {
        "runs": len(said),
        "use": len(uses),
        "rate": rate,
        "rate_error": math.sqrt(rate * (1 - rate) / len(said)),
        "gain": float(np.mean([each.gain for each in said])),
        "gain_of_use": float(np.mean(uses)) if uses else None,
        "chances": [each.chance for each in said],
        "grades": dict(sorted(Counter(each.grade for each in said).items())),
    }


def _table(document: dict[str, Any]) -> Any:
    options = document["options"]
    title = f"Labels are coin tosses: {options['family']}, {options['parties']} parties, {options['rows']} rows"
    table = table_of_numbers(title, [""])
    gain = document["gain_of_use"]
    table.add_row('"use"', f"{document['use']} of {document['runs']}")
    table.add_row("rate", f"{document['rate']:.2f} ± {document['rate_error']:.2f}")
    table.add_row("stated gain, in points", f"{100 * document['gain']:+.1f}")
    table.add_row('of the "use"', "-" if gain is None else f"{100 * gain:+.1f}")
    for grade, count in document["grades"].items():
        table.add_row(grade, str(count))
    return table
