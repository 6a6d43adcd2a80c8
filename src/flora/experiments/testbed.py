"""The paper's testbed: one real federated training of HGB for each config, scored on rows that nobody trained on.

As in the paper, a share of the rows is held out, and each party draws its own rows at random from the rest. Two parties
may draw the same row, and on oil spill they must: 3 x 200 rows are drawn from 562. Ours: the held-out rows are
stratified (oil spill has 41 rows of class 1), and a party's loss is that of cross-validation, as in the other tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flora.engines.inprocess import in_process
from flora.experiments.boxes import recommended, space_of
from flora.experiments.cells import SEED, Protocol, choose
from flora.experiments.datasets import TARGET
from flora.experiments.pieces import FIT, ROW, Bench, keep, search_work, searched, to_bytes
from flora.experiments.published import SURFACES, TESTBED
from flora.experiments.run import SCORING, table_of
from flora.federation import Step
from flora.model_file import unpack
from flora.party import Party
from flora.plan import SearchPlan
from flora.randomness import derived_seed, stream
from flora.result import versions
from flora.schema import Schema
from flora.space import Config
from flora.table import describe, encode
from flora.trials import PartyTrials

FAMILY = "hgb"
TRIALS = 500  # the paper's T of this table


@dataclass(frozen=True)
class Bed:
    """One row of the table: everything that decides it, besides the table's own sizes."""

    dataset: str
    seed: int = SEED
    box: str = "published"

    @property
    def name(self) -> str:
        """The name of its files."""
        sizes = TESTBED[self.dataset]
        deal = f"{FAMILY}-{self.dataset}-p{sizes.parties}-n{sizes.rows}-h{100 * sizes.held_out:g}-s{self.seed}"
        return deal if self.box == "published" else f"{deal}-{self.box}"

    def plan(self, protocol: Protocol) -> SearchPlan:
        """Return the parties' search."""
        space = space_of(FAMILY, self.box)
        plan = SearchPlan(FAMILY, "classification", space, SCORING, protocol.trials, protocol.folds, seed=self.seed)
        return replace(plan, paths=False)  # a trial is one pair, as in the paper

    def deal(self, data: Path | None) -> tuple[pd.DataFrame, Mapping[str, pd.DataFrame]]:
        """Return the rows that are held out, and each party's."""
        from sklearn.model_selection import train_test_split

        table, sizes = table_of(self.dataset, data), TESTBED[self.dataset]
        rest, held = train_test_split(
            table,
            test_size=sizes.held_out,
            stratify=table[TARGET],
            random_state=derived_seed(self.seed, "testbed", "held out"),
        )
        names = [f"party-{k + 1}" for k in range(sizes.parties)]
        return held, {name: _drawn(rest, sizes.rows, stream(self.seed, "testbed", name)) for name in names}


def _drawn(table: pd.DataFrame, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    return table.iloc[np.sort(rng.choice(len(table), rows, replace=False))]


@dataclass(frozen=True)
class BedSearch:
    """One party's search."""

    bed: Bed
    party: str

    def file(self, bench: Bench) -> Path:
        """Return the file of its trials."""
        return bench.results / bench.protocol.local / "searches" / f"{self.bed.name}-{self.party}.json"

    def compute(self, bench: Bench) -> bytes:
        """Return its trials, as they would leave the party."""
        _, tables = self.bed.deal(bench.data)
        rows = encode(tables[self.party], _schema(self.bed, bench.data))
        return searched(self.bed.plan(bench.protocol), rows, self.party, self._storage(bench))

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is, and which part of it is done."""
        return search_work(bench.protocol.trials, TESTBED[self.bed.dataset].rows, self._storage(bench))

    def _storage(self, bench: Bench) -> Path:
        return bench.work / f"{bench.protocol.local}-testbed-{self.bed.name}-{self.party}.db"


@dataclass(frozen=True)
class BedRow:
    """The row of numbers, which follows from the parties' searches and one training for each config."""

    bed: Bed

    def file(self, bench: Bench) -> Path:
        """Return the file of the row."""
        return bench.results / bench.protocol.local / "testbed" / f"{self.bed.name}.json"

    def compute(self, bench: Bench) -> bytes:
        """Return the row."""
        return to_bytes(_row(self.bed, bench))

    def work(self, bench: Bench) -> tuple[float, float]:  # noqa: ARG002  (a row is as much work with any protocol)
        """Return how much work it is: the trainings. There are no parts of it."""
        return float(ROW * TESTBED[self.bed.dataset].parties * (TESTBED[self.bed.dataset].rows + FIT)), 0.0


def beds_of(*, datasets: Sequence[str] = (), splits: int = 1, box: str = "published") -> list[Bed]:
    """Return the table's rows, for each of ``splits`` ways to deal the rows out."""
    kept = choose("testbed", datasets, splits)
    return [Bed(dataset, SEED + k, box) for dataset in kept for k in range(splits)]


def searches_of(beds: Sequence[Bed]) -> list[BedSearch]:
    """Return the parties' searches."""
    return [BedSearch(bed, f"party-{k + 1}") for bed in beds for k in range(TESTBED[bed.dataset].parties)]


def _row(bed: Bed, bench: Bench) -> dict[str, Any]:
    held, tables = bed.deal(bench.data)
    trials = [PartyTrials.read(keep(BedSearch(bed, party), bench)) for party in tables]
    configs = {name: recommended(trials, FAMILY, name, SEED) for name in SURFACES}
    sizes, classes = TESTBED[bed.dataset], [int((held[TARGET] == label).sum()) for label in (0, 1)]
    return {
        **{"family": FAMILY, "dataset": bed.dataset, "seed": bed.seed, "box": bed.box},
        **{"parties": sizes.parties, "rows": sizes.rows, "held_out": sizes.held_out, "held_out_classes": classes},
        "protocol": {"trials": bench.protocol.trials, "folds": bench.protocol.folds},
        "baseline": _score(space_of(FAMILY, "published").default, bed, bench),
        "surfaces": {n: {"config": dict(config), "score": _score(config, bed, bench)} for n, config in configs.items()},
        "versions": versions(),
    }


def _score(config: Config, bed: Bed, bench: Bench) -> float:
    """Return the balanced accuracy, on the held-out rows, of the model that the parties train with a config."""
    from sklearn.metrics import balanced_accuracy_score

    schema, (held, tables) = _schema(bed, bench.data), bed.deal(bench.data)
    parties = [Party(name, table, TARGET) for name, table in tables.items()]
    plan = {"plan": bed.plan(bench.protocol).to_json(), "schema": schema.to_json()}
    whole = {"held": None, "choose": False}  # the config as it is, on all rows
    replies = list(in_process(parties)(Step("train", {**plan, "config": dict(config), **whole})))
    rows = encode(held, schema)
    return float(balanced_accuracy_score(rows.y, unpack(replies[0].model).model.predict(rows.X)))


def _schema(bed: Bed, data: Path | None) -> Schema:
    return describe(table_of(bed.dataset, data), TARGET)
