import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from flora.core.codec import read, to_document
from flora.engines.nvflare.run import hub as hub_module
from flora.engines.nvflare.run.hub import MOST_BYTES, Call, Hub, HubAnswer
from flora.errors import InputError

PARTIES = ["a", "b", "c"]


def numbers(*values: int) -> bytes:
    return np.array(values, dtype=np.int64).tobytes()


@dataclass
class Post:
    """Takes what the hub sends."""

    sent: list[tuple[Any, HubAnswer]] = field(default_factory=list)

    def __call__(self, address: Any, answer: HubAnswer) -> None:
        self.sent.append((address, answer))

    def states(self) -> list[tuple[Any, str]]:
        return sorted((address, answer.state) for address, answer in self.sent)


def open_hub() -> tuple[Hub, Post]:
    post = Post()
    return Hub(7, PARTIES, post), post


def give(hub: Hub, party: str, data: bytes, *, number: int = 0, kind: str = "add") -> HubAnswer | None:
    shape = () if kind in ("gather", "again") else (len(data) // 8,)
    return hub.receive(party, f"to-{party}", Call(7, number, kind, shape), data)


@pytest.mark.parametrize("order", [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]])
def test_the_sum_is_the_same_whoever_comes_first(order: list[str]) -> None:
    values = {"a": 1, "b": 10, "c": -100}
    hub, post = open_hub()
    for party in order:
        assert give(hub, party, numbers(values[party])) is None
    assert post.states() == [("to-a", "ok"), ("to-b", "ok"), ("to-c", "ok")]
    assert {answer.data for _, answer in post.sent} == {numbers(-89)}


def test_the_sum_and_the_parts() -> None:
    hub, post = open_hub()
    for party, value in zip(PARTIES, (3, 9, 4), strict=True):
        give(hub, party, numbers(value, -value))
    assert post.sent[-1][1].data == numbers(16, -16)
    for party in ("c", "b", "a"):
        give(hub, party, party.encode() * (1 + PARTIES.index(party)), number=1, kind="gather")
    assert (post.sent[-1][1].lengths, post.sent[-1][1].data) == ((1, 2, 3), b"abbccc")


def test_integers_are_added_modulo_two_to_the_64th() -> None:
    hub, post = open_hub()
    for party, value in zip(PARTIES, (2**63 - 1, 2, -9), strict=True):
        give(hub, party, np.array([value, 1]).tobytes())
    assert np.frombuffer(post.sent[-1][1].data, dtype=np.int64).tolist() == [2**63 - 1 + 2 - 9, 3]


def test_a_repeated_call_is_answered_again() -> None:
    """An answer may be lost: who asks again for the last round gets the same bytes, and nothing is added twice."""
    hub, _ = open_hub()
    for party in PARTIES:
        give(hub, party, numbers(1))
    again = give(hub, "b", numbers(1))
    assert again is not None
    assert again.data == numbers(3)
    repeated = give(hub, "b", b"", kind="again")
    assert repeated == again
    give(hub, "a", numbers(5), number=1)
    give(hub, "a", numbers(5), number=1)
    give(hub, "b", numbers(5), number=1)
    assert give(hub, "c", numbers(5), number=1) is None
    last = give(hub, "c", b"", number=1, kind="again")
    assert last is not None
    assert last.data == numbers(15)


def test_who_waits_for_long_is_told_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "PATIENCE", -1.0)
    hub, post = open_hub()
    give(hub, "a", numbers(1))
    hub.tick()
    assert post.states() == [("to-a", "wait")]
    assert give(hub, "a", b"", kind="again") is None
    give(hub, "b", numbers(2))
    give(hub, "c", numbers(4))
    assert post.sent[-1][1].data == numbers(7)
    assert [address for address, answer in post.sent if answer.state == "ok"] == ["to-a", "to-b", "to-c"]


@pytest.mark.parametrize(
    ("party", "call", "data", "reason"),
    [
        ("d", Call(7, 0, "add", (1,)), numbers(1), "party 'd' is not in this training"),
        ("a", Call(8, 0, "add", (1,)), numbers(1), "party 'a' sent a message of step 8, this is step 7"),
        ("a", Call(7, 3, "add", (1,)), numbers(1), "party 'a' is out of step: it makes call 3, the others call 0"),
        ("a", Call(7, 0, "add", (2,)), numbers(1), r"party 'a' sent 8 bytes for a sum of shape \(2,\)"),
        ("a", Call(7, 0, "add", (1,)), b"123", r"party 'a' sent 3 bytes for a sum of shape \(1,\)"),
        ("a", Call(7, 0, "run", ()), b"", "party 'a' sent a call of the kind 'run'"),
        ("a", Call(7, 0, "gather"), bytes(MOST_BYTES + 1), "party 'a' sent a message of [0-9]+ bytes, where"),
    ],
)
def test_what_is_wrong_ends_the_exchange_for_all_and_names_the_party(
    party: str, call: Call, data: bytes, reason: str
) -> None:
    hub, post = open_hub()
    give(hub, "b", numbers(1))
    answer = hub.receive(party, "to", call, data)
    assert answer is not None
    assert answer.state == "over"
    assert re.search(reason, answer.reason)
    assert post.states() == [("to-b", "over")]
    late = give(hub, "c", numbers(1))
    assert late is not None
    assert late.reason == answer.reason


def test_what_was_under_way_for_long_ends_nothing() -> None:
    hub, post = open_hub()
    for number in range(3):
        for party in ("a", "b", "c"):
            give(hub, party, numbers(number), number=number)
    answers = len(post.sent)
    assert hub.receive("a", "to", Call(7, 0, "add", (1,)), numbers(9)) is None
    earlier = hub.receive("a", "to", Call(6, 5, "add", (1,)), numbers(9))
    assert earlier is not None
    assert (earlier.state, earlier.reason) == ("over", "step 6 is over, this is step 7")
    assert (len(post.sent), hub.over) == (answers, "")
    for party in ("a", "b", "c"):
        give(hub, party, numbers(1), number=3)
    assert [np.frombuffer(answer.data, np.int64).tolist() for _, answer in post.sent[answers:]] == [[3]] * 3


def test_different_calls_in_one_round_are_out_of_step() -> None:
    hub, post = open_hub()
    give(hub, "a", numbers(1))
    give(hub, "b", numbers(1, 2))
    give(hub, "c", b"x", kind="gather")
    assert [answer.reason for _, answer in post.sent] == [
        "parties are out of step: sum of shape (1,), sum of shape (2,), gathering"
    ] * 3


def test_a_closed_hub_lets_nobody_wait() -> None:
    hub, post = open_hub()
    give(hub, "a", numbers(1))
    hub.close("party 'b' was lost")
    assert post.states() == [("to-a", "over")]
    answer = give(hub, "c", numbers(1))
    assert answer is not None
    assert answer.reason == "party 'b' was lost"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"step": 1, "number": 0, "kind": "add", "shape": 3},
        {"step": 1, "number": 0, "kind": "add", "shape": [-1]},
        {"step": "1", "number": 0, "kind": "add", "shape": []},
        {"step": True, "number": 0, "kind": "add", "shape": []},
        {"step": 1, "number": 0, "kind": None, "shape": []},
        {"step": 1, "number": 0, "kind": "add", "shape": [1] * 20},
        {"step": 1, "number": 2**60, "kind": "add", "shape": []},
    ],
)
def test_a_call_that_is_none_is_refused(headers: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read(Call, headers)


def test_a_call_comes_back_as_it_was() -> None:
    call = Call(3, 12, "add", (2, 0, 5))
    assert read(Call, to_document(call)) == call
    assert call.fault(0) is None
