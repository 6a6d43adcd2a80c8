"""What a search is to do: all that decides its outcome besides the rows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from flora.core.codec import to_document
from flora.core.rules import Rule, Sentence, check
from flora.errors import InputError, WireError
from flora.problem.schema import Label, Task
from flora.problem.space import Config, SearchSpace

TASKS: tuple[Task, ...] = get_args(Task)
MOST_CONFIGS = 1_000  # that one step asks for
POSITIVE = Rule("a number above 0", lambda value: value > 0)


@dataclass(frozen=True)
class SearchPlan:
    """The local search that every party is asked for."""

    family: Sentence
    task: Task
    space: SearchSpace
    scoring: Sentence
    trials: int = 100
    folds: int = 10
    sampler: Sentence = "tpe"
    send: int | None = None  # the paper's T': how many of the best pairs leave the party
    seed: int = 0
    paths: bool = True  # one fit counts for all that it passes through; off, every trial is one pair, as in the paper
    race: bool = False  # a config that is behind the best with confidence need not have all folds
    seconds: Annotated[float, POSITIVE] | None = None  # for the fits of a search: whatever comes first, they or trials
    positive: Label | None = None  # the class that f1 and friends ask for; None: the last by order

    def __post_init__(self) -> None:
        check(self)
        at_least("trials", self.trials, 1)
        at_least("cv", self.folds, 2)
        at_least("seed", self.seed, 0)
        if self.send is not None:
            at_least("send", self.send, 1)
        if not self.space.default:
            raise InputError("the space needs a default config: the first trial, from which the gain is measured")

    def identity(self) -> str:
        """Return what must stay the same for a search to be continued; only its length, budget and T' may change."""
        document = {k: v for k, v in to_document(self).items() if k not in ("trials", "send", "seconds")}
        if self.positive is None:  # so that a search of before goes on
            del document["positive"]
        return json.dumps(document, sort_keys=True)


def check_configs(plan: SearchPlan, configs: tuple[Config, ...]) -> None:
    """Raise unless a step asks for configs of the plan's space, and not for too many."""
    if not 1 <= len(configs) <= MOST_CONFIGS:
        raise WireError(f"configs must be 1 to {MOST_CONFIGS}, got {len(configs)}")
    for config in configs:
        plan.space.check(config)


def at_least(name: str, value: Any, least: int) -> None:
    """Raise unless ``value`` is a whole number of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")


def first_difference(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return in words what a stored search or run has otherwise than this one, or None where they are the same."""
    for key, value in now.items():
        if stored.get(key) != value:
            return f"its {key} is {_brief(stored.get(key))}, now {_brief(value)}"
    return None


def _brief(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 60 else f"{text[:57]}..."
