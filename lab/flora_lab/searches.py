"""``flora-lab masks --searches``: what a search in sums costs beside one that sends pairs.

Parties are threads of this process, and sums have masks as across machines. What is counted is all parties' own
seconds (``time.process_time`` while a step is at the parties) and what they send; what the aggregator does comes apart.
Both searches try the same configs on the same folds: what differs is how the parties' surfaces come together, and how
their candidates are measured.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd

from flora.core.collective import Collective
from flora.core.masks import FreshSigner, Masking
from flora.core.threads import in_step
from flora.core.workers import one_thread
from flora.party.gate import Gate, WatchedCollective
from flora.party.party import Party
from flora.party.tables.table import Table
from flora.problem.messages import Reply, Step
from flora.problem.wire import reply_text
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import recommend
from flora_lab.speed.trees import made_up_rows

TRIALS, FOLDS = 20, 5
TARGET = "label"


@dataclass
class SearchCost:
    """What one run up to its recommendation took."""

    parties: float = 0.0  # own seconds, of all together
    aggregator: float = 0.0  # own seconds
    calls: int = 0  # sums and keys of the first party
    sent: int = 0  # bytes of the first party


@dataclass
class CountingEngine:
    """Asks the parties of this process, under masks where they add up, and counts."""

    gates: Sequence[Gate]
    cost: SearchCost = field(default_factory=SearchCost)

    def __call__(self, step: Step) -> list[Reply]:
        """Bring a step to all parties."""
        began = time.process_time()
        with one_thread():
            replies = in_step([partial(self._added_up, gate, step) for gate in self.gates]) if step.together else None
            replies = replies or [gate.answer(step) for gate in self.gates]
        self.cost.parties += time.process_time() - began
        self.cost.sent += len(reply_text(replies[0], step))
        return replies

    def _added_up(self, gate: Gate, step: Step, line: Collective) -> Reply:
        watched = WatchedCollective(line, lambda: False)
        reply = gate.answer(step, watched)
        if line.rank == 0:
            self.cost.calls += watched.calls
            self.cost.sent += watched.sent
        return reply


def lines(families: Sequence[str], parties: Sequence[int], rows: int, columns: int) -> list[str]:
    """Return the table: for each family and number of parties a search with pairs and one in sums."""
    head = "| family | parties | search | own s a party | times | aggregator: own s | sums, keys | MB a party |"
    found = [head, "|---|---|---|---|---|---|---|---|"]
    for family in families:
        for count in parties:
            open_, private = costs_of(family, count, rows, columns)
            for name, cost in (("pairs", open_), ("in sums", private)):
                found.append(
                    f"| {family} | {count} | {name} | {cost.parties / count:.2f} | {cost.parties / open_.parties:.2f} "
                    f"| {cost.aggregator:.2f} | {cost.calls} | {cost.sent / 1e6:.2f} |"
                )
    return found


def costs_of(family: str, parties: int, rows: int, columns: int) -> tuple[SearchCost, SearchCost]:
    """Return what a search with pairs costs and one in sums, up to the recommendation, without any training."""
    request = Request(family, trials=TRIALS, folds=FOLDS, trainings=0)
    cost_of(request, parties, rows, columns)  # one that does not count: what is read and imported for the first time
    private = replace(request, private=True)
    return cost_of(request, parties, rows, columns), cost_of(private, parties, rows, columns)


def cost_of(request: Request, parties: int, rows: int, columns: int) -> SearchCost:
    """Return what one run costs."""
    engine = CountingEngine(masked_gates(parties, rows, columns))
    began = time.process_time()
    drive(recommend(request), engine)
    engine.cost.aggregator = time.process_time() - began - engine.cost.parties
    return engine.cost


def masked_gates(parties: int, rows: int, columns: int) -> list[Gate]:
    """Return parties with made-up rows, whose sums leave under masks."""
    made = made_up_rows(rows, columns)
    table = pd.DataFrame(made.X, columns=[f"x{k}" for k in range(columns)])
    table = table.assign(**{TARGET: np.where(made.y == 1, "yes", "no")})
    names = tuple(f"party-{k:03}" for k in range(parties))
    signers = FreshSigner.for_each(names)
    shares = np.array_split(np.arange(rows), parties)
    return [
        Gate(Party(name, Table(table.iloc[share], TARGET)), masks=Masking(names, signers[name]))
        for name, share in zip(names, shares, strict=True)
    ]
