"""A learning curve: what a config loses at one party with fewer rows and with more."""

from dataclasses import dataclass

from flora.core.rules import Amount, Count, Measure, Name, check
from flora.errors import InputError
from flora.problem.space import Config

MOST_SIZES = 16


@dataclass(frozen=True)
class CurvePoint:
    """The mean loss of models trained on ``rows`` rows, with its standard error over the folds."""

    rows: Count
    loss: Measure
    error: Amount

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class LearningCurve:
    """One config's losses at one party, at growing numbers of rows."""

    party: Name
    config: Config
    points: tuple[CurvePoint, ...]

    def __post_init__(self) -> None:
        check(self)
        sizes = [point.rows for point in self.points]
        if not 1 <= len(sizes) <= MOST_SIZES or sizes != sorted(set(sizes)):
            raise InputError(
                f"a learning curve has 1 to {MOST_SIZES} growing sizes, got {sizes[: MOST_SIZES + 1]} "
                f"at party {self.party!r}"
            )
