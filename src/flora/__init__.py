"""FLoRA: single-shot hyper-parameter optimisation for federated learning.

The names below are loaded when they are first used, so that ``import flora`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flora.aggregator.recommend import recommend as recommend
    from flora.aggregator.surface import fit_surface as fit_surface
    from flora.errors import DataError as DataError
    from flora.errors import FloraError as FloraError
    from flora.errors import InputError as InputError
    from flora.errors import SpaceError as SpaceError
    from flora.errors import TrialsError as TrialsError
    from flora.outcome.loaded import load as load
    from flora.party.local_search.search import search_locally as search_locally
    from flora.problem.space import Boolean as Boolean
    from flora.problem.space import Categorical as Categorical
    from flora.problem.space import Integer as Integer
    from flora.problem.space import Real as Real
    from flora.problem.space import SearchSpace as SearchSpace
    from flora.problem.trials import PartyTrials as PartyTrials
    from flora.problem.trials import Trial as Trial
    from flora.sklearn import FloraSearchCV as FloraSearchCV

__version__ = "0.1.0"

_HOME = {
    "Boolean": "problem.space",
    "Categorical": "problem.space",
    "DataError": "errors",
    "FloraError": "errors",
    "FloraSearchCV": "sklearn",
    "InputError": "errors",
    "Integer": "problem.space",
    "PartyTrials": "problem.trials",
    "Real": "problem.space",
    "SearchSpace": "problem.space",
    "SpaceError": "errors",
    "Trial": "problem.trials",
    "TrialsError": "errors",
    "fit_surface": "aggregator.surface",
    "load": "outcome.loaded",
    "recommend": "aggregator.recommend",
    "search_locally": "party.local_search.search",
}
__all__ = sorted(_HOME)  # noqa: PLE0605  (one list, not two)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'flora' has no attribute {name!r}")
    return getattr(import_module(f"flora.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
