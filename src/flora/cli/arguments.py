"""The arguments that several commands share. Their defaults are the fields of the records that they fill."""

from argparse import BooleanOptionalAction
from pathlib import Path
from typing import Any, get_args

from flora.aggregator.surface import SURFACES, SurfaceChoice
from flora.cli.table_arguments import add_drop, add_format
from flora.models import FAMILIES
from flora.party.local_search.samplers import SAMPLERS
from flora.problem.schema import Task
from flora.program.request import OBJECTIVES, Request
from flora.surrogate.regressors import REGRESSORS

TASKS = get_args(Task)


def add_table(parser: Any, *, required: bool = True) -> None:
    """Add what says which columns of a table count."""
    table = parser.add_argument_group("the table")
    table.add_argument("--target", required=required, metavar="COL", help="the column to predict")
    add_drop(table)
    table.add_argument("--schema", type=Path, metavar="FILE", help="the consortium's columns, so that none need leave")
    add_format(parser)


def add_search(parser: Any) -> None:
    """Add the options of the local search."""
    search = parser.add_argument_group("the local search")
    search.add_argument(
        "--model",
        dest="family",
        default=Request.family,
        metavar="MODEL",
        help=f"{', '.join(FAMILIES)} or package.module:Estimator (%(default)s)",
    )
    search.add_argument("--space", metavar="FILE", help="your own search space, as JSON, or paper: the published one")
    search.add_argument(
        "--aggregator-hps",
        action="store_true",
        help="mlp: also tune local_epochs and server_learning_rate; slower, for each fit emulates a federation",
    )
    search.add_argument(
        "--trials", type=int, default=Request.trials, metavar="T", help="trials at each party (%(default)s)"
    )
    search.add_argument(
        "--seconds",
        type=float,
        default=Request.seconds,
        metavar="S",
        help="seconds of fits at each party: T or S, whatever comes first; the same seed may then give another answer",
    )
    search.add_argument("--send", type=int, default=Request.send, metavar="T'", help="send only the best T' of them")
    search.add_argument("--cv", dest="folds", type=int, default=Request.folds, metavar="K", help="folds (%(default)s)")
    search.add_argument("--task", choices=TASKS, default=Request.task, help="(guessed from the target)")
    search.add_argument("--scoring", metavar="NAME", help="any scikit-learn scorer (balanced_accuracy or r2)")
    search.add_argument(
        "--positive", metavar="LABEL", help="of two classes, the one that f1, precision and recall ask for (the last)"
    )
    search.add_argument("--sampler", choices=SAMPLERS, default=Request.sampler, help="(%(default)s)")
    search.add_argument(
        "--race",
        action=BooleanOptionalAction,
        default=Request.race,
        help="do not finish the folds of a config that is behind the best with confidence (%(default)s)",
    )
    search.add_argument("--seed", type=int, default=Request.seed, help="(%(default)s)")


def add_surface(parser: Any) -> None:
    """Add the options of the loss surface."""
    surface = parser.add_argument_group("the loss surface")
    names = ", ".join(SURFACES)
    surface.add_argument(
        "--surface", metavar="NAME", help=f"{names} ({SurfaceChoice.name}; for the worst objective mplm)"
    )
    surface.add_argument(
        "--regressor", default=SurfaceChoice.regressor, metavar="NAME", help=f"{' or '.join(REGRESSORS)} (%(default)s)"
    )
    surface.add_argument(
        "--alpha", type=float, default=SurfaceChoice.alpha, help="how much sgm+u minds uncertainty (%(default)s)"
    )
    surface.add_argument(
        "--weights",
        default=SurfaceChoice.weights,
        metavar="HOW",
        help="parties count the same, or by rows (%(default)s)",
    )
    surface.add_argument(
        "--objective",
        choices=OBJECTIVES,
        default=Request.objective,
        help="the mean of the parties' losses, or that of the worst-off party (%(default)s)",
    )


def add_confirm(parser: Any) -> None:
    """Add the number of candidates."""
    parser.add_argument(
        "--confirm",
        type=int,
        default=Request.confirm,
        metavar="K",
        help="candidates that all parties measure again on fresh folds; 0 for none (%(default)s)",
    )


def add_json(parser: Any, what: str = "the result") -> None:
    """Add the choice of machines."""
    parser.add_argument("--json", action="store_true", help=f"print {what} as one JSON object")
