"""What an exchange costs: the same engine, with made-up numbers in place of a party's rows.

The kits of a real consortium do not allow these classes; ``flora benchmark network`` makes kits of its own.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from nvflare.apis.controller_spec import Task
from nvflare.apis.shareable import Shareable

from flora.core.collective import Collective
from flora.core.workers import one_thread
from flora.engines.nvflare.collective import CHANNEL, REDUCE, CellCollective, Cost
from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.controller import Asked, FloraController
from flora.engines.nvflare.desk import Desk
from flora.engines.nvflare.executor import FIELD, FloraExecutor
from flora.engines.nvflare.hub import Hub
from flora.engines.nvflare.job import NAME
from flora.errors import FloraError
from flora.models import family_of
from flora.models.rows import Rows
from flora.problem.messages import Step
from flora.problem.schema import Column, Schema
from flora.randomness import stream

SIZES = (8, 10_000, 200_000, 2_000_000, 20_000_000)  # bytes
CONFIG = {"max_iter": 100, "max_leaf_nodes": 31}


class BenchmarkController(FloraController):
    """Asks the parties for one exchange of made-up numbers."""

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        """Ask, add up, and write down what came back."""
        self._abort, self._context, self._found = abort_signal, fl_ctx, {}  # type: ignore[var-annotated]
        parties = list(self._plan.parties)
        asked = self._asked = Asked(Step("train"), 1, parties, parties)
        self._hub = Hub(1, parties, self._send)
        data = Shareable()
        data[FIELD] = json.dumps({"number": 1, "hub": self._name, "parties": parties})
        self.broadcast(
            Task(NAME, data=data, result_received_cb=self._on_result),
            fl_ctx,
            targets=parties,
            min_responses=len(parties),
        )
        try:
            while len(self._found) < len(parties):
                self._check(asked)
                time.sleep(0.1)
        except FloraError as error:
            self._end({"state": "failed", "error": str(error)})
            return
        self._end({"state": "finished", "found": self._found, "hub": asdict(self._hub.traffic)})

    def _take(self, asked: Asked, party: str, result: Any) -> None:  # noqa: ARG002
        self._found[party] = json.loads(json.loads(result[FIELD])["reply"])


class BenchmarkExecutor(FloraExecutor):
    """Exchanges made-up numbers."""

    def _answered(self, kit: Kit, desk: Desk, order: Any, fl_ctx: Any, abort_signal: Any) -> str:
        cell, parties = fl_ctx.get_engine().get_cell(), list(order["parties"])
        pulse = self._beating(cell, str(order["hub"]), 1)
        collective = CellCollective(
            parties.index(kit.name),
            len(parties),
            1,
            lambda sent, seconds: cell.core_cell.send_request(CHANNEL, REDUCE, pulse.hub, sent, timeout=seconds),
            lambda: bool(abort_signal.triggered),
        )
        desk.say("benchmark: begins")
        latency = {str(size): latency_of(collective, size) for size in SIZES}
        first = collective.cost
        rows = json.loads((kit.state / "benchmark.json").read_bytes())["rows"]
        collective.cost = Cost(calls=first.calls)
        began = time.perf_counter()
        model = train(collective, rows)
        seconds = time.perf_counter() - began
        cost = collective.cost
        return json.dumps(
            {
                "latency": latency,
                "seconds": seconds,
                "waiting": cost.waiting,
                "calls": cost.calls - first.calls,
                "sent": cost.sent,
                "received": cost.received,
                "model": model,
            }
        )


def latency_of(collective: Collective, size: int) -> float:
    """Return the median seconds of an allreduce of ``size`` bytes."""
    values, taken = np.ones(size // 8), []
    for _ in range(5 if size > 10**7 else 30):
        began = time.perf_counter()
        collective.allreduce(values)
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))


def train(collective: Collective, rows: int) -> str:
    """Train 100 trees of 31 leaves on made-up rows, and return the model's text."""
    config = {**family_of("hgb").defaults(list(CONFIG), "classification"), **CONFIG}
    with one_thread():
        model = family_of("hgb").train(config, made_up_rows(collective.rank, rows), collective, 0).model
    (text,) = model.files().values()
    return text.decode()


def made_up_rows(rank: int, rows: int, columns: int = 30) -> Rows:
    """Return a party's made-up rows, for two classes that are not easy to tell apart."""
    rng = stream(0, "benchmark", str(rank))
    X = rng.normal(size=(rows, columns))
    y = (X[:, :5].sum(axis=1) + X[:, 5] * X[:, 6] + rng.normal(size=rows) > 0).astype(np.int64)
    names: Sequence[str] = [f"x{k:02d}" for k in range(columns)]
    return Rows(X, y, Schema("y", "classification", tuple(Column(name, "numeric") for name in names), ("no", "yes")))
