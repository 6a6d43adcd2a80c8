"""``flora-lab certificate``: what the certificate says of runs on tables that scikit-learn brings along."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import pandas as pd
from rich.console import Console
from sklearn import datasets

from flora.cli.arguments import add_json
from flora.cli.parsed import check_jobs, options_of
from flora.cli.table_arguments import add_jobs
from flora.core.workers import workers
from flora.errors import FloraError
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import single_shot
from flora_lab.judge.run import asked_parties
from flora_lab.tables import table_of_numbers

TARGET = "target"
SHOWN = ("measured", "tried", "bound", "range", "spread")


@dataclass(frozen=True)
class CertificateOptions:
    """What ``flora-lab certificate`` was asked for."""

    tables: list[str]
    families: list[str]
    parties: list[int]
    trials: int
    folds: int
    trainings: int
    seed: int
    jobs: int
    json: bool

    def __post_init__(self) -> None:
        check_jobs(self.jobs)


@dataclass(frozen=True)
class CertifiedRun:
    """One run of the product."""

    options: CertificateOptions
    table: str
    family: str
    parties: int


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES), help="(all)")
    parser.add_argument(
        "--families", nargs="+", choices=("hgb", "svm", "mlp"), default=["svm"], metavar="NAME", help="(svm)"
    )
    parser.add_argument("--parties", nargs="+", type=int, default=[3], metavar="N", help="parties of a run (3)")
    for name, default, words in (
        ("trials", 20, "trials at each party"),
        ("folds", 5, "folds of the search"),
        ("trainings", 0, "federated trainings of a run"),
        ("seed", 0, "seed of all runs"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{words} (%(default)s)")
    add_jobs(parser)
    add_json(parser)


def run(parsed: Namespace) -> dict[str, Any]:
    """Run the product with a certificate, and show what it says."""
    options = options_of(CertificateOptions, parsed)
    runs = [CertifiedRun(options, *each) for each in product(options.tables, options.families, options.parties)]
    with workers(options.jobs) as spread:
        found = spread(certificate_of, runs)
    rows = [
        {"table": each.table, "family": each.family, "parties": each.parties, **numbers(certificate)}
        for each, certificate in zip(runs, found, strict=True)
    ]
    document = {"benchmark": "certificate", "options": asdict(options), "runs": rows}
    if not options.json:
        Console().print(_table(document))
    return document


def certificate_of(certified: CertifiedRun) -> dict[str, Any]:
    """Return the certificate of one run, as it is stated."""
    options = certified.options
    request = Request(
        certified.family,
        task="classification",
        trials=options.trials,
        folds=options.folds,
        seed=options.seed,
        trainings=options.trainings,
        certificate=True,
    )
    ask = asked_parties(TABLES[certified.table](), TARGET, certified.parties, "iid", options.seed)
    certificate = drive(single_shot(request), ask).certificate
    if certificate is None:
        raise FloraError("the run has no certificate")
    return certificate.to_json()


def noisy(rows: int) -> pd.DataFrame:
    """Return a table of which a fifth of the labels are coin tosses: no config is near a loss of 0."""
    X, y = datasets.make_classification(rows, 10, n_informative=6, n_clusters_per_class=4, flip_y=0.2, random_state=0)
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]).assign(**{TARGET: y})


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "breast_cancer": lambda: datasets.load_breast_cancer(as_frame=True).frame,
    "digits": lambda: datasets.load_digits(as_frame=True).frame,
    "noisy_600": lambda: noisy(600),
    "noisy_3000": lambda: noisy(3_000),
}


def numbers(certificate: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the numbers that matter: the gap to the best measured, the theorem's bounds, and what they are beside."""
    measured = [gap["value"] for gap in certificate.get("measured", []) if gap["basis"] == "measured"]
    stated = {name: certificate.get(name) for name in SHOWN[1:]}
    values = {name: number["value"] if number else None for name, number in stated.items()}
    return {"measured": measured[0] if measured else None, **values}


def _table(document: dict[str, Any]) -> Any:
    options = document["options"]
    title = f"Certificates: {options['trials']} trials, {options['folds']} folds, seed {options['seed']}"
    table = table_of_numbers(title, SHOWN)
    for row in document["runs"]:
        name = f"{row['table']}, {row['family']}, {row['parties']} parties"
        table.add_row(name, *("-" if row[column] is None else f"{row[column]:.3f}" for column in SHOWN))
    return table
