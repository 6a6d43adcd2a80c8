"""``flora evaluate``: how good the federated model is on rows that it has not seen."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flora.cli.arguments import add_json
from flora.cli.new_rows import add_new_rows, model_of, new_rows
from flora.cli.parsed import options_of
from flora.cli.table_arguments import add_format
from flora.outcome.folder import read_run
from flora.party.tables.format import TableFormat

if TYPE_CHECKING:
    import pandas as pd

    from flora.outcome.evaluation import Evaluation


@dataclass(frozen=True)
class EvaluateOptions:
    """What ``flora evaluate`` was asked for."""

    run: Path
    data: str
    format: TableFormat
    trust: tuple[str, ...]
    json: bool


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    add_new_rows(parser)
    add_format(parser, weight=False)
    add_json(parser)


def run(parsed: Namespace) -> dict[str, Any]:
    """Score a federated model on rows with a target."""
    from flora.outcome.console import show_evaluation

    options = options_of(EvaluateOptions, parsed)
    stored = model_of(options.run, options.trust)
    found = evaluated(options.run, new_rows(options.data, options.format, stored), options.trust)
    if not options.json:
        show_evaluation(found, Console())
    return found.to_document()


def evaluated(run: Path, table: "pd.DataFrame", trust: tuple[str, ...] = ()) -> "Evaluation":
    """Return how good a run's model is on a table."""
    from flora.outcome.evaluation import evaluate

    return evaluate(model_of(run, trust), table, read_run(run)[0] if run.is_dir() else None)
