"""A party's side of a run: it brings steps to the party's gate, and takes what the gate lets leave."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import make_reply

from flora.core.codec import to_document
from flora.core.masks import Masking
from flora.core.workers import Map, workers
from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.foreground import Foreground
from flora.engines.nvflare.guard.rules import SERVER
from flora.engines.nvflare.kits.signatures import KitSigner
from flora.engines.nvflare.run.collective import BEAT, CHANNEL, REDUCE, CellCollective, message
from flora.engines.nvflare.run.service import watch_parent
from flora.engines.nvflare.run.site_settings import SiteSettings
from flora.engines.nvflare.run.tasks import ReplyHeader, StepHeader, fill, order_of
from flora.errors import CollectiveError, ConsentError
from flora.party.audit import AuditLog
from flora.party.consent import Consent
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.tables.table import open_table
from flora.problem.messages import Confirm, Search, Step
from flora.problem.private_messages import ConfirmPrivately, SearchPrivately, Survey
from flora.problem.wire import STEP, read_step

A = TypeVar("A")
B = TypeVar("B")

BEAT_SECONDS, MOST_BEATS = 1.0, 100  # between two of a party's; a second, of all parties together


@dataclass
class Pulse:
    """Tells the aggregator every second or two that this party is alive, and how far it is: counts only."""

    cell: Any
    hub: str
    parties: int = 1  # of the run
    step: int = 0
    done: int = 0
    total: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin to beat, until the process ends."""
        threading.Thread(target=self._beat, name="flora-pulse", daemon=True).start()

    def _beat(self) -> None:
        while not self.ended.wait(beat_seconds(self.parties)):
            self.now()

    def now(self) -> None:
        """Beat once."""
        document = {"step": self.step, "done": self.done, "total": self.total}
        with suppress(RuntimeError):  # at the end of a run NVFlare's messenger stops before its process does
            self.cell.core_cell.fire_and_forget(CHANNEL, BEAT, self.hub, message(document), optional=True)


def beat_seconds(parties: int) -> float:
    """Return the seconds between two beats: of many parties each beats less often, but twice before it counts as lost.

    >>> beat_seconds(3), beat_seconds(200), beat_seconds(5000)
    (1.0, 2.0, 3.0)
    """
    return min(max(BEAT_SECONDS, parties / MOST_BEATS), 3.0)


class FloraExecutor(Executor):  # type: ignore[misc]
    """Answers the aggregator's steps. The job brings no settings: all that decides is in the kit."""

    def __init__(self) -> None:
        super().__init__()
        self._pulse: Pulse | None = None

    def execute(self, task_name: str, shareable: Any, fl_ctx: Any, abort_signal: Any) -> Any:  # noqa: ARG002
        """Answer one step: a reply, a refusal, or the class of an error."""
        kit = Kit.open(Path(fl_ctx.get_workspace().get_root_dir()), "party")
        if self._pulse is None:
            end_earlier_process(kit)
            watch_parent()
        answer, text = self._answer(kit, shareable, fl_ctx, lambda: bool(abort_signal.triggered))
        return fill(make_reply(ReturnCode.OK), answer, text)

    def _answer(self, kit: Kit, shareable: Any, fl_ctx: Any, aborted: Callable[[], bool]) -> tuple[ReplyHeader, str]:
        """Answer, whatever happens: where nothing can be written down, as on a full disk, that alone leaves."""
        try:
            return self._written(kit, shareable, fl_ctx, aborted)
        except Exception as error:
            self.logger.exception("flora")
            cause = error.__cause__ or error
            number = cause.errno if isinstance(cause, OSError) else None
            why = type(cause).__name__ if number is None else os.strerror(number)
            return ReplyHeader("failed", f"its state cannot be used: {why}"), ""

    def _written(self, kit: Kit, shareable: Any, fl_ctx: Any, aborted: Callable[[], bool]) -> tuple[ReplyHeader, str]:
        foreground, log = Foreground(kit.state), AuditLog(kit.state / "audit.jsonl")
        try:
            return ReplyHeader("reply"), self._letter(kit, foreground, log, shareable, fl_ctx, aborted)
        except ConsentError as error:
            foreground.say(f"refused: {error}")
            answer = ReplyHeader("refused", str(error)[:500])
        except CollectiveError as error:
            foreground.say(f"left the training: {error}")
            answer = ReplyHeader("left", str(error)[:500])
        except Exception as error:  # whatever it is, its text may quote a row: only its class leaves
            foreground.say(f"could not answer: {type(error).__name__}: {error}")
            self.logger.exception("flora")
            answer = ReplyHeader("failed", type(error).__name__)
        log.record("no reply", kit.consortium.aggregator, f"{answer.state}: {answer.words}".encode())
        return answer, ""

    def _letter(
        self, kit: Kit, foreground: Foreground, log: AuditLog, shareable: Any, fl_ctx: Any, aborted: Callable[[], bool]
    ) -> str:
        """Return the text of the reply, as the party's gate lets it leave."""
        order, text = order_of(shareable, STEP.most)
        if order.version != version("flora-hpo"):
            raise ConsentError(f"this party has flora {version('flora-hpo')}, the aggregator {order.version!r:.20}")
        step = read_step(text)
        cell = fl_ctx.get_engine().get_cell()
        pulse = self._beating(cell, order)
        settings, consent = SiteSettings.read(kit), Consent.read(kit.path / "local" / "flora.json")
        began = time.monotonic()

        def stopped() -> bool:  # also while others are waited for in a sum: one that stalls holds nobody up for ever
            consent.check_seconds(time.monotonic() - began)
            return aborted()

        with _party(kit, settings, step, foreground, pulse) as party:
            gate = Gate(
                party,
                consent,
                log,
                kit.consortium.aggregator,
                (lambda shown: foreground.ask(shown, aborted)) if settings.ask else None,
                foreground.say,
                aborted,
                masks_of(kit, order),
            )
            return gate.letter(step, cell_collective(cell, order, kit.name, stopped) if step.together else None)

    def _beating(self, cell: Any, order: StepHeader) -> Pulse:
        if self._pulse is None:
            self._pulse = Pulse(cell, order.hub, len(order.parties))
            self._pulse.start()
        self._pulse.step, self._pulse.done, self._pulse.total = order.number, 0, 0
        self._pulse.now()
        return self._pulse


def cell_collective(cell: Any, order: StepHeader, party: str, stopped: Callable[[], bool]) -> CellCollective:
    """Return a party's end of the sums of one step."""
    where = order.sums or order.hub
    if where not in (SERVER, order.hub):
        raise CollectiveError(f"sums go to the aggregator alone, not to {where!r:.80}")
    if party not in order.parties:
        raise CollectiveError(f"party {party!r} is not among those who add up")

    def exchange(sent: Any, seconds: float) -> Any:
        return cell.core_cell.send_request(CHANNEL, REDUCE, where, sent, timeout=seconds)

    return CellCollective(order.parties.index(party), len(order.parties), order.number, exchange, stopped)


def masks_of(kit: Kit, order: StepHeader) -> Masking | None:
    """Return what masks the sums of one step, unless the aggregator asks for none: the party's consent decides then."""
    if not order.masked or len(order.parties) < 2:
        return None
    return Masking(order.parties, KitSigner(kit), f"{order.hub} {order.number}")


@contextmanager
def _party(kit: Kit, settings: SiteSettings, step: Step, foreground: Foreground, pulse: Pulse) -> Iterator[Party]:
    """Give the party for one step: its table as it is now, its workers, its study."""

    def training(party: str, done: int, total: int) -> None:  # noqa: ARG001  (there is one party here)
        pulse.done, pulse.total = done, total

    def progress(party: str, done: int, total: int) -> None:
        training(party, done, total)
        foreground.say(f"search: {done} of {total} trials")

    source = settings.data
    table = open_table(source.path, source.target, source.drop, source.format, like=step.schema)
    with workers(settings.jobs) as spread:
        counted = counting(spread, step, pulse)
        yield Party(kit.name, table, _study(kit, settings, step), counted, progress, training=training)


def counting(spread: Map, step: Step, pulse: Pulse) -> Map:
    """Return the same map, whose calls are counted where each of them measures one config."""
    if not isinstance(step, Confirm | ConfirmPrivately):
        return spread
    pulse.total = len(step.configs) + 1

    def counted(function: Callable[[A], B], items: Sequence[A]) -> list[B]:
        answers = spread(function, items)
        pulse.done = min(pulse.done + 1, pulse.total)
        return answers

    return counted


def _study(kit: Kit, settings: SiteSettings, step: Step) -> Path | None:
    """Return the file of a search: the same plan over the same file goes on, another begins anew."""
    if not isinstance(step, Search | SearchPrivately | Survey):
        return None
    digest = hashlib.sha256(step.plan.identity().encode())
    source = settings.data
    digest.update(hashlib.sha256(Path(source.path).read_bytes()).digest())
    digest.update(json.dumps([source.target, sorted(source.drop), to_document(source.format)]).encode())
    return kit.state / "studies" / f"{digest.hexdigest()[:20]}.db"


def end_earlier_process(kit: Kit) -> None:
    """End the process of an earlier run of this kit, if it is still there: one search at a time holds a study."""
    import psutil

    path, own = kit.state / "worker.json", psutil.Process()
    try:
        earlier = json.loads(path.read_bytes())
        process = psutil.Process(int(earlier["pid"]))
        if process.pid != own.pid and process.create_time() == earlier["created"]:
            process.kill()
            process.wait(10)
    except (OSError, ValueError, KeyError, psutil.Error):
        pass
    path.write_text(json.dumps({"pid": own.pid, "created": own.create_time()}), "utf-8")
