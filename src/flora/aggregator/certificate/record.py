"""The certificate: what is known of the gap between the config that is trained and the best one, and on what it rests.

Which number is proved, which is estimated and which is assumed stands next to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from flora.aggregator.certificate.extrapolation import Extrapolation
from flora.aggregator.certificate.measured import MeasuredGap
from flora.core.codec import has_form, read_fields, to_document
from flora.core.rules import shown
from flora.errors import InputError
from flora.problem.space import Config

Status = Literal["proved", "estimated", "assumed"]  # from the strongest to the weakest
STATUSES: tuple[Status, ...] = ("proved", "estimated", "assumed")
FORMAT: Mapping[str, Any] = {"format": "flora-certificate", "version": 2}
NOT_FIELDS = (*FORMAT, "dominant", "vacuous", "vacuous_because", "summary")
TERMS = {
    "shift": "the difference between the parties' data",
    "loss": "the roughness of the losses between both configs and the trials that decide there",
    "trials": "what the losses of these trials differ by",
    "noise": "the noise of cross-validation",
    "size": "what training on all rows changes",
    "floor": "what is taken off because no loss is below the lowest possible",
}


@dataclass(frozen=True)
class Number:
    """A number of the certificate, and how far it can be trusted. What nobody measured is assumed, mostly to be 0."""

    value: float
    status: Status


@dataclass(frozen=True)
class Growth:
    """What one config's loss at one party does between the party's rows and all rows, as far as one can tell."""

    party: str
    config: Literal["trained", "other"]
    expected: Extrapolation


@dataclass(frozen=True)
class Certificate:
    """What bounds how much more the trained config loses than the best of others. None: there is no bound."""

    config: Config  # that is trained
    measured: tuple[MeasuredGap, ...]  # to the best of those that were measured
    bound: Number | None  # to the best of a finite set, by the theorem; None: not below the range
    tried: Number | None  # to the best of those of the set that somebody tried
    range: Number | None  # what the config may lose above the lowest loss that there is; None: nobody knows that
    forms: Mapping[str, Number | None]  # the theorem's own two forms, of the surface's minimiser
    contributions: Mapping[str, float]  # of the terms, where the bound is attained; they add up to it
    spread: Number  # of the losses that were tried
    beta: Number
    parties: Mapping[str, Mapping[str, Number]]
    growth: tuple[Growth, ...]
    regret: Mapping[str, Number | None]
    configs: int
    tried_configs: int
    worst: Config  # where the bound is attained

    def __post_init__(self) -> None:
        if not self.contributions or set(self.contributions) - set(TERMS):
            raise InputError(f"contributions must be of the terms {list(TERMS)}, got {shown(list(self.contributions))}")

    @property
    def dominant(self) -> str:
        """The term that contributes most."""
        return max(self.contributions, key=lambda term: self.contributions[term])

    @property
    def vacuous(self) -> bool:
        """Whether the theorem says nothing: the losses that were tried do not differ by more than its bound."""
        return self.bound is None or self.bound.value >= self.spread.value

    @property
    def summary(self) -> list[str]:
        """The certificate in plain words."""
        return [
            *map(_measured_words, self.measured),
            *self._theorem_words(),
            *self.growth_words,
            *self._assumed_words(),
        ]

    @property
    def growth_words(self) -> list[str]:
        """What the rows of all parties change at each of them, in words."""
        return [f"{growth.party}, {growth.config} config: {_growth_words(growth.expected)}." for growth in self.growth]

    def _assumed_words(self) -> list[str]:
        numbers = [*(item for party in self.parties.values() for item in party.items()), ("beta", self.beta)]
        assumed = sorted({name for name, number in numbers if number.status == "assumed"})
        return [f"Assumed and not measured at every party: {', '.join(assumed)}."] if assumed else []

    def _theorem_words(self) -> list[str]:
        what = "If the numbers marked estimated and assumed are right, the config that is trained loses at most"
        largest = f"The largest part of that, {self.contributions[self.dominant]:.3g}, is {TERMS[self.dominant]}."
        said = []
        if self.tried is not None:
            said.append(f"{what} {self.tried.value:.3g} more than the best of {self.tried_configs} that were tried.")
        if self.bound is not None:
            said.append(f"{what} {self.bound.value:.3g} more than the best of {self.configs} configs.")
            if self.vacuous:
                said.append(f"That says little: the losses that were tried differ by {self.spread.value:.3g} only.")
            return [*said, largest]
        none = f"Of {self.configs} configs, the theorem gives no bound below the range"
        itself = "" if self.range is None else f", the {self.range.value:.3g} that what is trained may lose itself"
        return [*said, f"{none}{itself}."]

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as JSON's types, each number with its status."""
        said = {
            "dominant": self.dominant,
            "vacuous": self.vacuous,
            "vacuous_because": self.dominant if self.vacuous else None,
            "summary": self.summary,
        }
        return {**FORMAT, **to_document(self), **said}

    @classmethod
    def from_json(cls, document: Any) -> Self:
        """Read what :meth:`to_json` wrote; its words follow from its numbers, and are said anew."""
        if {key: document.get(key) for key in FORMAT} != FORMAT:
            raise InputError(f"must be a certificate of version {FORMAT['version']}")
        return read_fields(cls, {key: value for key, value in document.items() if key not in NOT_FIELDS})


has_form(Certificate, Certificate.to_json, Certificate.from_json)


def _measured_words(gap: MeasuredGap) -> str:
    if gap.basis == "trained":
        who = "Trained by all parties, the other config"
    else:
        who = f"At a party's size, the best of {gap.configs} measured configs"
    if gap.value is None:
        return f"{who} has no bound below the range."
    return f"{who} loses at most {gap.value:.3g} less ({gap.level:.0%} sure)."


def _growth_words(expected: Extrapolation) -> str:
    between = f"from {expected.low:+.3g} to {expected.high:+.3g}"
    if expected.change is None:
        return f"what {expected.rows} rows change is not identified, it may be {between} ({expected.reason})"
    return f"with {expected.rows} rows the loss may fall by {expected.change:.3g} ({between})"
