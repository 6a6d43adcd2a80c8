"""What a search is to do: all that decides its outcome besides the rows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, get_args

from flora.errors import InputError
from flora.schema import Task
from flora.space import SearchSpace

Sampler = Literal["tpe", "gp", "random"]
TASKS: tuple[Task, ...] = get_args(Task)
SAMPLERS: tuple[Sampler, ...] = ("tpe", "gp", "random")


@dataclass(frozen=True)
class SearchPlan:
    """The local search that every party is asked for."""

    family: str
    task: Task
    space: SearchSpace
    scoring: str
    trials: int = 100
    folds: int = 10
    sampler: Sampler = "tpe"
    send: int | None = None  # the paper's T': how many of the best pairs leave the party
    seed: int = 0
    paths: bool = True  # one fit counts for all that it passes through; off, every trial is one pair, as in the paper

    def __post_init__(self) -> None:
        for name, kind in (("family", str), ("scoring", str), ("paths", bool)):
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"{name} must be of the type {kind.__name__}, got {getattr(self, name)!r:.40}")
        if self.task not in TASKS:
            raise InputError(f"the task must be one of {list(TASKS)}, got {self.task!r:.40}")
        at_least("trials", self.trials, 1)
        at_least("cv", self.folds, 2)
        at_least("seed", self.seed, 0)
        if self.send is not None:
            at_least("send", self.send, 1)
        if self.sampler not in SAMPLERS:
            raise InputError(f"the sampler must be one of {list(SAMPLERS)}, got {self.sampler!r}")
        if not self.space.default:
            raise InputError("the space needs a default config: the first trial, from which the gain is measured")

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON's types."""
        return {**vars(self), "space": self.space.to_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        if set(document) != (names := {field.name for field in fields(cls)}):
            raise InputError(f"a search plan has the fields {sorted(names)}, got {sorted(map(str, document))}")
        return cls(**{**document, "space": SearchSpace.from_json(document["space"])})

    def identity(self) -> str:
        """Return what must stay the same for a search to be continued; only its length and T' may change."""
        document = {k: v for k, v in self.to_json().items() if k not in ("trials", "send")}
        return json.dumps(document, sort_keys=True)


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
