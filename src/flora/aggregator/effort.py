"""How much work a surface and the search for its minimum may be: as much as ever for a few parties, bounded for many.

A surface of p forests costs p times as much to learn and to look at. The average, the maximum or the median of very
many parties hardly depends on how well each single one of them is known, so each gets fewer trees, and the surface,
which is the smoother the more parties there are, is looked at in fewer places. Up to ``FEW`` parties nothing differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flora.problem.space import Config
from flora.problem.trials import PartyTrials
from flora.randomness import stream
from flora.surrogate.minimise import SIZE
from flora.surrogate.own_surface import FEW, trees_for
from flora.surrogate.regressors import TREES

DRAWN = 1_000  # random configs, among which candidates are chosen
FEWEST_POINTS = 512  # random ones, with which the search for the minimum begins


@dataclass(frozen=True)
class Effort:
    """What so many parties get."""

    trees: int = TREES  # of each party's forest
    size: int = SIZE  # of the search for the minimum
    starts: int | None = None  # tried configs that it begins at; None for all of them
    drawn: int = DRAWN  # random configs among which the candidates are chosen, besides those


def effort_for(parties: int) -> Effort:
    """Return what so many parties get.

    >>> effort_for(100) == Effort(), effort_for(10_000)
    (True, Effort(trees=5, size=512, starts=128, drawn=128))
    """
    if parties <= FEW:
        return Effort()
    size = max(FEWEST_POINTS, SIZE * FEW // parties)
    return Effort(trees_for(parties), size, starts=size // 4, drawn=size // 4)


def starts_of(trials: Sequence[PartyTrials], seed: int) -> list[Config]:
    """Return the tried configs at which to begin: all, or of many parties the best of each, as many as may be.

    Where there are more parties than starts, the seed decides which parties give one, whatever their order.
    """
    most = effort_for(len(trials)).starts
    if most is None:
        return [trial.config for party in trials for trial in party.trials]
    ordered = sorted(trials, key=lambda party: party.party)
    if len(ordered) > most:
        drawn = stream(seed, "starts").choice(len(ordered), most, replace=False)
        ordered = [ordered[k] for k in sorted(drawn)]
    each = most // len(ordered)
    return [trial.config for party in ordered for trial in sorted(party.trials, key=lambda trial: trial.loss)[:each]]
