"""A party's side of a run: it answers steps as its consent allows, and writes down what left."""

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import make_reply

from flora.audit import AuditLog
from flora.consent import Consent
from flora.engines.nvflare.collective import BEAT, CHANNEL, REDUCE, CellCollective, message
from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.desk import Desk
from flora.engines.nvflare.service import watch_parent
from flora.errors import CollectiveError, ConsentError, FloraError
from flora.federation import Reply, Step
from flora.party import Party
from flora.plan import SearchPlan
from flora.table import read_table
from flora.wire import reply_to_json, step_from_json
from flora.workers import one_thread, workers

COLLECTIVE_STEPS = ("certify", "train")
BEAT_SECONDS = 1.0
FIELD = "flora"  # of NVFlare's message: all of ours, as JSON text
MOST_TEXT = 64 * 2**20


@dataclass(frozen=True)
class Settings:
    """What ``flora party`` was started with; it stays at the party."""

    data: str
    target: str
    drop: tuple[str, ...] = ()
    jobs: int = 1
    ask: bool = False

    def write(self, kit: Kit) -> None:
        """Keep the settings in the kit's state."""
        (kit.state / "party.json").write_text(json.dumps(vars(self)), "utf-8")

    @classmethod
    def read(cls, kit: Kit) -> "Settings":
        """Read what :meth:`write` kept."""
        document = json.loads((kit.state / "party.json").read_bytes())
        return cls(**{**document, "drop": tuple(document["drop"])})


@dataclass
class Pulse:
    """Tells the aggregator every second that this party is alive, and how far its search is: counts only."""

    cell: Any
    hub: str
    step: int = 0
    done: int = 0
    total: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin to beat, until the process ends."""
        threading.Thread(target=self._beat, name="flora-pulse", daemon=True).start()

    def _beat(self) -> None:
        while not self.ended.wait(BEAT_SECONDS):
            self.now()

    def now(self) -> None:
        """Beat once."""
        document = {"step": self.step, "done": self.done, "total": self.total}
        self.cell.core_cell.fire_and_forget(CHANNEL, BEAT, self.hub, message(document), optional=True)


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
        desk = Desk(kit.state / "desk")
        try:
            text = shareable.get(FIELD)
            if not isinstance(text, str) or len(text) > MOST_TEXT:
                raise FloraError("the aggregator sent no message of ours")
            order = json.loads(text)
            answer = {"reply": self._answered(kit, desk, order, fl_ctx, abort_signal)}  # written down already
        except ConsentError as error:
            desk.say(f"refused: {error}")
            answer = _noted(kit, {"refused": str(error)})
        except CollectiveError as error:
            desk.say(f"left the training: {error}")
            answer = _noted(kit, {"left": str(error)})
        except Exception as error:  # whatever it is, its text may quote a row: only its class leaves
            desk.say(f"could not answer: {type(error).__name__}: {error}")
            self.logger.exception("flora")
            answer = _noted(kit, {"failed": type(error).__name__})
        reply = make_reply(ReturnCode.OK)
        reply[FIELD] = json.dumps(answer)
        return reply

    def _answered(self, kit: Kit, desk: Desk, order: Any, fl_ctx: Any, abort_signal: Any) -> str:
        step, number, parties = step_from_json(order["step"]), int(order["number"]), list(order["parties"])
        if order["version"] != version("flora-hpo"):
            raise ConsentError(f"this party has flora {version('flora-hpo')}, the aggregator {order['version']!r:.20}")
        cell = fl_ctx.get_engine().get_cell()
        pulse = self._beating(cell, str(order["hub"]), number)
        settings = Settings.read(kit)
        consent = Consent.read(kit.path / "local" / "flora.json")
        consent.check(step)
        work = _Work(kit, desk, settings, step, pulse, abort_signal, consent)
        if step.name in COLLECTIVE_STEPS:
            work.confirm(f"take part in {step.name!r} with {', '.join(parties)}: sums leave", dict(step.payload))
        collective = CellCollective(
            parties.index(kit.name),
            len(parties),
            number,
            lambda sent, seconds: cell.core_cell.send_request(CHANNEL, REDUCE, pulse.hub, sent, timeout=seconds),
            work.stopped,
        )
        reply = consent.apply(step, work.answer(collective))
        return work.leaves(reply_to_json(reply))

    def _beating(self, cell: Any, hub: str, number: int) -> Pulse:
        if self._pulse is None:
            self._pulse = Pulse(cell, hub)
            self._pulse.start()
        self._pulse.step, self._pulse.done, self._pulse.total = number, 0, 0
        self._pulse.now()
        return self._pulse


@dataclass(frozen=True)
class _Work:
    """One step at one party."""

    kit: Kit
    desk: Desk
    settings: Settings
    step: Step
    pulse: Pulse
    abort_signal: Any
    consent: Consent
    began: float = field(default_factory=time.monotonic)

    def stopped(self) -> bool:
        """Return whether the run was stopped; raise where the step has taken longer than this party allows."""
        self.consent.check_seconds(time.monotonic() - self.began)
        return bool(self.abort_signal.triggered)

    def answer(self, collective: CellCollective) -> Reply:
        """Return the party's own reply."""
        settings = self.settings
        table = read_table(settings.data)
        with self._party(table) as party:
            self.consent.check_rows(int(table[settings.target].notna().sum()))
            self.desk.say(f"{self.step.name}: begins")
            began = time.perf_counter()
            with one_thread(), self._sums(collective):
                reply = party.answer(self.step, collective)
        self.stopped()
        self.desk.say(f"{self.step.name}: done in {time.perf_counter() - began:.1f} s")
        return reply

    @contextmanager
    def _party(self, table: Any) -> Iterator[Party]:
        settings = self.settings
        with workers(settings.jobs) as spread:
            yield Party(self.kit.name, table, settings.target, settings.drop, self._study(), spread, self._progress)

    def _study(self) -> Path | None:
        """Return the file of this search: the same plan over the same file goes on, another begins anew."""
        if self.step.name != "search":
            return None
        plan = SearchPlan.from_json(self.step.payload["plan"])
        digest = hashlib.sha256(plan.identity().encode())
        digest.update(hashlib.sha256(Path(self.settings.data).read_bytes()).digest())
        digest.update(json.dumps([self.settings.target, sorted(self.settings.drop)]).encode())
        return self.kit.state / "studies" / f"{digest.hexdigest()[:20]}.db"

    def _progress(self, party: str, done: int, total: int) -> None:  # noqa: ARG002  (there is one party here)
        self.pulse.done, self.pulse.total = done, total
        self.desk.say(f"search: {done} of {total} trials")
        if self.stopped():
            raise CollectiveError("the run was stopped")

    def confirm(self, what: str, shown: Any) -> None:
        """With ``--ask``: show the person what is at stake, and go on only with a yes."""
        if self.settings.ask:
            text = f"{what}\n{json.dumps(shown, indent=1)}"
            if not self.desk.ask(text, lambda: bool(self.abort_signal.triggered)):
                raise ConsentError(f"the administrator of {self.kit.name!r} said no to {self.step.name!r}")

    @contextmanager
    def _sums(self, collective: CellCollective) -> Iterator[None]:
        """Write down that sums leave, before the first and after the last, however the exchange ends."""
        if self.step.name not in COLLECTIVE_STEPS:
            yield
            return
        log, to, cost = _audit(self.kit), self.kit.consortium.aggregator, collective.cost
        log.record(f"{self.step.name}: sums begin", to, b"", f"{collective.size} parties")
        try:
            yield
        finally:
            note = f"{cost.calls} messages of {cost.sent} bytes; the data is the SHA-256 of all of them in order"
            log.record(f"{self.step.name}: sums", to, cost.digest.hexdigest().encode(), note)
            waited = f"{cost.waiting:.1f} s of it waiting"
            self.desk.say(f"{self.step.name}: {cost.calls} sums, {cost.sent} bytes out, {cost.received} in, {waited}")

    def leaves(self, text: str) -> str:
        """Let a reply leave: shown first if so wished, and written down."""
        if self.step.name != "train":
            self.confirm(f"send this reply to {self.step.name!r}", json.loads(text))
        _audit(self.kit).record(f"{self.step.name}: reply", self.kit.consortium.aggregator, text.encode())
        self.desk.say(f"{self.step.name}: sent {len(text)} bytes to the aggregator")
        return text


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


def _audit(kit: Kit) -> AuditLog:
    return AuditLog(kit.state / "audit.jsonl")


def _noted(kit: Kit, answer: dict[str, str]) -> dict[str, str]:
    """Write down a refusal or an error's class, which leave too."""
    _audit(kit).record("no reply", kit.consortium.aggregator, json.dumps(answer).encode())
    return answer
