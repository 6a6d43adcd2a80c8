"""The end of a race on a few folds: the best one is measured on all folds, until the best one has them.

What is best by a few folds is partly lucky there. On all folds it falls back, and then another one may look better. So
the more the folds differ, the more configs are finished. Who is not has the loss of the finished ones and the mean
difference to them on the folds that it has, with the error of so few.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from flora.party.local_search.folds import Tried
from flora.party.local_search.race import SHARP, Leader

Finish = Callable[[int, Tried], Tried]  # a trial's number and what came of it -> the same on the folds that it lacks


def finals(tried: Sequence[Tried], first: int, folds: int, finish: Finish) -> list[Tried]:
    """Return what was tried, with the best one measured on all folds.

    Args:
        tried: What came of the configs on some of the first folds.
        first: How many folds the race had.
        folds: How many there are.
        finish: Measures a trial on the folds that it lacks.
    """
    found = list(tried)
    leader = _leader(found, first)
    while leader and (best := _best(found, leader, folds)) is not None:
        found[best] = joined(found[best], finish(best, found[best]))
        leader = _leader(found, folds) or leader
    return [replace(one, leader=None if _is_whole(one, folds) else leader) for one in found]


def _leader(tried: Sequence[Tried], folds: int) -> Leader | None:
    """Return the leader of those that have so many folds, if any has."""
    whole = [min((pair.fold_losses for pair in one.apart()), key=sum) for one in tried if _is_whole(one, folds)]
    return Leader.of(whole, SHARP) if whole else None


def joined(first: Tried, more: Tried) -> Tried:
    """Return a trial with the losses on more folds: at those of its configs that were measured there, too."""
    if more.failure is not None:
        return replace(more, config=first.config, seconds=first.seconds + more.seconds)
    known = [(one.config, one.fold_losses) for one in more.apart()]
    pairs = [
        (one.config, one.fold_losses + further)
        for one in first.apart()
        for config, further in known
        if config == one.config
    ]
    (config, losses), *path = pairs
    return Tried(config, losses, tuple(path), first.seconds + more.seconds)


def _best(tried: Sequence[Tried], leader: Leader, folds: int) -> int | None:
    """Return the number of the trial with the lowest loss by what is known, or None where it has all folds."""
    losses = {
        k: min(leader.loss_and_error(pair.fold_losses)[0] for pair in one.apart())
        for k, one in enumerate(tried)
        if one.failure is None
    }
    best = min(losses, key=lambda k: losses[k], default=None)
    return None if best is None or _is_whole(tried[best], folds) else best


def _is_whole(one: Tried, folds: int) -> bool:
    return one.failure is None and len(one.fold_losses) == folds
