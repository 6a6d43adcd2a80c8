"""What an exchange costs: the same engine, with made-up numbers in place of a party's rows.

The kits of a real consortium do not allow these classes; ``flora-lab network`` makes kits of its own.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import psutil

from flora.core.collective import Collective, Masks
from flora.core.documents import MIB
from flora.core.files import write_whole
from flora.core.workers import one_thread
from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.foreground import Foreground
from flora.engines.nvflare.run.controller import Asked, FloraController
from flora.engines.nvflare.run.ending import Ending
from flora.engines.nvflare.run.executor import FloraExecutor, cell_collective, masks_of
from flora.engines.nvflare.run.tasks import answer_of, order_of
from flora.errors import FloraError
from flora.models import family_of
from flora.party.audit import AuditLog
from flora.party.gate import WatchedCollective
from flora.problem.messages import Describe, DescribeReply
from flora.problem.wire import STEP
from flora.randomness import stream
from flora_lab.speed.trees import COLUMNS, made_up_rows

SIZES = (8, 10_000, 200_000, 2_000_000, 20_000_000)  # bytes
CONFIG = {"max_iter": 100, "max_leaf_nodes": 31}
MOST = MIB  # of an answer
MEASURED = "measured.json"  # beside how the run ended


def seconds_of(process: Any) -> float:
    """Return a process's own seconds, of all its threads."""
    times = process.cpu_times()
    return float(times.user + times.system)


class BenchmarkController(FloraController):
    """Asks the parties for one exchange of made-up numbers."""

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        """Ask, add up, and write down what came back."""
        self._abort, self._context = abort_signal, fl_ctx
        self._found: dict[str, Any] = {}
        parties = list(self._plan.parties)
        asked = self._asked = Asked(Describe(), 1, parties, parties)  # a step that says nothing
        self._number, self._marks = 1, list[dict[str, float]]()
        self._hub = self._begun_hub(parties)
        try:
            self._collect(asked)
        except FloraError as error:
            self._end(Ending("failed", str(error)))
            return
        write_whole(self._result / MEASURED, json.dumps({"found": self._found, "aggregator": self._marks}).encode())
        self._end(Ending("finished"))

    def _on_beat(self, request: Any) -> None:
        """Note the aggregator's own seconds when the first party says that a training begins or ends."""
        super()._on_beat(request)
        if self._heartbeats.counts(self._plan.parties[0])[0] > len(self._marks):
            self._marks.append({"first": seconds_of(psutil.Process().parent()), "run": time.process_time()})

    def _take(self, asked: Asked, party: str, result: Any) -> None:
        answer, text = answer_of(result, MOST)
        if answer.state != "reply":
            raise FloraError(f"party {party!r} {answer.state}: {answer.words}")
        self._found[party] = json.loads(text)
        asked.replies[party] = DescribeReply(party, 0)


class BenchmarkExecutor(FloraExecutor):
    """Exchanges made-up numbers."""

    def _letter(
        self,
        kit: Kit,
        foreground: Foreground,
        log: AuditLog,  # noqa: ARG002  (nothing of the party's leaves)
        shareable: Any,
        fl_ctx: Any,
        aborted: Callable[[], bool],
    ) -> str:
        order, _ = order_of(shareable, STEP.most)
        cell = fl_ctx.get_engine().get_cell()
        pulse = self._beating(cell, order)

        def mark() -> None:
            pulse.done += 1
            pulse.now()

        foreground.say("benchmark: begins")
        line = cell_collective(cell, order, kit.name, aborted)
        latency = {str(size): latency_of(line, size) for size in SIZES}
        size = json.loads((kit.state / "benchmark.json").read_bytes())
        found: dict[str, Any] = {}
        for kind, used in (("unmasked", None), ("masked", masks_of(kit, order))):
            line.allgather(b"")  # all begin together
            mark()
            found[kind] = timed_training(WatchedCollective(line, aborted), size, used)
        line.allgather(b"")
        mark()
        return json.dumps({"latency": latency, **found})


def timed_training(line: WatchedCollective, size: Mapping[str, int], masks: Masks | None) -> dict[str, Any]:
    """Return what a training cost this party, with masks or without, and its model's digest."""
    began, own, all_threads = time.perf_counter(), time.thread_time(), time.process_time()
    model = train(line if masks is None else masks.begin(line, "benchmark"), **size)
    return {
        "seconds": time.perf_counter() - began,
        "own": time.thread_time() - own,
        "carrying": time.process_time() - all_threads - (time.thread_time() - own),
        "waiting": line.waiting,
        "calls": line.calls,
        "sent": line.sent,
        "received": line.received,
        "model": model,
    }


def latency_of(collective: Collective, size: int) -> float:
    """Return the median seconds of a sum of ``size`` bytes."""
    values, taken = np.ones(size // 8, dtype=np.int64), []
    for _ in range(5 if size > 10**7 else 30):
        began = time.perf_counter()
        collective.add_integers(values)
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))


def train(collective: Collective, rows: int, trees: int) -> str:
    """Train trees of 31 leaves on made-up rows, and return the model's digest."""
    config = {**family_of("hgb").defaults(list(CONFIG), "classification"), **CONFIG, "max_iter": trees}
    with one_thread():
        made_up = made_up_rows(rows, COLUMNS, stream(0, "benchmark", str(collective.rank)))
        model = family_of("hgb").train(config, made_up, collective, 0).model
    files = sorted(model.files().items())
    return hashlib.sha256(b"".join(name.encode() + data for name, data in files)).hexdigest()
