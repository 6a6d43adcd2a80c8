"""What FLoRA itself says in a cell, from the very pairs that the paper's surfaces learn from.

It is the product's own program from there on: candidates of APLM, measured by all parties on fresh folds; a choice
among them; and the verdict of ``flora tune``, by five pairs of trainings that each leave out a fold of every party's
rows. All that the parties said is stored and the verdict is not: today's rule is asked of it whenever it is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flora.aggregator.aggregation import Aggregation, aggregate
from flora.core.codec import to_document, to_json
from flora.models import family_of
from flora.problem.family import PAPER
from flora.problem.path import counts_by_held_rows
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.result import versions
from flora.program.single_shot import compare, confirm
from flora_lab.cells import Cell
from flora_lab.datasets import declared
from flora_lab.evidence import RunEvidence
from flora_lab.paper.as_published import SEED, AuthorsModel
from flora_lab.paper.emulated import EmulatedParties
from flora_lab.paper.pooled import Pooled
from flora_lab.paper.searches import SCORING, PaperSearch, in_testbed, plan_of, tables_of
from flora_lab.pieces import FIT, Bench, keep

FITS = 300  # of an answer, about: a tenth of a search's


@dataclass(frozen=True)
class PaperAnswer:
    """What FLoRA says in a cell, and what that is worth."""

    cell: Cell

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"answers/{self.cell.name}"

    def compute(self, bench: Bench) -> dict[str, Any]:
        """Return the answer with all that it rests on."""
        request, known = self._request(bench), family_of(self.cell.family)
        searches = {party: PaperSearch(self.cell, party) for party in tables_of(self.cell, bench.data)}
        trials = [search.trials(bench) for search in searches.values()]
        plan = replace(plan_of(self.cell, bench.protocol, bench.protocol.trials), paths=True)
        parties = EmulatedParties(
            {party: search.rows(bench) for party, search in searches.items()}, AuthorsModel.of(self.cell.family)
        )
        schema = next(iter(parties.rows.values())).schema
        learnt = aggregate(trials, request.surface, SEED, known)
        measured = drive(confirm(learnt, plan, schema, request), parties)
        _, comparison, _ = drive(compare(measured, plan, schema, request), parties)
        return {
            "protocol": bench.protocol.numbers,
            "confirmed": to_json({party: tuple(said) for party, said in measured.confirmed.items()}),
            "config": dict(measured.recommendation.config),
            "evidence": to_document(RunEvidence.of(measured.choice, comparison)),
            **_worth(measured, Pooled.of(self.cell, bench)),
            "versions": versions(),
        }

    def work(self, bench: Bench) -> tuple[float, float]:  # noqa: ARG002  (it is as much work with any protocol)
        """Return how much work it is. There are no parts of it."""
        return float(FITS * (declared(self.cell.dataset).rows + self.cell.parties * FIT)), 0.0

    def read(self, bench: Bench) -> dict[str, Any]:
        """Return the answer, computed if it is not there."""
        found: dict[str, Any] = keep(self, bench)
        return found

    def _request(self, bench: Bench) -> Request:
        """Return what the product is asked for; all that is not named here has its default."""
        numbers = bench.protocol
        return Request(
            self.cell.family,
            space=PAPER,
            task="classification",
            scoring=SCORING,
            trials=numbers.trials,
            folds=numbers.folds,
            seed=self.cell.seed,
        )


def answers_of(cells: Sequence[Cell]) -> list[PaperAnswer]:
    """Return the answers of those cells that have one: with all pairs of the published box, and not the testbed's."""
    return [
        PaperAnswer(cell)
        for cell in cells
        if cell.trials is None and cell.send is None and cell.box == "published" and not in_testbed(cell)
    ]


def _worth(found: Aggregation, pooled: Pooled) -> dict[str, Any]:
    """Return what the choice and the default are worth to the training, which may count their trees."""
    config, path, default = found.recommendation.config, found.path, found.space.default
    counts = path is not None and counts_by_held_rows(found.rows)
    furthest = {path.name: path.furthest(found.parties)} if path else {}
    return {
        "counts": counts,
        "score": pooled.counted_score({**config, **furthest}) if counts else pooled.score(config),
        "default_counted": pooled.counted_score({**default, **furthest}) if path else None,
    }
