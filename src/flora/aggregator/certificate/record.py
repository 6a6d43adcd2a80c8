"""The certificate: the terms of the theorem, put together for one run, each with what it rests on.

Which number is proved, which is estimated and which is assumed stands next to it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.certificate.extrapolation import Extrapolation
from flora.problem.space import Config

Floats = NDArray[np.float64]
Status = Literal["proved", "estimated", "assumed"]  # from the strongest to the weakest
STATUSES: tuple[Status, ...] = ("proved", "estimated", "assumed")
PAPERS = ("paper", "iid")  # forms of the bound that assume that more rows change nothing
TERMS = {
    "shift": "the difference between the parties' data",
    "loss": "the roughness of the losses between a config and the nearest trial",
    "surface": "the roughness of the surface between a config and the nearest trial",
    "training": "the surface's error at the trials themselves",
    "size": "what training on all rows changes",
    "minimiser": "the surface's minimum that was not found",
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
    config: Literal["recommended", "default"]
    expected: Extrapolation


@dataclass(frozen=True)
class Certificate:
    """The bound on how much more the recommendation loses than the best of a finite set of configs."""

    bound: Number
    forms: Mapping[str, Number]  # the paper's, its IID form, and ours by Lipschitz constants and by moduli
    contributions: Mapping[str, float]  # of the terms, at the worst config; they add up to the bound
    spread: Number  # of the losses that were tried
    beta: Number
    parties: Mapping[str, Mapping[str, Number]]
    growth: tuple[Growth, ...]
    regret: Mapping[str, Number | None]  # None: there is no bound
    configs: int
    worst: Config  # where the bound is attained

    @property
    def dominant(self) -> str:
        """The term that contributes most."""
        return max(self.contributions, key=lambda term: self.contributions[term])

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: the losses that were tried do not differ by more than it."""
        return self.bound.value >= self.spread.value

    @property
    def summary(self) -> list[str]:
        """The certificate in plain words."""
        said = [
            "If the numbers marked estimated and assumed are right, the recommendation loses at most "
            f"{self.bound.value:.3g} more than the best of {self.configs} configs.",
            f"The largest part of that, {self.contributions[self.dominant]:.3g}, is {TERMS[self.dominant]}.",
        ]
        if self.vacuous:
            said.insert(1, f"This bound is vacuous: the losses that were tried differ by {self.spread.value:.3g} only.")
        for growth in self.growth:
            said.append(f"{growth.party}, {growth.config} config: {_growth_words(growth.expected)}.")
        numbers = [*(item for party in self.parties.values() for item in party.items()), ("beta", self.beta)]
        if assumed := sorted({name for name, number in numbers if number.status == "assumed"}):
            said.append(f"Assumed and not measured at every party: {', '.join(assumed)}.")
        return said

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as JSON's types, each number with its status."""
        return {
            "format": "flora-certificate",
            "version": 1,
            **asdict(self),
            "worst": dict(self.worst),
            "dominant": self.dominant,
            "vacuous": self.vacuous,
            "vacuous_because": self.dominant if self.vacuous else None,
            "summary": self.summary,
        }


def _growth_words(expected: Extrapolation) -> str:
    between = f"from {expected.low:+.3g} to {expected.high:+.3g}"
    if expected.change is None:
        return f"what {expected.rows} rows change is not identified, it may be {between} ({expected.reason})"
    return f"with {expected.rows} rows the loss may fall by {expected.change:.3g} ({between})"
