"""The aggregator's side of a run: whatever a party sends, it is taken over, or the run ends with its name."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.impl.wf_comm_server import WFCommServer
from nvflare.apis.shareable import Shareable
from nvflare.apis.shareable import make_reply as reply_of_nvflare
from nvflare.fuel.f3.cellnet.utils import make_reply

from flora.engines.nvflare.foreground import Foreground
from flora.engines.nvflare.run import controller as controller_module
from flora.engines.nvflare.run.adder import Adder, FarHub
from flora.engines.nvflare.run.controller import Asked, FloraController, PartyMissingError, StoppedError
from flora.engines.nvflare.run.hub import Hub
from flora.engines.nvflare.run.job import Run
from flora.engines.nvflare.run.session import read_status
from flora.engines.nvflare.run.tasks import HEADER, TEXT, ReplyHeader, fill, order_of
from flora.errors import FloraError
from flora.problem.messages import Describe, DescribeReply
from flora.problem.wire import reply_text, step_text
from flora.program.journal import Journal
from flora.program.request import Request

STEP = Describe()
RUN = Run("hearts", ("north", "south"), Request())


class _Abort:
    """NVFlare's signal to stop, which comes after some looks at it."""

    def __init__(self, looks: Iterator[bool]) -> None:
        self._looks = looks

    @property
    def triggered(self) -> bool:
        return next(self._looks)


@pytest.fixture
def controller(tmp_path: Path) -> FloraController:
    made = FloraController(RUN.to_json())
    made._plan, made._name = RUN, "server.run"
    made._foreground = Foreground(tmp_path)
    made._foreground.open()
    made._journal = Journal(tmp_path / "journal", RUN.identity)
    made._abort = SimpleNamespace(triggered=False)
    made._asked = Asked(STEP, 1, ["north", "south"], ["north", "south"])
    return made


def asked_of(controller: FloraController) -> Asked:
    assert controller._asked is not None
    return controller._asked


def sends(controller: FloraController, party: str, result: Any) -> Asked:
    """Let a party's answer arrive."""
    controller._on_result(SimpleNamespace(client=SimpleNamespace(name=party), result=result), None)
    return asked_of(controller)


def letter(party: str) -> Shareable:
    return fill(Shareable(), ReplyHeader("reply"), reply_text(DescribeReply(party, 7), STEP))


def test_a_reply_is_taken_over_and_kept(controller: FloraController) -> None:
    asked = sends(controller, "north", letter("north"))
    assert asked.replies == {"north": DescribeReply("north", 7)}
    assert asked.missing == ["south"]
    assert controller._journal.known(STEP, ["north", "south"]) == ({"north": DescribeReply("north", 7)}, ["south"])


def strange(header: Any, text: Any = "") -> Shareable:
    message = Shareable()
    message[HEADER], message[TEXT] = header, text
    return message


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (None, "party 'north' sent no answer of ours to 'describe'"),
        (5, "party 'north' sent no answer of ours to 'describe'"),
        (Shareable(), "sent no answer of ours"),
        (
            reply_of_nvflare(ReturnCode.EXECUTION_EXCEPTION),
            "answers for it with 'EXECUTION_EXCEPTION'; its disk may be full",
        ),
        (strange('{"reply": '), "sent no answer of ours"),
        (strange("[1, 2]"), "party 'north'"),
        (strange('{"state": "reply"}', "{"), "the reply of 'north' to 'describe': not a flora-reply"),
        (strange('{"state": "reply"}', "[1,2]"), "a flora-reply is a JSON object"),
        (letter("south"), "party 'north' sent a reply in the name of 'south'"),
        (fill(Shareable(), ReplyHeader("refused", "too much")), "party 'north' refused 'describe': too much"),
        (
            fill(Shareable(), ReplyHeader("failed", "KeyError")),
            r"could not answer 'describe' \(KeyError\); its own screen",
        ),
    ],
)
def test_whatever_else_comes_ends_the_run_with_the_partys_name(
    controller: FloraController, result: Any, words: str
) -> None:
    asked = sends(controller, "north", result)
    assert asked.replies == {}
    with pytest.raises(FloraError, match=words):
        controller._check(asked)


def test_an_error_of_our_own_in_reading_ends_the_run_too(
    controller: FloraController, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(controller._journal, "keep", broken)
    asked = sends(controller, "north", letter("north"))
    with pytest.raises(FloraError, match=r"party 'north' sent what cannot be read .* \(RuntimeError\)"):
        controller._check(asked)


def test_who_left_a_training_is_a_reason_but_no_cause(controller: FloraController) -> None:
    asked = sends(controller, "north", fill(Shareable(), ReplyHeader("left", "the aggregator did not answer")))
    with pytest.raises(FloraError, match="the training ended: the aggregator did not answer"):
        controller._check(asked)
    asked = sends(controller, "south", fill(Shareable(), ReplyHeader("failed", "MemoryError")))
    with pytest.raises(FloraError, match="party 'south' could not answer"):
        controller._check(asked)


@pytest.mark.parametrize(("lag", "error"), [(0.05, StoppedError), (60.0, PartyMissingError)])
def test_while_the_aggregator_stands_still_nobody_is_lost(
    controller: FloraController, monkeypatch: pytest.MonkeyPatch, lag: float, error: type[FloraError]
) -> None:
    monkeypatch.setattr(controller_module, "LAG", lag)
    controller._heartbeats.patience = 0.05  # less than the time between two looks
    looks = iter([False, False, False, True])
    monkeypatch.setattr(controller, "broadcast", lambda *_, **__: None)
    monkeypatch.setattr(controller, "cancel_task", lambda *_, **__: None)
    controller._context = None
    controller._abort = _Abort(looks)
    for party in ("north", "south"):
        controller._heartbeats.heard(party)
    with pytest.raises(error):
        controller._collect(asked_of(controller))


def test_somebody_who_was_not_asked_is_ignored(controller: FloraController) -> None:
    asked = sends(controller, "east", letter("east"))
    assert (asked.replies, asked.fault) == ({}, None)


def test_a_stop_and_a_loss_are_told_apart(controller: FloraController, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of(controller)
    monkeypatch.setattr(controller._heartbeats, "lost", list)
    with pytest.raises(PartyMissingError, match="parties 'north' and 'south' were lost in the step 'describe'"):
        controller._check(asked)
    controller._abort.triggered = True
    with pytest.raises(StoppedError):
        controller._check(asked)


def test_where_all_are_away_for_long_they_are_lost_and_nobody_has_stopped_the_run(controller: FloraController) -> None:
    asked, away = asked_of(controller), {"south": 5.0}
    assert callable(WFCommServer.get_client_disconnect_time)
    controller.communicator = SimpleNamespace(get_client_disconnect_time=away.get)
    controller._check(asked)  # the other may still come
    away["north"] = 6.0
    with pytest.raises(PartyMissingError, match="parties 'north' and 'south' were lost"):
        controller._check(asked)
    controller._abort.triggered = True  # as NVFlare does then
    with pytest.raises(PartyMissingError):
        controller._check(asked)


def test_who_has_not_answered_in_time_is_late(controller: FloraController) -> None:
    controller._plan = replace(RUN, deadline=60.0)
    asked = sends(controller, "north", letter("north"))
    controller._check(asked)
    asked.began -= 61.0
    with pytest.raises(PartyMissingError, match=r"party 'south' has not answered 'describe' within 60 seconds") as late:
        controller._check(asked)
    assert (late.value.ending.state, late.value.ending.parties) == ("late", ("south",))
    controller._hub = Hub(1, ["north", "south"], lambda *_: None)  # parties that add up are waited for
    controller._check(asked)


def test_in_a_training_one_lost_party_is_enough(controller: FloraController, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of(controller)
    monkeypatch.setattr(controller._heartbeats, "lost", lambda parties: ["south"])
    controller._check(asked)  # the others are still at work
    controller._hub = Hub(1, ["north", "south"], lambda *_: None)
    with pytest.raises(PartyMissingError) as lost:
        controller._check(asked)
    assert (lost.value.ending.state, lost.value.ending.parties) == ("lost", ("south",))


def test_what_the_parties_get_is_the_step_and_who_takes_part(controller: FloraController) -> None:
    order, text = order_of(controller._order(asked_of(controller)), 10_000)
    assert text == step_text(STEP)
    assert (order.number, order.hub, order.parties) == (1, "server.run", ("north", "south"))


def test_sums_are_made_where_lines_end_or_in_anothers_network_here(controller: FloraController) -> None:
    adder = Adder()
    adder._over.set()
    asked: list[Any] = []

    def send_request(channel: str, topic: str, target: str, request: Any, **_: Any) -> Any:
        asked.append((channel, topic, target))
        request.set_header("origin", "server.11111111-2222-3333-4444-555555555555")
        return adder.on_order(request) if len(asked) == 1 else make_reply("process_exception")

    controller._cell = SimpleNamespace(send_request=send_request)
    kinds = []
    for _ in range(2):
        controller._hub = controller._begun_hub(["north", "south"])
        order, _ = order_of(controller._order(asked_of(controller)), 10_000)
        kinds.append((type(controller._hub), order.sums))
    assert kinds == [(FarHub, "server"), (Hub, "")]
    assert asked == [("flora", "hub", "server")] * 2


def test_the_status_counts_and_names_who_is_quiet(controller: FloraController, monkeypatch: pytest.MonkeyPatch) -> None:
    sends(controller, "north", letter("north"))
    controller._heartbeats.heard("south", (3, 10))
    monkeypatch.setattr(controller._heartbeats, "quiet", lambda parties: [p for p in parties if p == "south"])
    found = controller._on_status("", None, None)
    assert found["step"] == "describe"
    assert {name: entry["state"] for name, entry in found["parties"].items()} == {
        "north": "has answered",
        "south": "quiet",
    }
    assert (found["parties"]["south"]["done"], found["parties"]["south"]["total"]) == (3, 10)
    assert found["awaited"] == []
    assert read_status(json.loads(json.dumps(found))) == controller._status()  # as it travels
    controller._hub = FarHub(None, awaited=("south",))
    assert controller._on_status("", None, None)["awaited"] == ["south"]
    controller._heartbeats.forget_counts()  # the next step has begun
    assert controller._heartbeats.counts("south") == (0, 0)
