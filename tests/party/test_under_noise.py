"""A sum under noise: no party's numbers are longer than the clip, and the noise is as much as was asked for."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from flora.core.collective import Alone, Integers
from flora.core.threads import in_step
from flora.errors import ConsentError
from flora.party.private import MeanSurface, OwnSurface
from flora.party.under_noise import STEPS, clipped, mean_surface_under_noise, noisy_sum
from flora.problem.privacy import clip_of, multiplier_of
from flora.surrogate.survey import surveyed_once
from tests.conftest import SVM_SPACE

PARTIES = 20


@dataclass(frozen=True)
class Listening(Alone):
    """One end of a sum of so many, which keeps what the party adds."""

    size: int = PARTIES
    heard: list[Integers] = field(default_factory=list)

    def add_integers(self, values: Integers) -> Integers:
        """Keep it."""
        self.heard.append(values)
        return np.array(values)


def words(values: Any, clip: float, epsilon: float = 4.0) -> Integers:
    line = Listening()
    noisy_sum(np.asarray(values, dtype=float), clip, epsilon, line, random.Random(1))
    return line.heard[0]


@pytest.mark.parametrize("scale", [1e-6, 0.3, 1.0, 7.0, 1e12])
def test_what_a_party_adds_is_no_longer_than_the_clip(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flora.party.under_noise.gaussian_integers", lambda count, *_: np.zeros(count, np.int64))
    values = scale * np.random.default_rng(3).standard_normal(33)
    found = words(values, 0.5)
    assert sum(int(word) ** 2 for word in found) <= STEPS**2
    expected = values * min(1.0, 0.5 / float(np.linalg.norm(values)))
    assert np.allclose(found / STEPS * 0.5, expected, atol=1e-6)


@pytest.mark.parametrize("largest", [math.nan, math.inf, 1e308])
def test_numbers_that_have_no_norm_are_zeros(largest: float) -> None:
    assert not clipped(np.array([largest, -1.0, largest]), 0.5).any()


def test_a_surface_that_no_float_can_sum_adds_noise_alone() -> None:
    class Huge:
        def mean(self, points: Any) -> Any:
            return np.full(len(points), 1.5e308)

    line = Listening()
    own = OwnSurface(Huge(), 1.0)  # type: ignore[arg-type]
    mean_surface_under_noise(own, SVM_SPACE, 4, 4.0, line, random.Random(1))
    nothing = Listening()
    mean_surface_under_noise(None, SVM_SPACE, 4, 4.0, nothing, random.Random(1))
    assert np.array_equal(line.heard[0], nothing.heard[0])


def test_the_noise_is_shared_out_so_that_half_of_the_shares_are_enough() -> None:
    epsilon, clip, count = 2.0, 0.5, 3_000
    line = Listening()
    noisy_sum(np.zeros(count), clip, epsilon, line, random.Random(5))
    one = line.heard[0] / STEPS * clip
    honest_shares = one.var() * PARTIES / 2
    assert honest_shares == pytest.approx((multiplier_of(epsilon) * clip) ** 2, rel=5 * math.sqrt(2 / count))


@dataclass(frozen=True)
class Bowl:
    """A surface that all parties agree on, but for how deep it is."""

    depth: float

    def mean(self, points: Any) -> Any:
        """Return the loss."""
        return 0.4 + self.depth * ((points - 0.5) ** 2).sum(axis=1)

    def deviation(self, points: Any) -> Any:
        """Return zeros."""
        return np.zeros(len(points))


def together(owns: Sequence[OwnSurface | None], epsilon: float = 8.0, seed: int = 0) -> list[MeanSurface]:
    sources = [random.Random(1_000 * seed + k) for k in range(len(owns))]

    def share(own: OwnSurface | None, source: random.Random, line: Any) -> MeanSurface:
        return mean_surface_under_noise(own, SVM_SPACE, 5, epsilon, line, source)

    return in_step([partial(share, own, source) for own, source in zip(owns, sources, strict=True)])


def test_the_mean_of_many_surfaces_is_known_but_for_noise() -> None:
    owns: list[OwnSurface | None] = [OwnSurface(Bowl(1.0 + k), 9.0) for k in range(PARTIES)]
    found = together(owns)
    assert all(np.array_equal(one.means, found[0].means) for one in found)
    assert (found[0].parties, found[0].deviations.size) == (PARTIES, 0)
    points = surveyed_once(SVM_SPACE, 5)
    shape = Bowl(1.0).mean(points)
    shape = (shape - shape.mean()) / np.linalg.norm(shape - shape.mean())
    clip = clip_of(len(points))
    noise = found[0].means - clip * shape  # each is so deep that it is cut to the same
    deviation = multiplier_of(8.0) * clip * math.sqrt(2) / PARTIES
    assert noise.std() == pytest.approx(deviation, rel=0.5)
    again = together(owns, seed=1)
    assert not np.array_equal(again[0].means, found[0].means)
    assert np.array_equal(together(owns)[0].means, found[0].means)


def test_who_cannot_search_adds_its_share_of_the_noise() -> None:
    found = together([None] * PARTIES)[0]
    assert found.means.std() > 0


def test_with_fewer_than_twenty_nothing_leaves() -> None:
    with pytest.raises(ConsentError, match="epsilon needs 20 parties"):
        together([None] * (PARTIES - 1))
