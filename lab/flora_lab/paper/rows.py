"""The rows of the tables: numbers that follow from a cell's searches.

In all tables but the testbed the federated training is emulated by a pooled one, scored on the folds of the centralised
search. In the testbed the parties train one model for each config, which is scored on rows that nobody trained on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flora.aggregator.verdict import gamma
from flora.engines.threads import in_process
from flora.models.model_file import unpack
from flora.models.rows import encode
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.tables.table import Table, describe
from flora.problem.messages import Train, TrainReply
from flora.problem.space import Config
from flora.problem.trials import PartyTrials
from flora.program.drive import Program, asked, drive
from flora.program.result import versions
from flora_lab.cells import Cell
from flora_lab.datasets import TARGET, declared, load
from flora_lab.paper.as_published import SEED
from flora_lab.paper.boxes import box_of, recommended
from flora_lab.paper.pooled import Pooled, pooled_searches, trainings_to_match
from flora_lab.paper.published import SURFACES, TESTBED
from flora_lab.paper.searches import PaperSearch, drawn, in_testbed, plan_of, tables_of
from flora_lab.pieces import FIT, Bench, keep

DRAWS = 5  # of a surface's forests: the paper has one, of an unknown seed
ROW = 2 + len(SURFACES) * DRAWS  # configs of a row that are measured on all rows
KEYS = ("family", "dataset", "parties", "split", "seed", "trials", "send", "box")  # of a cell, in a table


@dataclass(frozen=True)
class TableRow:
    """A cell's row of numbers."""

    cell: Cell

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"{'testbed' if in_testbed(self.cell) else 'cells'}/{self.cell.name}"

    def compute(self, bench: Bench) -> dict[str, Any]:
        """Return the row."""
        return (_trained if in_testbed(self.cell) else _emulated)(self.cell, bench)

    def work(self, bench: Bench) -> tuple[float, float]:  # noqa: ARG002  (a row is as much work with any protocol)
        """Return how much work it is: configs on all rows, or trainings. There are no parts of it."""
        rows = declared(self.cell.dataset).rows
        if not in_testbed(self.cell):
            return float(ROW * (rows + FIT)), 0.0
        return float(ROW * self.cell.parties * (TESTBED[self.cell.dataset].rows + FIT)), 0.0

    def read(self, bench: Bench) -> dict[str, Any]:
        """Return the row, computed if it is not there."""
        found: dict[str, Any] = keep(self, bench)
        return found


def _emulated(cell: Cell, bench: Bench) -> dict[str, Any]:
    central, chance = (search.trials(bench) for search in pooled_searches(cell))
    whole = [PaperSearch(cell, party).trials(bench) for party in tables_of(cell, bench.data)]
    parties = [_cut(trials, cell) for trials in whole]
    pooled = Pooled.of(cell, bench)
    fresh_default, fresh_best = pooled.fresh_scores(central.best.config)
    local = [1 - party.best.loss for party in whole]
    return {
        **{key: getattr(cell, key) for key in KEYS},
        "protocol": bench.protocol.numbers,
        "baseline": 1 - central.trials[0].loss,
        "best": 1 - central.best.loss,
        "fresh_baseline": fresh_default,
        "fresh_best": fresh_best,
        "worst_party": min(local),
        "best_party": max(local),
        "gamma": gamma(whole),
        "surfaces": {name: [_draw(name, k, parties, pooled, chance) for k in range(DRAWS)] for name in SURFACES},
        "versions": versions(),
    }


def _draw(
    name: str, number: int, parties: Sequence[PartyTrials], pooled: Pooled, chance: PartyTrials
) -> dict[str, Any]:
    """Return what one draw of a surface's forests recommends, its score, and the random trainings that match it."""
    config = recommended(parties, pooled.plan.family, name, SEED + number)
    score = pooled.score(config)
    return {"config": dict(config), "score": score, "trainings": trainings_to_match(score, chance)}


def _cut(trials: PartyTrials, cell: Cell) -> PartyTrials:
    first = replace(trials, trials=trials.trials[: cell.trials]) if cell.trials else trials
    return first.keep_best(cell.send) if cell.send else first


def _trained(cell: Cell, bench: Bench) -> dict[str, Any]:
    held, tables = drawn(cell, bench.data)
    trials = [PaperSearch(cell, party).trials(bench) for party in tables]
    configs = {name: recommended(trials, cell.family, name, SEED) for name in SURFACES}
    sizes = TESTBED[cell.dataset]
    return {
        **{"family": cell.family, "dataset": cell.dataset, "seed": cell.seed, "box": cell.box},
        **{"parties": sizes.parties, "rows": sizes.rows, "held_out": sizes.held_out},
        "held_out_classes": [int((held[TARGET] == label).sum()) for label in ("0", "1")],
        "protocol": bench.protocol.numbers,
        "baseline": _score(box_of(cell.family, "published").default, cell, bench),
        "surfaces": {
            name: {"config": dict(config), "score": _score(config, cell, bench)} for name, config in configs.items()
        },
        "versions": versions(),
    }


def _score(config: Config, cell: Cell, bench: Bench) -> float:
    """Return the balanced accuracy, on the held-out rows, of the model that the parties train with a config."""
    from sklearn.metrics import balanced_accuracy_score

    schema = describe(load(cell.dataset, bench.data), TARGET)
    held, tables = drawn(cell, bench.data)
    gates = [Gate(Party(name, Table(table, TARGET))) for name, table in tables.items()]
    step = Train(plan_of(cell, bench.protocol, bench.protocol.trials), schema, config)  # as it is, on all rows
    reply = drive(_training(step), in_process(gates))
    rows = encode(held, schema)
    return float(balanced_accuracy_score(rows.y, unpack(reply.model).model.predict(rows.X)))


def _training(step: Train) -> Program[TrainReply]:
    first, *_ = yield from asked(step, TrainReply)
    return first
