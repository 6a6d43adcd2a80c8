"""What a run came to, as one record: ``result.json`` is its text."""

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from flora.aggregator.certificate.record import Certificate
from flora.aggregator.evidence import Objective
from flora.aggregator.verdict import Decision, Grade, gamma
from flora.core.codec import to_document
from flora.core.documents import Format
from flora.core.rules import check
from flora.errors import InputError
from flora.problem.plan import SearchPlan
from flora.problem.schema import Label, Schema
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import PartyTrials
from flora.program.party_result import PartyResult
from flora.program.request import Request
from flora.program.result_parts import CandidateResult, Grounds, ModelScore, PrivateResult, StatedGain, TrainingResult
from flora.program.scoring import asked_class, scoring_words
from flora.program.single_shot import Outcome

MODEL = "model.flora"
LIBRARIES = ("numpy", "optuna", "pandas", "scikit-learn", "scipy", "skops")
DECIDED = (  # a result's fields that decided it, beside the rows and the space
    *("family", "task", "scoring", "positive", "folds", "sampler"),
    *("surface", "regressor", "alpha", "weights", "objective", "seed"),
)
FORMAT = Format("flora-result", most=256 * 2**20)


@dataclass(frozen=True)
class Result:
    """What a run came to. All that a person or a program may want to know of it, but for the trials and the model."""

    config: Config
    default: Config | None
    verdict: Decision | None
    grade: Grade | None
    evidence: Grounds | None
    expected_gain: StatedGain | None
    predicted_loss: float
    predicted_loss_error: float
    objective: Objective
    parties: tuple[PartyResult, ...]
    candidates: tuple[CandidateResult, ...]
    family: str | None
    task: str | None
    surface: str
    regressor: str
    alpha: float
    weights: str
    scoring: str
    seed: int
    gamma_p: float | None
    space: SearchSpace
    space_digest: str
    versions: Mapping[str, str]
    folds: int | None = None
    sampler: str | None = None
    trained_config: Config | None = None  # None: no model was trained
    chosen_in_training: tuple[str, ...] = ()
    trainings: tuple[TrainingResult, ...] = ()
    training: str | None = None  # how the parties trained together, in a sentence
    model_score: ModelScore | None = None  # None: no federated models were compared
    model: str | None = None
    model_digest: str | None = None
    schema: Schema | None = None
    notes: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)  # parties of the consortium, and why they are not in it
    certificate: Certificate | None = None
    private: PrivateResult | None = None  # None: each party's pairs are known
    seconds: Mapping[str, float] = field(default_factory=dict)
    command: str | None = None
    positive: Label | None = None  # the class that the scoring asks for, where it asks for one

    def __post_init__(self) -> None:
        check(self)

    @property
    def scored(self) -> str:
        """The scoring in words: which class it asks for, where it asks for one."""
        return scoring_words(self.scoring, self.positive)

    @property
    def measured(self) -> bool:
        """Whether the parties measured the recommendation."""
        return any(party.measured for party in self.parties) or (self.private is not None and bool(self.candidates))

    @property
    def measured_config(self) -> Config:
        """The recommendation as the parties measured it, with their few rows: what their losses and surface say."""
        return next((each.measured for each in self.candidates if each.config == self.config), self.config)

    def to_document(self) -> dict[str, Any]:
        """Return ``result.json`` as JSON's types."""
        return {"format": FORMAT.name, "version": FORMAT.version, **to_document(self)}

    def to_text(self) -> str:
        """Return ``result.json``."""
        return FORMAT.text(to_document(self))

    @classmethod
    def from_text(cls, text: str | bytes, source: str) -> Self:
        """Read a ``result.json``."""
        return FORMAT.record(cls, text, source)


def result_of(outcome: Outcome, request: Request, seconds: Mapping[str, float]) -> Result:
    """Return what a run came to."""
    found, plan, trained = outcome.found, outcome.plan, outcome.trained
    verdict, surface, known = found.verdict, request.surface, _known(outcome)
    return Result(
        config=found.recommendation.config,
        default=dict(found.space.default) or None,
        verdict=verdict.decision if verdict else None,
        grade=verdict.grade if verdict else None,
        evidence=Grounds.of(verdict) if verdict else None,
        expected_gain=StatedGain.by(verdict) if verdict else None,
        predicted_loss=found.recommendation.loss,
        predicted_loss_error=found.recommendation.error,
        objective=request.objective,
        parties=PartyResult.all_of(found, plan),
        candidates=tuple(map(CandidateResult.of, found.choice.candidates)) if found.choice else (),
        family=known.family,
        task=known.task,
        surface=surface.name,
        regressor=surface.regressor,
        alpha=surface.alpha,
        weights=surface.weights,
        scoring=known.scoring,
        seed=request.seed,
        gamma_p=gamma(found.trials) if found.trials else None,
        space=found.space,
        space_digest=found.space.digest,
        versions=versions(),
        folds=plan.folds if plan else None,
        sampler=plan.sampler if plan else None,
        trained_config=trained.config if trained else None,
        chosen_in_training=trained.chosen if trained else (),
        trainings=tuple(
            TrainingResult(training.config, training.loss, training.fold) for training in outcome.trainings
        ),
        training=found.family.note if trained and found.family else None,
        model_score=_model_score(outcome),
        model=MODEL if trained else None,
        model_digest=hashlib.sha256(outcome.model).hexdigest() if trained else None,
        schema=outcome.schema,
        notes=outcome.notes,
        certificate=outcome.certificate,
        private=PrivateResult.of(found),
        seconds={name: round(value, 3) for name, value in seconds.items()},
        positive=known.positive if outcome.schema is None else asked_class(known.scoring, outcome.schema),
    )


def _model_score(outcome: Outcome) -> ModelScore | None:
    verdict, comparison = outcome.found.verdict, outcome.comparison
    if comparison is None:
        return None
    used = verdict is not None and verdict.decision == "use" and bool(comparison.recommended)
    return ModelScore.of(comparison, _known(outcome).scoring, used=used)


def _known(outcome: Outcome) -> PartyTrials | SearchPlan:
    """Return what says the family, the task and the scoring: the first party's trials, or a private search's plan."""
    if outcome.found.trials or outcome.plan is None:
        return outcome.found.trials[0]
    return outcome.plan


def versions() -> dict[str, str]:
    """Return the versions that a run depends on."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"flora": version("flora-hpo"), "python": platform.python_version(), **libraries}


def model_file(run: Path) -> Path:
    """Return the model's file in a run's folder, or the file itself that is named."""
    if not run.is_dir():
        return run
    file = run / MODEL
    if not file.exists() and (run / "result.json").exists():
        raise InputError(
            f"{run}: this run trained no model; flora tune --given FILES trains one after an exchange of files, "
            "where the parties can meet"
        )
    return file
