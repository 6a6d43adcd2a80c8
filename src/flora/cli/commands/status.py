"""``flora status``: who is connected, and how far a run is."""

from argparse import Namespace
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flora.cli.arguments import add_json
from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.cli.printing import note
from flora.cli.watch import add_address, watch_until_stopped
from flora.core.codec import read, to_document
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import AGGREGATOR, SCIENTIST, Kit
from flora.engines.nvflare.run.session import Session, session
from flora.errors import FloraError
from flora.outcome.live import Live, seen
from flora.outcome.progress import CONFIRMATIONS, RunProgress, iterations
from flora.problem.messages import Train
from flora.problem.trials import PartyTrials
from flora.program.journal import newest_search
from flora.program.request import Request
from flora.program.status import PartyStatus, RunStatus


@dataclass
class WatchedKit:
    """The run of a consortium; what parties have sent so far is known at the aggregator's own kit alone."""

    kit: Kit
    _progress: RunProgress | None = None
    _line: ExitStack = field(default_factory=ExitStack)
    _session: Session | None = None

    @property
    def name(self) -> str:
        """The consortium's name."""
        return self.kit.consortium.name

    def live(self) -> Live | None:
        """Return what the aggregator says of the run that is under way, if one is."""
        try:
            status = self._status()
        except FloraError:
            self._line.close()
            self._session = None
            return None
        if status is None or not status.step:
            self._progress = None
            return None
        self._progress = self._progress or RunProgress(sorted(status.parties), lambda _: None)
        self._progress.follow(status)
        stored, step, _ = newest_search(self.kit.state / "runs")
        request = read(Request, stored["request"]) if "request" in stored else Request()
        self._progress.plan = step.plan if step else None
        live = seen(self._progress, request)
        states = {name: party.state for name, party in status.parties.items()}
        return replace(live, parties=tuple(replace(each, state=states.get(each.name, "")) for each in live.parties))

    def _status(self) -> RunStatus | None:
        self._session = self._session or self._line.enter_context(session(self.kit))
        return next((found for job in self._session.running() if (found := self._session.status(job))), None)

    def trials(self, live: Live) -> list[PartyTrials]:  # noqa: ARG002  (WatchedRun's signature)
        """Return what the parties have sent."""
        return newest_search(self.kit.state / "runs")[2]

    def report(self) -> None:
        """Return none: who tunes has the report."""


@dataclass(frozen=True)
class StatusOptions:
    """What ``flora status`` was asked for."""

    kit: Path
    web: bool
    host: str
    port: int
    json: bool


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("kit", type=Path, metavar="KIT", help="the aggregator's folder, or the scientist's in it")
    parser.add_argument("--web", action="store_true", help="serve a page of the run: steps, parties, the surface")
    add_address(parser)
    add_json(parser, "it")


def run(parsed: Namespace) -> dict[str, Any] | None:
    """Show who is connected and how far a run is."""
    options = options_of(StatusOptions, parsed)
    require_nvflare()
    kit = Kit.open(options.kit, AGGREGATOR, SCIENTIST)
    if options.web:
        watch_until_stopped(WatchedKit(kit), options.host, options.port, note)
        return None
    with session(kit) as line:
        connected, jobs = line.connected(), line.running()
        status = next((found for job in jobs if (found := line.status(job))), None)
    now = status or RunStatus()
    entries = [_entry(name, name in connected, now.parties.get(name)) for name in kit.consortium.parties]
    document = {
        "consortium": kit.consortium.name,
        "runs": len(jobs),
        "step": status.step if status else None,
        "awaited": [name for name in kit.consortium.parties if name in now.awaited],
        "parties": entries,
    }
    if not options.json:
        _show(kit, document)
    return document


def _entry(name: str, connected: bool, found: PartyStatus | None) -> dict[str, Any]:
    doing = to_document(found) if found else dict.fromkeys(("state", "done", "total"))
    return {"name": name, "connected": connected, **doing}


def _count(done: int | None, most: int | None, step: str) -> str:
    """Return how far a party is with a step, in words."""
    if not done and not most:
        return ""
    if step == Train.name:
        return f", {iterations(done or 0, most or 0)}"
    return f", {done} of {most} {'configs' if step in CONFIRMATIONS else 'trials'}"


def _show(kit: Kit, document: Mapping[str, Any]) -> None:
    where = f"{kit.consortium.aggregator} port {kit.consortium.port}"
    under_way = f"a run is under way, at {document['step']!r}" if document["runs"] else "no run is under way"
    print_line(f"Consortium {kit.consortium.name}, aggregator {where}: {under_way}")
    if document["awaited"]:
        print_line(f"  a sum waits for {', '.join(document['awaited'])}")
    for entry in document["parties"]:
        count = _count(entry["done"], entry["total"], document["step"])
        doing = f", {entry['state']}{count}" if entry["state"] else ""
        print_line(f"  {entry['name']}: {'connected' if entry['connected'] else 'not connected'}{doing}")
