"""One config at two sizes: of a party, and of all parties together.

A party of n_i rows that is to tell how a config will do on the n rows of all fits what stands for it at its own size.
HPs that count trees or the rows of a leaf, and those that weigh against such counts, are smaller there by
:math:`(n_i / n)^{0.4}`: 20 rows a leaf are few among 5,000 and leave hardly a split among 100.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Self

from flora.space import Config, Value

GROWTH = 0.4  # of what counts with the number of rows, on a log scale
MANY = 5  # parties: from here on they are much smaller than all together, and tell errors and outliers themselves
TRIMMED = 0.2  # of many parties, at either end: of five, one that lies or is broken moves nothing


@dataclass(frozen=True)
class Size:
    """How much smaller than for all rows the HPs that grow are at a party."""

    grows: Set[str] = frozenset()
    factor: float = 1.0

    @classmethod
    def of(cls, share: float, grows: Set[str]) -> Self:
        """Return the size of a party with this share of all rows."""
        return cls(grows, share**GROWTH)

    def at_party(self, config: Config) -> Config:
        """Return what a party fits for a config of all rows; a count stays at least 1."""
        return {name: self._smaller(value) if name in self.grows else value for name, value in config.items()}

    def _smaller(self, value: Value) -> Value:
        if isinstance(value, int) and not isinstance(value, bool):
            return max(1, round(value * self.factor)) if value > 0 else value
        return value * self.factor if isinstance(value, float) else value


AS_IT_IS = Size()


def rows_of_all(rows: Mapping[str, int | None]) -> int | None:
    """Return how many rows a config is for, where the parties are so many that it matters; None where it does not.

    The fifth of the parties that state the most count as the next: one that states a billion rows moves nothing.
    """
    known = sorted(count for count in rows.values() if count)
    if len(rows) < MANY or len(known) < len(rows):
        return None
    most = known[-1 - int(TRIMMED * len(known))]
    return sum(min(count, most) for count in known)
