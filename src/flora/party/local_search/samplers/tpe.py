"""Optuna's tree-structured Parzen estimator: what FLoRA uses unless told otherwise."""

from optuna.samplers import TPESampler

STARTUP_TRIALS = 10  # drawn at random before a sampler learns from the history


def sampler(seed: int) -> TPESampler:
    """Return the sampler for one trial."""
    # Said outright, for Optuna's releases differ in these defaults. The liar would look at trials that still run.
    return TPESampler(n_startup_trials=STARTUP_TRIALS, seed=seed, multivariate=False, constant_liar=False)
