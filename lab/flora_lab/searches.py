"""``flora-lab masks --searches``: what a search in sums costs beside one that sends pairs.

Parties are threads of this process, and sums have masks as across machines. What is counted is all parties' own
seconds (``time.process_time`` while a step is at the parties) and what they send; what the aggregator does comes apart.
Both searches try the same configs on the same folds, which takes nearly all of the time wherever rows are many. So that
is counted apart, and the parties have few rows: what comes after it differs, and does not depend on the rows but for
the candidates' fits.
"""

import time
from collections.abc import Iterator, Sequence
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

TRIALS, FOLDS = 8, 3
ROWS_EACH = 100
TARGET = "label"
SEARCHES = ("search", "search-privately")  # the steps in which a party tries configs on its own


@dataclass
class SearchCost:
    """What one run up to its recommendation took."""

    trials: float = 0.0  # own seconds of all parties together, while each tries configs
    after: float = 0.0  # in all other steps
    aggregator: float = 0.0  # own seconds
    calls: int = 0  # of the first party: sums, keys, signatures
    sent: int = 0  # bytes of the first party

    @property
    def parties(self) -> float:
        """Own seconds of all parties together."""
        return self.trials + self.after


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
        seconds = time.process_time() - began
        if step.name in SEARCHES:
            self.cost.trials += seconds
        else:
            self.cost.after += seconds
        self.cost.sent += len(reply_text(replies[0], step))
        return replies

    def _added_up(self, gate: Gate, step: Step, line: Collective) -> Reply:
        watched = WatchedCollective(line, lambda: False)
        reply = gate.answer(step, watched)
        if line.rank == 0:
            self.cost.calls += watched.calls
            self.cost.sent += watched.sent
        return reply


def lines(families: Sequence[str], parties: Sequence[int], rows: int | None, columns: int) -> Iterator[str]:
    """Yield the table: for each family and number of parties a search with pairs and one in sums.

    Args:
        families: One after the other.
        parties: How many, one number after the other.
        rows: Of all parties together; None: as many for each party, however many they are.
        columns: Of the made-up rows.
    """
    yield f"{f'{ROWS_EACH} rows for each party' if rows is None else f'{rows} rows'}, {columns} columns"
    yield f"{TRIALS} trials of {FOLDS} folds; one run each"
    yield "| family | parties | search | own s a party: trials | then | times | aggregator: s | calls | kB a party |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for family in families:
        cost_of(Request(family, trials=2, folds=2, trainings=0), 2, 2 * ROWS_EACH, columns)  # what is imported first
        for count in parties:
            usual, private = costs_of(family, count, rows or count * ROWS_EACH, columns)
            for name, cost in (("pairs", usual), ("in sums", private)):
                yield (
                    f"| {family} | {count} | {name} | {cost.trials / count:.2f} | {cost.after / count:.2f} "
                    f"| {cost.parties / usual.parties:.2f} | {cost.aggregator:.2f} | {cost.calls} "
                    f"| {cost.sent / 1e3:.0f} |"
                )


def costs_of(family: str, parties: int, rows: int, columns: int) -> tuple[SearchCost, SearchCost]:
    """Return what a search with pairs costs and one in sums, up to the recommendation, without any training."""
    request = Request(family, trials=TRIALS, folds=FOLDS, trainings=0)
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
