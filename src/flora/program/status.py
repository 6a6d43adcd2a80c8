"""How far a run is that another machine drives, as its aggregator says it: names and counts only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from flora.core.rules import Name, Sentence, Total, check

State = Literal["works", "quiet", "silent", "has answered"]


@dataclass(frozen=True)
class PartyStatus:
    """How far one party is with a step."""

    state: State = "works"
    done: Total = 0
    total: Total = 0  # 0: nobody knows

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class RunStatus:
    """The step under way; before the first it has no name."""

    step: Sentence = ""
    number: Total = 0
    parties: Mapping[Name, PartyStatus] = field(default_factory=dict)
    awaited: tuple[Name, ...] = ()  # for whom a sum waits
    training: Total = 0  # of a training: which one it is, the fold that it leaves out, and its passes
    fold: Total = 0
    folds: Total = 0
    passes: Total = 0

    def __post_init__(self) -> None:
        check(self)

    def those(self, *states: State) -> list[str]:
        """Return the parties in one of these states."""
        return [name for name, party in self.parties.items() if party.state in states]
