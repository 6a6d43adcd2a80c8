"""Expected improvement under our own Gaussian process: Optuna's needs PyTorch."""

from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from flora.party.local_search.samplers.tpe import STARTUP_TRIALS
from flora.problem.space import SearchSpace
from flora.surrogate.acquisition import ExpectedImprovement
from flora.surrogate.minimise import minimise
from flora.surrogate.regressors import gaussian_process

CANDIDATES = 1_024  # random ones; their best are then refined


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
