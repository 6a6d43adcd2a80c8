"""Optuna's view of a space loses nothing, and what a sampler proposes depends on the history and its seed alone."""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from flora.errors import InputError
from flora.party.local_search.optuna_space import config_from, distributions_of, params_from
from flora.party.local_search.samplers import SAMPLERS, make_sampler
from flora.party.local_search.samplers.tpe import STARTUP_TRIALS
from flora.problem.space import Boolean, Categorical, Config, Integer, Points, Real, SearchSpace
from flora.randomness import derived_seed
from flora.surrogate.acquisition import ExpectedImprovement
from flora.surrogate.regressors import Losses

optuna.logging.set_verbosity(optuna.logging.WARNING)
SPACE = SearchSpace(
    (
        Real("linear", -1.0, 3.0),
        Real("log", 1e-4, 10.0, "log"),
        Real("grid", 0.1, 0.7, step=0.2),
        Real("ragged", 0.0, 1.0, step=0.3),
        Real("logit", 0.01, 0.99, "logit"),
        Real("bilog", -100.0, 1000.0, "bilog"),
        Integer("count", 1, 200),
        Integer("count log", 2, 1000, "log"),
        Integer("even", 0, 20, step=2),
        Integer("ragged int", 1, 12, step=4),
        Integer("count bilog", -5, 500, "bilog"),
        Categorical("kind", ("x", "y", 3, 0.5)),
        Boolean("warm"),
    )
)
SMALL = SearchSpace((Real("rate", 1e-3, 1.0, "log"), Integer("depth", 1, 9), Boolean("warm")))


def test_what_optuna_knows_is_its_own_and_the_rest_is_a_coordinate() -> None:
    unit = FloatDistribution(0.0, 1.0)
    assert distributions_of(SPACE) == {
        "linear": FloatDistribution(-1.0, 3.0),
        "log": FloatDistribution(1e-4, 10.0, log=True),
        "grid": FloatDistribution(0.1, 0.7, step=0.2),
        "ragged": unit,
        "logit": unit,
        "bilog": unit,
        "count": IntDistribution(1, 200),
        "count log": IntDistribution(2, 1000, log=True),
        "even": IntDistribution(0, 20, step=2),
        "ragged int": unit,
        "count bilog": unit,
        "kind": CategoricalDistribution(("x", "y", 3, 0.5)),
        "warm": CategoricalDistribution((False, True)),
    }


cube = st.lists(st.floats(0.0, 1.0), min_size=SPACE.width, max_size=SPACE.width)


@given(cube)
def test_round_trip(units: list[float]) -> None:
    config = SPACE.decode(np.array([units]))[0]
    params = params_from(SPACE, config)
    again = config_from(SPACE, params)
    for name in ("logit", "bilog"):
        assert again[name] == pytest.approx(config[name], rel=1e-12, abs=1e-11)  # 1e-11: a bilog near 0 loses digits
    warped = {"logit": 0, "bilog": 0}
    assert dict(again) | warped == dict(config) | warped
    assert {name: type(value) for name, value in again.items()} == {n: type(v) for n, v in config.items()}


@given(cube)
def test_optuna_accepts_the_params_of_every_config(units: list[float]) -> None:
    params = params_from(SPACE, SPACE.decode(np.array([units]))[0])
    create_trial(state=TrialState.COMPLETE, value=0.0, params=params, distributions=distributions_of(SPACE))


def test_a_default_outside_the_range_is_clipped_for_optuna_only() -> None:
    space = SearchSpace((Real("l2", 1e-4, 10.0, "log"), Integer("leaf", 5, 50)), default={"l2": 0.0, "leaf": 100})
    assert params_from(space, space.default) == {"l2": 1e-4, "leaf": 50}


def test_a_grid_point_is_one_number_however_it_was_summed_up() -> None:
    space = SearchSpace((Real("grid", 0.0, 0.3, step=0.1),))
    assert config_from(space, {"grid": 0.1 + 0.1 + 0.1}) == config_from(space, {"grid": 0.3}) == {"grid": 0.3}
    assert config_from(space, {"grid": 0.19999999999}) == config_from(space, {"grid": 0.2})


def small_loss(config: Config) -> float:
    point = SMALL.encode([config])[0]
    return float((point[0] - 0.3) ** 2 + (point[1] - 0.75) ** 2 + 0.2 * point[2])


def propose(study: optuna.Study, name: str, seed: int) -> Config:
    study.sampler = make_sampler(name, seed)
    return config_from(SMALL, study.ask(distributions_of(SMALL)).params)


def study_of(
    configs: list[Config], loss: Callable[[Config], float], direction: Literal["minimize", "maximize"] = "minimize"
) -> optuna.Study:
    study = optuna.create_study(direction=direction)
    for config in configs:
        params = params_from(SMALL, config)
        study.add_trial(create_trial(params=params, distributions=distributions_of(SMALL), value=loss(config)))
    return study


HISTORY = SMALL.decode(SMALL.sample(np.random.default_rng(1), 15))


@pytest.mark.parametrize("name", SAMPLERS)
class TestEverySampler:
    def test_proposal_is_a_function_of_history_and_seed(self, name: str) -> None:
        first, second = (propose(study_of(HISTORY, small_loss), name, 7) for _ in range(2))
        assert first == second
        assert first != propose(study_of(HISTORY, small_loss), name, 8)
        SMALL.check(first)

    def test_begins_without_any_history(self, name: str) -> None:
        SMALL.check(propose(optuna.create_study(), name, 7))

    def test_trials_that_failed_or_still_run_do_not_count(self, name: str) -> None:
        study = study_of(HISTORY, small_loss)
        plain = propose(study_of(HISTORY, small_loss), name, 7)
        params, space = params_from(SMALL, HISTORY[0]), distributions_of(SMALL)
        study.add_trial(create_trial(state=TrialState.FAIL, params=params, distributions=space))
        study.ask(space)
        assert propose(study, name, 7) == plain

    def test_proposals_are_inside_every_kind_of_range(self, name: str) -> None:
        study, space = optuna.create_study(), distributions_of(SPACE)
        for number in range(STARTUP_TRIALS + 2):
            study.sampler = make_sampler(name, number)
            trial = study.ask(space)
            config = config_from(SPACE, trial.params)
            SPACE.check(config)
            study.tell(trial, float(number % 3))


def test_tpe_comes_closer_than_chance() -> None:
    study, losses = study_of(HISTORY, small_loss), []
    for number in range(15):
        study.sampler = make_sampler("tpe", derived_seed(0, number))
        trial = study.ask(distributions_of(SMALL))
        losses.append(small_loss(config_from(SMALL, trial.params)))
        study.tell(trial, losses[-1])
    by_chance = [small_loss(config) for config in SMALL.decode(SMALL.sample(np.random.default_rng(0), 1000))]
    assert np.median(losses) < np.quantile(by_chance, 0.2)


def test_gp_minimises_what_the_study_minimises() -> None:
    up = study_of(HISTORY, lambda config: -small_loss(config), "maximize")
    assert propose(up, "gp", 7) == propose(study_of(HISTORY, small_loss), "gp", 7)


def test_gp_finds_the_minimum() -> None:
    study = study_of(HISTORY, small_loss)
    for number in range(8):
        study.sampler = make_sampler("gp", number)
        trial = study.ask(distributions_of(SMALL))
        study.tell(trial, small_loss(config_from(SMALL, trial.params)))
    assert study.best_value < 0.002


def test_gp_draws_its_first_trials_at_random() -> None:
    early = study_of(HISTORY[: STARTUP_TRIALS - 1], small_loss)
    assert propose(early, "gp", 7) == propose(optuna.create_study(), "gp", 7)
    assert propose(study_of(HISTORY[:STARTUP_TRIALS], small_loss), "gp", 7) != propose(early, "gp", 7)


def test_gp_goes_on_at_random_while_all_losses_are_equal() -> None:
    assert propose(study_of(HISTORY, lambda _: 0.5), "gp", 7) == propose(optuna.create_study(), "gp", 7)


def test_gp_tries_no_config_twice() -> None:
    depths = SearchSpace((Integer("depth", 1, 16),))
    study, space, seen = optuna.create_study(), distributions_of(depths), set()
    for depth in (*range(1, 10), 12):
        study.add_trial(create_trial(params={"depth": depth}, distributions=space, value=abs(depth - 8.2)))
        seen.add(depth)
    for number in range(6):
        study.sampler = make_sampler("gp", number)
        trial = study.ask(space)
        assert trial.params["depth"] not in seen
        seen.add(trial.params["depth"])
        study.tell(trial, abs(trial.params["depth"] - 8.2))


class Belief:
    """A loss of 0.4 with a deviation that grows along the axis."""

    def mean(self, points: Points) -> Losses:
        return np.full(len(points), 0.4)

    def deviation(self, points: Points) -> Losses:
        return points[:, 0]


def test_expected_improvement_has_the_known_numbers() -> None:
    points = np.array([[0.0], [0.1], [0.2]])
    tried: Any = np.array([[0.2]])
    at_best = ExpectedImprovement(Belief(), tried, 0.4)(points)
    assert at_best == pytest.approx([0.0, -0.1 / math.sqrt(2 * math.pi), 0.2], abs=1e-11)
    below = ExpectedImprovement(Belief(), tried, 0.5)(points)
    assert below == pytest.approx([-0.1, -0.1083315, 0.2], abs=1e-6)  # z = 1: 0.1 * (0.8413447 + 0.2419707)


def test_unknown_sampler_is_refused() -> None:
    with pytest.raises(InputError, match=r"one of \['tpe', .*\], got 'cma'"):
        make_sampler("cma", 0)
