r"""How far a training on all rows goes along its path.

A party of n_i rows needs fewer trees than n rows do: t trees there go about as far as :math:`t (n / n_i)^{0.4}` here.
So the one training goes that much further than the range, which each party searches at its own size, and counts by
held-out rows how many trees it takes. It stays in the range where that is a user's own, or where rows are too few to
count by.
"""

from dataclasses import replace

from flora.errors import SpaceError
from flora.models import Family
from flora.path import Path, path_through
from flora.size_law import MOST, further
from flora.space import Config, SearchSpace

HELD = 1 / 3  # of each party's rows: a first pass of a training is judged by them
ENOUGH = 5_000  # rows of all parties: of fewer, the parties' own cross-validation tells more


def family_path(space: SearchSpace, family: Family) -> Path | None:
    """Return what the fits of a family pass through; it is open where the range is the family's own."""
    path = path_through(space, family.passes_through)
    if path is None:
        return None
    return replace(path, open=any(space.digest == family.space(task).digest for task in family.tasks))


def counts_by_held_rows(rows: int) -> bool:
    """Whether a training on so many rows chooses its place on the path itself."""
    return rows >= ENOUGH


def furthest(path: Path, parties: int) -> int:
    """Return the last stop of a training by all parties that chooses its place itself."""
    return round(path.stops[-1] * further(parties)) if path.open else path.stops[-1]


def check_trainable(config: Config, space: SearchSpace, path: Path | None) -> None:
    """Raise unless a config is in the space, or past its range along an open path alone, and no further than ever."""
    stop = config.get(path.name) if path else None
    if path and path.open and isinstance(stop, int) and stop > path.stops[-1]:
        if stop > path.stops[-1] * MOST:
            raise SpaceError(f"{path.name}: a training goes to {path.stops[-1] * MOST:.0f} at most, got {stop}")
        config = path.at_top(config)
    space.check(config)
