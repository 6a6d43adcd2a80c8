"""Sketches against exact Wasserstein distances, and what a sketch may and may not hold."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from flora.aggregator.certificate.distance import distance, mean_cosine, sampling_noise
from flora.core.codec import to_document
from flora.errors import DataError, InputError
from flora.party.sketch import directions, joint, sketch_of
from flora.problem.sketch import Sketch
from flora.randomness import stream

Floats = NDArray[np.float64]


def made(points: Floats, party: str = "a", seed: int = 0) -> Sketch:
    sketch = sketch_of(points, party=party, seed=seed)
    assert sketch is not None
    return sketch


def normal(rows: int, width: int, seed: int, shift: float = 0.0) -> Floats:
    return np.random.default_rng(seed).normal(size=(rows, width)) + shift


def test_along_a_line_the_distance_is_nearly_exact() -> None:
    a, b = normal(2_000, 1, 0), 2 * normal(1_500, 1, 1, shift=0.7)
    exact = wasserstein_distance(a[:, 0], b[:, 0])
    assert len(made(a).quantiles) == 1
    assert distance(made(a), made(b)) == pytest.approx(exact, rel=0.02)


@settings(max_examples=30, deadline=None)
@given(st.integers(40, 400), st.integers(40, 400), st.floats(-2, 2), st.floats(0.1, 3), st.integers(0, 1000))
def test_along_a_line_it_is_never_above_the_exact_one(n: int, m: int, shift: float, scale: float, seed: int) -> None:
    a, b = normal(n, 1, seed), scale * normal(m, 1, seed + 1) + shift
    assert distance(made(a), made(b)) <= wasserstein_distance(a[:, 0], b[:, 0]) + 1e-4  # what is rounded off


@pytest.mark.parametrize("width", [2, 5, 20, 100])
def test_a_shift_in_many_dimensions_is_its_length(width: int) -> None:
    shift = np.zeros(width)
    shift[0] = 3.0
    points = normal(400, width, 0)
    a, b = made(points), made(points + shift)
    sliced = np.abs(a.table - b.table).mean()
    assert sliced == pytest.approx(3.0 * mean_cosine(width), rel=0.15)  # the known relation, up to the directions
    assert sliced < 3.0
    assert distance(a, b) == pytest.approx(3.0, rel=0.15)


def test_the_known_means_of_a_cosine() -> None:
    assert [mean_cosine(d) for d in (1, 2, 3)] == pytest.approx([1, 2 / math.pi, 0.5])


@pytest.mark.parametrize("seed", range(3))
def test_in_many_dimensions_it_is_below_the_exact_distance(seed: int) -> None:
    a, b = normal(200, 4, seed), normal(200, 4, seed + 50) * [1, 2, 1, 0.5] + [0.5, 0, 0, 0]
    apart = cdist(a, b)
    exact = apart[linear_sum_assignment(apart)].mean()
    assert 0.3 * exact < distance(made(a), made(b)) < exact


def test_directions_are_shared_unit_and_orthogonal_in_groups() -> None:
    found = directions(16, 7)
    assert found.shape == (64, 16)
    assert np.array_equal(found, directions(16, 7))
    assert not np.array_equal(found, directions(16, 8))
    drawn = stream(7, "directions", 16).standard_normal((16, 16))[:, 0]
    assert found[0] == pytest.approx(drawn / np.linalg.norm(drawn))
    assert found[:16] @ found[:16].T == pytest.approx(np.eye(16), abs=1e-12)
    assert directions(200, 7).shape == (64, 200)
    assert np.abs(directions(2, 0)[:, 0]).mean() == pytest.approx(mean_cosine(2), rel=0.1)


def test_quantiles_are_means_of_equal_shares_of_rows() -> None:
    values = np.random.default_rng(0).permutation(np.arange(48.0))
    sketch = made(values[:, None])
    sign = float(directions(1, 0)[0, 0])
    assert sketch.quantiles == (tuple(sorted(sign * k for k in (5.5, 17.5, 29.5, 41.5))),)
    uneven = made(np.arange(41.0)[:, None]).table[0] * sign
    assert np.sort(uneven).mean() == pytest.approx(20.0, abs=1e-4)  # a row on an edge counts on both sides


def test_too_few_rows_make_no_sketch_and_no_party_says_more_than_its_size() -> None:
    assert sketch_of(normal(39, 3, 0), party="a", seed=0) is None
    full = made(normal(5_000, 30, 0))
    assert len(full.quantiles) * len(full.quantiles[0]) == 64 * 32
    assert len(json.dumps(to_document(full))) < 24_000


def test_a_coarse_and_a_fine_sketch_of_the_same_rows_are_at_distance_nearly_zero() -> None:
    points = normal(48, 3, 0)
    twenty = np.repeat(points, 20, axis=0)
    assert (len(made(points).quantiles[0]), len(made(twenty).quantiles[0])) == (4, 32)
    assert distance(made(points), made(twenty)) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("width", [1, 6])
def test_sampling_noise_is_what_samples_of_one_distribution_show(width: int) -> None:
    pairs = [(made(normal(300, width, k)), made(normal(150, width, k + 100))) for k in range(20)]
    seen = np.mean([distance(a, b) for a, b in pairs])
    assert np.mean([sampling_noise(a, b) for a, b in pairs]) == pytest.approx(seen, rel=0.3)


def test_labels_are_part_of_the_point() -> None:
    X, y = np.zeros((200, 2)), np.repeat([0, 1], 100)
    same, other = joint(X, y, 2), joint(X, 1 - y, 2)
    assert np.linalg.norm(same[0] - same[-1]) == pytest.approx(1)
    assert distance(made(same), made(other)) == pytest.approx(0, abs=1e-6)
    assert distance(made(same), made(joint(X, np.zeros(200), 2))) == pytest.approx(0.5, rel=0.2)
    assert joint(X, y * 0.5).shape == (200, 3)


def test_the_same_rows_in_any_order_give_the_same_bytes() -> None:
    points = normal(100, 5, 0)
    assert made(points) == made(points[::-1])
    assert made(points, seed=1).quantiles != made(points).quantiles


def test_sketches_of_other_directions_or_widths_are_not_compared() -> None:
    a = made(normal(100, 5, 0))
    for b in (made(normal(100, 5, 0), seed=1), made(normal(100, 6, 0))):
        with pytest.raises(InputError, match="need one width and seed"):
            distance(a, replace(b, party="b"))


def test_rows_with_holes_are_refused() -> None:
    points = normal(100, 2, 0)
    points[3, 1] = np.nan
    with pytest.raises(DataError, match="finite numbers"):
        sketch_of(points, party="a", seed=0)
