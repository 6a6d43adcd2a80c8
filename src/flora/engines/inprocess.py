"""All parties in one process: a party is a thread, and the collective is a meeting of all threads."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from threading import Event

from flora.federation import Ask, Reply, Step
from flora.meeting import LeftAloneError, in_step, together
from flora.party import Party, check_names
from flora.workers import one_thread


def in_process(parties: Sequence[Party], *, jobs: int = 1) -> Ask:
    """Ask the parties of this process: in turn, or at the same time where there are several jobs."""
    check_names(parties)
    ordered = sorted(parties, key=lambda party: party.name)

    def ask(step: Step) -> list[Reply]:
        with one_thread():
            if step.name in ("certify", "train"):  # inside them the parties add up
                return in_step([partial(party.answer, step) for party in ordered])
            if jobs == 1:
                return [party.answer(step) for party in ordered]
            return _at_the_same_time(ordered, step)

    return ask


def _at_the_same_time(parties: Sequence[Party], step: Step) -> list[Reply]:
    """Ask each party in a thread of its own, where their folds share the workers. The first error ends all."""
    over = Event()

    def answer(party: Party) -> Reply:
        def report(name: str, done: int, total: int) -> None:
            party.progress(name, done, total)
            if over.is_set():
                raise LeftAloneError("another party left the search")

        return replace(party, progress=report).answer(step)

    return together([partial(answer, party) for party in parties], over.set)
