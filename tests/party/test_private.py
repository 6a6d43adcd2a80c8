"""What parties add up in a private search is what one who knew all of it would work out."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from flora.aggregator.evidence import joint_degrees
from flora.core.collective import Alone
from flora.core.threads import in_step
from flora.errors import ConsentError
from flora.party.party import Party
from flora.party.private import Candidates, MeanGains, MeanSurface, OwnGains, OwnSurface, mean_gains, mean_surface
from flora.party.tables.table import Table
from flora.problem.messages import Confirmation
from flora.problem.path import Path
from flora.problem.plan import SearchPlan
from flora.problem.private_messages import SearchPrivately, Survey
from flora.problem.trials import Trial
from flora.randomness import stream
from flora.surrogate.regressors import REGRESSORS
from flora.surrogate.survey import watched
from tests.conftest import SVM_SPACE, two_moons

TREES = Path("trees", (10, 100))
GROUPS = tuple(tuple({"rate": rate, "trees": trees} for trees in (100, 10)) for rate in (0.1, 0.2, 0.3))
ROWS = (40, 60, 50, 90, 10, 70)


def surface_of(seed: int, weight: float = 1.0) -> OwnSurface:
    rng = stream(seed, "own")
    losses = rng.uniform(-2, 3, 12)
    regressor = REGRESSORS["forest"](SVM_SPACE.sample(rng, 12), losses, seed, trees=5)
    return OwnSurface(regressor, float(np.abs(losses).max()), weight)


def together(owns: Sequence[OwnSurface | None]) -> list[MeanSurface]:
    return in_step([partial(lambda own, line: mean_surface(own, SVM_SPACE, 5, line), own) for own in owns])


def test_the_mean_surface_is_the_mean_by_weight_and_its_spread_is_theirs() -> None:
    owns = [surface_of(0), surface_of(1, 3.0), surface_of(2, 2.0)]
    found = together([*owns, None])
    assert all(np.array_equal(one.means, found[0].means) for one in found)
    assert found[3].parties == 3

    def expected(points: Any) -> Any:
        return np.average([own.regressor.mean(points) for own in owns], axis=0, weights=[1.0, 3.0, 2.0])

    from flora.surrogate.survey import surveyed

    points, means = surveyed(SVM_SPACE, 5, expected)
    assert np.allclose(found[0].means, means, rtol=0, atol=1e-14)
    few = watched(means)
    values = np.array([own.regressor.mean(points[few]) for own in owns])
    variance = np.average((values - means[few]) ** 2, axis=0, weights=[1.0, 3.0, 2.0])
    assert np.allclose(found[0].deviations, np.sqrt(variance), atol=1e-12)


def test_two_surfaces_are_too_few_and_nothing_but_that_is_told() -> None:
    with pytest.raises(ConsentError, match="needs 3 parties that can search, and here are 2"):
        together([surface_of(0), surface_of(1), None])


def confirmations(seed: int, *, failed: int | None = None) -> list[Confirmation]:
    rng = stream(seed, "gains")
    found = []
    for group, configs in enumerate(GROUPS):
        for k, config in enumerate(configs):
            gain = 0.0 if group == k == 0 else float(rng.normal(0.05 * group, 0.03))
            error = 0.0 if group == k == 0 else float(rng.uniform(0.01, 0.03))
            if group != failed:
                found.append(Confirmation(Trial(config, 0.4 - gain, 0.01, 3 + seed % 2), gain, error))
    return found


def gains_of(count: int, *, free: bool, last: int | None = None, failed: int | None = None) -> list[MeanGains]:
    candidates = Candidates(GROUPS, TREES, last, free)
    owns: list[OwnGains | None] = [
        OwnGains.of(confirmations(k, failed=failed if k == 1 else None), candidates.configs, ROWS[k])
        for k in range(count)
    ]
    return in_step([partial(lambda own, line: mean_gains(own, candidates, line), own) for own in [*owns, None]])


def table(count: int, name: str) -> Any:
    return np.array([[getattr(each, name) for each in confirmations(k)] for k in range(count)])


def test_of_few_parties_the_error_is_that_of_their_folds() -> None:
    found, shares = gains_of(3, free=False)[0], np.array(ROWS[:3]) / sum(ROWS[:3])
    gains, errors = table(3, "gain"), table(3, "gain_error")
    assert np.allclose(found.gains, shares @ gains)
    assert found.compared[0] == 0
    for place, error, degrees in list(zip(found.compared, found.errors, found.degrees, strict=True))[1:]:
        variances = shares**2 * errors[:, place] ** 2
        assert error == pytest.approx(np.sqrt(variances.sum()))
        assert degrees == pytest.approx(max(joint_degrees(variances, np.array([2.0, 3.0, 2.0])), 1))
        assert found.gains[place] == max(found.gains[place // 2 * 2 : place // 2 * 2 + 2])


def test_of_many_parties_the_error_is_their_own_spread_over_the_defaults_best() -> None:
    found, shares = gains_of(6, free=True)[0], np.array(ROWS) / sum(ROWS)
    gains = table(6, "gain")
    reference = int(np.argmax((shares @ gains)[:2]))
    assert found.compared[0] == reference
    for place, error, degrees in list(zip(found.compared, found.errors, found.degrees, strict=True))[1:]:
        away = gains[:, place] - gains[:, reference]
        assert error == pytest.approx(np.sqrt(np.sum((shares * (away - shares @ away)) ** 2) * 6 / 5))
        assert degrees == 5


def test_what_lies_past_the_last_place_does_not_count() -> None:
    found = gains_of(6, free=True, last=10)[0]
    assert [found.configs[place]["trees"] for place in found.compared] == [10, 10, 10]


def test_a_config_that_failed_at_one_party_is_left_out_by_all() -> None:
    found = gains_of(4, free=False, failed=1)
    assert all(one.configs == found[0].configs for one in found)
    assert [config["rate"] for config in found[0].configs] == [0.1, 0.1, 0.3, 0.3]
    assert [found[0].configs[place]["rate"] for place in found[0].compared] == [0.1, 0.3]


def test_a_party_keeps_its_pairs_and_searches_once() -> None:
    plan = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", 3, 3)
    done: list[int] = []
    party = Party("a", Table(two_moons(60, 1), "kind"), progress=lambda _, now, __: done.append(now))
    reply = party.answer(SearchPrivately(plan))
    assert (reply.party, reply.rows) == ("a", 60)
    assert reply.notes == ()  # how many folds there were would tell of its smallest class
    before = list(done)
    with pytest.raises(ConsentError, match="here are 1"):
        party.answer(Survey(plan, None, "forest"), Alone())
    assert done == before


def test_who_cannot_search_does_not_say_why() -> None:
    frame = two_moons(60, 1)
    party = Party("a", Table(frame.assign(kind=["upper"] * 59 + ["lower"]), "kind"))
    plan = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", 3, 3)
    reply = party.answer(SearchPrivately(plan))
    assert "class" not in " ".join(reply.notes)
    assert not getattr(reply, "searched", True)
