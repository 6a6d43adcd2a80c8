"""The party's end against the real hub, over NVFlare's real messages, with a line that loses some."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

import numpy as np
import pytest

from flora.core.collective import Collective
from flora.engines.nvflare.run import collective as collective_module
from flora.engines.nvflare.run import hub as hub_module
from flora.engines.nvflare.run.collective import (
    CellCollective,
    answer_from_message,
    answer_to_message,
    call_of,
    message,
)
from flora.engines.nvflare.run.hub import Hub, HubAnswer
from flora.errors import CollectiveError

PARTIES = ["a", "b", "c"]
Share = Callable[[Collective], Any]


class Line:
    """Carries messages between the parties' threads and the hub; ``loses(count)`` says which never arrive."""

    def __init__(self, loses: Callable[[int], bool] = lambda _: False, seconds: float = 5.0) -> None:
        self.loses, self.seconds, self.count = loses, seconds, 0
        self.hub = Hub(1, PARTIES, lambda queue, answer: queue.put(answer_to_message(answer)))

    def end_of(self, party: str) -> CellCollective:
        def exchange(sent: Any, _seconds: float) -> Any:
            self.count += 1
            answers: Queue[Any] = Queue()
            if self.loses(self.count):
                return message({})  # as NVFlare's own answer, in place of the hub's
            now = self.hub.receive(party, answers, call_of(sent), bytes(sent.payload))
            return answer_to_message(now) if now else answers.get(timeout=self.seconds)

        return CellCollective(PARTIES.index(party), 3, 1, exchange, lambda: False)

    def run(self, share: Share) -> list[Any]:
        with ThreadPoolExecutor(3) as pool:
            return [f.result() for f in [pool.submit(share, self.end_of(party)) for party in PARTIES]]


def exchange_all(collective: Collective) -> list[Any]:
    found: list[Any] = [collective.rank, collective.size]
    for k in range(20):
        found.append(collective.add_integers(np.full((2, 3), collective.rank + 10 * k)).tolist())
        found.append(collective.add_integers(np.array(collective.rank)).tolist())
        found.append(list(collective.allgather(b"%d" % collective.rank * k)))
        found.append(collective.add_integers(np.array([[2**62], [k - collective.rank]])).tolist())
    return found


def test_sums_and_parts_come_back_in_the_shape_they_went() -> None:
    found = Line().run(exchange_all)
    assert [one[:2] for one in found] == [[0, 3], [1, 3], [2, 3]]
    assert found[0][2:] == found[1][2:] == found[2][2:]
    assert found[0][6] == [[33] * 3] * 2
    assert found[0][7] == 3
    assert found[0][8] == [b"0", b"1", b"2"]
    assert found[0][9] == [[3 * 2**62 - 2**64], [3 - 0 - 1 - 2]]  # modulo 2^64


def test_lost_messages_change_nothing() -> None:
    assert Line(loses=lambda count: count % 3 == 0).run(exchange_all) == Line().run(exchange_all)


def test_to_be_told_to_wait_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "PATIENCE", -1.0)
    line = Line()

    def share(collective: Collective) -> list[Any]:
        if collective.rank:
            line.hub.tick()
        return exchange_all(collective)

    assert line.run(share) == Line().run(exchange_all)


def test_silence_ends_after_a_few_tries() -> None:
    line = Line(loses=lambda count: True)
    with pytest.raises(CollectiveError, match="the aggregator did not answer 3 times in a row"):
        line.end_of("a").add_integers(np.zeros(1, dtype=np.int64))
    assert line.count == 3


def test_a_stopped_run_sends_nothing() -> None:
    collective = CellCollective(0, 1, 1, lambda *_: pytest.fail("sent"), lambda: True)
    with pytest.raises(CollectiveError, match="the run was stopped"):
        collective.allgather(b"x")


def test_what_is_too_large_does_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collective_module, "MOST_BYTES", 8)
    collective = CellCollective(0, 1, 1, lambda *_: pytest.fail("sent"), lambda: False)
    with pytest.raises(CollectiveError, match="a message may have 8 bytes, got 16"):
        collective.add_integers(np.zeros(2, dtype=np.int64))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (HubAnswer("over", 0, reason="party 'b' was lost"), "party 'b' was lost"),
        (HubAnswer("ok", 5, data=bytes(8)), "answered call 5, not 0"),
        (HubAnswer("ok", 0, data=bytes(16)), "answered 16 bytes to a sum of 8"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(answer: HubAnswer, reason: str) -> None:
    collective = CellCollective(0, 1, 1, lambda *_: answer_to_message(answer), lambda: False)
    with pytest.raises(CollectiveError, match=reason):
        collective.add_integers(np.zeros(1, dtype=np.int64))


def test_parts_that_do_not_add_up_are_refused() -> None:
    wrong = answer_to_message(HubAnswer("ok", 0, (1, 1), b"abc"))
    with pytest.raises(CollectiveError, match="gathered 2 parts, not 2"):
        CellCollective(0, 2, 1, lambda *_: wrong, lambda: False).allgather(b"a")


@pytest.mark.parametrize("text", [None, "", "[]", "x" * 20_000, '{"state": "ok"}'])
def test_a_message_that_is_not_ours_is_no_answer(text: str | None) -> None:
    made = message({})
    made.set_header("flora", text)
    assert answer_from_message(made) is None
