"""``flora demo``: a whole run on data that scikit-learn brings along, in process or with real processes and TLS."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.arguments import add_json
from flora.cli.options import TableOptions, WorkOptions
from flora.cli.parsed import options_of
from flora.cli.table_arguments import add_jobs
from flora.program.request import Request


@dataclass(frozen=True)
class DemoOptions:
    """What ``flora demo`` was asked for."""

    network: bool
    work: WorkOptions


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("--out", type=Path, default=Path("demo-run"), help="the folder of the run (%(default)s)")
    add_jobs(parser, 2)
    parser.add_argument(
        "--network", action="store_true", help="parties and aggregator as processes, over TLS (NVFlare)"
    )
    add_json(parser)


def run(parsed: Namespace) -> dict[str, Any]:
    """Run the demonstration: scikit-learn's handwritten digits, split over three parties."""
    options = options_of(DemoOptions, parsed)
    if options.network:
        from flora.cli.remote import demonstrate

        return demonstrate(options.work)
    from sklearn.datasets import load_digits

    from flora.cli.commands.tune import tune
    from flora.party.split import split
    from flora.party.tables.table import Table

    request = Request(family="mlp", trials=20, folds=5, scoring="balanced_accuracy")
    frames = split(load_digits(as_frame=True).frame, "target", 3, "iid", request.seed)
    tables = {name: Table(frame, "target") for name, frame in frames.items()}
    return tune(tables, TableOptions("target", (), None), request, options.work)
