"""What the aggregator asks for: every choice of a run, each with its one default."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args

from flora.aggregator.evidence import Objective
from flora.aggregator.surface import SurfaceChoice
from flora.core.rules import Sentence, check
from flora.errors import InputError
from flora.models import family_of
from flora.party.local_search.samplers import check_sampler
from flora.problem.family import FEDERATED, OWN, Family, space_of
from flora.problem.plan import SearchPlan, at_least
from flora.problem.privacy import Epsilon, too_few_for_noise
from flora.problem.private_messages import too_few
from flora.problem.schema import Label, Schema, Task, check_several
from flora.problem.score_range import BELOW_ONE, range_of
from flora.problem.space import SearchSpace
from flora.problem.space_formats import parameters_of

DEFAULT_SCORING: dict[str, str] = {"classification": "balanced_accuracy", "regression": "r2"}
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
PRIVATE = "aplm"  # the one surface that is a sum over the parties
FEWEST_COMPARED = 5  # trainings: two configs in two folds, and the model
ENOUGH_FOLDS = 5  # of a comparison that is made by default
A_TRAINING = 4  # fits, at a guess: so much dearer is a federated training than a fit of the same rows
Families = Callable[[str], Family]


@dataclass(frozen=True)
class Request:
    """What the aggregator asks for. The command line, ``FloraSearchCV`` and the docs take their defaults from here."""

    family: Sentence = "hgb"
    space: Any = None  # a user's own space, as read from JSON, or the name of one of the family's
    aggregator_hps: bool = False  # tune those of the aggregator too, which mlp has
    task: Task | None = None
    schema: Schema | None = None  # given by the consortium: then nothing leaves in the schema step
    scoring: Sentence | None = None
    positive: Label | None = None  # the class that f1 and friends ask for; None: the last by order
    trials: int = SearchPlan.trials
    folds: int = SearchPlan.folds
    sampler: Sentence = SearchPlan.sampler
    seconds: float | None = None  # of fits at each party: trials or time, whatever comes first
    send: int | None = None
    race: bool = True  # a config that is behind the best with confidence is not measured on all folds
    seed: int = 0
    surface: SurfaceChoice = field(default_factory=SurfaceChoice)
    confirm: int = 8  # candidates that all parties measure again; 0: none, and the verdict is what the surface says
    objective: Objective = "mean"
    trainings: int | None = None  # 0: recommend only; 1: the paper's; from 5 on, also a comparison; None: by cost
    certificate: bool = False  # it costs a few fits, and more leaves a party
    masked: bool = True  # across machines: nobody sees what one party adds to a sum
    private: bool = False  # no pair leaves a party: the search, too, is in sums
    epsilon: Epsilon | None = None  # of a private search: so much its sums may tell of a party; None: they are exact

    def __post_init__(self) -> None:
        check(self)
        at_least("confirm", self.confirm, 0)
        if self.schema and self.schema.task == "classification":
            check_several(self.schema.target, self.schema.classes)
        check_sampler(self.sampler)
        at_least("trainings", self.trainings or 0, 0)
        if 1 < (self.trainings or 0) < FEWEST_COMPARED:
            raise InputError(
                f"trainings must be 0, 1 or at least {FEWEST_COMPARED} (two configs, two folds, and the model), "
                f"got {self.trainings}"
            )
        if self.aggregator_hps and self.space is not None:
            raise InputError("a space of one's own names the aggregator's HPs itself: leave --aggregator-hps out")
        if self.private:
            self._check_private()
        if self.epsilon is not None:
            self._check_epsilon()

    def _check_private(self) -> None:
        """Raise where something is asked for that sums over all parties cannot give."""
        for asked, words in (
            (self.surface.name != PRIVATE, f"--surface {self.surface.name}: a sum over all parties gives {PRIVATE}"),
            (self.objective != "mean", f"--objective {self.objective}: a sum does not tell who is worst off"),
            (self.send is not None, f"--send {self.send}: no pair is sent"),
            (self.certificate, "--certificate: it needs each party's pairs"),
            (not self.masked, "--unmasked: without masks the aggregator sees each party's share"),
        ):
            if asked:
                raise InputError(f"--private does not go with {words}")

    def _check_epsilon(self) -> None:
        """Raise where noise would be on something else than a private search's sums, or none could be enough."""
        if not self.private:
            raise InputError("--epsilon is for the sums of a private search: say --private, too")
        if self.surface.weights != "equal":
            raise InputError(f"--epsilon does not go with --weights {self.surface.weights}: all parties count the same")
        if self.scoring is not None and self.scoring not in BELOW_ONE and range_of(self.scoring) != (0.0, 1.0):
            raise InputError(f"--epsilon does not go with --scoring {self.scoring}: its losses have no known range")

    @property
    def compared_folds(self) -> int:
        """In how many folds recommendation and default are compared by trainings; the last training is the model's.

        By cost: as long as it takes less than the search did, in which each row was in so many fits as trials x folds.
        """
        if self.trainings is not None:
            return max(self.trainings - 1, 0) // 2
        folds = min(ENOUGH_FOLDS, self.trials * self.folds // (2 * A_TRAINING))
        return folds if folds > 1 else 0

    def plan(self, task: Task, families: Families = family_of) -> SearchPlan:
        """Return the search that every party will be asked for."""
        family = families(self.family)
        if task not in family.tasks:
            raise InputError(f"the model {self.family} does {' and '.join(sorted(family.tasks))}, not {task}")
        scoring = self.scoring or DEFAULT_SCORING[task]
        space = space_of(family, task, FEDERATED) if self.aggregator_hps else space_for(family, task, self.space)
        return SearchPlan(
            self.family,
            task,
            space,
            scoring,
            self.trials,
            self.folds,
            self.sampler,
            self.send,
            self.seed,
            race=self.race,
            seconds=self.seconds,
            positive=self.positive,
        )


def check_parties(request: Request, parties: int) -> None:
    """Raise where a search in sums is asked for that so few parties allow none of."""
    if request.private and (why := too_few(parties)):
        raise InputError(f"--private: {why}")
    if request.epsilon is not None and (why := too_few_for_noise(parties)):
        raise InputError(f"--epsilon: {why}")


def space_for(family: Family, task: Task, document: Any) -> SearchSpace:
    """Return one of the family's spaces, or the user's with the family's defaults."""
    if document is None or isinstance(document, str):
        return space_of(family, task, document or OWN)
    names = [parameter.name for parameter in parameters_of(document)[0]]
    return SearchSpace.from_json(document, default=family.defaults(names, task))
