"""The search space as Optuna sees it, and its params as configs."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from flora.problem.parameters import Parameter
from flora.problem.space import Categorical, Config, Integer, Real, SearchSpace, Value


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
