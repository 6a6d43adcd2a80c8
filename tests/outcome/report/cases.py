"""Runs for the tests of the report, made by formula: trials of any number of parties, and their result."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flora.aggregator.aggregation import Aggregation, aggregate
from flora.aggregator.recommend import Recommendation
from flora.aggregator.surface import SurfaceChoice, SurfaceKind
from flora.aggregator.verdict import Verdict
from flora.outcome.report.analysis import Analysis
from flora.problem.schema import Column, Schema
from flora.problem.space import SearchSpace
from flora.problem.trials import FailedTrial, Gain, PartyTrials, Trial
from flora.program.party_result import MeasuredGain, PartyResult
from flora.program.request import Request
from flora.program.result import Result, result_of
from flora.program.result_parts import CandidateResult, Grounds, StatedGain, TrainingResult
from flora.program.single_shot import Outcome
from flora.randomness import stream

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
Case = tuple[Result, list[PartyTrials]]


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


def aggregated(names: Sequence[str], space: SearchSpace = MIXED, surface: str = "aplm", **sizes: int) -> Case:
    """Return what ``flora aggregate`` makes of the parties' trials, and the trials."""
    trials = [party_trials(name, space, **sizes) for name in names]
    choice = SurfaceChoice(surface)
    return result_of(Outcome(aggregate(trials, choice, 0)), Request(surface=choice), {}), trials


def tuned(names: Sequence[str], space: SearchSpace = MIXED, surface: str = "aplm", **sizes: int) -> Case:
    """Return what ``flora tune`` adds to it: measured gains, a model, a schema, notes and seconds."""
    result, trials = aggregated(names, space, surface, **sizes)
    gains = [0.01 + 0.002 * k for k in range(len(trials))]
    estimate = sum(gains) / len(gains)
    verdict = Verdict(Gain(estimate, 0.004), "measured")
    columns = (Column("age", "numeric"), Column(names[0], "categorical", ("A",)))
    found = replace(
        result,
        verdict="use",
        grade=verdict.grade,
        evidence=Grounds.of(verdict),
        expected_gain=StatedGain.by(verdict),
        parties=tuple(_measured(party, gain, result) for party, gain in zip(result.parties, gains, strict=True)),
        candidates=tuple(
            CandidateResult(config, config, True, StatedGain.of(Gain(gain, 0.004)))
            for config, gain in ((dict(space.default), 0.0), (result.config, estimate))
        ),
        folds=5,
        sampler="tpe",
        trained_config=result.config,
        trainings=(TrainingResult(result.config, None),),
        training="The parties add up gradients.",
        model="model.flora",
        model_digest="ab" * 32,
        schema=Schema("state", "classification", columns, ("ill", "well")),
        notes=(f"{names[0]}: 3 folds, for the smallest class has 3 rows",),
        seconds={"describe": 0.01, "search": 4.5, "confirm": 0.4, "train": 0.7},
    )
    return found, trials


def _measured(party: PartyResult, gain: float, result: Result) -> PartyResult:
    distance, disagrees = 1000 * (gain - 0.01), gain > 0.01
    return replace(
        party,
        recommended_loss=(party.default_loss or 0.0) - gain,
        recommended_loss_error=0.01,
        measured=MeasuredGain(gain, 0.008, distance, disagrees, result.default, "keep-defaults"),
    )


def analysed(trials: Sequence[PartyTrials], surface: SurfaceKind, choice: SurfaceChoice | None = None) -> Analysis:
    """Return a run whose surface is given; it recommends the best of the first party's trials, and nobody measured."""
    best = trials[0].best
    found = Aggregation(tuple(trials), surface, Recommendation(best.config, best.config, best.loss, 0.01), None)
    result = result_of(Outcome(found), Request(surface=choice or SurfaceChoice()), {})
    return Analysis.with_surface(result, found.trials, surface)
