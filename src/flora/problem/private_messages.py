"""What is said in a private search: no pair of a config and a loss leaves a party, and no loss of one party alone.

A reply has what follows from the parties' sums, the same from each of them. They add up over a collective: the
aggregator sees the sums and, under masks, nothing of what one party adds to them.
"""

from dataclasses import dataclass
from typing import ClassVar

from flora.core.rules import Amount, Count, Measure, Name, Sentence, Total, check
from flora.errors import WireError
from flora.problem.plan import SearchPlan, check_configs
from flora.problem.privacy import Epsilon
from flora.problem.schema import Schema
from flora.problem.space import Config

FEWEST_PARTIES = 3  # whose surfaces are added up: a sum of two shows each of them the other's


def too_few(parties: int) -> str | None:
    """Return why so few parties allow no private search; None where they are enough."""
    if parties >= FEWEST_PARTIES:
        return None
    why = "a sum of two shows each of them the other's share"
    return f"a private search needs {FEWEST_PARTIES} parties that can search, and here are {parties}: {why}"


@dataclass(frozen=True)
class SearchPrivately:
    """Tune on your own rows, and keep what you find."""

    name: ClassVar[str] = "search-privately"
    together: ClassVar[bool] = False
    plan: SearchPlan
    schema: Schema | None = None

    def __post_init__(self) -> None:
        check(self, WireError)


@dataclass(frozen=True)
class Survey:
    """Learn your own surface from your own pairs, and add it to the others' at points that all draw by the seed."""

    name: ClassVar[str] = "survey"
    together: ClassVar[bool] = True
    plan: SearchPlan
    schema: Schema | None
    regressor: Name
    by_rows: bool = False  # whether a party counts by its rows
    epsilon: Epsilon | None = None  # with it, one sum at few points, under noise; all parties count the same

    def __post_init__(self) -> None:
        check(self, WireError)


@dataclass(frozen=True)
class ConfirmPrivately:
    """Measure these configs beside the default, on folds that the search has not seen, and add up the gains."""

    name: ClassVar[str] = "confirm-privately"
    together: ClassVar[bool] = True
    plan: SearchPlan
    schema: Schema | None
    configs: tuple[Config, ...]
    last: Count | None = None  # place on the path, where fits pass through several: what lies beyond does not count
    free: bool = False  # whether gains are over the default at its best place

    def __post_init__(self) -> None:
        check(self, WireError)
        check_configs(self.plan, self.configs)


@dataclass(frozen=True)
class SearchPrivatelyReply:
    """Whether a party could search."""

    party: Name
    rows: Total
    searched: bool
    notes: tuple[Sentence, ...] = ()

    def __post_init__(self) -> None:
        check(self, WireError)


@dataclass(frozen=True)
class SurveyReply:
    """The mean of the parties' surfaces, from their sums: the same from each party."""

    party: Name
    rows: Total
    parties: Count  # whose surfaces they are
    means: tuple[Measure, ...]  # at each point; under noise, of each surface less its mean over the points
    deviations: tuple[Amount, ...]  # over the parties, at a few points; none under noise
    notes: tuple[Sentence, ...] = ()

    def __post_init__(self) -> None:
        check(self, WireError)


@dataclass(frozen=True)
class ConfirmPrivatelyReply:
    """The mean of what the parties measured, from its sums: the same from each party."""

    party: Name
    rows: Total
    parties: Count
    configs: tuple[Config, ...]  # that no party failed at; the default is the first
    gains: tuple[Measure, ...]  # over the default, by rows
    compared: tuple[Total, ...]  # the places of the best of each candidate, the default's first
    errors: tuple[Amount, ...]  # of their gains over the first
    degrees: tuple[Amount, ...]  # of freedom of these errors
    notes: tuple[Sentence, ...] = ()

    def __post_init__(self) -> None:
        check(self, WireError)
        if len(self.configs) != len(self.gains):
            raise WireError(f"a gain goes with each config, got {len(self.gains)} with {len(self.configs)}")
        if not len(self.compared) == len(self.errors) == len(self.degrees):
            raise WireError(f"an error goes with each config compared, got {len(self.errors)} of {len(self.compared)}")
        if not self.compared or max(self.compared) >= len(self.configs):
            raise WireError(f"compared must be places of {len(self.configs)} configs, got {list(self.compared)[:9]}")
