"""``flora aggregate``: the aggregator, on files alone: FLoRA over e-mail or a USB stick."""

import json
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from flora.aggregator.aggregation import aggregate
from flora.cli.arguments import add_json, add_surface
from flora.cli.options import SurfaceOptions, options_of
from flora.cli.printing import messages, print_line
from flora.cli.written import show_written
from flora.core.files import write_whole
from flora.engines.files import CarriedFiles, NotAnsweredError, is_reply, plan_of, read_reply_file, step_file
from flora.errors import InputError, TrialsError
from flora.models import FAMILIES, family_of
from flora.outcome.console import show_result
from flora.outcome.folder import RunFolder
from flora.problem.messages import Confirm
from flora.problem.space import SearchSpace
from flora.problem.space_formats import read_space
from flora.problem.trials import PartyTrials
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.result import Result, result_of
from flora.program.single_shot import Outcome, confirm


@dataclass(frozen=True)
class AggregateOptions:
    """What ``flora aggregate`` was asked for."""

    files: tuple[str, ...]
    propose: int | None
    space: Path | None
    scoring: str
    seed: int
    surface: SurfaceOptions
    out: Path | None
    json: bool
    typed: str


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="files of flora search and flora answer, or CSV with --space"
    )
    parser.add_argument(
        "--propose", type=int, metavar="K", help="write K candidates that all parties should measure (flora answer)"
    )
    parser.add_argument("--space", type=Path, metavar="FILE", help="the search space of the CSV files, as JSON")
    parser.add_argument(
        "--scoring", default="score", help="what the score column of the CSV files is, as balanced_accuracy"
    )
    parser.add_argument("--seed", type=int, default=Request.seed, help="(%(default)s)")
    add_surface(parser)
    parser.add_argument(
        "--out", type=Path, metavar="PATH", help="the folder of the run; with --propose, the file for the parties"
    )
    add_json(parser)


def run(parsed: Namespace) -> dict[str, Any]:
    """Recommend one config from files of trials and, where parties have measured candidates, their answers."""
    options = options_of(AggregateOptions, parsed)
    paths = [Path(path) for path in options.files]
    letters = [read_reply_file(path) for path in paths if is_reply(path)]
    trials = _trials([path for path in paths if not is_reply(path)], options)
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
    try:
        outcome = _outcome(CarriedFiles(trials, tuple(letters)), request)
    except NotAnsweredError as waiting:
        return _proposed(waiting.step, options)
    return _finished(outcome, request, options)


def _outcome(engine: CarriedFiles, request: Request) -> Outcome:
    """Run the part of the program that files can carry: all but the agreement on columns and the training."""
    family = engine.trials[0].family if engine.trials else None
    known = family_of(family) if family in FAMILIES else None  # no module is imported because a file names it
    found = aggregate(engine.trials, request.surface, request.seed, known)
    plan = plan_of(engine.trials, request.seed)
    if not request.confirm:
        return Outcome(found, plan)
    if plan is None:
        raise TrialsError(
            f"party {found.trials[0].party!r}: without a family, a task and folds its trials cannot be confirmed"
        )
    return Outcome(drive(confirm(found, plan, None, request), engine), plan)


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
    return result.to_document()


def _trials(paths: Sequence[Path], options: AggregateOptions) -> tuple[PartyTrials, ...]:
    space = SearchSpace.from_json(read_space(options.space)) if options.space else None
    return tuple(_read_trials(path, space, options.scoring) for path in paths)


def _read_trials(path: Path, space: SearchSpace | None, scoring: str) -> PartyTrials:
    if path.suffix.lower() != ".csv":
        return PartyTrials.read(path)
    if space is None:
        raise InputError(f"{path}: CSV files need --space FILE, the search space as JSON")
    return PartyTrials.from_csv(path, space, scoring=scoring)
