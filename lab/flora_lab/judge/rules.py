"""Rules: from what is stored of a cell to one recommendation. A new idea is a new line in ``rules_of``."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from flora.aggregator.choose import Choice, Whole, choose
from flora.aggregator.learnt import measured_learnt
from flora.aggregator.surface import SURFACES
from flora.aggregator.verdict import Verdict, tried_configs
from flora.problem.path import Path, counts_by_held_rows
from flora.problem.space import Config
from flora_lab.datasets import declared
from flora_lab.judge.record import Pick, Record


@dataclass(frozen=True)
class JudgedRule:
    """A named way to recommend."""

    name: str
    pick: Callable[[Record], Pick]


def flora(record: Record) -> Pick:
    """Recommend as the product does where the only training is the model's: by what the parties measured."""
    choice = choice_of(record, record.path)
    return _by_verdict(record, choice.chosen.config, measured_verdict(record, choice))


def chosen(record: Record) -> Pick:
    """Recommend what the product compares with the default by federated trainings, whatever comes of that."""
    return as_trained(record, choice_of(record, record.path).chosen.config)


def in_range(record: Record) -> Pick:
    """Recommend as the product does where the range of trees is a user's own: the training stays in it."""
    choice = choice_of(record, record.path and replace(record.path, open=False))
    return replace(_by_verdict(record, choice.chosen.config, measured_verdict(record, choice)), in_range=True)


def without_confirmation(record: Record) -> Pick:
    """Recommend APLM's minimum, unless APLM itself sees no gain beyond what chance shows."""
    return _by_verdict(
        record, record.minima["aplm"], Verdict(record.predicted, "predicted", tried_configs(record.trials))
    )


def oracle(record: Record) -> Pick:
    """Recommend what is truly best of what the product chooses among, each trained as the product would."""
    candidates = [as_trained(record, candidate.config) for candidate in choice_of(record, record.path).candidates]
    everything = [as_trained(record, record.default), *candidates]
    return min(everything, key=lambda pick: float(np.mean(record.losses(pick))))


def _minimum_of(surface: str) -> Callable[[Record], Pick]:
    return lambda record: Pick(record.minima[surface])


def choice_of(record: Record, path: Path | None) -> Choice:
    """Return what the product chooses among the candidates that the parties measured."""
    space, minimum = record.trials[0].space, record.minima["aplm"]
    return choose(record.confirmed, record.rows, Whole.of(record.rows, space, path, record.grows), minimum)


def measured_verdict(record: Record, choice: Choice) -> Verdict:
    """Return what the product says of a choice by what the parties measured, beside a guess among their classes."""
    guesses = dict.fromkeys(record.rows, declared(record.cell.dataset).guess)
    learnt = measured_learnt(choice.chosen.measured, record.confirmed, record.rows, guesses, "mean")
    return replace(choice.verdict, learnt=learnt)


def _by_verdict(record: Record, config: Config, verdict: Verdict) -> Pick:
    return as_trained(record, config if verdict.decision == "use" else record.default)


def as_trained(record: Record, config: Config) -> Pick:
    """Return what comes of training a config: with rows enough to hold out, the training chooses its place."""
    enough = counts_by_held_rows(sum(record.rows.values()))
    return Pick(config, in_training=record.path is not None and enough)


DEFAULT, APLM = "default", "aplm"


def rules_of(surfaces: Iterable[str]) -> tuple[JudgedRule, ...]:
    """Return all rules; those of single surfaces need cells that have their minima."""
    return (
        JudgedRule(DEFAULT, lambda record: Pick(record.default)),
        JudgedRule("default as trained", lambda record: as_trained(record, record.default)),
        *(JudgedRule(name, _minimum_of(name)) for name in surfaces),
        JudgedRule("flora", flora),
        JudgedRule("flora's choice", chosen),
        JudgedRule("flora in range", in_range),
        JudgedRule("flora without confirmation", without_confirmation),
        JudgedRule("oracle", oracle),
    )


RULES = rules_of(SURFACES)
