import itertools

import numpy as np
import pytest
from sklearn.ensemble._hist_gradient_boosting.common import HISTOGRAM_DTYPE

from flora.errors import DataError
from flora.models.hgb.exact_sums import Histograms, Units, rounded


def made_up(rows: int, units: Units, seed: int) -> Histograms:
    """Histograms of 3 columns and 9 bins, of gradients that are multiples of the units."""
    rng = np.random.default_rng(seed)
    found = np.zeros((3, 9), dtype=HISTOGRAM_DTYPE)
    for k in range(3):
        place = rng.integers(0, 9, rows)
        gradients = rounded(rng.normal(size=rows).astype(np.float32), units.gradient)
        hessians = rounded(rng.random(rows).astype(np.float32), units.hessian or 1.0)
        np.add.at(found["sum_gradients"][k], place, gradients)
        np.add.at(found["sum_hessians"][k], place, hessians if units.hessian else 0.0)
        np.add.at(found["count"][k], place, 1)
    return found


@pytest.mark.parametrize("rows", [1, 7, 1000, 100_000, 150_000])
@pytest.mark.parametrize("constant", [False, True])
def test_histograms_come_back_from_their_words_also_summed(rows: int, constant: bool) -> None:
    units = Units.fitting(2 * rows, 2.0 * rows * 6, None if constant else 2.0 * rows, 2)
    assert (units.dropped is None) == (constant or 2 * rows >= 2**19)
    used = np.setdiff1d(np.arange(27), [8, 17])
    nodes = [[made_up(rows, units, 10 * party + node) for node in range(4)] for party in range(2)]
    for histograms in itertools.chain(*nodes):
        histograms.reshape(-1)[[8, 17]] = 0
    words = [units.pack(party, used) for party in nodes]
    assert words[0].shape == (4 * units.words_for(25),)
    wrapped = words[0] + np.int64(2**62) + words[1] + np.int64(2**62) + np.int64(2**62) + np.int64(2**62)
    for total in (words[0] + words[1], wrapped):  # masks go round modulo 2^64
        for found, one, other in zip(units.unpack(total, used, (3, 9)), *nodes, strict=True):
            for name in HISTOGRAM_DTYPE.names:
                assert np.array_equal(found[name], one[name] + other[name]), name


@pytest.mark.parametrize("parties", [1, 2, 3, 20, 50, 512, 1024])
def test_counts_in_spare_bits_are_exact_however_they_are_dealt_out(parties: int) -> None:
    most = 2 ** (20 - (parties - 1).bit_length()) - 1  # rows
    units = Units.fitting(most, float(most), most / 4, parties)
    assert Units.fitting(most + 1, most + 1.0, most / 4, parties).dropped is None
    assert units.dropped is not None
    rng, used = np.random.default_rng(parties), np.arange(1, 27)
    total, words = np.zeros((3, 9), dtype=HISTOGRAM_DTYPE), np.zeros(units.words_for(26), dtype=np.int64)
    for _ in range(parties):
        one = np.zeros((3, 9), dtype=HISTOGRAM_DTYPE)
        one["count"].reshape(-1)[used] = rng.integers(0, most // parties + 1, 26)
        one["count"].reshape(-1)[1] = most // parties  # as many as there are
        one["sum_gradients"].reshape(-1)[used] = rng.choice([-1, 1], 26) * float(most // parties)
        one["sum_hessians"].reshape(-1)[used] = (most // parties) / 4
        words += units.pack([one], used)
        for name in HISTOGRAM_DTYPE.names:
            total[name] += one[name]
    (found,) = units.unpack(words, used, (3, 9))
    for name in HISTOGRAM_DTYPE.names:
        assert np.array_equal(found[name], total[name]), name


def test_more_parties_than_spare_bits_can_tell_send_counts_apart() -> None:
    assert Units.fitting(5, 5.0, 1.0, 1025).dropped is None
    assert Units.fitting(5, 5.0, 1.0, 1025).words_for(4) == 9


def test_units_are_fine_enough_for_float32_and_coarse_enough_for_exact_sums() -> None:
    units = Units.fitting(15_000, 15_000.0, 15_000 / 4)
    values = np.random.default_rng(0).uniform(-1, 1, 15_000).astype(np.float32)
    kept = rounded(values, units.gradient)
    assert (kept == values)[np.abs(values) > 2**-14].all()  # larger gradients keep all of their bits
    assert np.abs(kept - values).max() <= units.gradient / 2
    sums = {np.add.reduce(kept[order].astype(np.float64)) for order in (slice(None), slice(None, None, -1))}
    assert sums == {float(np.sort(kept.astype(np.float64)).cumsum()[-1])}
    assert units.count_bits == 14
    assert units.counts_a_word == 4


@pytest.mark.parametrize("total", [1e-300, 1e-20, 3.0, 1e30])
def test_a_unit_is_a_power_of_two(total: float) -> None:
    unit = Units.fitting(5, total, None).gradient
    assert np.frexp(unit)[0] == 0.5
    assert total / unit < 2**52 or total < 1e-290


def test_nothing_to_add_has_a_unit_too() -> None:
    assert Units.fitting(5, 0.0, None) == Units(1.0, None, 3)
    with pytest.raises(DataError, match="too large"):
        Units.fitting(5, np.inf, None)
    with pytest.raises(DataError, match="too large"):
        Units.fitting(5, 1e39, None)
