"""The whole algorithm of the paper as one short program. It sees what parties reply, never a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flora.aggregation import Aggregation, aggregate, conclude, grows_of_trials, path_of_trials
from flora.certificate import Certificate
from flora.certify import certify
from flora.choice import OBJECTIVES, Objective, more_for_all, same_config
from flora.errors import FloraError, InputError, TrialsError
from flora.federation import Confirmation, Program, Reply, Step
from flora.growth import HELD, counts_by_held_rows, furthest
from flora.models import Family, FederatedFamily, family_of
from flora.path import Path
from flora.plan import Sampler, SearchPlan, at_least
from flora.schema import Schema, Task, agree
from flora.space import Config, SearchSpace
from flora.space_formats import parameters_of
from flora.surface import SurfaceChoice
from flora.trainings import Training, TrainingSurface, best_of, next_config
from flora.trials import PartyTrials

DEFAULT_SCORING: dict[str, str] = {"classification": "balanced_accuracy", "regression": "r2"}


@dataclass(frozen=True)
class Request:
    """What the aggregator asks for."""

    family: str = "hgb"
    space: Any = None  # a user's own space, as read from JSON
    aggregator_hps: bool = False  # tune those of the aggregator too, which mlp has
    task: Task | None = None
    schema: Schema | None = None  # given by the consortium: then nothing leaves in the schema step
    scoring: str | None = None
    trials: int = 100
    folds: int = 10
    sampler: Sampler = "tpe"
    send: int | None = None
    seed: int = 0
    surface: SurfaceChoice = field(default_factory=SurfaceChoice)
    confirm: int = 8  # candidates that all parties measure again; 0: none, and the verdict is what the surface says
    objective: Objective = "mean"
    trainings: int = 1
    certificate: bool = False  # it costs a few fits, and more leaves a party

    def __post_init__(self) -> None:
        at_least("confirm", self.confirm, 0)
        at_least("trainings", self.trainings, 1)
        if self.aggregator_hps and self.space is not None:
            raise InputError("a space of one's own names the aggregator's HPs itself: leave --aggregator-hps out")
        if self.objective not in OBJECTIVES:
            raise InputError(f"the objective must be one of {list(OBJECTIVES)}, got {self.objective!r}")

    def plan(self, task: Task) -> SearchPlan:
        """Return the search that every party will be asked for."""
        family = family_of(self.family)
        if task not in family.tasks:
            raise InputError(f"the model {self.family} does {' and '.join(sorted(family.tasks))}, not {task}")
        scoring = self.scoring or DEFAULT_SCORING[task]
        check_scoring(scoring)
        space = federated_space(family, task) if self.aggregator_hps else space_for(family, task, self.space)
        return SearchPlan(
            self.family, task, space, scoring, self.trials, self.folds, self.sampler, self.send, self.seed
        )


@dataclass(frozen=True)
class Outcome:
    """All that a single-shot run found out."""

    plan: SearchPlan
    schema: Schema
    found: Aggregation
    trainings: tuple[Training, ...]
    model: bytes
    notes: tuple[str, ...]
    certificate: Certificate | None = None

    @property
    def trained(self) -> Training:
        """The training that the model comes from."""
        return best_of(self.trainings)


def single_shot(request: Request) -> Program[Outcome]:
    """Agree on columns, search locally, learn one surface, confirm its best configs, train once."""
    described = yield Step("describe", {"schema": _json(request.schema), "task": request.task})
    schema = request.schema or agree({reply.party: schema_of(reply) for reply in described})
    plan = request.plan(schema.task)
    common = {"plan": plan.to_json(), "schema": schema.to_json()}

    searched = yield Step("search", common)
    found = aggregate([trials_of(reply, plan) for reply in searched], request.surface, plan.seed)

    if request.confirm:
        configs = [dict(config) for config in found.propose(request.confirm, plan.seed)]
        replies = yield Step("confirm", {**common, "configs": configs})
        confirmed = {reply.party: _confirmations_of(reply, plan) for reply in replies}
        found = conclude(found, confirmed, {reply.party: reply.rows for reply in replies}, request.objective)

    certificate = None
    if request.certificate:
        configs = [dict(plan.space.default), dict(found.recommendation.config)]
        evidence = yield Step("certify", {**common, "configs": configs})
        certificate = certify(
            found.trials,
            plan.space,
            found.surface,
            found.recommendation,
            seed=plan.seed,
            sketches=[reply.sketch for reply in evidence if reply.sketch],
            curves=[curve for reply in evidence for curve in reply.curves],
        )

    trainings, model = yield from _train(request, plan, common, found)
    notes = tuple(f"{r.party}: {note}" for r in (*described, *searched) for note in r.notes)
    return Outcome(plan, schema, found, trainings, model, notes, certificate)


def _train(
    request: Request, plan: SearchPlan, common: Mapping[str, Any], found: Aggregation
) -> Program[tuple[tuple[Training, ...], bytes]]:
    """Train once, or as often as was asked for; return all trainings, and the best one's model."""
    default, recommended = plan.space.default, found.recommendation.config
    use = found.verdict is not None and found.verdict.decision == "use"
    counted = counts_by_held_rows(sum(party.rows or 0 for party in found.trials))
    path = path_of_trials(found.trials) if counted else None
    first = [recommended, default] if use else [default, recommended]
    if same_config(*(path.at_top(config) if path else config for config in first)):
        first = first[:1]  # trees that a training counts itself are no difference
    done: list[Training] = []
    models: list[bytes] = []
    for number in range(request.trainings):
        config = first[number] if number < len(first) else _next(request, plan, found, path, done)
        asked = {**config, path.name: furthest(path, len(found.trials))} if path else config
        held = HELD if path or request.trainings > 1 else 0.0
        replies = yield Step("train", {**common, "config": dict(asked), "held": held, "choose": path is not None})
        done.append(_training(replies, request.objective, (path.name,) if path else ()))
        models.append(_model(replies))
        if request.trainings > 1 and done[-1].loss is None:
            raise InputError("several trainings are compared on a third of each party's rows, and all have too few")
    return tuple(done), models[done.index(best_of(done))]


def _next(
    request: Request, plan: SearchPlan, found: Aggregation, counted: Path | None, done: Sequence[Training]
) -> Config:
    """Return what to train after the recommendation and the default."""
    path = path_of_trials(found.trials)
    grows = grows_of_trials(found.trials) | ({path.name} if path else set())
    factor = more_for_all(len(found.trials), request.objective)
    config = next_config(TrainingSurface(found.surface, plan.space, counted, grows, factor), done, plan.seed)
    return {**plan.space.default, **config}  # what the training chooses itself has its place, too


def space_for(family: Family, task: Task, document: Any) -> SearchSpace:
    """Return the family's own space, or the user's with the family's defaults."""
    if document is None:
        return family.space(task)
    names = [parameter.name for parameter in parameters_of(document)[0]]
    return SearchSpace.from_json(document, default=family.defaults(names, task))


def federated_space(family: Family, task: Task) -> SearchSpace:
    """Return the family's space with the aggregator's own HPs, as the server's learning rate."""
    if not isinstance(family, FederatedFamily):
        raise InputError(f"the model {family.name} has no HPs of the aggregator; mlp has")
    return family.federated_space(task)


def plan_of(found: Aggregation, seed: int) -> SearchPlan:
    """Return the plan of a confirmation, from files of trials alone: they must say what was searched, and how."""
    first = found.trials[0]
    folds = [trial.folds for party in found.trials for trial in party.trials if trial.folds]
    if first.family is None or first.task is None or not folds:
        raise TrialsError(f"party {first.party!r}: without a family, a task and folds its trials cannot be confirmed")
    return SearchPlan(first.family, first.task, found.space, first.scoring, folds=max(folds), seed=seed)  # type: ignore[arg-type]


def check_scoring(scoring: str) -> None:
    """Raise unless scikit-learn knows the scoring."""
    from sklearn.metrics import get_scorer_names

    if scoring not in get_scorer_names():
        close = [name for name in get_scorer_names() if scoring.split("_", maxsplit=1)[0] in name][:5]
        raise InputError(f"scoring must be one of scikit-learn's scorers (such as {close}), got {scoring!r}")


def _json(schema: Schema | None) -> Any:
    return None if schema is None else schema.to_json()


def schema_of(reply: Reply) -> Schema:
    """Return the schema that a party described."""
    if reply.schema is None:
        raise FloraError(f"party {reply.party!r} sent no schema")
    return reply.schema


def trials_of(reply: Reply, plan: SearchPlan) -> PartyTrials:
    """Return a party's trials, checked to be what was asked for."""
    trials = reply.trials
    if trials is None or trials.party != reply.party:
        raise TrialsError(f"party {reply.party!r} sent no trials of its own")
    if trials.space.digest != plan.space.digest or trials.scoring != plan.scoring:
        raise TrialsError(f"party {reply.party!r} sent trials of another space or scoring ({trials.scoring})")
    return trials


def _confirmations_of(reply: Reply, plan: SearchPlan) -> tuple[Confirmation, ...]:
    """Return what a party measured, checked to be configs of the space."""
    for confirmation in reply.confirmations:
        try:
            plan.space.check(confirmation.config)
        except InputError as error:
            raise TrialsError(f"party {reply.party!r} measured what is not in the space: {error}") from error
    return reply.confirmations


def _training(replies: Sequence[Reply], objective: Objective, chosen: tuple[str, ...]) -> Training:
    """Return what came of a training; the parties' losses on held-out rows count by rows, or the worst of them does."""
    configs = [reply.trained for reply in replies]
    if any(config is None or config != configs[0] for config in configs) or configs[0] is None:
        raise FloraError("the parties ended the training with different configs")
    judged = [(reply.held_loss, reply.rows) for reply in replies if reply.held_loss is not None]
    if not judged:
        return Training(configs[0], None, chosen)
    if objective == "worst":
        return Training(configs[0], max(loss for loss, _ in judged), chosen)
    mean = sum(loss * rows for loss, rows in judged) / sum(rows for _, rows in judged)
    return Training(configs[0], mean, chosen)


def _model(replies: Sequence[Reply]) -> bytes:
    if len({reply.model for reply in replies}) > 1:
        raise FloraError("the parties ended the training with different models")
    return replies[0].model
