"""Sums, maxima and first parties' numbers over all parties: all of them are sums of integers modulo 2^64.

So masks can cover them, their bytes depend neither on the order of the parties nor on the engine, and whoever adds up
need do nothing else. Four kinds are needed:

* a few sums of any numbers (:func:`pooled_sums`, :func:`added`): each is cut into digits of 32 bits, which add up
  separately, so nothing is rounded but the result;
* many sums of numbers with a known bound (:func:`fixed_point_sum`): multiples of a power of two so small that a
  float64 next to the bound keeps all of its bits;
* maxima (:func:`largest`): found digit by digit, and a sum says of a digit only whether anybody reaches it;
* what one party has computed for all (:func:`from_first`): the others add nothing to its bits.
"""

import math
import secrets
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flora.core.collective import Collective, Floats, Integers
from flora.errors import DataError

DIGIT_BITS = 32
LOWEST, HIGHEST = -34, 31  # digits are worth 2^(32 k): together they hold every float64
ROOM = 62  # bits of a sum of multiples of a unit: one less than an int64 has
WIDER = 2.0**10  # by so much a bound grows that was too narrow
KEY_BITS, STEP_BITS = 64, 4  # of a maximum, so many bits are found in one exchange


def pooled_sums(values: Floats, collective: Collective) -> Floats:
    """Return the sum of each column over all parties' rows, rounded but once: (n, k) -> (k,)."""
    _check_finite(values)
    digits = collective.add_integers(_digits(values))
    return np.array([_rounded_sum(row) for row in digits.tolist()])


def pooled_sum(values: Floats, collective: Collective) -> float:
    """Return the sum over all parties' rows, rounded but once: (n,) -> a number."""
    return float(pooled_sums(values[:, None], collective)[0])


def added(values: Floats, collective: Collective) -> Floats:
    """Return the elementwise sum of the parties' few numbers, rounded but once: (k,) -> (k,)."""
    if collective.size == 1 or not values.size:
        _check_finite(values)
        return np.array(values, dtype=np.float64)
    return pooled_sums(np.asarray(values, dtype=np.float64)[None, :], collective)


def fixed_point_sum(values: Floats, own: float, total: float, collective: Collective) -> Floats:
    r"""Return the sum of each column over all parties' rows, of which there are few with many columns: (n, k) -> (k,).

    Each is rounded to a multiple of about :math:`2^{-62}` times ``total``. A float64 has 53 bits, so those that are
    within a thousandth of the bound lose none.

    Args:
        values: This party's.
        own: What their absolute values add up to at most, in each column, as far as one knows.
        total: What all parties' ``own`` add up to; the same at each party.
        collective: Adds up. Where a party's numbers are beyond its bound, all hear that somebody's are, and go on
            with wider bounds.
    """
    _check_finite(values)
    while True:
        unit, fits = _unit(total), bool(np.abs(values).sum(axis=0).max(initial=0.0) <= own)
        if fits:
            words = np.append(np.rint(values / unit).astype(np.int64).sum(axis=0), 0)
        else:  # noise in all places: the others' sum alone would tell what is this party's, once all are added
            words = _noise(np.ones(values.shape[1] + 1, dtype=bool))
        summed = collective.add_integers(words)
        if summed[-1] == 0:
            return summed[:-1].astype(np.float64) * unit
        own, total = own * WIDER, total * WIDER


def largest(values: Floats, collective: Collective) -> Floats:
    """Return the elementwise maximum of the parties' numbers; nothing is heard of the others: (k,) -> (k,)."""
    _check_finite(values)
    own = _keys(np.asarray(values, dtype=np.float64) + 0.0)  # one zero, not two
    if collective.size == 1:
        return _values(own)
    found, steps = np.zeros_like(own), np.arange(1, 1 << STEP_BITS, dtype=np.uint64)
    alike = np.ones(len(own), dtype=bool)  # whether this party's number begins as the maximum does
    for shift in range(KEY_BITS - STEP_BITS, -1, -STEP_BITS):
        digits = (own >> np.uint64(shift)) & np.uint64((1 << STEP_BITS) - 1)
        reached = collective.add_integers(_noise(alike[:, None] & (digits[:, None] >= steps))) != 0
        highest = reached.sum(axis=1).astype(np.uint64)
        found |= highest << np.uint64(shift)
        alike &= digits == highest
    return _values(found)


def from_first(compute: Callable[[], Floats], shape: tuple[int, ...], collective: Collective) -> Floats:
    """Return what the first party computes: the machines' libraries may differ in the last digit."""
    own = np.ascontiguousarray(compute() if collective.rank == 0 else np.zeros(shape), dtype=np.float64)
    return collective.add_integers(own.view(np.int64)).view(np.float64)


def _check_finite(values: Floats) -> None:
    if not np.isfinite(values).all():
        raise DataError("numbers that are added up must be finite: a number of the table or a loss is too large")


def _digits(values: Floats) -> Integers:
    """Return each column's sum as digits: (n, k) -> (k, digits). A digit may be negative, or have many bits."""
    found = np.zeros((values.shape[1], HIGHEST - LOWEST + 1), dtype=np.int64)
    rest = np.array(values, dtype=np.float64)
    most = np.abs(rest).max(initial=0.0)
    place = (math.frexp(most)[1] - 1) // DIGIT_BITS
    while rest.any():
        digit = np.trunc(np.ldexp(rest, -DIGIT_BITS * place))
        found[:, place - LOWEST] = digit.astype(np.int64).sum(axis=0)
        rest -= np.ldexp(digit, DIGIT_BITS * place)
        place -= 1
    return found


def _rounded_sum(digits: Sequence[int]) -> float:
    total = sum(digit << (DIGIT_BITS * k) for k, digit in enumerate(digits))
    try:
        return total / (1 << (-DIGIT_BITS * LOWEST))  # of two integers, so Python rounds correctly
    except OverflowError:
        raise DataError("the sum of the target over all parties is too large for a floating-point number") from None


def _unit(total: float) -> float:
    """Return the power of two of which ``total`` is at most 2^62."""
    if not total < float(np.finfo(np.float64).max) / 4:
        raise DataError(f"numbers that are added up must stay below 1e307, got {total}")
    return math.ldexp(1.0, max(math.frexp(total)[1] - ROOM, -1022)) if total > 0 else 1.0


def _noise(flags: NDArray[np.bool_]) -> Integers:
    """Return a random word for each flag that is set, else 0: a sum is then 0 if nobody's is, and tells no number.

    The chance that words of several parties add up to 0 is 2^-64.
    """
    words = np.frombuffer(secrets.token_bytes(8 * flags.size), dtype=np.int64).reshape(flags.shape)
    return np.where(flags, words, 0)


def _keys(values: Floats) -> NDArray[np.uint64]:
    """Return floating-point numbers by their place in the order of all of them."""
    bits = values.view(np.int64)
    return (bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.uint64) ^ np.uint64(2**63)


def _values(keys: NDArray[np.uint64]) -> Floats:
    """Return the floating-point numbers at places in their order."""
    bits = (keys ^ np.uint64(2**63)).view(np.int64)
    return (bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.float64)
