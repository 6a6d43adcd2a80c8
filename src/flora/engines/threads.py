"""All parties in one process: a party is a thread, and the collective is a meeting of all threads."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from threading import Event

from flora.core.threads import LeftAloneError, in_step, together
from flora.core.workers import one_thread
from flora.party.gate import Gate
from flora.party.party import check_names, train_in_one_place
from flora.problem.messages import Reply, Step, Train
from flora.program.drive import Ask


def in_process(gates: Sequence[Gate], *, jobs: int = 1) -> Ask:
    """Ask the parties of this process: in turn, or at the same time where there are several jobs."""
    check_names([gate.name for gate in gates])
    ordered = sorted(gates, key=lambda gate: gate.name)

    def ask(step: Step) -> list[Reply]:
        with one_thread():
            if step.together:
                return _in_one_place(ordered, step) or in_step([partial(g.answer, step) for g in _masked(ordered)])
            if jobs == 1:
                return [gate.answer(step) for gate in ordered]
            return _at_the_same_time(ordered, step)

    return ask


def _masked(gates: Sequence[Gate]) -> Sequence[Gate]:
    """Return gates whose sums leave under masks where one of them lets none leave otherwise: here nobody looks on."""
    if all(gate.consent.unmasked_sums for gate in gates):
        return gates
    from flora.core.masks import FreshSigner, Masking  # needs a package that comes with NVFlare

    names = tuple(gate.name for gate in gates)
    signers = FreshSigner.for_each(names)
    return [replace(gate, masks=Masking(names, signers[gate.name])) for gate in gates]


def _in_one_place(gates: Sequence[Gate], step: Step) -> list[Reply]:
    """Return the replies to a training for which the rows may lie together: gates that watch nothing let them."""
    if not isinstance(step, Train) or not all(gate.watches_nothing for gate in gates):
        return []
    return list(train_in_one_place([gate.party for gate in gates], step) or ())


def _at_the_same_time(gates: Sequence[Gate], step: Step) -> list[Reply]:
    """Ask each party in a thread of its own, where their folds share the workers. The first error ends all."""
    over = Event()

    def answer(gate: Gate) -> Reply:
        def report(name: str, done: int, total: int) -> None:
            gate.party.progress(name, done, total)
            if over.is_set():
                raise LeftAloneError("another party left the search")

        return replace(gate, party=replace(gate.party, progress=report)).answer(step)

    return together([partial(answer, gate) for gate in gates], over.set)
