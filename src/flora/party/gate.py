"""The party's gate: what stands between a party and whatever carries its replies.

An engine brings a step to the gate and takes a reply from it. Here, and in no engine, the party's consent is asked,
a person says yes where that is wished, time and sizes are limited, and all that leaves is written down beforehand.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flora.core.codec import to_document
from flora.core.collective import Collective, Integers, Masks, PassesOn
from flora.core.workers import one_thread
from flora.errors import CollectiveError, ConsentError
from flora.party.account import SPENT, Payment, check_payment, paid_in
from flora.party.audit import AuditLog
from flora.party.consent import Consent
from flora.party.party import Party
from flora.problem.messages import Reply, Step, Train
from flora.problem.private_messages import ConfirmPrivately, Survey
from flora.problem.wire import reply_text, step_text

Say = Callable[[str], None]
Ask = Callable[[str], bool]


def _nobody_hears(text: str) -> None:
    """Say nothing."""


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Gate:
    """One party's gate. Without a log nothing is written down, without a person nobody is asked."""

    party: Party
    consent: Consent = field(default_factory=Consent.of_everything)
    log: AuditLog | None = None
    to: str = "the aggregator"  # in the log: where it went
    person: Ask | None = None
    say: Say = _nobody_hears
    stopped: Callable[[], bool] = _never
    masks: Masks | None = None  # under which sums leave
    paid: list[Payment] = field(default_factory=list, repr=False, compare=False)  # of epsilon, where there is no log

    @property
    def name(self) -> str:
        """The party's name."""
        return self.party.name

    @property
    def watches_nothing(self) -> bool:
        """Whether it lets everything pass unseen: the gate of a party that is only simulated."""
        return self.log is None and self.person is None and self.consent == Consent.of_everything()

    def answer(self, step: Step, collective: Collective | None = None) -> Reply:
        """Return what may leave as the reply to a step; when this returns, it is written down."""
        reply = self._reply(step, collective)
        if self.log is not None or self.person is not None:
            self._leaves(step, reply_text(reply, step))
        return reply

    def letter(self, step: Step, collective: Collective | None = None) -> str:
        """Return the same as text, for an engine that carries it to another machine."""
        text = reply_text(self._reply(step, collective), step)
        self._leaves(step, text)
        return text

    def _reply(self, step: Step, collective: Collective | None) -> Reply:
        self.consent.check(step)
        if step.together:
            if collective is not None:
                self.consent.check_sums(collective.size, masked=self.masks is not None)
            size, how = collective.size if collective else 1, "masked sums" if self.masks else "sums"
            self._confirm(step, f"take part in {step.name!r} with {size} parties: {how} leave", to_document(step))
        self.consent.check_rows(self.party.source.count)
        began = time.monotonic()

        def stopped() -> bool:
            self.consent.check_seconds(time.monotonic() - began)
            return self.stopped()

        def report(party: str, done: int, total: int) -> None:
            self.party.progress(party, done, total)
            if stopped():
                raise CollectiveError("the run was stopped")

        self.say(f"{step.name}: begins")
        with one_thread(), self._sums(step, collective, stopped) as watched:
            reply = replace(self.party, progress=report).answer(step, watched)
        stopped()
        self.say(f"{step.name}: done in {time.monotonic() - began:.1f} s")
        return self.consent.apply(step, reply)

    @contextmanager
    def _sums(
        self, step: Step, collective: Collective | None, stopped: Callable[[], bool]
    ) -> Iterator[Collective | None]:
        """Write down that sums leave, before the first and after the last, however the exchange ends."""
        if collective is None or not step.together:
            yield collective
            return
        watched = WatchedCollective(collective, stopped)
        if self.log is not None:
            self.log.record(f"{step.name}: sums begin", self.to, b"", self._company(collective.size))
        try:
            line = watched if self.masks is None else self.masks.begin(watched, step_text(step))
            self._pay(step)  # now that all are there: nothing is spent on a step that cannot begin
            yield line
        finally:
            if self.log is not None:
                note = (
                    f"{watched.calls} messages of {watched.sent} bytes; the data is the SHA-256 of all of them in order"
                )
                self.log.record(f"{step.name}: sums", self.to, watched.digest.hexdigest().encode(), note)
            waited = f"{watched.waiting:.1f} s of it waiting"
            self.say(f"{step.name}: {watched.calls} sums, {watched.sent} bytes out, {watched.received} in, {waited}")

    def _pay(self, step: Step) -> None:
        """Count what a step under noise costs, if it may be spent."""
        if not isinstance(step, Survey) or step.epsilon is None:
            return
        due = Payment.of(step, step.epsilon)
        check_payment(self.paid if self.log is None else paid_in(self.log), due, self.consent.epsilon)
        self.paid.append(due)
        if self.log is not None:
            self.log.record(SPENT, self.to, b"", due.note)

    def _company(self, size: int) -> str:
        """Return with whom sums are made, and whether under masks, in words for the log."""
        if self.masks is None:
            return f"{size} parties, no masks: the aggregator can read what this party adds"
        others = ", ".join(party for party in self.masks.parties if party != self.name)
        if len(others) > 600:  # a line has room for so many
            others = f"{others[:600]}... (the SHA-256 of all names: {hashlib.sha256(others.encode()).hexdigest()})"
        subtracts = "; the other can subtract its own share" if size == 2 else ""
        return f"{size} parties, masked, with {others}{subtracts}"

    def _confirm(self, step: Step, what: str, shown: Any) -> None:
        """Show the person what is at stake, and go on only with a yes."""
        if self.person is not None and not self.person(f"{what}\n{json.dumps(shown, indent=1)}"):
            raise ConsentError(f"the administrator of {self.name!r} said no to {step.name!r}")

    def _leaves(self, step: Step, text: str) -> None:
        """Let a reply leave: shown first if so wished, and written down."""
        if not isinstance(step, Train | Survey | ConfirmPrivately):  # made of sums, to which the person has said yes
            self._confirm(step, f"send this reply to {step.name!r}", json.loads(text))
        if self.log is not None:
            self.log.record(f"{step.name}: reply", self.to, text.encode())
        self.say(f"{step.name}: sent {len(text)} bytes to {self.to}")


@dataclass
class WatchedCollective(PassesOn):
    """A party's end of a collective: each call is counted, digested and in time."""

    inner: Collective
    stopped: Callable[[], bool]
    calls: int = 0
    sent: int = 0  # bytes
    received: int = 0
    waiting: float = 0.0  # seconds
    digest: Any = field(default_factory=hashlib.sha256)  # over all that was sent, in order

    def add_integers(self, values: Integers) -> Integers:
        """Return the parties' elementwise sum modulo 2^64."""
        own = np.ascontiguousarray(values, dtype=np.int64)
        with self._counted(own.tobytes()):
            total = self.inner.add_integers(values)
        self.received += total.nbytes
        return total

    def allgather(self, data: bytes) -> Sequence[bytes]:
        """Return every party's bytes."""
        with self._counted(data):
            found = self.inner.allgather(data)
        self.received += sum(map(len, found))
        return found

    @contextmanager
    def _counted(self, data: bytes) -> Iterator[None]:
        if self.stopped():
            raise CollectiveError("the run was stopped")
        self.digest.update(data)
        self.calls, self.sent = self.calls + 1, self.sent + len(data)
        began = time.perf_counter()
        yield
        self.waiting += time.perf_counter() - began
