"""Sums are made where the parties' lines end: in the aggregator's first process, so that nobody passes them on.

Of a run's own process at the aggregator, which drives the run, come three orders: to begin an exchange, to say how it
is, and to end it. It says every second that it is there. Where it falls silent, the exchange ends: nobody waits for it.

NVFlare would pass each contribution on to the run's process, and each answer back: twice as many messages, encrypted
anew, and more than half of what the aggregator computes.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Literal, Self

from flora.core.codec import read, to_document
from flora.core.documents import object_in
from flora.core.rules import Name, Sentence, Total, one_line
from flora.engines.nvflare.guard.rules import SERVER, run_of
from flora.engines.nvflare.run.collective import (
    CHANNEL,
    REDUCE,
    answer_call,
    answer_to_message,
    header_of,
    message,
    send_answer,
    sender_of,
)
from flora.engines.nvflare.run.hub import Hub, HubAnswer
from flora.errors import WireError

ORDER = "hub"
ORDER_SECONDS = 10.0  # for an order and its answer, within one machine
TRIES = 3  # orders in a row without an answer: a busy machine may miss one
SILENCE = 60.0  # seconds without an order after which a run's process is taken for lost


@dataclass(frozen=True)
class HubOrder:
    """What a run's process says of its exchange."""

    what: Literal["begin", "look", "end"]
    step: Total = 0
    parties: tuple[Name, ...] = ()
    reason: Sentence = ""


@dataclass(frozen=True)
class State:
    """How an exchange is."""

    over: str
    awaited: tuple[Name, ...] = ()


@dataclass
class _Exchange:
    hub: Hub
    heard: float = field(default_factory=monotonic)  # when the run's process last gave a sign of life


class Adder:
    """Adds up for the runs of this aggregator, in the process at which the parties' lines end."""

    def __init__(self) -> None:
        self._exchanges: dict[str, _Exchange] = {}  # by run
        self._lock = Lock()
        self._over = Event()
        self._cell: Any = None

    def serve(self, cell: Any) -> None:
        """Listen to the parties and to the runs' processes, as long as this process lives."""
        self._cell = cell
        cell.register_request_cb(CHANNEL, REDUCE, self.on_call)
        cell.register_request_cb(CHANNEL, ORDER, self.on_order)
        Thread(target=self._tick, name="flora-adder", daemon=True).start()

    def on_call(self, request: Any) -> Any:
        """Take a party's call; return the answer if there is one already."""
        exchange = self._exchanges.get(sender_of(request)[1].partition(".")[2])
        return answer_call(exchange.hub if exchange else None, request)

    def on_order(self, request: Any) -> Any:
        """Follow an order of a run's process: the guard lets nobody else's through."""
        run = run_of(sender_of(request)[1], SERVER)
        try:
            order = read(HubOrder, header_of(request))
            if not run:
                raise WireError("only a run's own process begins and ends its sums")
            state = self._follow(run, order)
        except ValueError as error:
            logging.getLogger(__name__).warning("flora: an order that is none: %s", error)
            state = State(f"the aggregator's two processes do not understand each other ({error!s:.200})")
        return answer_to_message(HubAnswer("ok", 0, data=json.dumps(to_document(state)).encode()))

    def tick(self) -> None:
        """Tell who has waited for long to ask again, and end what nobody drives any more."""
        with self._lock:
            known = list(self._exchanges.values())
        for exchange in known:
            exchange.hub.tick()
            if monotonic() - exchange.heard > SILENCE:
                exchange.hub.close("the run's process at the aggregator gives no sign of life")

    def _follow(self, run: str, order: HubOrder) -> State:
        with self._lock:
            if order.what == "begin":
                self._end_all("another step has begun")  # the aggregator has one run at a time, and a run one step
                self._exchanges = {run: _Exchange(Hub(order.step, order.parties, self._send))}
            exchange = self._exchanges.get(run)
        if exchange is None:
            return State("no training is under way")
        exchange.heard = monotonic()
        if order.what == "end":
            exchange.hub.close(order.reason)
        return State(exchange.hub.over, exchange.hub.awaited)

    def _end_all(self, reason: str) -> None:
        for exchange in self._exchanges.values():
            exchange.hub.close(reason)

    def _send(self, address: Any, answer: HubAnswer) -> None:
        send_answer(self._cell, address, answer)

    def _tick(self) -> None:
        while not self._over.wait(1.0):
            self.tick()


@dataclass
class FarHub:
    """An exchange in the aggregator's first process, as the run's own process sees it."""

    cell: Any
    over: str = ""
    awaited: tuple[str, ...] = ()
    missed: int = 0  # orders in a row that were not answered

    @classmethod
    def begun(cls, cell: Any, step: int, parties: Sequence[str]) -> Self | None:
        """Begin an exchange; None where nobody there adds up, as in a network that NVFlare alone has set up."""
        made = cls(cell)
        return made if made._ordered(HubOrder("begin", step, tuple(parties))) else None

    def tick(self) -> None:
        """Say that the run's process is there, and hear how the exchange is. To be called every second or so."""
        self.missed = 0 if self._ordered(HubOrder("look")) else self.missed + 1
        if self.missed == TRIES:
            self.over = self.over or "the aggregator's first process does not answer"

    def close(self, reason: str) -> None:
        """Exchange nothing more: who waits, or comes later, is told why."""
        self._ordered(HubOrder("end", reason=one_line(reason)[:1000]))
        self.over = self.over or reason

    def _ordered(self, order: HubOrder) -> bool:
        """Give an order and take over the answer; False where there is none."""
        sent = message(to_document(order))
        received = self.cell.send_request(CHANNEL, ORDER, SERVER, sent, timeout=ORDER_SECONDS, optional=True)
        try:
            header_of(received)
            state = read(State, object_in(bytes(received.payload), "a state", WireError))
        except (ValueError, TypeError, AttributeError):
            return False
        self.over, self.awaited = self.over or state.over, state.awaited
        return True
