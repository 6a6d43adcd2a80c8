"""How a party's rows are distributed, told in means over rows: enough for a distance between parties.

A :class:`Sketch` crosses the wire and checks itself. Nothing here can reach a row except :func:`sketch_of`, which is
given the party's encoded rows.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from flora.errors import DataError, InputError
from flora.parameters import is_finite
from flora.randomness import stream
from flora.trials import MOST_ROWS, check_party_name
from flora.workers import one_thread

Floats = NDArray[np.float64]
DIRECTIONS = 64
MOST_QUANTILES, FEWEST_QUANTILES = 32, 4  # powers of two, so that a coarse sketch is an average of a fine one
ROWS_PER_QUANTILE = 10
MOST_WIDTH = 100_000
DIGITS = 6  # significant ones of each number that leaves


@dataclass(frozen=True)
class Sketch:
    """The distribution of a party's rows along shared random directions, in averages over at least 10 rows.

    Row ``r`` of ``quantiles`` holds the means of the projections on direction ``r``: of the lowest share ``1/m`` of
    them, the next, and so on. So it is sorted, and no number is one row's.
    """

    party: str
    rows: int
    width: int  # of the encoded rows
    seed: int  # of the directions
    quantiles: tuple[tuple[float, ...], ...]  # (directions, m)

    def __post_init__(self) -> None:
        check_party_name(self.party)
        check_whole(f"sketch of {self.party!r}: rows", self.rows, 1, MOST_ROWS)
        check_whole(f"sketch of {self.party!r}: width", self.width, 1, MOST_WIDTH)
        check_whole(f"sketch of {self.party!r}: seed", self.seed, 0, MOST_ROWS)
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

    @property
    def size(self) -> int:
        """The bytes of its JSON."""
        return len(json.dumps(self.to_json(), separators=(",", ":")).encode())

    @cached_property
    def table(self) -> Floats:
        """The quantiles: (directions, m)."""
        return np.array(self.quantiles, dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        """Return the sketch as JSON's types."""
        return {**asdict(self), "quantiles": [list(line) for line in self.quantiles]}

    @classmethod
    def from_json(cls, document: Any) -> Self:
        """Read what :meth:`to_json` wrote."""
        check_fields("a sketch", document, {"party", "rows", "width", "seed", "quantiles"})
        lines = document["quantiles"]
        if not isinstance(lines, list) or not all(isinstance(line, list) for line in lines):
            raise InputError(f"a sketch's quantiles are a list of lists, got {lines!r:.40}")
        return cls(**{**document, "quantiles": tuple(map(tuple, lines))})


def joint(X: Floats, y: NDArray[Any], classes: int = 0) -> Floats:
    """Return (x, y) as points: (n, d) and (n,) -> (n, width). Different classes are 1 apart; 0 classes: a number."""
    if not classes:
        return np.column_stack([X, y]).astype(np.float64)
    return np.hstack([X, (y[:, None] == np.arange(classes)) / math.sqrt(2)]).astype(np.float64)


def sketch_of(points: Floats, *, party: str, seed: int) -> Sketch | None:
    """Return the sketch of a party's encoded rows, (n, width), or None where the rows are too few for one.

    Every party must have encoded with the same statistics; ``seed`` is the federation's.
    """
    if points.ndim != 2 or points.shape[1] == 0 or not np.isfinite(points).all():
        raise DataError(f"a sketch needs a dense matrix of finite numbers, got one of shape {points.shape}")
    rows, width = points.shape
    count = quantile_count(rows)
    if count == 0:
        return None
    with one_thread():
        projected = np.sort(points @ directions(width, seed).T, axis=0)
    below = np.vstack([np.zeros(projected.shape[1]), np.cumsum(projected, axis=0)])
    cuts = np.linspace(0, rows, count + 1)
    sums = np.diff([np.interp(cuts, np.arange(rows + 1), column) for column in below.T], axis=1)
    means = np.maximum.accumulate(sums * count / rows, axis=1)  # in order but for rounding
    lines = tuple(tuple(float(f"{value:.{DIGITS}g}") for value in line) for line in means)
    return Sketch(party, rows, width, seed, lines)


def quantile_count(rows: int) -> int:
    """Return m, a power of two with at least 10 rows to each quantile; 0 where a sketch would tell too much."""
    if rows < FEWEST_QUANTILES * ROWS_PER_QUANTILE:
        return 0
    return int(min(MOST_QUANTILES, 2 ** int(math.log2(rows // ROWS_PER_QUANTILE))))


def direction_count(width: int) -> int:
    """Return how many directions there are; on a line there is one."""
    return 1 if width == 1 else DIRECTIONS


def directions(width: int, seed: int) -> Floats:
    """Return the shared directions, uniform on the sphere and orthogonal in groups: (directions, width)."""
    count, rng = direction_count(width), stream(seed, "directions", width)
    frames: list[Floats] = []
    with one_thread():
        while sum(map(len, frames)) < count:
            q, r = np.linalg.qr(rng.standard_normal((width, min(width, count))))
            frames.append((q * np.sign(np.diag(r))).T)  # one sign, whatever LAPACK a party has
    return np.vstack(frames)[:count]


def distance(a: Sketch, b: Sketch) -> float:
    r"""Return the estimate of :math:`\mathcal W_1(D_a, D_b)` (eq. 1wd): the mean over directions, over :math:`c_d`.

    For a fixed coupling the mean of :math:`|\langle u, x - y\rangle|` over directions :math:`u` is
    :math:`c_d \|x - y\|`, so this is at most the distance of the two samples, and equal to it for a mere shift.
    """
    if (a.width, a.seed) != (b.width, b.seed):
        raise InputError(
            f"sketches of {a.party!r} and {b.party!r} need one width and seed, "
            f"got {(a.width, a.seed)} and {(b.width, b.seed)}"
        )
    count = min(len(a.quantiles[0]), len(b.quantiles[0]))
    return float(np.abs(_coarse(a, count) - _coarse(b, count)).mean() / mean_cosine(a.width))


def sampling_noise(a: Sketch, b: Sketch) -> float:
    r"""Return about what the distance would be if both parties drew rows from one distribution.

    Along a direction that is :math:`\sqrt{2/\pi}\,\sqrt{1/n_a + 1/n_b} \int \sqrt{F(1-F)}`, with :math:`F` pooled.
    """
    count = min(len(a.quantiles[0]), len(b.quantiles[0]))
    pooled = np.average([_coarse(a, count), _coarse(b, count)], axis=0, weights=[a.rows, b.rows])
    share = np.arange(1, count) / count
    integral = (np.diff(pooled, axis=1) * np.sqrt(share * (1 - share))).sum(axis=1).mean()
    return float(math.sqrt(2 / math.pi) * math.sqrt(1 / a.rows + 1 / b.rows) * integral / mean_cosine(a.width))


def mean_cosine(width: int) -> float:
    r"""Return :math:`c_d = \Gamma(d/2) / (\sqrt\pi\,\Gamma((d+1)/2))`, the mean of :math:`|u_1|` on the sphere."""
    return math.exp(math.lgamma(width / 2) - math.lgamma((width + 1) / 2)) / math.sqrt(math.pi)


def _coarse(sketch: Sketch, count: int) -> Floats:
    return np.asarray(sketch.table.reshape(len(sketch.quantiles), count, -1).mean(axis=2))


def check_whole(what: str, value: Any, least: int, most: int) -> None:
    """Raise unless ``value`` is a whole number of the range."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"{what} must be a whole number from {least} to {most}, got {value!r:.40}")


def check_fields(what: str, document: Any, names: set[str]) -> None:
    """Raise unless ``document`` has the named fields and no others."""
    if not isinstance(document, Mapping) or set(document) != names:
        found = sorted(map(str, document))[:10] if isinstance(document, Mapping) else f"{document!r:.40}"
        raise InputError(f"{what} has the fields {sorted(names)}, got {found!s:.200}")
