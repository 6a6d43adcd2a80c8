"""The parts of a run's result: gains as they are stated, what a verdict rests on, candidates, trainings."""

from dataclasses import dataclass, field
from typing import Self

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.choose import Candidate
from flora.aggregator.comparison import Comparison, mean_loss
from flora.aggregator.private import SurveyedMean
from flora.aggregator.verdict import LEVEL, Basis, Verdict
from flora.core.codec import FLAT
from flora.problem.privacy import Ledger
from flora.problem.space import Config
from flora.problem.trials import Gain, loss_of

ONE_ERROR = 0.68  # how often an interval of one standard error either side holds


@dataclass(frozen=True)
class StatedGain:
    """A gain with the ends of an interval, and how often such an interval holds the truth."""

    estimate: float
    low: float
    high: float
    standard_error: float
    level: float = ONE_ERROR

    @classmethod
    def of(cls, gain: Gain) -> Self:
        """Return a gain within one standard error."""
        return cls(gain.estimate, gain.low, gain.high, gain.error)

    @classmethod
    def by(cls, verdict: Verdict) -> Self:
        """Return the gain of a verdict, within the interval that counts what it was chosen from."""
        low, high = verdict.interval
        return cls(verdict.stated, low, high, verdict.gain.error, LEVEL)


@dataclass(frozen=True)
class Grounds:
    """What a verdict rests on."""

    basis: Basis  # "trained": federated trainings on all rows; "measured": each party on its own; "predicted": neither
    chosen_from: int  # configs that the same evidence chose from: the grade counts them
    gain: float  # as it was seen; stated is less, for what is chosen looks better than it is
    chance: float  # how probable, at most, so high a gain is where nothing is to be gained
    degrees_of_freedom: float | None  # of Student's t; null where the error is as good as known
    learns: bool = True  # false: models of the recommendation are not shown to predict better than a guess

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        """Return what a verdict rests on."""
        gain = verdict.gain
        return cls(
            verdict.basis, verdict.chosen_from, gain.estimate, verdict.chance, gain.degrees, learns=verdict.learns
        )


@dataclass(frozen=True)
class PrivateResult:
    """What a private search told of all parties together, besides the answer."""

    parties: int  # whose surfaces and gains are in the sums
    points: int  # at which the parties' surfaces were added up
    deviation: float  # of the parties' surfaces, at the lowest of these; under noise, of the belief in their mean
    ledger: Ledger | None = None  # what the sums tell of a party; None: they have no noise

    @classmethod
    def of(cls, found: Aggregation) -> Self | None:
        """Return what is to be said of a private search; None of another."""
        surface = found.surface
        if not isinstance(surface, SurveyedMean):
            return None
        ledger = found.searched.ledger if found.searched else None
        return cls(found.parties, surface.looked, float(surface.deviations[-1]), ledger)


@dataclass(frozen=True)
class CandidateResult:
    """A config that all parties measured."""

    config: Config
    measured: Config  # the same, but for what grows with the rows
    keeps_up: bool
    gain: StatedGain = field(metadata=FLAT)

    @classmethod
    def of(cls, candidate: Candidate) -> Self:
        """Return a candidate as it is stated."""
        return cls(candidate.config, candidate.measured, candidate.keeps_up, StatedGain.of(candidate.gain))


@dataclass(frozen=True)
class ModelScore:
    """How good a model is of the trained config: federated ones, each judged on a fold of all rows that it left out."""

    score: float
    standard_error: float  # over the folds
    folds: int
    default_score: float  # of the default config, on the same folds
    guess_score: float | None = None  # of the best prediction that looks at no column; None: not known

    @classmethod
    def of(cls, comparison: Comparison, scoring: str, *, used: bool) -> Self | None:
        """Return the score of what is trained; None of a single fold."""
        losses = comparison.recommended if used else comparison.default
        mean, default, guess = map(mean_loss, (losses, comparison.default, comparison.guesses))
        if mean is None or default is None:
            return None
        guessed = loss_of(scoring, guess.estimate) if guess else None
        return cls(
            loss_of(scoring, mean.estimate), mean.error, len(losses), loss_of(scoring, default.estimate), guessed
        )


@dataclass(frozen=True)
class TrainingResult:
    """One federated training, and its loss on the rows that were held or left out, where there were any."""

    config: Config
    held_loss: float | None
    fold: int | None = None  # of every party's rows, which it left out; None: it used all, and is the model
