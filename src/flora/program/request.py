"""What the aggregator asks for: every choice of a run, each with its one default."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args

from flora.aggregator.choose import Objective
from flora.aggregator.surface import SurfaceChoice
from flora.core.rules import Sentence, check
from flora.errors import InputError
from flora.models import family_of
from flora.party.samplers import check_sampler
from flora.problem.family import FEDERATED, Family, space_of
from flora.problem.plan import SearchPlan, at_least
from flora.problem.schema import Schema, Task
from flora.problem.space import SearchSpace
from flora.problem.space_formats import parameters_of

DEFAULT_SCORING: dict[str, str] = {"classification": "balanced_accuracy", "regression": "r2"}
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
Families = Callable[[str], Family]


@dataclass(frozen=True)
class Request:
    """What the aggregator asks for. The command line, ``FloraSearchCV`` and the docs take their defaults from here."""

    family: Sentence = "hgb"
    space: Any = None  # a user's own space, as read from JSON
    aggregator_hps: bool = False  # tune those of the aggregator too, which mlp has
    task: Task | None = None
    schema: Schema | None = None  # given by the consortium: then nothing leaves in the schema step
    scoring: Sentence | None = None
    trials: int = 100
    folds: int = 10
    sampler: Sentence = "tpe"
    send: int | None = None
    seed: int = 0
    surface: SurfaceChoice = field(default_factory=SurfaceChoice)
    confirm: int = 8  # candidates that all parties measure again; 0: none, and the verdict is what the surface says
    objective: Objective = "mean"
    trainings: int = 1  # 0: recommend only
    certificate: bool = False  # it costs a few fits, and more leaves a party

    def __post_init__(self) -> None:
        check(self)
        at_least("confirm", self.confirm, 0)
        check_sampler(self.sampler)
        at_least("trainings", self.trainings, 0)
        if self.aggregator_hps and self.space is not None:
            raise InputError("a space of one's own names the aggregator's HPs itself: leave --aggregator-hps out")

    def plan(self, task: Task, families: Families = family_of) -> SearchPlan:
        """Return the search that every party will be asked for."""
        family = families(self.family)
        if task not in family.tasks:
            raise InputError(f"the model {self.family} does {' and '.join(sorted(family.tasks))}, not {task}")
        scoring = self.scoring or DEFAULT_SCORING[task]
        space = space_of(family, task, FEDERATED) if self.aggregator_hps else space_for(family, task, self.space)
        return SearchPlan(
            self.family, task, space, scoring, self.trials, self.folds, self.sampler, self.send, self.seed
        )


def space_for(family: Family, task: Task, document: Any) -> SearchSpace:
    """Return the family's own space, or the user's with the family's defaults."""
    if document is None:
        return space_of(family, task)
    names = [parameter.name for parameter in parameters_of(document)[0]]
    return SearchSpace.from_json(document, default=family.defaults(names, task))


def check_scoring(scoring: str) -> None:
    """Raise unless scikit-learn knows the scoring."""
    from sklearn.metrics import get_scorer_names

    if scoring not in get_scorer_names():
        close = [name for name in get_scorer_names() if scoring.split("_", maxsplit=1)[0] in name][:5]
        raise InputError(f"scoring must be one of scikit-learn's scorers (such as {close}), got {scoring!r}")
