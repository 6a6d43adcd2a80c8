"""``flora answer``: a step that came as a file, answered at one party with a file."""

import json
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.arguments import add_json, add_table
from flora.cli.options import TableOptions, WorkOptions, stem
from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.cli.printing import note
from flora.cli.table_arguments import TABLE_KINDS, add_jobs
from flora.core.files import write_whole
from flora.core.workers import workers
from flora.engines.files import read_reply_file, read_step_file
from flora.errors import InputError
from flora.problem.messages import Confirm, ConfirmReply
from flora.problem.trials import check_party_name
from flora.problem.wire import reply_text
from flora.program.request import Request
from flora.program.scoring import check_scoring


@dataclass(frozen=True)
class AnswerOptions:
    """What ``flora answer`` was asked for."""

    data: str
    step: Path
    party: str | None
    model: str | None
    table: TableOptions
    work: WorkOptions


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("data", metavar="DATA", help=f"the party's table ({TABLE_KINDS})")
    parser.add_argument("step", type=Path, metavar="STEP", help="the file of flora aggregate --propose")
    parser.add_argument("--party", metavar="NAME", help="the party's name, as in its search (the file's)")
    parser.add_argument("--model", metavar="NAME", help="only for package.module:Estimator: the one that you trust")
    add_table(parser)
    add_jobs(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="REPLY.json", help="the file that may leave")
    add_json(parser, "what may leave")


def run(parsed: Namespace) -> dict[str, Any]:
    """Measure at one party what the aggregator proposes, and write the file that may leave."""
    from flora.party.gate import Gate
    from flora.party.party import Party

    options = options_of(AnswerOptions, parsed)
    step, out = _step(options), options.work.out
    name = options.party if options.party is not None else stem(options.data)
    check_party_name(name)
    if out.exists() and read_reply_file(out).reply.party != name:
        raise InputError(f"{out} holds the answer of another party; name another with --out")
    with workers(options.work.jobs) as spread:
        table = options.table.open(options.data, note)
        reply = Gate(Party(name, table, spread=spread)).answer(step)
    text = reply_text(reply, step)
    write_whole(out, text.encode())
    if not options.work.json and isinstance(reply, ConfirmReply):
        best = max(reply.confirmations, key=lambda each: each.gain)
        print_line(f"{len(step.configs)} configs measured beside the default on fresh folds ({step.plan.scoring})")
        print_line(f"best gain over the default here: {best.gain:+.4f} ± {best.gain_error:.4f} (standard error)")
        print_line(f"Written: {out}, which is all that leaves")
    document: dict[str, Any] = json.loads(text)
    return document


def _step(options: AnswerOptions) -> Confirm:
    """Return the step of a file, if it is one that can be answered without the others, and asks for no other code."""
    step = read_step_file(options.step)
    if not isinstance(step, Confirm):
        raise InputError(f"{options.step}: {step.name!r} is not answered by a file, {Confirm.name!r} is")
    family = step.plan.family
    if ":" in family and family != options.model:
        raise InputError(
            f"{options.step} names the model {family!r:.80}, and to use it is to run its package; "
            f"if you trust it, say --model {family:.80}"
        )
    request = Request(family=family, scoring=step.plan.scoring, space=step.plan.space.to_json())
    check_scoring(request.plan(step.plan.task).scoring)  # what a search would refuse
    given = options.table.consortium_schema()
    return step if given is None else Confirm(step.plan, given, step.configs)
