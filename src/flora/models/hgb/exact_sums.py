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


@dataclass(frozen=True)
class Units:
    """What gradients and hessians are multiples of, in one iteration, and how their sums travel.

    A node's histograms are a word for each bin's gradients, one for its hessians where they differ from row to row,
    and its counts, several to a word.
    """

    gradient: float  # a power of two
    hessian: float | None  # likewise; None where each row's is 1
    count_bits: int  # as many as all rows' count has

    @classmethod
    def fitting(cls, rows: int, gradients: float, hessians: float | None) -> Self:
        """Return the finest units where the absolute values of all rows' gradients and hessians add up to these."""
        return cls(_unit(gradients), None if hessians is None else _unit(hessians), int(rows).bit_length())

    @property
    def counts_a_word(self) -> int:
        """How many bins' counts share a word."""
        return 63 // self.count_bits

    def words_for(self, bins: int) -> int:
        """Return how many words a node with so many bins takes."""
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
        words[:, self._counts_from(bins) :] = self._packed_counts(counts)
        return words.reshape(-1)

    def unpack(self, words: Integers, used: Integers, shape: tuple[int, int]) -> list[Histograms]:
        """Return the histograms, of a (columns, bins) shape each, that summed words stand for."""
        bins = len(used)
        by_node = words.reshape(-1, self.words_for(bins))
        counts = self._unpacked_counts(by_node[:, self._counts_from(bins) :])[:, :bins]
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


def rounded(values: NDArray[np.float32], unit: float) -> NDArray[np.float32]:
    """Return the nearest multiples of a unit. A float32 holds them: they have no more bits than before."""
    return np.asarray(np.rint(values / np.float64(unit)) * unit).astype(np.float32, order="F")


def _unit(total: float) -> float:
    """Return the power of two of which ``total`` is at most 2^52."""
    if not total < float(np.finfo(np.float32).max):
        raise DataError("the target or a weight is too large: gradients must be floating-point numbers of 32 bits")
    return math.ldexp(1.0, max(math.frexp(total)[1] - ROOM, -1074)) if total > 0 else 1.0
