"""What today's federated models say of a stored cell: its recommendation against the default, fold by fold.

A cell stores what parties measured on their own rows. The verdict of a usual run comes from trainings by all of them,
which are made here, by the product's own program, for the config that the cell's measurements choose.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flora.aggregator.aggregation import Aggregation, aggregate
from flora.aggregator.choose import Choice
from flora.aggregator.comparison import Comparison
from flora.aggregator.recommend import recommendation_at
from flora.aggregator.surface import SurfaceChoice
from flora.core.codec import read, to_document
from flora.errors import FloraError
from flora.models import family_of
from flora.party.tables.table import describe
from flora.problem.trials import Gain, paired_gain
from flora.program.drive import drive
from flora.program.result import versions
from flora.program.single_shot import compare
from flora_lab.cells import Cell
from flora_lab.datasets import TARGET, declared, load
from flora_lab.evidence import RunEvidence
from flora_lab.judge.answers import JudgedAnswer
from flora_lab.judge.record import FoldLosses, Record
from flora_lab.judge.rules import as_trained, choice_of, measured_verdict
from flora_lab.judge.run import JudgedCell, all_rows, asked_parties, request_for
from flora_lab.judge.truth import measure_truths
from flora_lab.pieces import FIT, Bench, keep

ANEW = frozenset({"hgb"})  # families whose stored truth is another model's: LightGBM's trees


@dataclass(frozen=True)
class ComparedCell:
    """The trainings of a stored cell's comparison, and the truth of its two configs."""

    cell: Cell

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"compared/{self.cell.name}"

    def compute(self, bench: Bench) -> dict[str, Any]:
        """Train both configs by all parties in folds; where a family's model is another now, measure the truth anew."""
        record = JudgedCell(self.cell).record(bench)
        choice = choice_of(record, record.path)
        evidence = RunEvidence(_compared(record, choice, bench), choice.chosen.gain, choice.chosen_from)
        truth = _truth_anew(record, choice, bench) if self.cell.family in ANEW else _stored_truth(record, choice)
        return {"evidence": to_document(evidence), "truth": truth, "versions": versions()}

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is: two trainings for each fold."""
        return float(2 * bench.protocol.folds * (declared(self.cell.dataset).rows + self.cell.parties * FIT)), 0.0

    def answer(self, bench: Bench) -> JudgedAnswer:
        """Return what the product says of the cell, and what is true of it."""
        found = keep(self, bench)
        gain = paired_gain(found["truth"]["default"], found["truth"]["recommended"])
        evidence = read(RunEvidence, found["evidence"]).beside_guess(declared(self.cell.dataset).guess)
        verdict = evidence.verdict(self.cell.parties)
        return JudgedAnswer(self.cell, verdict, gain.estimate, gain.error)


def measured_answer(record: Record) -> JudgedAnswer:
    """Return what is said of a stored cell where the only training is the model's, and what is true of it."""
    choice = choice_of(record, record.path)
    truth = _stored_truth(record, choice)
    gain: Gain = paired_gain(truth["default"], truth["recommended"])
    return JudgedAnswer(record.cell, measured_verdict(record, choice), gain.estimate, gain.error)


def crossed_answers(record: Record) -> list[JudgedAnswer]:
    """Return what the usual verdict is by all folds of a stored truth but one, and what that one says; for each fold.

    A training on all rows stands for the federated one, so that a verdict needs no training here. The fold that judges
    took no part in the verdict, though its rows did in the trainings.
    """
    choice = choice_of(record, record.path)
    truth = _stored_truth(record, choice)
    gains = np.subtract(truth["default"], truth["recommended"])
    answers = []
    for fold, gain in enumerate(gains):
        default, recommended = (losses[:fold] + losses[fold + 1 :] for losses in truth.values())
        guesses = (declared(record.cell.dataset).guess,) * len(default)
        evidence = RunEvidence(Comparison(default, recommended, guesses), choice.chosen.gain, choice.chosen_from)
        answers.append(
            JudgedAnswer(record.cell, evidence.verdict(record.cell.parties), float(gain), float(np.std(gains, ddof=1)))
        )
    return answers


def _compared(record: Record, choice: Choice, bench: Bench) -> Comparison | None:
    """Return what federated models say of the choice: None where it trains to the default's model."""
    cell = record.cell
    request = replace(request_for(cell.family, record.protocol, cell.seed), trainings=None)
    plan, schema = request.plan("classification"), describe(load(cell.dataset, bench.data), TARGET)
    table = load(cell.dataset, bench.data)
    ask = asked_parties(table, TARGET, cell.parties, cell.split, cell.seed)
    return drive(compare(_as_found(record, choice), plan, schema, request), ask)[1]


def _as_found(record: Record, choice: Choice) -> Aggregation:
    """Return the cell's trials and choice as the aggregator has them before the trainings."""
    family = family_of(record.cell.family)
    found = aggregate(record.trials, SurfaceChoice(), record.cell.seed, family)
    chosen = choice.chosen
    recommendation = recommendation_at(found.surface, found.space, chosen.measured, chosen.config)
    return replace(found, recommendation=recommendation, verdict=choice.verdict, choice=choice)


def _stored_truth(record: Record, choice: Choice) -> Mapping[str, FoldLosses]:
    picks = {"default": record.default, "recommended": choice.chosen.config}
    return {name: record.losses(as_trained(record, config)) for name, config in picks.items()}


def _truth_anew(record: Record, choice: Choice, bench: Bench) -> Mapping[str, FoldLosses]:
    """Return the losses of default and recommendation on the folds of all rows, with today's model."""
    cell = record.cell
    plan = request_for(cell.family, record.protocol, cell.seed).plan("classification")
    if plan.space.digest != record.trials[0].space.digest:
        raise FloraError(f"{cell.name}: its space is not that of today's {cell.family}")
    truths = measure_truths(
        all_rows(cell.dataset, bench),
        plan,
        family_of(cell.family),
        trained=[record.default, choice.chosen.config],
        others=[],
        parties=cell.parties,
    )
    return _stored_truth(replace(record, truths=truths), choice)
