"""Random search."""

from optuna.samplers import RandomSampler


def sampler(seed: int) -> RandomSampler:
    """Return the sampler for one trial."""
    return RandomSampler(seed)
