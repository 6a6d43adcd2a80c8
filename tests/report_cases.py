"""Runs for the tests of the report, made by formula: trials of any number of parties, and their result."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flora.aggregation import aggregate
from flora.randomness import stream
from flora.result import aggregate_document
from flora.space import SearchSpace
from flora.surface import SurfaceChoice
from flora.trials import FailedTrial, PartyTrials, Trial
from flora.verdict import Gain

MIXED = SearchSpace.from_json(
    {
        "C": {"type": "real", "space": "log", "range": [0.01, 1000.0], "default": 1.0},
        "depth": {"type": "int", "space": "linear", "range": [1, 6], "default": 3},
        "kernel": {"type": "cat", "values": ["rbf", "poly", "sigmoid"], "default": "rbf"},
        "shrink": {"type": "bool", "default": True},
    }
)
EVIL_PARTY = "<script>alert(1)</script>"
EVIL_HP = '"><img src=x onerror=alert(1)>'
EVIL_VALUES = ["</script><script>alert(2)</script>", "<!--", '<a href="https://example.org/">link</a>']
EVIL = SearchSpace.from_json(
    {
        EVIL_HP: {"type": "real", "space": "log", "range": [0.01, 1000.0], "default": 1.0},
        "kind": {"type": "cat", "values": EVIL_VALUES, "default": "<!--"},
        "%{x} $\\alpha$ <b>bold</b>": {"type": "real", "space": "logit", "range": [0.1, 0.9], "default": 0.5},
    }
)
Result = tuple[dict[str, Any], list[PartyTrials]]


def party_trials(name: str, space: SearchSpace, *, count: int = 12, seed: int = 0) -> PartyTrials:
    """Return the trials of a bowl over the space whose bottom differs a little from party to party."""
    rng = stream(seed, "case", name)
    configs = [
        *([space.default] if space.default else []),
        *space.decode(space.sample(rng, count - bool(space.default))),
    ]
    bottom = 0.5 + 0.1 * rng.standard_normal(space.width)
    distances = np.sqrt(((space.encode(configs) - bottom) ** 2).sum(axis=1))
    trials = [Trial(config, 0.1 + 0.2 * float(d), 0.01, 5, 60) for config, d in zip(configs, distances, strict=True)]
    failed = (FailedTrial(configs[-1], "ValueError"),)
    return PartyTrials(name, 60 + len(name), space, "balanced_accuracy", tuple(trials), failed, "svm", "classification")


def aggregated(names: Sequence[str], space: SearchSpace = MIXED, surface: str = "aplm", **sizes: int) -> Result:
    """Return what ``flora aggregate`` writes of the parties' trials, and the trials."""
    trials = [party_trials(name, space, **sizes) for name in names]
    choice = SurfaceChoice(surface)
    return aggregate_document(aggregate(trials, choice, 0), choice, "mean", 0), trials


def tuned(names: Sequence[str], space: SearchSpace = MIXED, surface: str = "aplm", **sizes: int) -> Result:
    """Return what ``flora tune`` adds to it: measured gains, a model, a schema, notes and seconds."""
    document, trials = aggregated(names, space, surface, **sizes)
    gains = [0.01 + 0.002 * k for k in range(len(trials))]
    measured = zip(document["parties"], gains, strict=True)
    estimate = sum(gains) / len(gains)
    return {
        **document,
        "verdict": "use",
        "verdict_basis": "measured",
        "expected_gain": {
            "estimate": estimate,
            "low": estimate - 0.004,
            "high": estimate + 0.004,
            "standard_error": 0.004,
        },
        "parties": [_measured(entry, gain, document) for entry, gain in measured],
        "candidates": [
            {"config": dict(config), **Gain(gain, 0.004).to_json()}
            for config, gain in ((space.default, 0.0), (document["config"], estimate))
        ],
        "folds": 5,
        "sampler": "tpe",
        "trained_config": document["config"],
        "chosen_in_training": [],
        "trainings": [{"config": document["config"], "held_loss": None}],
        "training": "The parties add up gradients.",
        "model": "model.flora",
        "model_digest": "ab" * 32,
        "schema": {
            "target": "state",
            "classes": ["ill", "well"],
            "columns": [
                {"name": "age", "kind": "numeric"},
                {"name": names[0], "kind": "categorical", "categories": ["A"]},
            ],
        },
        "notes": [f"{names[0]}: 3 folds, for the smallest class has 3 rows"],
        "seconds": {"describe": 0.01, "search": 4.5, "confirm": 0.4, "train": 0.7},
    }, trials


def _measured(entry: Mapping[str, Any], gain: float, document: Mapping[str, Any]) -> dict[str, Any]:
    loss = entry["default_loss"] - gain
    measured = {"recommended_loss": loss, "recommended_loss_error": 0.01, "gain": gain, "gain_error": 0.008}
    others = {"config_without": document["default"], "verdict_without": "keep-defaults"}
    return {**entry, **measured, "distance": 1000 * (gain - 0.01), "disagrees": gain > 0.01, **others}
