"""Sums in the aggregator's first process, begun and ended by a run's own process, over NVFlare's real messages."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Queue
from typing import Any

import numpy as np
import pytest
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.cellnet.utils import make_reply

from flora.engines.nvflare.guard.rules import SERVER
from flora.engines.nvflare.run import adder as adder_module
from flora.engines.nvflare.run import hub as hub_module
from flora.engines.nvflare.run.adder import ORDER, Adder, FarHub
from flora.engines.nvflare.run.collective import CHANNEL, REDUCE, CellCollective, message
from flora.errors import CollectiveError

RUN, OTHER = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"
PARTIES = ("north", "south")


@dataclass
class Cell:
    """The aggregator's first cell: it calls back who has registered, and brings late answers to who waits."""

    callbacks: dict[tuple[str, str], Callable[[Any], Any]] = field(default_factory=dict)
    waiting: dict[str, Queue[Any]] = field(default_factory=dict)

    def register_request_cb(self, channel: str, topic: str, callback: Callable[[Any], Any]) -> None:
        self.callbacks[channel, topic] = callback

    def send_reply(self, reply: Any, to_cell: str, for_req_ids: list[str], optional: bool) -> None:
        assert optional
        assert for_req_ids == [f"request of {to_cell}"]
        self.waiting[to_cell].put(reply)

    def sent(self, origin: str, channel: str, topic: str, request: Any) -> Any:
        """Return the answer to a message, at once or later."""
        if (channel, topic) not in self.callbacks:
            return make_reply(ReturnCode.PROCESS_EXCEPTION, error="no callback")
        answers = self.waiting[origin] = Queue()
        request.set_header(MessageHeaderKey.ORIGIN, origin)
        request.set_header(MessageHeaderKey.REQ_ID, f"request of {origin}")
        return self.callbacks[channel, topic](request) or answers.get(timeout=10)


@dataclass
class RunsCell:
    """The cell of a run's own process at the aggregator."""

    first: Cell
    name: str = f"{SERVER}.{RUN}"

    def send_request(self, channel: str, topic: str, target: str, request: Any, timeout: float, optional: bool) -> Any:
        assert (target, timeout > 0, optional) == (SERVER, True, True)
        return self.first.sent(self.name, channel, topic, request)


@pytest.fixture
def adder() -> Adder:
    made = Adder()
    made._over.set()  # no thread: the tests tick
    made.serve(Cell())
    return made


def party(adder: Adder, name: str, step: int = 4, run: str = RUN) -> CellCollective:
    def exchange(sent: Any, _seconds: float) -> Any:
        return adder._cell.sent(f"{name}.{run}", CHANNEL, REDUCE, sent)

    return CellCollective(sorted(PARTIES).index(name), 2, step, exchange, lambda: False)


def begun(adder: Adder, step: int = 4, run: str = RUN) -> FarHub:
    hub = FarHub.begun(RunsCell(adder._cell, f"{SERVER}.{run}"), step, PARTIES)
    assert hub is not None
    return hub


def added(adder: Adder) -> list[list[int]]:
    with ThreadPoolExecutor(2) as pool:
        sums = [pool.submit(party(adder, name).add_integers, np.array([k, 10])) for k, name in enumerate(PARTIES)]
        return [future.result().tolist() for future in sums]


def test_parties_add_up_and_the_run_hears_that_all_is_well(adder: Adder) -> None:
    hub = begun(adder)
    assert added(adder) == [[1, 20]] * 2
    hub.tick()
    assert (hub.over, hub.awaited) == ("", ())


def test_the_run_hears_whom_a_sum_waits_for_after_a_while(adder: Adder, monkeypatch: pytest.MonkeyPatch) -> None:
    hub, now = begun(adder), [1000.0]
    monkeypatch.setattr(hub_module, "monotonic", lambda: now[0])

    def awaited(seconds: float) -> tuple[str, ...]:
        now[0] += seconds
        hub.tick()
        return hub.awaited

    assert awaited(99) == ()  # nobody waits
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(party(adder, "south").add_integers, np.array([1]))
        while not adder._exchanges[RUN].hub._waiting:
            pass
        assert (awaited(20), awaited(20)) == ((), ("north",))
        party(adder, "north").add_integers(np.array([1]))
        waits.result()
    assert awaited(99) == ()


def test_without_an_exchange_nothing_is_added(adder: Adder) -> None:
    with pytest.raises(CollectiveError, match="no training is under way"):
        party(adder, "north").add_integers(np.array([1]))
    hub = begun(adder)
    with pytest.raises(CollectiveError, match="no training is under way"):
        party(adder, "north", run=OTHER).add_integers(np.array([1]))
    assert hub.over == ""


def test_a_fault_ends_the_exchange_and_the_run_hears_of_it(adder: Adder) -> None:
    hub = begun(adder)
    with pytest.raises(CollectiveError, match="sent a message of step 5, this is step 4"):
        party(adder, "south", step=5).add_integers(np.array([1]))
    hub.tick()
    assert hub.over == "party 'south' sent a message of step 5, this is step 4"


def test_the_run_ends_an_exchange_and_who_waits_hears_why(adder: Adder) -> None:
    hub = begun(adder)
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(party(adder, "north").add_integers, np.array([1]))
        while not adder._exchanges[RUN].hub._waiting:
            pass
        hub.close("party 'south' was\nlost")
        with pytest.raises(CollectiveError, match=r"party 'south' was\Wlost"):
            waits.result()
    assert hub.over.startswith("party 'south' was")


def test_another_step_or_run_ends_the_one_before(adder: Adder) -> None:
    begun(adder)
    first = adder._exchanges[RUN].hub
    begun(adder, step=5)
    second = adder._exchanges[RUN].hub
    begun(adder, run=OTHER)
    assert first.over == second.over == "another step has begun"
    assert set(adder._exchanges) == {OTHER}


def test_an_exchange_ends_when_its_run_falls_silent(adder: Adder, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = begun(adder)
    adder.tick()
    assert adder._exchanges[RUN].hub.over == ""
    monkeypatch.setattr(adder_module, "SILENCE", -1.0)
    adder.tick()
    hub.tick()
    assert hub.over == "the run's process at the aggregator gives no sign of life"


@pytest.mark.parametrize("origin", ["north", f"north.{RUN}", SERVER, f"{SERVER}.1", "_admin_x"])
def test_nobody_but_a_run_of_the_aggregator_s_own_gives_orders(adder: Adder, origin: str) -> None:
    begun(adder)
    hub = FarHub(RunsCell(adder._cell, origin))
    hub.close("I say so")
    assert adder._exchanges[RUN].hub.over == ""
    assert FarHub.begun(RunsCell(adder._cell, origin), 4, PARTIES).over != ""  # type: ignore[union-attr]
    assert set(adder._exchanges) == {RUN}


@pytest.mark.parametrize("document", [{}, {"what": "stop"}, {"what": "begin", "step": -1}, {"what": "look", "more": 1}])
def test_an_order_that_is_none_changes_nothing(adder: Adder, document: dict[str, Any]) -> None:
    hub = begun(adder)
    answer = hub.cell.send_request(CHANNEL, ORDER, SERVER, message(document), timeout=1.0, optional=True)
    assert b"do not understand each other" in answer.payload
    assert adder._exchanges[RUN].hub.over == ""


def test_a_call_that_is_none_is_answered(adder: Adder) -> None:
    begun(adder)
    answer = adder.on_call(message({"step": "x"}))
    assert answer is not None
    assert adder._exchanges[RUN].hub.over == ""


def test_where_nvflare_alone_answers_there_is_no_such_exchange() -> None:
    hub = FarHub(RunsCell(Cell()))
    assert FarHub.begun(hub.cell, 4, PARTIES) is None
    for over in ("", "", "the aggregator's first process does not answer"):
        hub.tick()
        assert hub.over == over


def test_a_look_that_is_missed_now_and_then_ends_nothing(adder: Adder) -> None:
    hub = begun(adder)
    nobody, there = RunsCell(Cell()), hub.cell
    for cell in (nobody, nobody, there, nobody, nobody, there):
        hub.cell = cell
        hub.tick()
    assert hub.over == ""
