"""The aggregator's end of the collective: it adds up and answers when the last party has come.

It holds no thread while it waits. A call may be repeated, as a party does when no answer came in time: what was given
is kept, and the last sum is handed out again. No call can be complete without a party, so one from before the last is
a message that was under way for long, and nobody waits for its answer.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any

import numpy as np

from flora.core.collective import sum_of_integers
from flora.core.rules import Sentence, Total
from flora.errors import WireError

MOST_BYTES = 256 * 2**20  # of one contribution
MOST_AXES = 8
PATIENCE = 5.0  # seconds after which a waiting party is told to ask again, so that both sides know of each other
LONG = 30.0  # seconds after which it is worth a word that others wait
KINDS = ("add", "gather")  # "add" is of whole numbers, modulo 2^64


@dataclass(frozen=True)
class Call:
    """What a party's message says about itself. ``kind`` "again" repeats a call of which no answer came."""

    step: Total
    number: Total
    kind: Sentence
    shape: tuple[Total, ...] = ()

    def __post_init__(self) -> None:
        if len(self.shape) > MOST_AXES:
            raise WireError(f"a call's shape has at most {MOST_AXES} axes, got {len(self.shape)}")

    @property
    def words(self) -> str:
        """The call in words, to be compared between parties."""
        return "gathering" if self.kind == "gather" else f"sum of shape {self.shape}"

    def fault(self, size: int) -> str | None:
        """Return what is wrong with a contribution of ``size`` bytes, or None."""
        if self.kind not in KINDS:
            return f"a call of the kind {self.kind!r:.20}"
        if size > MOST_BYTES:
            return f"a message of {size} bytes, where {MOST_BYTES} are allowed"
        if self.kind != "gather" and size != 8 * math.prod(self.shape):
            return f"{size} bytes for a {self.words}"
        return None


@dataclass(frozen=True)
class HubAnswer:
    """What goes back: "ok" with a sum or all parts, "wait", or "over" with a reason."""

    state: str
    number: int
    lengths: tuple[int, ...] = ()
    data: bytes = b""
    reason: str = ""


Address = Any  # where an answer goes; only the carrier knows what it is
Send = Callable[[Address, HubAnswer], None]


@dataclass
class Hub:
    """The exchange of one step. ``parties`` are in the order of their ranks."""

    step: int
    parties: Sequence[str]
    send: Send
    over: str = ""  # why nothing more is exchanged
    _number: int = 0
    _calls: dict[str, Call] = field(default_factory=dict)
    _parts: dict[str, bytes] = field(default_factory=dict)
    _first: float = 0.0  # when the first call of this round came
    _waiting: dict[str, tuple[Address, float]] = field(default_factory=dict)
    _last: HubAnswer | None = None
    _lock: Any = field(default_factory=Lock)

    def receive(self, party: str, address: Address, call: Call, data: bytes) -> HubAnswer | None:
        """Take a party's call. Return the answer if there is one already; else it is sent later."""
        with self._lock:
            answer = self._taken(party, address, call, data)
            full = len(self._parts) == len(self.parties) and not self.over
            ready = self._complete() if full else []
            if self.over:
                ready = self._everyone_waiting(HubAnswer("over", call.number, reason=self.over))
        for where, sent in ready:
            self.send(where, sent)
        return answer

    @property
    def awaited(self) -> tuple[str, ...]:
        """Who has not called yet while others have waited for long."""
        with self._lock:
            waited = bool(self._calls) and not self.over and monotonic() - self._first > LONG
            return tuple(party for party in self.parties if waited and party not in self._calls)

    def tick(self) -> None:
        """Tell who has waited for long to ask again. To be called every second or so."""
        with self._lock:
            late = {p: a for p, (a, since) in self._waiting.items() if monotonic() - since > PATIENCE}
            for party in late:
                del self._waiting[party]
            number = self._number
        for address in late.values():
            self.send(address, HubAnswer("wait", number))

    def close(self, reason: str) -> None:
        """Exchange nothing more: who waits, or comes later, is told why."""
        with self._lock:
            self.over = self.over or reason
            ready = self._everyone_waiting(HubAnswer("over", self._number, reason=self.over))
        for where, sent in ready:
            self.send(where, sent)

    def _taken(self, party: str, address: Address, call: Call, data: bytes) -> HubAnswer | None:
        if self.over:
            return HubAnswer("over", call.number, reason=self.over)
        if call.step < self.step and party in self.parties:  # under way since then: it ends nothing for the others
            return HubAnswer("over", call.number, reason=f"step {call.step} is over, this is step {self.step}")
        fault = self._fault(party, call, len(data))
        if fault:
            self.over = fault
            return HubAnswer("over", call.number, reason=fault)
        if self._last is not None and call.number == self._last.number:
            return self._last
        if (
            call.number < self._number
        ):  # the party has had that answer: this is a repetition that was under way for long
            return None
        if call.kind != "again":
            self._first = self._first if self._calls else monotonic()
            self._calls[party], self._parts[party] = call, data
        self._waiting[party] = (address, monotonic())
        return None

    def _fault(self, party: str, call: Call, size: int) -> str | None:
        """Return why a call cannot be taken, naming the party, or None."""
        if party not in self.parties:
            return f"party {party!r} is not in this training"
        if call.step != self.step:
            return f"party {party!r} sent a message of step {call.step}, this is step {self.step}"
        if call.number > self._number:
            return f"party {party!r} is out of step: it makes call {call.number}, the others call {self._number}"
        if call.kind == "again":
            return None
        fault = call.fault(size)
        return f"party {party!r} sent {fault}" if fault else None

    def _complete(self) -> list[tuple[Address, HubAnswer]]:
        """Make the answer of this round and begin the next one."""
        words = [self._calls[party].words for party in self.parties]
        if len(set(words)) > 1:
            self.over = f"parties are out of step: {', '.join(words)}"
            return []
        parts = [self._parts[party] for party in self.parties]
        kind = self._calls[self.parties[0]].kind
        if kind == "gather":
            self._last = HubAnswer("ok", self._number, tuple(map(len, parts)), b"".join(parts))
        else:
            total = sum_of_integers([np.frombuffer(part, dtype=np.int64) for part in parts])
            self._last = HubAnswer("ok", self._number, data=total.tobytes())
        self._number += 1
        self._calls, self._parts = {}, {}
        return self._everyone_waiting(self._last)

    def _everyone_waiting(self, answer: HubAnswer) -> list[tuple[Address, HubAnswer]]:
        waiting, self._waiting = self._waiting, {}
        return [(address, answer) for address, _ in waiting.values()]
