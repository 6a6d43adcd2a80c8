"""A few parties get all; many get what is bounded, whatever their order."""

from collections.abc import Sequence

import numpy as np
import pytest

from flora.aggregator.aggregation import aggregate
from flora.aggregator.effort import Effort, effort_for, starts_of
from flora.aggregator.surface import SurfaceChoice, fit_surface
from flora.aggregator.surfaces import median_of_parties
from flora.problem.space import Config, Real, SearchSpace
from flora.problem.trials import PartyTrials, Trial
from flora.surrogate.own_surface import FEW

SPACE = SearchSpace((Real("u", 0.0, 1.0), Real("v", 0.0, 1.0)), {"u": 0.5, "v": 0.5})
POINTS = SPACE.sample(np.random.default_rng(0), 40)


def parties(count: int, tried: int) -> list[PartyTrials]:
    return [_party(k, tried) for k in range(count)]


def _party(number: int, tried: int) -> PartyTrials:
    rng = np.random.default_rng([number, tried])
    configs = SPACE.decode(SPACE.sample(rng, tried))
    losses = [0.2 + (float(c["u"]) - 0.3) ** 2 + 0.01 * rng.random() for c in configs]
    return PartyTrials(f"p{number}", 50 + number, SPACE, "accuracy", tuple(map(Trial, configs, losses)))


def as_set(configs: Sequence[Config]) -> set[tuple[object, ...]]:
    return {tuple(config.values()) for config in configs}


def test_up_to_a_hundred_parties_get_all() -> None:
    assert effort_for(1) == effort_for(FEW) == Effort()
    few = parties(3, 7)
    assert starts_of(few, 0) == [trial.config for party in few for trial in party.trials]


def test_the_work_for_many_parties_is_bounded() -> None:
    efforts = [effort_for(count) for count in (FEW + 1, 200, 1_000, 10_000, 100_000)]
    for name in ("trees", "size", "starts", "drawn"):
        values = [getattr(effort, name) for effort in efforts]
        assert values == sorted(values, reverse=True)
        assert values[-1] == values[-2] > 1


@pytest.mark.parametrize("count", [FEW + 1, 1_200])
def test_many_parties_begin_at_their_best_whatever_their_order(count: int) -> None:
    many = parties(count, 20)
    found = starts_of(many, 5)
    assert found == starts_of(many[::-1], 5)
    assert 100 <= len(found) <= (effort_for(count).starts or 0)
    best = {tuple(party.best.config.values()) for party in many}
    assert as_set(found) & best
    assert count > FEW + 1 or best <= as_set(found)
    assert count == FEW + 1 or (as_set(found) < best and as_set(found) != as_set(starts_of(many, 6)))


def test_many_parties_are_aggregated_whatever_their_order() -> None:
    many = parties(FEW + 1, 4)
    found, turned = (aggregate(order, SurfaceChoice(), 2) for order in (many, many[::-1]))
    assert found.recommendation == turned.recommendation
    assert found.propose(3, 1) == turned.propose(3, 1)
    assert float(found.recommendation.config["u"]) == pytest.approx(0.3, abs=0.2)


class TestEqualToThePlainWay:
    """Nothing is held for all parties at once, and nothing comes out differently."""

    parties = parties(9, 12)

    @pytest.mark.parametrize("size", [1, 2, 40])
    def test_the_average(self, size: int) -> None:
        surface, points = fit_surface("aplm", self.parties, SPACE, 0, weights="rows"), POINTS[:size]
        weights = [50 + k for k in range(9)]
        plain = np.average([part.mean(points) for part in surface.parts], axis=0, weights=weights)
        assert np.array_equal(surface(points), plain)
        squares = (np.array(weights) / sum(weights))[:, None] ** 2
        errors = np.array([part.deviation(points) for part in surface.parts])
        assert np.array_equal(surface.error(points), np.sqrt((squares * errors**2).sum(axis=0)))

    @pytest.mark.parametrize("size", [1, 2, 40])
    def test_the_maximum(self, size: int) -> None:
        surface, points = fit_surface("mplm", self.parties, SPACE, 0), POINTS[:size]
        means = np.array([part.mean(points) for part in surface.parts])
        errors = np.array([part.deviation(points) for part in surface.parts])
        assert np.array_equal(surface(points), means.max(axis=0))
        assert np.array_equal(surface.error(points), errors[means.argmax(axis=0), np.arange(size)])

    @pytest.mark.parametrize("at_once", [1, 9 * 6, 10_000])
    def test_the_median(self, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
        surface = fit_surface("median", self.parties, SPACE, 0)
        losses, errors = surface(POINTS), surface.error(POINTS)
        monkeypatch.setattr(median_of_parties, "MOST_AT_ONCE", at_once)
        assert np.array_equal(surface(POINTS), losses)
        assert np.array_equal(surface.error(POINTS), errors)
