"""How a program is run: it yields steps, an engine carries each to the parties, and their replies come back."""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, TypeVar

from flora.errors import FloraError
from flora.problem.messages import Reply, Step
from flora.problem.trials import check_party_names

T = TypeVar("T")
R = TypeVar("R", bound=Reply)
Program = Generator[Step, Sequence[Reply], T]
Ask = Callable[[Step], Iterable[Reply]]  # an engine


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


def asked(step: Step, kind: type[R]) -> Program[list[R]]:
    """Ask all parties for one step, and return their replies, which are of the kind that goes with it."""
    replies = yield step
    found: list[R] = [reply for reply in replies if isinstance(reply, kind)]
    for reply in replies:
        if not isinstance(reply, kind):
            raise FloraError(f"party {reply.party!r} answered {step.name!r} with a {type(reply).__name__}")
    return found


def timed(ask: Ask, seconds: dict[str, float]) -> Ask:
    """Return the same engine, which adds up how long each kind of step takes."""

    def taking_note(step: Step) -> Iterable[Reply]:
        began = time.perf_counter()
        replies = list(ask(step))
        seconds[step.name] = seconds.get(step.name, 0.0) + time.perf_counter() - began
        return replies

    return taking_note


def _sorted(replies: Iterable[Reply]) -> list[Reply]:
    ordered = sorted(replies, key=lambda reply: reply.party)
    check_party_names(reply.party for reply in ordered)
    return ordered
