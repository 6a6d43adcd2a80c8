"""The collective over a line that loses, doubles, delays, reorders and tears messages, as a seed draws it.

TCP would hide most of that; the engine beneath repeats messages of its own accord, and may be replaced. Either all
parties get the sums of an undisturbed line, or the exchange ends for all with a reason.
"""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import Any

import numpy as np
import pytest

from flora.core.collective import Collective
from flora.engines.nvflare.run.collective import CellCollective, answer_to_message, call_of, message
from flora.engines.nvflare.run.hub import Hub, HubAnswer
from flora.errors import CollectiveError

PARTIES = ["a", "b", "c"]
ROUNDS = 12
FATES = ("arrives", "is lost", "arrives twice", "arrives later", "its answer is lost", "its answer comes twice")


@dataclass
class Line:
    """Carries messages between the parties' threads and the hub, some of them badly."""

    seed: int
    bad: float = 0.4  # the share of messages that something happens to
    tears: bool = False
    fates: dict[str, int] = field(default_factory=dict)
    _late: list[Callable[[], object]] = field(default_factory=list)  # messages that are still under way
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.hub = Hub(1, PARTIES, lambda queue, answer: queue.put(answer_to_message(answer)))

    def end_of(self, party: str) -> CellCollective:
        rng, silent = random.Random(f"{self.seed}-{party}"), 0

        def exchange(sent: Any, _seconds: float) -> Any:
            nonlocal silent
            self._deliver_late(rng)
            fate = rng.choice(FATES[1:]) if rng.random() < self.bad and silent < 2 else FATES[0]
            with self._lock:
                self.fates[fate] = self.fates.get(fate, 0) + 1
            answers: Queue[Any] = Queue()
            payload = bytes(sent.payload or b"")
            torn = payload[: len(payload) // 2] if self.tears and payload and rng.random() < 0.1 else payload

            def arrive(to: "Queue[Any]" = answers) -> None:
                now = self.hub.receive(party, to, call_of(sent), torn)
                if now is not None:
                    to.put(answer_to_message(now))

            if fate == "arrives later":
                with self._lock:
                    self._late.append(lambda: arrive(Queue()))
            elif fate != "is lost":
                arrive()
                if fate == "arrives twice":
                    arrive(Queue() if rng.random() < 0.5 else answers)
            lost = fate in ("is lost", "arrives later", "its answer is lost")
            silent = silent + 1 if lost else 0
            return message({}) if lost else self._answer(answers)

        return CellCollective(PARTIES.index(party), 3, 1, exchange, lambda: False)

    def _answer(self, answers: "Queue[Any]") -> Any:
        """Wait for an answer for a moment: then the aggregator tells a party to ask again."""
        for _ in range(10):
            try:
                return answers.get(timeout=0.02)
            except Empty:
                if self.hub.over:
                    return answer_to_message(HubAnswer("over", 0, reason=self.hub.over))
        return answer_to_message(HubAnswer("wait", 0))

    def _deliver_late(self, rng: random.Random) -> None:
        """Let some of what is under way arrive now, in any order."""
        with self._lock:
            rng.shuffle(self._late)
            arriving = [self._late.pop() for _ in range(rng.randint(0, len(self._late)))]
        for arrive in arriving:
            arrive()

    def run(self, share: Callable[[Collective], Any]) -> list[Any]:
        with ThreadPoolExecutor(3) as pool:
            return [f.result() for f in [pool.submit(share, self.end_of(party)) for party in PARTIES]]


def exchange_all(collective: Collective) -> list[Any]:
    found: list[Any] = []
    for k in range(ROUNDS):
        found.append(collective.add_integers(np.full((2, 3), 7 * collective.rank + 10 * k)).tolist())
        found.append(list(collective.allgather(b"%d" % collective.rank * (k + 1))))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_to_messages_the_sums_are_those_of_an_undisturbed_line(seed: int) -> None:
    line = Line(seed)
    assert line.run(exchange_all) == Line(seed, bad=0.0).run(exchange_all)
    assert set(line.fates) >= set(FATES[:5])  # or nothing of it has happened


@pytest.mark.parametrize("seed", range(6))
def test_a_torn_message_ends_the_exchange_for_all_and_names_the_party(seed: int) -> None:
    line = Line(seed, bad=0.2, tears=True)
    with pytest.raises(CollectiveError, match=r"party '[abc]' sent \d+ bytes for a sum of shape \(2, 3\)"):
        line.run(lambda collective: [collective.add_integers(np.full((2, 3), k)).tolist() for k in range(100)])
    assert line.hub.over
