"""How the local search proposes configs: Optuna's samplers, and the space as Optuna sees it.

A sampler keeps nothing between trials: what it proposes is a function of the study's history and of its seed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.search_space import intersection_search_space
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from flora.errors import InputError
from flora.minimise import minimise
from flora.parameters import Parameter
from flora.plan import SAMPLERS
from flora.regressors import Losses, Regressor, gaussian_process
from flora.space import Categorical, Config, Integer, Points, Real, SearchSpace, Value

STARTUP_TRIALS = 10  # drawn at random before a sampler learns from the history
CANDIDATES = 1_024  # random ones; their best are then refined


def make_sampler(name: str, seed: int) -> BaseSampler:
    """Return the sampler called ``name`` for one trial; ``seed`` belongs to the trial's number."""
    if name == "tpe":
        # Said outright, for Optuna's releases differ in these defaults. The liar would look at trials that still run.
        return TPESampler(n_startup_trials=STARTUP_TRIALS, seed=seed, multivariate=False, constant_liar=False)
    if name == "gp":
        return GaussianProcessSampler(seed)
    if name == "random":
        return RandomSampler(seed)
    raise InputError(f"the sampler must be one of {list(SAMPLERS)}, got {name!r}")


def distributions_of(space: SearchSpace) -> dict[str, BaseDistribution]:
    """Return the space as Optuna's distributions, under the same names.

    An HP that Optuna has no distribution for (a logit or bilog scale, a grid that misses its upper end) is its
    coordinate in the unit interval there.
    """
    return {parameter.name: _distribution(parameter) for parameter in space.parameters}


def config_from(space: SearchSpace, params: Mapping[str, Any]) -> Config:
    """Return the config that Optuna's ``params`` mean."""
    return {parameter.name: _from_optuna(parameter, params[parameter.name]) for parameter in space.parameters}


def params_from(space: SearchSpace, config: Config) -> dict[str, Any]:
    """Return a config's params for Optuna; what lies outside the range (as a default may) goes to its end."""
    return {parameter.name: _to_optuna(parameter, config[parameter.name]) for parameter in space.parameters}


@dataclass(frozen=True)
class ExpectedImprovement:
    r"""How much lower than ``best`` a loss may be expected to be, negated, so that its minimum is the proposal.

    :math:`E[\max(b - \ell, 0)] = (b - f)\,\Phi(z) + u\,\varphi(z)` with :math:`z = (b - f) / u`. A config that was
    tried before is worse than any other.
    """

    regressor: Regressor
    tried: Points
    best: float

    def __call__(self, points: Points) -> Losses:
        """Return the negated expected improvement: (n, d) -> (n,)."""
        from scipy.special import ndtr

        gain, deviation = self.best - self.regressor.mean(points), self.regressor.deviation(points)
        deviation = np.maximum(deviation, 1e-12)  # at a trial's own point it may be 0
        z = gain / deviation
        improvement = gain * ndtr(z) + deviation * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        seen = {point.tobytes() for point in self.tried}
        improvement[[point.tobytes() in seen for point in np.ascontiguousarray(points)]] = -deviation.max()
        return np.asarray(-improvement)


class GaussianProcessSampler(BaseSampler):
    """Expected improvement under our own Gaussian process (Optuna's needs PyTorch)."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = RandomSampler(seed)

    def infer_relative_search_space(
        self,
        study: Study,
        trial: FrozenTrial,  # noqa: ARG002  (Optuna's signature)
    ) -> dict[str, BaseDistribution]:
        """Return what the finished trials have in common, or nothing while there is too little to learn from."""
        finished = _finished(study)
        if len(finished) < STARTUP_TRIALS or len({done.value for done in finished}) < 2:
            return {}
        return intersection_search_space(finished)

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,  # noqa: ARG002  (Optuna's signature)
        search_space: dict[str, BaseDistribution],
    ) -> dict[str, Any]:
        """Return the params with the highest expected improvement."""
        if not search_space:
            return {}
        space = SearchSpace.from_json(search_space)
        finished = _finished(study)
        tried = space.snap(space.encode([done.params for done in finished]))
        sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
        losses = sign * np.array([done.value for done in finished], dtype=float)
        process = gaussian_process(tried, losses, self._seed)
        improvement = ExpectedImprovement(process, tried, float(process.mean(tried).min()))
        best = [finished[k].params for k in np.argsort(losses, kind="stable")[:STARTUP_TRIALS]]
        return dict(space.decode(minimise(improvement, space, self._seed, best, CANDIDATES))[0])

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a random value."""
        return self._random.sample_independent(study, trial, param_name, param_distribution)


def _finished(study: Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def _distribution(parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Categorical):
        return CategoricalDistribution(parameter.values)
    if not _known_to_optuna(parameter):
        return FloatDistribution(0.0, 1.0)
    log = parameter.scale == "log"
    if isinstance(parameter, Integer):
        return IntDistribution(int(parameter.low), int(parameter.high), log=log, step=int(parameter.step or 1))
    return FloatDistribution(parameter.low, parameter.high, log=log, step=parameter.step)


def _known_to_optuna(parameter: Real) -> bool:
    if parameter.step is None:
        return parameter.scale in ("linear", "log")
    low, high, step = (Decimal(str(number)) for number in (parameter.low, parameter.high, parameter.step))
    return (high - low) % step == 0


def _from_optuna(parameter: Parameter, value: Any) -> Value:
    if isinstance(parameter, Categorical):
        return parameter.values[parameter.index(value)]
    if not _known_to_optuna(parameter):
        return parameter.decode(np.array([[float(value)]]))[0]
    if parameter.step is not None:  # one and the same number for each point of the grid, however it was summed up
        return parameter.decode(parameter.encode([value]))[0]
    within = min(max(value, parameter.low), parameter.high)
    return int(within) if isinstance(parameter, Integer) else float(within)


def _to_optuna(parameter: Parameter, value: Value) -> Any:
    if isinstance(parameter, Categorical):
        return value
    if not _known_to_optuna(parameter):
        return float(parameter.encode([value])[0, 0])
    return _from_optuna(parameter, value)
