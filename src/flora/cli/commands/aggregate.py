"""``flora aggregate``: the aggregator, on files alone: FLoRA over e-mail or a USB stick."""

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from flora.cli.arguments import add_json, add_surface
from flora.cli.options import SurfaceOptions
from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.cli.printing import messages, note
from flora.cli.written import show_written
from flora.core.files import write_whole
from flora.engines.files import (
    CarriedFiles,
    NotAnsweredError,
    check_copies,
    is_reply,
    read_reply_file,
    step_file,
)
from flora.errors import InputError
from flora.outcome.console import show_result
from flora.outcome.folder import RunFolder
from flora.problem.imported_trials import Columns
from flora.problem.messages import Confirm
from flora.problem.space import SearchSpace
from flora.problem.space_formats import read_space
from flora.problem.trials import PartyTrials
from flora.program.drive import drive
from flora.program.from_trials import recommend_from
from flora.program.request import Request
from flora.program.result import Result, result_of
from flora.program.scoring import check_scoring
from flora.program.single_shot import Outcome

TRAINING = "flora tune --project KIT --given FILES (or all tables with --target COL), with the options of the search"
UNNAMED = "score"  # a scoring that nobody named


@dataclass(frozen=True)
class CsvOptions:
    """How CSV files of trials are to be read."""

    space: Path | None
    scoring: str
    loss_column: str | None
    score_column: str | None
    negate: bool
    rows: str | None

    def trials(self, paths: Sequence[Path]) -> list[PartyTrials]:
        """Return each party's trials, from whichever file they are in."""
        if self.scoring != UNNAMED:
            check_scoring(self.scoring)
        space = SearchSpace.from_json(read_space(self.space)) if self.space else None
        given = _rows_by_party(self.rows) if self.rows and "=" in self.rows else {}
        found = [self._read(path, space, given) for path in paths]
        unknown = sorted(set(given) - {party.party for party in found})
        if unknown:
            raise InputError(f"--rows names {unknown[0]!r}, the parties are {sorted(party.party for party in found)}")
        return found

    def _read(self, path: Path, space: SearchSpace | None, rows: Mapping[str, int]) -> PartyTrials:
        if not is_csv(path):
            party = PartyTrials.read(path)
            return replace(party, rows=rows[party.party]) if party.party in rows else party
        if space is None:
            raise InputError(f"{path}: CSV files need --space FILE, the search space as JSON")
        column = self.rows if self.rows and "=" not in self.rows else None
        columns = Columns(self.loss_column, self.score_column, self.negate, column)
        party = PartyTrials.from_csv(path, space, scoring=self.scoring, columns=columns)
        return replace(party, rows=rows.get(party.party, party.rows))


def _rows_by_party(text: str) -> dict[str, int]:
    """Return what ``a=120,b=90`` says."""
    found = {}
    for part in text.split(","):
        name, _, count = part.strip().rpartition("=")
        if not name or not count.isdigit() or len(count) > 15 or int(count) < 1 or name in found:
            raise InputError(f"--rows is NAME=ROWS for each party, as a=120,b=90, or a column; got {part!r:.80}")
        found[name] = int(count)
    return found


def is_csv(path: Path) -> bool:
    """Whether a file is CSV by its name, packed or not."""
    return path.name.lower().removesuffix(".gz").endswith(".csv")


def _may_be_trials(file: Path) -> bool:
    """Whether a file of a folder is one by its name; a name that begins with a point is a system's own."""
    return not file.name.startswith(".") and (file.suffix == ".json" or is_csv(file))


def files_in(typed: Sequence[str]) -> list[Path]:
    """Return the files that were named; of a folder all that may be trials or replies, in the order of their names."""
    found: list[Path] = []
    for path in map(Path, typed):
        inner = sorted(filter(_may_be_trials, path.iterdir())) if path.is_dir() else []
        if path.is_dir() and not inner:
            raise InputError(f"{path}: this folder has no file that ends in .json, .csv or .csv.gz")
        found += inner or [path]
    return found


@dataclass(frozen=True)
class AggregateOptions:
    """What ``flora aggregate`` was asked for."""

    files: tuple[str, ...]
    propose: int | None
    csv: CsvOptions
    inside: Path | None
    seed: int
    surface: SurfaceOptions
    out: Path | None
    json: bool
    typed: str


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="files of flora search and flora answer, or CSV; or a folder of them"
    )
    parser.add_argument(
        "--propose", type=int, metavar="K", help="write K candidates that all parties should measure (flora answer)"
    )
    parser.add_argument(
        "--inside", type=Path, metavar="FILE", help="recommend inside of this space, narrower than the one searched"
    )
    _add_csv(parser)
    parser.add_argument("--seed", type=int, default=Request.seed, help="(%(default)s)")
    add_surface(parser)
    parser.add_argument(
        "--out", type=Path, metavar="PATH", help="the folder of the run; with --propose, the file for the parties"
    )
    add_json(parser)


def _add_csv(parser: Any) -> None:
    table = parser.add_argument_group("CSV files (.csv, .csv.gz): a column for each HP, and one of losses or scores")
    table.add_argument("--space", type=Path, metavar="FILE", help="their search space, as JSON")
    table.add_argument(
        "--scoring", default=UNNAMED, metavar="NAME", help="what their scores are: any scikit-learn scorer"
    )
    table.add_argument("--loss-column", metavar="COL", help="the losses: lower is better (loss)")
    table.add_argument("--score-column", metavar="COL", help="the scores: higher is better (score)")
    table.add_argument("--negate", action="store_true", help="their numbers have the other sign")
    table.add_argument("--rows", metavar="ROWS", help="each party's rows, as a=120,b=90; or the column that has them")


def run(parsed: Namespace) -> dict[str, Any]:
    """Recommend one config from files of trials and, where parties have measured candidates, their answers."""
    options = options_of(AggregateOptions, parsed)
    paths = files_in(options.files)
    replies = [path for path in paths if is_reply(path)]
    letters, others = [read_reply_file(path) for path in replies], set(replies)
    trials = tuple(options.csv.trials([path for path in paths if path not in others]))
    check_copies(trials)
    for party in trials:
        if party.failed:
            tried = len(party.failed) + len(party.trials)
            note(f"{party.party}: {len(party.failed)} of {tried} trials failed, or ended early; they have no loss")
    box = SearchSpace.from_json(read_space(options.inside)) if options.inside else None
    if box is not None and (letters or options.propose is not None):
        raise InputError(
            "--inside takes files of trials alone: what parties measure again is in the space they searched"
        )
    if options.propose is not None and (options.propose < 1 or letters):
        raise InputError(f"--propose takes a number of at least 1 and files of trials alone, got {options.propose}")
    if options.propose is not None and not options.out:
        raise InputError("--propose writes a file for the parties: name it with --out")
    request = Request(
        seed=options.seed,
        surface=options.surface.choice(),
        objective=options.surface.objective,
        confirm=options.propose or (len(letters) and Request.confirm),
        trainings=0,
    )
    pairs = sum(len(party.trials) for party in trials)
    words = f"the loss surface of {len(trials):,} {'party' if len(trials) == 1 else 'parties'} with {pairs:,} trials"
    try:
        with messages.status(words):  # in a terminal alone: of thousands of parties it takes a while
            outcome = drive(recommend_from(trials, request, box), CarriedFiles(trials, tuple(letters)))
    except NotAnsweredError as waiting:
        return _proposed(waiting.step, options)
    return _finished(outcome, request, options)


def _proposed(step: Any, options: AggregateOptions) -> dict[str, Any]:
    """Write what the parties should measure."""
    if not isinstance(step, Confirm) or options.out is None:
        raise TypeError(f"files wait for a confirmation alone, not for {step.name!r}")
    data = step_file(step)
    write_whole(options.out, data)
    if not options.json:
        print_line(f"Written: {options.out}, {len(step.configs)} configs for every party to measure:")
        print_line(f"  flora answer DATA {options.out} --target COL --party NAME --out reply.json")
        print_line("Then give the replies to flora aggregate, together with the trials.")
    document: dict[str, Any] = json.loads(data)
    return document


def _finished(outcome: Outcome, request: Request, options: AggregateOptions) -> dict[str, Any]:
    """Show what came of it and, where a folder is named, write it as that of any run."""
    result: Result = replace(result_of(outcome, request, {}), command=options.typed)
    if not options.json:
        show_result(result, Console(), messages)
    if options.out:
        digests = {party.name: party.trials_digest for party in result.parties}
        folder = RunFolder(options.out, {"trials": digests, "seed": options.seed})
        folder.begin()
        folder.finish(result, outcome.found.trials, b"")
        if not options.json:
            show_written(result, options.out)
            if outcome.plan is not None:  # else nobody knows how they were searched
                note(f"To train where the parties can meet: {TRAINING}")
    return result.to_document()
