"""All that aggregator and parties say to each other: a record for each step, and one for each reply.

What is not a field of a reply cannot leave a party: a test pins the fields. Inside a step in which the parties work
together they add up over a :class:`~flora.core.collective.Collective`; nothing else passes between them. What a private
search says is in :mod:`flora.problem.private_messages`.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

from flora.core.codec import FLAT
from flora.core.rules import Amount, Measure, Name, Sentence, Share, Total, check
from flora.errors import WireError
from flora.problem.learning_curve import LearningCurve
from flora.problem.plan import SearchPlan, check_configs
from flora.problem.private_messages import (
    ConfirmPrivately,
    ConfirmPrivatelyReply,
    SearchPrivately,
    SearchPrivatelyReply,
    Survey,
    SurveyReply,
)
from flora.problem.schema import Schema, Task
from flora.problem.sketch import Sketch
from flora.problem.space import Config
from flora.problem.trials import PartyTrials, Trial


@dataclass(frozen=True)
class Describe:
    """What are your columns? With a schema: do your columns fit it?"""

    name: ClassVar[str] = "describe"
    together: ClassVar[bool] = False
    schema: Schema | None = None  # given by the consortium: then no column's name leaves
    task: Task | None = None

    def __post_init__(self) -> None:
        check(self, WireError)


@dataclass(frozen=True)
class Search:
    """Tune on your own rows, and send the pairs of configs and losses."""

    name: ClassVar[str] = "search"
    together: ClassVar[bool] = False
    plan: SearchPlan
    schema: Schema | None = None

    def __post_init__(self) -> None:
        check(self, WireError)


@dataclass(frozen=True)
class Confirm:
    """Measure these configs beside the default, on folds that the search has not seen."""

    name: ClassVar[str] = "confirm"
    together: ClassVar[bool] = False
    plan: SearchPlan
    schema: Schema | None
    configs: tuple[Config, ...]

    def __post_init__(self) -> None:
        check(self, WireError)
        check_configs(self.plan, self.configs)


@dataclass(frozen=True)
class Certify:
    """Tell how your rows are distributed, in means over rows, and how losses fall with more rows."""

    name: ClassVar[str] = "certify"
    together: ClassVar[bool] = True
    plan: SearchPlan
    schema: Schema
    configs: tuple[Config, ...]

    def __post_init__(self) -> None:
        check(self, WireError)
        check_configs(self.plan, self.configs)


@dataclass(frozen=True)
class Train:
    """Train one model together."""

    name: ClassVar[str] = "train"
    together: ClassVar[bool] = True
    plan: SearchPlan
    schema: Schema
    config: Config
    held: Share = 0.0  # of each party's rows: a first pass is judged by them
    choose: bool = False  # the place on a path, by these rows
    fold: Total = 0  # of each party's rows, which this training leaves out and is judged by
    folds: Total = 0  # 0: it uses all rows, and its model is wanted; else no model leaves, but a loss
    apart: bool = False  # a fold's loss is each party's own; else that on the rows of all, from sums

    def __post_init__(self) -> None:
        check(self, WireError)
        if self.folds == 1 or self.fold > max(self.folds - 1, 0):
            raise WireError(f"fold must be one of 2 or more folds, got {self.fold} of {self.folds}")

    @property
    def passes(self) -> int:
        """How often it trains: with rows held out a first time to be judged by them, then on all."""
        return 2 if self.held else 1


Step = Describe | Search | Confirm | Certify | Train | SearchPrivately | Survey | ConfirmPrivately
STEPS: dict[str, type[Step]] = {step.name: step for step in get_args(Step)}


@dataclass(frozen=True)
class Confirmation:
    """One config measured by a party, and how much lower its loss is than the default's, on the same folds."""

    trial: Trial = field(metadata=FLAT)
    gain: Measure
    gain_error: Amount

    def __post_init__(self) -> None:
        check(self, WireError)

    @property
    def config(self) -> Config:
        """The config that was measured."""
        return self.trial.config


@dataclass(frozen=True)
class DescribeReply:
    """A party's columns, unless they were given."""

    party: Name
    rows: Total
    schema: Schema | None = None
    notes: tuple[Sentence, ...] = ()  # sentences for the user: a constant column, folds reduced

    def __post_init__(self) -> None:
        check(self, WireError)


@dataclass(frozen=True)
class SearchReply:
    """What a party tried."""

    party: Name
    rows: Total
    trials: PartyTrials | None  # None: its rows allow no search, and the notes say why
    notes: tuple[Sentence, ...] = ()

    def __post_init__(self) -> None:
        check(self, WireError)
        _check_own(self.party, *([self.trials] if self.trials else []))


@dataclass(frozen=True)
class ConfirmReply:
    """What a party measured, the default first; nothing where its rows allow no search."""

    party: Name
    rows: Total
    confirmations: tuple[Confirmation, ...]
    notes: tuple[Sentence, ...] = ()

    def __post_init__(self) -> None:
        check(self, WireError)


@dataclass(frozen=True)
class CertifyReply:
    """A sketch of a party's rows, and its learning curves."""

    party: Name
    rows: Total
    sketch: Sketch | None
    curves: tuple[LearningCurve, ...]
    notes: tuple[Sentence, ...] = ()

    def __post_init__(self) -> None:
        check(self, WireError)
        _check_own(self.party, *([self.sketch] if self.sketch else []), *self.curves)


@dataclass(frozen=True)
class TrainReply:
    """The model, which is the same bytes from each party; none of a training that left out a fold."""

    party: Name
    rows: Total
    model: bytes
    config: Config  # as trained, with what was chosen inside the training
    held_loss: Measure | None = None  # on rows held out, or left out by all parties, where there are any
    guess_loss: Measure | None = None  # of the best prediction that looks at no column, on rows left out by all parties
    notes: tuple[Sentence, ...] = ()

    def __post_init__(self) -> None:
        check(self, WireError)


Reply = (
    DescribeReply
    | SearchReply
    | ConfirmReply
    | CertifyReply
    | TrainReply
    | SearchPrivatelyReply
    | SurveyReply
    | ConfirmPrivatelyReply
)
REPLIES: dict[str, type[Reply]] = dict(zip(STEPS, get_args(Reply), strict=True))  # to the steps, in their order


def _check_own(party: str, *parts: Any) -> None:
    """Raise where a part of a reply says that it is another party's."""
    for part in parts:
        if part.party != party:
            raise WireError(f"{type(part).__name__}: its party must be the sender's {party!r}, got {part.party!r}")
