"""``flora search``: one party on its own, for an exchange by files."""

import json
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flora.cli.arguments import add_json, add_search, add_table
from flora.cli.options import SearchOptions, TableOptions, WorkOptions, stem
from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.cli.printing import messages, note
from flora.cli.table_arguments import TABLE_KINDS, add_jobs
from flora.core.files import write_whole
from flora.core.workers import workers
from flora.errors import DataError, InputError
from flora.models import family_of
from flora.outcome.console import progress_bars
from flora.problem.messages import Describe, DescribeReply, Search, SearchReply
from flora.problem.path import fits_in, path_of
from flora.problem.plan import SearchPlan
from flora.problem.trials import PartyTrials, check_party_name
from flora.program.request import Request
from flora.program.scoring import check_scoring, positive_class, scoring_notes, target_notes

if TYPE_CHECKING:
    from flora.party.party import Party  # what sees rows is imported where a command runs


@dataclass(frozen=True)
class PartySearchOptions:
    """What ``flora search`` was asked for."""

    data: str
    party: str | None
    table: TableOptions
    search: SearchOptions
    work: WorkOptions


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("data", metavar="DATA", help=f"the party's table ({TABLE_KINDS})")
    parser.add_argument("--party", metavar="NAME", help="the party's name (the file's)")
    add_table(parser)
    add_search(parser)
    add_jobs(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="TRIALS.json", help="the file that may leave")
    add_json(parser, "what may leave")


def run(parsed: Namespace) -> dict[str, Any]:
    """Run one party's search and write the file that may leave."""
    from flora.party.gate import Gate
    from flora.party.party import Party

    options = options_of(PartySearchOptions, parsed)
    out, request = options.work.out, options.search.request(options.table)
    name = options.party if options.party is not None else stem(options.data)
    check_party_name(name)
    storage = out.with_name(out.name + ".study.db")
    party = Party(name, options.table.open(options.data, note), storage)
    step, notes = _step(party, request)
    if out.exists() and PartyTrials.read(out).party != name:
        raise InputError(f"{out} holds the trials of another party; name another with --out")
    with workers(options.work.jobs) as spread, progress_bars([name], messages) as progress:
        reply = Gate(replace(party, spread=spread, progress=progress)).answer(step)
    if not isinstance(reply, SearchReply):
        raise TypeError(f"a search ends with its trials, got a {type(reply).__name__}")
    if reply.trials is None:
        raise DataError(f"party {name!r} {', '.join(reply.notes)}")
    write_whole(out, reply.trials.to_json().encode())
    if not options.work.json:
        _show(reply.trials, step.plan, (*notes, *reply.notes), out, storage)
    document: dict[str, Any] = json.loads(reply.trials.to_json())
    return document


def _step(party: "Party", request: Request) -> tuple[Search, tuple[str, ...]]:
    """Return the step that the aggregator would send, and what the party's table calls for to be said."""
    from flora.party.gate import Gate

    described = Gate(party).answer(Describe(request.schema, request.task))
    schema = request.schema or (described.schema if isinstance(described, DescribeReply) else None)
    if schema is None:
        raise TypeError("a description has a schema")
    plan = request.plan(schema.task)
    check_scoring(plan.scoring, None if len(schema.classes) == 1 else schema)
    plan = replace(plan, positive=positive_class(request.positive, plan.scoring, schema))
    chosen = schema.with_positive(plan.positive)
    notes = scoring_notes(plan.scoring, chosen, chosen=plan.positive is not None)
    asked_for = schema.task if request.schema else request.task
    return Search(plan, request.schema), (*target_notes(schema, asked_for), *notes, *described.notes)


def _show(found: PartyTrials, plan: SearchPlan, notes: Sequence[str], out: Path, storage: Path) -> None:
    for words in notes:
        note(f"note: {words}")
    failed = f", {len(found.failed)} failed" if found.failed else ""
    fits = fits_in([trial.config for trial in found.trials], path_of(plan, family_of(plan.family).passes_through))
    passed = f" with {len(found.trials)} losses" if len(found.trials) > fits else ""
    print_line(f"{fits} trials{passed}{failed}, best loss {found.best.loss:.4f} ({found.scoring})")
    if found.default is not None:
        print_line(f"loss of the default config: {found.default.loss:.4f}")
    print_line(f"Written: {out}, which is all that leaves; {storage} stays here")
