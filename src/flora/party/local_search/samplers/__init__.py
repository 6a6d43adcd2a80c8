"""How the local search proposes configs. A file for each sampler; each is Optuna's, or speaks its language.

A sampler keeps nothing between trials: what it proposes is a function of the study's history and of its seed.
"""

from typing import TYPE_CHECKING

from flora.core.registry import find
from flora.errors import InputError

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

SAMPLERS = {  # a new sampler is a file in here with a function of the trial's seed, and a line
    "tpe": "flora.party.local_search.samplers.tpe:sampler",
    "gp": "flora.party.local_search.samplers.gaussian_process:GaussianProcessSampler",
    "random": "flora.party.local_search.samplers.random:sampler",
}


def make_sampler(name: str, seed: int) -> "BaseSampler":
    """Return the sampler called ``name`` for one trial; ``seed`` belongs to the trial's number."""
    made: BaseSampler = find("sampler", SAMPLERS, name)(seed)
    return made


def check_sampler(name: str) -> None:
    """Raise unless there is a sampler of that name."""
    if name not in SAMPLERS:
        raise InputError(f"the sampler must be one of {list(SAMPLERS)}, got {name!r}")
