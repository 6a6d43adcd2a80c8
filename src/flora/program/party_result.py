"""One party's line of a run's result."""

from dataclasses import dataclass, field
from typing import Self

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.verdict import Decision
from flora.core.codec import FLAT
from flora.problem.path import fits_in
from flora.problem.plan import SearchPlan
from flora.problem.space import Config
from flora.problem.trials import PartyTrials


@dataclass(frozen=True)
class MeasuredGain:
    """What one party measured in the confirmation round, and how it stands beside the others."""

    gain: float
    gain_error: float
    distance: float | None  # from the others' mean, in standard errors
    disagrees: bool
    config_without: Config | None  # what the others recommend
    verdict_without: Decision | None


@dataclass(frozen=True)
class PartyResult:
    """One party's line of the result."""

    name: str
    rows: int | None
    trials: int
    failed_trials: int
    best_loss: float | None  # None in a private search, as all that follows
    best_loss_error: float | None
    default_loss: float | None
    default_loss_error: float | None
    recommended_loss: float | None
    recommended_loss_error: float | None
    trials_digest: str | None
    measured: MeasuredGain | None = field(default=None, metadata=FLAT)

    @classmethod
    def all_of(cls, found: Aggregation, plan: SearchPlan | None) -> tuple[Self, ...]:
        """Return the parties' lines: of a private search their rows, and the trials that were asked for."""
        if found.searched is None or plan is None:
            return tuple(cls.of(party, found) for party in found.trials)
        unknown = (None,) * 7
        return tuple(cls(name, rows, plan.trials, 0, *unknown) for name, rows in found.sizes.items())

    @classmethod
    def of(cls, party: PartyTrials, found: Aggregation) -> Self:
        """Return a party's line, with what it measured in the confirmation round, if there was one."""
        diagnosis = found.diagnoses.get(party.party)
        default = found.confirmed[party.party][0].trial if diagnosis else party.default
        recommended = diagnosis.measured if diagnosis else None
        return cls(
            party.party,
            party.rows,
            fits_in([trial.config for trial in party.trials], found.path),
            len(party.failed),
            party.best.loss,
            party.best.error,
            default.loss if default else None,
            default.error if default else None,
            recommended.trial.loss if recommended else None,
            recommended.trial.error if recommended else None,
            party.digest,
            MeasuredGain(
                diagnosis.measured.gain,
                diagnosis.measured.gain_error,
                diagnosis.distance,
                diagnosis.disagrees,
                diagnosis.config_without,
                diagnosis.verdict_without,
            )
            if diagnosis
            else None,
        )
