"""How the aggregator asks. The algorithm is a program that yields steps; an engine carries them to the parties."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeVar

from flora.errors import InputError
from flora.extrapolation import LearningCurve
from flora.schema import Schema
from flora.sketch import Sketch
from flora.space import Config
from flora.trials import PartyTrials, Trial

StepName = Literal["describe", "search", "confirm", "certify", "train"]
T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One question to all parties; the payload is made of JSON's types."""

    name: StepName
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Confirmation:
    """One config measured by a party, and how much lower its loss is than the default's, on the same folds."""

    trial: Trial
    gain: float
    gain_error: float

    @property
    def config(self) -> Config:
        """The config that was measured."""
        return self.trial.config


@dataclass(frozen=True)
class Reply:
    """What one party sends back. A field that is not here cannot leave a party."""

    party: str
    rows: int
    schema: Schema | None = None
    trials: PartyTrials | None = None
    confirmations: tuple[Confirmation, ...] = ()
    sketch: Sketch | None = None  # only if a certificate is asked for
    curves: tuple[LearningCurve, ...] = ()
    model: bytes = b""  # after a training: the same bytes from each party
    trained: Config | None = None  # its config, with what was chosen inside the training
    held_loss: float | None = None  # the model's loss on the rows that this party held out, where there are any
    notes: tuple[str, ...] = ()  # sentences for the user: folds reduced, a constant column


Program = Generator[Step, Sequence[Reply], T]
Ask = Callable[[Step], Iterable[Reply]]


def drive(program: Program[T], ask: Ask) -> T:
    """Run a program to its end; ``ask`` carries its steps, replies come sorted by party."""
    replies: Any = None  # what starts a generator
    while True:
        try:
            step = program.send(replies)
        except StopIteration as end:
            result: T = end.value
            return result
        replies = _sorted(ask(step))


def _sorted(replies: Iterable[Reply]) -> list[Reply]:
    ordered = sorted(replies, key=lambda reply: reply.party)
    for one, other in pairwise(ordered):
        if one.party == other.party:
            raise InputError(f"party names must differ, {one.party!r} comes twice")
    return ordered
