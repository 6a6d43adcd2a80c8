"""How a party's rows are distributed, told in means over rows: enough for a distance between parties."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from flora.core.rules import Count, Name, Total, check, is_finite, whole
from flora.errors import InputError

Floats = NDArray[np.float64]
DIRECTIONS = 64
MOST_QUANTILES, FEWEST_QUANTILES = 32, 4  # powers of two, so that a coarse sketch is an average of a fine one
ROWS_PER_QUANTILE = 10
MOST_WIDTH = 100_000


@dataclass(frozen=True)
class Sketch:
    """The distribution of a party's rows along shared random directions, in averages over at least 10 rows.

    Row ``r`` of ``quantiles`` holds the means of the projections on direction ``r``: of the lowest share ``1/m`` of
    them, the next, and so on. So it is sorted, and no number is one row's.
    """

    party: Name
    rows: Count
    width: Annotated[int, whole(1, MOST_WIDTH)]  # of the encoded rows
    seed: Total  # of the directions
    quantiles: tuple[tuple[float, ...], ...]  # (directions, m)

    def __post_init__(self) -> None:
        check(self)
        if len(self.quantiles) != direction_count(self.width):
            expected = f"{direction_count(self.width)} directions for width {self.width}"
            raise InputError(f"sketch of {self.party!r}: need {expected}, got {len(self.quantiles)}")
        count = quantile_count(self.rows)
        for place, line in enumerate(self.quantiles):
            if len(line) != count or count == 0:
                raise InputError(
                    f"sketch of {self.party!r}: {self.rows} rows allow {count} quantiles, "
                    f"got {len(line)} in quantiles[{place}]"
                )
            if not all(map(is_finite, line)) or list(line) != sorted(line):
                raise InputError(f"sketch of {self.party!r}: quantiles[{place}] must be finite and in order")

    @cached_property
    def table(self) -> Floats:
        """The quantiles: (directions, m)."""
        return np.array(self.quantiles, dtype=np.float64)


def quantile_count(rows: int) -> int:
    """Return m, a power of two with at least 10 rows to each quantile; 0 where a sketch would tell too much."""
    if rows < FEWEST_QUANTILES * ROWS_PER_QUANTILE:
        return 0
    return int(min(MOST_QUANTILES, 2 ** int(math.log2(rows // ROWS_PER_QUANTILE))))


def direction_count(width: int) -> int:
    """Return how many directions there are; on a line there is one."""
    return 1 if width == 1 else DIRECTIONS
