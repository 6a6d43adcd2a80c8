"""Histograms over all parties' rows that lose no bit: the same however the rows are spread, and in whatever order.

They travel as integers modulo 2^64, so masks can cover them. Gradients are rounded to multiples of a power of two, so
coarse that a float64 holds every sum of them, and so fine that hardly any gradient changes, for they are float32.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.common import HISTOGRAM_DTYPE

from flora.core.collective import Integers
from flora.errors import DataError

Histograms = NDArray[Any]  # (columns, bins): the sums of gradients and of hessians, and the count of rows
ROOM = 52  # bits of a sum of gradients: a float64 holds 53
FIELD = 54  # bits of a word that such a sum takes, with its sign and what rounding adds
SPARE = 64 - FIELD  # the bits above it


@dataclass(frozen=True)
class Units:
    """What gradients and hessians are multiples of, in one iteration, and how their sums travel.

    A node's histograms are a word for each bin's gradients, one for its hessians where they differ from row to row,
    and its counts. These travel in the spare bits of both words, above gradients and hessians, where rows and parties
    are few enough for that; else several to a word of their own.

    Spare bits hold a count c in two parts: c modulo 2^10, which may go round as it is added up, and the whole number
    c / 2^k. The sum of these is off by less than 2^k for each party, which is less than 2^10 in all, so the first part
    settles it.
    """

    gradient: float  # a power of two
    hessian: float | None  # likewise; None where each row's is 1
    count_bits: int  # as many as all rows' count has
    dropped: int | None = None  # the k above; None where counts have words of their own

    @classmethod
    def fitting(cls, rows: int, gradients: float, hessians: float | None, parties: int = 1) -> Self:
        """Return the finest units where the absolute values of all rows' gradients and hessians add up to these."""
        bits, dropped = int(rows).bit_length(), SPARE - (parties - 1).bit_length()
        fits = hessians is not None and dropped >= 0 and bits - dropped <= SPARE
        return cls(_unit(gradients), None if hessians is None else _unit(hessians), bits, dropped if fits else None)

    @property
    def counts_a_word(self) -> int:
        """How many bins' counts share a word."""
        return 63 // self.count_bits

    def words_for(self, bins: int) -> int:
        """Return how many words a node with so many bins takes."""
        if self.dropped is not None:
            return 2 * bins
        return self._counts_from(bins) + -(-bins // self.counts_a_word)

    def pack(self, histograms: Sequence[Histograms], used: Integers) -> Integers:
        """Return the words of nodes' histograms; ``used`` are the places of the bins that can hold rows."""
        bins = len(used)
        words = np.empty((len(histograms), self.words_for(bins)), dtype=np.int64)
        counts = np.empty((len(histograms), bins), dtype=np.int64)
        for k, one in enumerate(histograms):  # field by field: NumPy is slow at records
            flat = one.reshape(-1)
            words[k, :bins] = flat["sum_gradients"].take(used) / self.gradient
            if self.hessian is not None:
                words[k, bins : 2 * bins] = flat["sum_hessians"].take(used) / self.hessian
            counts[k] = flat["count"].take(used)
        if self.dropped is None:
            words[:, self._counts_from(bins) :] = self._packed_counts(counts)
        else:
            words[:, :bins] += counts << FIELD  # what is above the word is left out
            words[:, bins:] += (counts >> self.dropped) << FIELD
        return words.reshape(-1)

    def unpack(self, words: Integers, used: Integers, shape: tuple[int, int]) -> list[Histograms]:
        """Return the histograms, of a (columns, bins) shape each, that summed words stand for."""
        bins = len(used)
        by_node = words.reshape(-1, self.words_for(bins))
        if self.dropped is None:
            counts = self._unpacked_counts(by_node[:, self._counts_from(bins) :])[:, :bins]
        else:
            by_node, above = _parted(by_node)
            known = above[:, bins:] << self.dropped
            counts = known + ((above[:, :bins] - known) & ((1 << SPARE) - 1))
        found, cells = [], np.zeros(shape[0] * shape[1])
        for row, count in zip(by_node, counts, strict=True):
            one = np.zeros(shape, dtype=HISTOGRAM_DTYPE)
            fields = [("sum_gradients", row[:bins] * self.gradient), ("count", count)]
            if self.hessian is not None:
                fields.append(("sum_hessians", row[bins : 2 * bins] * self.hessian))
            for name, values in fields:
                cells[used] = values
                one[name] = cells.reshape(shape)
            found.append(one)
        return found

    def _counts_from(self, bins: int) -> int:
        """Return the place of a node's first word of counts."""
        return bins * (1 if self.hessian is None else 2)

    def _packed_counts(self, counts: Integers) -> Integers:
        """Return counts, several to a word: (nodes, bins) -> (nodes, words)."""
        words = np.zeros((len(counts), -(-counts.shape[1] // self.counts_a_word)), dtype=np.int64)
        for k in range(self.counts_a_word):
            part = counts[:, k :: self.counts_a_word]
            words[:, : part.shape[1]] += part << (k * self.count_bits)
        return words

    def _unpacked_counts(self, words: Integers) -> Integers:
        fields = (words[:, :, None] >> self._shifts()) & ((1 << self.count_bits) - 1)
        return fields.reshape(len(words), -1)

    def _shifts(self) -> Integers:
        return self.count_bits * np.arange(self.counts_a_word, dtype=np.int64)


def _parted(words: Integers) -> tuple[Integers, Integers]:
    """Return the numbers below and what is in the spare bits above them."""
    below = (words << SPARE) >> SPARE  # with the sign
    return below, ((words - below) >> FIELD) & ((1 << SPARE) - 1)


def rounded(values: NDArray[np.float32], unit: float) -> NDArray[np.float32]:
    """Return the nearest multiples of a unit. A float32 holds them: they have no more bits than before."""
    return np.asarray(np.rint(values / np.float64(unit)) * unit).astype(np.float32, order="F")


def _unit(total: float) -> float:
    """Return the power of two of which ``total`` is at most 2^52."""
    if not total < float(np.finfo(np.float32).max):
        raise DataError("the target or a weight is too large: gradients must be floating-point numbers of 32 bits")
    return math.ldexp(1.0, max(math.frexp(total)[1] - ROOM, -1074)) if total > 0 else 1.0
