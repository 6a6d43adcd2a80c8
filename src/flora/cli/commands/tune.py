"""``flora tune``: the whole algorithm, on this machine or at the parties of a consortium."""

from argparse import Namespace
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flora.cli.all_tables import opened_tables, told_together
from flora.cli.arguments import add_confirm, add_json, add_search, add_surface, add_table
from flora.cli.held_rows import TestRows
from flora.cli.options import IID, SearchOptions, SurfaceOptions, TableOptions, WorkOptions, stem
from flora.cli.parsed import options_of
from flora.cli.printing import messages, note
from flora.cli.table_arguments import TABLE_KINDS, add_jobs
from flora.cli.written import finish
from flora.core.workers import workers
from flora.engines import ENGINES, engine_of
from flora.engines.files import CarriedFiles, read_files, with_files
from flora.errors import DataError, InputError
from flora.outcome.folder import RunFolder
from flora.outcome.live import told_in
from flora.outcome.progress import run_progress
from flora.problem.messages import Reply, Step
from flora.problem.plan import at_least
from flora.problem.trials import check_party_name
from flora.program.drive import Ask, drive, timed
from flora.program.request import Request, check_parties
from flora.program.result import result_of
from flora.program.single_shot import single_shot

if TYPE_CHECKING:
    from flora.party.tables.table import Table  # what sees rows is imported where a command runs

ENGINE = "threads"
NOTHING = CarriedFiles(())
WITHOUT_FILES = "--private: parties that exchange files cannot meet, and so cannot add up; leave --given out"


@dataclass(frozen=True)
class TuneOptions:
    """What ``flora tune`` was asked for."""

    data: tuple[str, ...]
    parties: int | None
    split: str
    table: TableOptions
    search: SearchOptions
    surface: SurfaceOptions
    confirm: int
    trainings: int | None
    certificate: bool
    private: bool
    epsilon: float | None
    engine: str
    given: tuple[Path, ...]
    project: Path | None
    quorum: int | None
    unmasked: bool
    deadline: float | None
    wait: float
    test: str | None
    work: WorkOptions

    def test_rows(self) -> TestRows:
        """Return the rows to score the model on, in the end."""
        return TestRows.of(self.test, self.table.format, simulated=not self.project)

    def request(self) -> Request:
        """Return what the parties will be asked for."""
        if self.private and self.given:
            raise InputError(WITHOUT_FILES)
        at_least("trainings", 1 if self.trainings is None else self.trainings, 1)
        return self.search.request(
            self.table,
            surface=self.surface.choice(),
            confirm=self.confirm,
            objective=self.surface.objective,
            trainings=self.trainings,
            certificate=self.certificate,
            masked=not self.unmasked,
            private=self.private,
            epsilon=self.epsilon,
        )


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("data", nargs="*", metavar="DATA", help=f"a table per party ({TABLE_KINDS}; NAME=FILE)")
    parser.add_argument("--parties", type=int, metavar="N", help="split one table over N parties (a simulation)")
    parser.add_argument("--split", default=IID, metavar="HOW", help="iid, dirichlet:ALPHA or column:NAME (%(default)s)")
    parser.add_argument(
        "--test", metavar="FILE|SHARE", help="then score the model on a table, or on a share of all rows (as 0.2)"
    )
    add_table(parser, required=False)
    add_search(parser)
    add_jobs(parser)
    add_surface(parser)
    _add_answer(parser)
    parser.add_argument(
        "--engine",
        choices=list(ENGINES),
        default=ENGINE,
        help="how parties of this machine are asked (%(default)s)",
    )
    parser.add_argument(
        "--given",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="files of an exchange before: what is in them is not asked for again, and the training follows",
    )
    _add_network(parser)
    parser.add_argument("--out", type=Path, default=Path("flora-run"), help="the folder of the run (%(default)s)")
    add_json(parser)


def _add_answer(parser: Any) -> None:
    """Add what the answer rests on, and what may be known of the parties' pairs."""
    add_confirm(parser)
    parser.add_argument(
        "--trainings",
        type=int,
        default=Request.trainings,
        metavar="B",
        help="federated trainings in all: 1 is the paper's, from 5 on models are compared (by what the search costs)",
    )
    parser.add_argument(
        "--certificate",
        action="store_true",
        help="bound what remains to be gained; sketches of the data leave",
    )
    parser.add_argument(
        "--private",
        action="store_true",
        help="no pair leaves a party: the aggregator learns sums over all of them (3 or more)",
    )
    parser.add_argument(
        "--epsilon",
        type=float,
        default=Request.epsilon,
        metavar="E",
        help="with --private, from 20 parties on: so much the search's sums may tell of any one party (any)",
    )


def _add_network(parser: Any) -> None:
    network = parser.add_argument_group("across machines")
    network.add_argument("--project", type=Path, metavar="KIT", help="ask the parties of this kit's consortium")
    network.add_argument("--quorum", type=int, metavar="N", help="go on without lost parties while N remain (all)")
    network.add_argument(
        "--unmasked", action="store_true", help="add up without masks: the aggregator sees each share (parties refuse)"
    )
    network.add_argument(
        "--deadline", type=float, metavar="S", help="seconds for each step: who has not answered then is left out (any)"
    )
    network.add_argument(
        "--wait", type=float, default=600.0, metavar="S", help="seconds to wait for who is not there (%(default)g)"
    )


def run(parsed: Namespace) -> dict[str, Any]:
    """Run the whole algorithm."""
    options = options_of(TuneOptions, parsed)
    test = options.test_rows()
    if options.project:
        from flora.cli.remote import tune_consortium

        return test.told(tune_consortium(options), options.work)
    _refuse_for_one_machine(options)
    tables, request = test.kept_back(_tables(options), options.search.seed), options.request()
    given = read_files(options.given)
    _tell_of_others(given, tables)
    document = tune(tables, options.table, request, options.work, options.engine, given)
    return test.told(document, options.work)


def _refuse_for_one_machine(options: TuneOptions) -> None:
    """Refuse what is said of parties on other machines, and of a table's split where none is split."""
    for name, given in (("--quorum", options.quorum), ("--deadline", options.deadline)):
        if given is not None:
            raise InputError(f"{name}: for parties on other machines, with --project; got {given:g} without it")
    if options.unmasked:
        raise InputError("--unmasked: for parties on other machines, with --project")
    if options.split != IID and options.parties is None and not options.split.startswith("column:"):
        raise InputError(f"--split {options.split}: needs --parties N, and one table to split")


def tune(
    tables: "Mapping[str, Table]",
    table: TableOptions,
    request: Request,
    work: WorkOptions,
    engine: str = ENGINE,
    given: CarriedFiles = NOTHING,
) -> dict[str, Any]:
    """Run a request on tables of this machine, and write and show what came of it."""
    from flora.party.gate import Gate
    from flora.party.party import Party

    check_parties(request, len(tables))
    folder = RunFolder(work.out, _identity(tables, table, request))
    seconds: dict[str, float] = {}
    with ExitStack() as stack:
        spread = stack.enter_context(workers(work.jobs))
        progress = stack.enter_context(run_progress(sorted(tables), messages, quiet=work.json))
        stack.enter_context(told_in(folder.path, progress, request))
        gates = [
            Gate(
                Party(
                    name,
                    source,
                    folder.study(name),
                    progress.counting(name, spread),
                    progress.report,
                    training=progress.trains,
                )
            )
            for name, source in tables.items()
        ]
        ask = told_together(engine_of(engine)(gates, jobs=work.jobs), tables)
        ask = timed(_begun(with_files(given, ask) if given.trials else ask, folder), seconds)
        outcome = drive(single_shot(request), progress.asking(ask))
    return finish(folder, result_of(outcome, request, seconds), outcome.found.trials, outcome.model, work)


def _begun(ask: Ask, folder: RunFolder) -> Ask:
    """Return the same engine; the folder is made when the input has proved good."""

    def begun(step: Step) -> list[Reply]:
        if step.name in ("search", "search-privately"):
            folder.begin()
        return list(ask(step))

    return begun


def _tables(options: TuneOptions) -> "Mapping[str, Table]":
    """Return each party's table: a file each, or one file that is split."""
    if not options.data or options.table.target is None:
        raise InputError("a run needs DATA and --target COL, or --project KIT for parties on other machines")
    from flora.party.tables.table import alike

    is_split = options.parties is not None or options.split.startswith("column:")
    if is_split and len(options.data) > 1:
        raise InputError(f"--parties and --split take one table, got {len(options.data)} files")
    if is_split:
        return _dealt_out(options.table.open(options.data[0], note), options)
    if len(options.data) == 1:
        raise InputError(f"{options.data[0]}: one table is one party; add the others' tables, or say --parties N")
    named = [_named(data) for data in options.data]
    for name, path in named:
        check_party_name(name)
        others = [other for same, other in named if same == name and other != path]
        if others or named.count((name, path)) > 1:
            raise DataError(
                f"party names must differ, {name!r} is {path} and {(others or [path])[0]}; write NAME=FILE to name them"
            )
    return alike(opened_tables(named, options.table))


def _tell_of_others(given: CarriedFiles, tables: "Mapping[str, Table]") -> None:
    """Say which parties are in the files of an exchange alone, or have a table alone."""
    sent = {party.party for party in given.trials}
    for name in sorted(set(tables) - sent) if sent else ():
        note(f"note: party {name!r} has no trials in the files of --given: it takes part in the training alone")
    for name in sorted(sent - set(tables)):
        note(
            f"note: party {name!r} has trials in the files of --given and no table here: it has no part in the training"
        )


def _dealt_out(whole: "Table", options: TuneOptions) -> "Mapping[str, Table]":
    """Return the parties of a table that is split, and say how many of its rows are none's."""
    from flora.party.split import split

    frames = split(whole.frame, whole.target, options.parties, options.split, options.search.seed)
    left = len(whole.frame) - sum(map(len, frames.values()))
    if left:
        without = "a target" if options.parties else f"a target or a {options.split.removeprefix('column:')}"
        note(f"note: {left} of {len(whole.frame)} rows without {without} are left out")
    return {name: replace(whole, frame=frame) for name, frame in frames.items()}


def _named(data: str) -> tuple[str, str]:
    name, equals, path = data.partition("=")
    if "://" in name:  # an address of a database, whose query has an = in it
        return stem(data), data
    return (name, path) if equals and not Path(data).exists() else (stem(data), data)


def _identity(tables: "Mapping[str, Table]", table: TableOptions, request: Request) -> dict[str, Any]:
    """Return what makes a run the same run; its length may change. The searches compare the rows themselves."""
    settings = asdict(replace(request, schema=None))
    may_change = ("trials", "seconds", "send", "schema", "surface", "confirm", "objective", "trainings", "certificate")
    for later in ("private", "epsilon"):  # as in folders from before there were such searches
        if not settings[later]:
            settings.pop(later)
    return {
        **{key: value for key, value in settings.items() if key not in may_change},
        "parties": {name: len(source.frame) for name, source in sorted(tables.items())},
        "target": table.target,
        "drop": sorted({name for source in tables.values() for name in source.drop}),
        **({} if table.format.weight is None else {"weight": table.format.weight}),
        "schema": None if request.schema is None else request.schema.to_json(),
    }
