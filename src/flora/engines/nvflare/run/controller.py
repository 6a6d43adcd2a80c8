"""The aggregator's side of a run: it drives the program, keeps the answers and adds up. It sees no rows."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

from nvflare.apis.controller_spec import Task
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable

from flora.core.codec import to_document
from flora.core.files import write_whole
from flora.core.rules import MOST_TEXT
from flora.engines.files import carried_texts, with_files
from flora.engines.nvflare.foreground import Foreground
from flora.engines.nvflare.guard.rules import SERVER
from flora.engines.nvflare.run.adder import FarHub
from flora.engines.nvflare.run.collective import BEAT, CHANNEL, REDUCE, answer_call, header_of, send_answer, sender_of
from flora.engines.nvflare.run.ending import Ending
from flora.engines.nvflare.run.heartbeats import Heartbeats, patience_with
from flora.engines.nvflare.run.hub import Hub, HubAnswer
from flora.engines.nvflare.run.job import NAME, RESULT, STATUS, Run
from flora.engines.nvflare.run.service import watch_parent
from flora.engines.nvflare.run.tasks import StepHeader, answer_of, failure_of, fill
from flora.errors import FloraError, InputError
from flora.models import family_of
from flora.problem.messages import Reply, Step, Train
from flora.problem.wire import most_reply, read_reply, step_text
from flora.program.drive import drive, timed
from flora.program.journal import Journal
from flora.program.result import MODEL, Result, result_of
from flora.program.single_shot import Outcome, single_shot
from flora.program.status import PartyStatus, RunStatus, State

LAG = 4.0  # seconds between two looks after which nobody's silence says anything: this process itself stood still


MISSING = {
    "run": "it was lost, and the run went on without it",
    "late": "it was late, and the run went on without it",
    "training": "it was lost in the training",
}


class PartyMissingError(FloraError):
    """Parties that gave no sign of life in a step, or have not answered it in time."""

    def __init__(self, state: Literal["lost", "late"], parties: Sequence[str], step: str, why: str) -> None:
        super().__init__(f"{'party' if len(parties) == 1 else 'parties'} {' and '.join(map(repr, parties))} {why}")
        self.ending = Ending(state, str(self), tuple(parties), step)


class StoppedError(FloraError):
    """The run was aborted from outside."""


@dataclass
class Asked:
    """One step under way."""

    step: Step
    number: int
    parties: list[str]  # all who take part
    targets: list[str]  # those whose answer is not known yet
    replies: dict[str, Reply] = field(default_factory=dict)
    fault: FloraError | None = None  # the first that came; being left in a training is never the cause
    left: str = ""
    began: float = field(default_factory=time.monotonic)

    @property
    def missing(self) -> list[str]:
        """Those whose answer has not come."""
        return [party for party in self.targets if party not in self.replies]


class FloraController(Controller):  # type: ignore[misc]
    """Runs in the aggregator's process of one run."""

    def __init__(self, run: str) -> None:
        super().__init__()
        self.run = run  # NVFlare wants to find its arguments again
        self._heartbeats, self._over = Heartbeats(), Event()
        self._asked: Asked | None = None
        self._hub: Hub | FarHub | None = None
        self._number, self._seconds = 0, dict[str, float]()
        self._trainings = 0  # that the program has come to, those with answers included

    def start_controller(self, fl_ctx: Any) -> None:
        """Listen to the parties."""
        engine = fl_ctx.get_engine()
        self._cell = engine.get_cell().core_cell
        self._name = engine.get_cell().get_fqcn()
        self._plan = Run.from_json(self.run)
        self._heartbeats.patience = patience_with(len(self._plan.parties))
        root = Path(fl_ctx.get_workspace().get_root_dir())
        self._foreground = Foreground(root / "state")
        self._journal = Journal(root / "state" / "runs" / self._plan.folder, self._plan.identity)
        self._result = Path(fl_ctx.get_workspace().get_run_dir(fl_ctx.get_job_id())) / RESULT
        self._cell.register_request_cb(CHANNEL, REDUCE, self._on_reduce)
        self._cell.register_request_cb(CHANNEL, BEAT, self._on_beat)
        engine.register_app_command(STATUS, self._on_status)
        Thread(target=self._tick, name="flora-tick", daemon=True).start()
        Thread(target=self._load, name="flora-load", daemon=True).start()  # while the parties answer the first step
        watch_parent()

    def _load(self) -> None:
        """Load the modules that are needed after the first step: it takes a second, and nobody waits for it now."""
        with suppress(Exception):  # what cannot be loaded says so where it is used
            family_of(self._plan.request.family)

    def stop_controller(self, fl_ctx: Any) -> None:  # noqa: ARG002
        """Let nobody wait any longer."""
        self._over.set()
        if self._hub is not None:
            self._hub.close("the run is over")

    def process_result_of_unknown_task(self, *_: Any, **__: Any) -> None:
        """Ignore an answer that came too late."""

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        """Drive the program to its end and write down what came of it."""
        self._abort, self._context = abort_signal, fl_ctx
        try:
            given = carried_texts(self._plan.given)
            ask = with_files(given, self._ask) if given.trials else self._ask
            outcome = drive(single_shot(self._plan.request), timed(ask, self._seconds))
            result = result_of(outcome, self._plan.request, self._seconds)
            missing = {party: MISSING[extent] for party, extent in sorted(self._plan.left_out.items())}
            notes = [f"{party}: {words}" for party, words in missing.items()]
            self._write(replace(result, notes=(*result.notes, *notes), missing=missing), outcome)
            self._end(Ending("finished"))
        except PartyMissingError as error:
            self._end(error.ending)
        except StoppedError:
            self._end(Ending("stopped"))
        except FloraError as error:
            self._end(Ending("failed", str(error)[:MOST_TEXT], input=isinstance(error, InputError)))
        except Exception as error:
            self.logger.exception("flora")
            self._end(Ending("failed", f"{type(error).__name__}: {error}"[:MOST_TEXT]))

    def _write(self, result: Result, outcome: Outcome) -> None:
        """Write what the scientist fetches: the result, the trials in the parties' order, and the model."""
        for number, trials in enumerate(outcome.found.trials):
            write_whole(self._result / "trials" / f"{number:05d}.json", trials.to_json().encode())
        write_whole(self._result / MODEL, outcome.model)
        write_whole(self._result / "result.json", result.to_text().encode())

    def _end(self, ending: Ending) -> None:
        self._foreground.say(f"run: {ending.state}{': ' + ending.error if ending.error else ''}")
        ending.write(self._result)

    # -- one step

    def _ask(self, step: Step) -> list[Reply]:
        """Ask those whose answer the journal does not have; in a training, all or nobody."""
        parties = self._plan.asked(training=step.name == "train")
        self._trainings += isinstance(step, Train)
        known, missing = self._journal.known(step, parties)
        if not missing:
            self._foreground.say(f"{step.name}: the answers are there already")
            return list(known.values())
        self._number += 1
        asked = self._asked = Asked(step, self._number, parties, missing)
        self._hub = self._begun_hub(parties) if step.together else None
        began = time.perf_counter()
        self._heartbeats.forget_counts()
        self._foreground.say(f"{step.name}: asking {', '.join(asked.targets)}")
        self._collect(asked)
        if self._hub is not None:
            self._hub.tick()
        self._foreground.say(f"{step.name}: done in {time.perf_counter() - began:.1f} s")
        return list({**known, **asked.replies}.values())

    def _begun_hub(self, parties: Sequence[str]) -> Hub | FarHub:
        """Return what adds up in a step: where the parties' lines end or, in another's network, here."""
        return FarHub.begun(self._cell, self._number, parties) or Hub(self._number, parties, self._send)

    def _collect(self, asked: Asked) -> None:
        """Send the step and wait for all answers, or for the first reason not to."""
        task = Task(NAME, data=self._order(asked), result_received_cb=self._on_result)
        self.broadcast(task, self._context, targets=asked.targets, min_responses=len(asked.targets))
        self._heartbeats.listen()
        looked = time.monotonic()
        try:
            while asked.missing:
                if time.monotonic() - looked > LAG:
                    self._heartbeats.listen()
                looked = time.monotonic()
                self._check(asked)
                time.sleep(0.1)
            self._check(asked)
        except FloraError as error:
            if self._hub is not None:
                self._hub.close(str(error))
            raise
        finally:
            self.cancel_task(task, fl_ctx=self._context)

    def _check(self, asked: Asked) -> None:
        gone, name = self._gone(asked.missing), asked.step.name
        if self._abort.triggered and not gone:  # where all are gone, NVFlare has stopped the run, and nobody else
            raise StoppedError("the run was stopped")
        if asked.fault is not None:
            raise asked.fault
        lost = [party for party in asked.missing if party in {*gone, *self._heartbeats.lost(asked.missing)}]
        if lost and (self._hub is not None or lost == asked.missing or self._abort.triggered):
            was = "was" if len(lost) == 1 else "were"
            raise PartyMissingError("lost", lost, name, f"{was} lost in the step {name!r}: no sign of life")
        limit = self._plan.deadline
        if limit is not None and self._hub is None and asked.missing and time.monotonic() - asked.began > limit:
            has = "has" if len(asked.missing) == 1 else "have"
            why = f"{has} not answered {name!r} within {limit:g} seconds (--deadline)"
            raise PartyMissingError("late", asked.missing, name, why)
        if self._hub is not None and self._hub.over:
            raise FloraError(f"the training ended: {self._hub.over}")
        if asked.left:
            raise FloraError(f"the training ended: {asked.left}")

    def _gone(self, parties: Sequence[str]) -> list[str]:
        """Return those who have been away from NVFlare's server for a minute."""
        if self.communicator is None:
            return []
        return [party for party in parties if self.communicator.get_client_disconnect_time(party)]

    def _order(self, asked: Asked) -> Any:
        masked = self._plan.request.masked
        sums = SERVER if isinstance(self._hub, FarHub) else ""
        order = StepHeader(asked.number, self._name, tuple(asked.parties), version("flora-hpo"), masked, sums)
        return fill(Shareable(), order, step_text(asked.step))

    def _on_result(self, client_task: Any, fl_ctx: Any) -> None:  # noqa: ARG002
        """Take one party's answer. NVFlare vouches for whose it is."""
        asked, party = self._asked, client_task.client.name
        if asked is None or party not in asked.targets:
            return
        self._heartbeats.heard(party)
        try:
            self._take(asked, party, client_task.result)
        except FloraError as error:
            asked.fault = asked.fault or error
        except Exception as error:  # nothing that a party sends may leave the run waiting
            self.logger.exception("flora")
            words = f"party {party!r} sent what cannot be read as an answer to {asked.step.name!r}"
            asked.fault = asked.fault or FloraError(f"{words} ({type(error).__name__})")
        client_task.result = None

    def _take(self, asked: Asked, party: str, result: Any) -> None:
        """Take over what a party sent: its reply, which is kept as it came, or why there is none."""
        name = asked.step.name
        try:
            answer, text = answer_of(result, most_reply(asked.step))
        except InputError as error:
            why = failure_of(result) or str(error)
            raise FloraError(f"party {party!r} sent no answer of ours to {name!r}: {why}") from error
        if answer.state == "refused":
            raise FloraError(f"party {party!r} refused {name!r}: {answer.words}")
        if answer.state == "failed":
            raise FloraError(f"party {party!r} could not answer {name!r} ({answer.words}); its own screen says why")
        if answer.state == "left":
            asked.left = answer.words
            return
        reply = read_reply(text, asked.step, f"the reply of {party!r} to {name!r}")
        if reply.party != party:
            raise FloraError(f"party {party!r} sent a reply in the name of {reply.party!r}")
        self._journal.keep(asked.step, reply, text)
        asked.replies[party] = reply
        self._foreground.say(f"{name}: {party} has answered")

    # -- messages beside the steps

    def _on_reduce(self, request: Any) -> Any:
        hub = self._hub if isinstance(self._hub, Hub) else None
        if hub is not None:
            self._heartbeats.heard(sender_of(request)[0])
        return answer_call(hub, request)

    def _send(self, address: Any, answer: HubAnswer) -> None:
        send_answer(self._cell, address, answer)

    def _on_beat(self, request: Any) -> None:
        party, _ = sender_of(request)
        try:
            document = header_of(request)
            if party in self._plan.parties:
                counts = (int(document["done"]), int(document["total"])) if document["step"] == self._number else None
                self._heartbeats.heard(party, counts)
        except (ValueError, KeyError, TypeError, OverflowError):
            return

    def _tick(self) -> None:
        while not self._over.wait(1.0):
            if self._hub is not None:
                self._hub.tick()

    def _on_status(self, topic: str, data: Any, fl_ctx: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return how far the run is, as NVFlare carries it."""
        return to_document(self._status())

    def _status(self) -> RunStatus:
        asked = self._asked
        if asked is None:
            return RunStatus()
        missing, step = asked.missing, asked.step
        states: dict[str, State] = dict.fromkeys(missing, "works")
        states |= dict.fromkeys(self._heartbeats.quiet(missing), "quiet")
        states |= dict.fromkeys(self._heartbeats.lost(missing), "silent")
        parties = {
            party: PartyStatus(states.get(party, "has answered"), *self._heartbeats.counts(party))
            for party in asked.parties
        }
        status = RunStatus(step.name, asked.number, parties, self._hub.awaited if self._hub is not None else ())
        if not isinstance(step, Train):
            return status
        return replace(status, training=self._trainings, fold=step.fold, folds=step.folds, passes=step.passes)
