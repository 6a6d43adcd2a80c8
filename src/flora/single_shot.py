"""The whole algorithm of the paper as one short program. It sees what parties reply, never a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flora.certificate import Certificate
from flora.certify import certify
from flora.errors import FloraError, InputError, TrialsError
from flora.federation import Confirmation, Program, Reply, Step
from flora.models import Family, family_of
from flora.plan import Sampler, SearchPlan
from flora.recommendation import Recommendation, recommend
from flora.schema import Schema, Task, agree
from flora.space import Config, SearchSpace
from flora.space_formats import parameters_of
from flora.surface import LossSurface, SurfaceChoice, check_compatible, fit_surface
from flora.trials import PartyTrials
from flora.verdict import Verdict, measured_verdict

DEFAULT_SCORING: dict[str, str] = {"classification": "balanced_accuracy", "regression": "r2"}


@dataclass(frozen=True)
class Request:
    """What the aggregator asks for."""

    family: str = "hgb"
    space: Any = None  # a user's own space, as read from JSON
    task: Task | None = None
    schema: Schema | None = None  # given by the consortium: then nothing leaves in the schema step
    scoring: str | None = None
    trials: int = 100
    folds: int = 10
    sampler: Sampler = "tpe"
    send: int | None = None
    seed: int = 0
    surface: SurfaceChoice = field(default_factory=SurfaceChoice)
    certificate: bool = False  # it costs a few fits, and more leaves a party

    def plan(self, task: Task) -> SearchPlan:
        """Return the search that every party will be asked for."""
        family = family_of(self.family)
        if task not in family.tasks:
            raise InputError(f"the model {self.family} does {' and '.join(sorted(family.tasks))}, not {task}")
        scoring = self.scoring or DEFAULT_SCORING[task]
        check_scoring(scoring)
        space = space_for(family, task, self.space)
        return SearchPlan(
            self.family, task, space, scoring, self.trials, self.folds, self.sampler, self.send, self.seed
        )


@dataclass(frozen=True)
class Outcome:
    """All that a single-shot run found out."""

    plan: SearchPlan
    schema: Schema
    rows: Mapping[str, int]
    trials: tuple[PartyTrials, ...]
    surface: LossSurface
    recommendation: Recommendation
    measured: Mapping[str, tuple[Confirmation, Confirmation]]  # the default and the recommendation, at each party
    verdict: Verdict
    trained: Config
    model: bytes
    notes: tuple[str, ...]
    certificate: Certificate | None = None


def single_shot(request: Request) -> Program[Outcome]:
    """Agree on columns, search locally, learn one surface, confirm its minimum, train once."""
    described = yield Step("describe", {"schema": _json(request.schema), "task": request.task})
    schema = request.schema or agree({reply.party: schema_of(reply) for reply in described})
    plan = request.plan(schema.task)
    common = {"plan": plan.to_json(), "schema": schema.to_json()}

    searched = yield Step("search", common)
    trials = tuple(trials_of(reply, plan) for reply in searched)
    surface, recommendation = aggregate(trials, request.surface, plan.seed)

    confirmed = yield Step("confirm", {**common, "configs": [dict(recommendation.config)]})
    measured = {reply.party: _measured(reply, recommendation) for reply in confirmed}
    rows = {reply.party: reply.rows for reply in confirmed}
    verdict = measured_verdict({party: pair[1] for party, pair in measured.items()}, rows)

    certificate = None
    if request.certificate:
        configs = [dict(plan.space.default), dict(recommendation.config)]
        evidence = yield Step("certify", {**common, "configs": configs})
        certificate = certify(
            trials,
            plan.space,
            surface,
            recommendation,
            seed=plan.seed,
            sketches=[reply.sketch for reply in evidence if reply.sketch],
            curves=[curve for reply in evidence for curve in reply.curves],
        )

    chosen = recommendation.config if verdict.decision == "use" else plan.space.default
    trained = yield Step("train", {**common, "config": dict(chosen)})
    notes = tuple(f"{r.party}: {note}" for r in (*described, *searched) for note in r.notes)
    return Outcome(
        plan,
        schema,
        rows,
        trials,
        surface,
        recommendation,
        measured,
        verdict,
        chosen,
        _model(trained),
        notes,
        certificate,
    )


def aggregate(trials: Sequence[PartyTrials], choice: SurfaceChoice, seed: int) -> tuple[LossSurface, Recommendation]:
    """Learn one loss surface from the parties' trials and return it with its minimum (lines 6 and 7)."""
    check_compatible(trials)
    space = min(trials, key=lambda party: party.party).space  # the order of HPs is the first party's, by name
    surface = fit_surface(
        choice.name, trials, space, seed, regressor=choice.regressor, alpha=choice.alpha, weights=choice.weights
    )
    tried = [trial.config for party in trials for trial in party.trials]
    return surface, recommend(surface, space, seed, start=tried)


def space_for(family: Family, task: Task, document: Any) -> SearchSpace:
    """Return the family's own space, or the user's with the family's defaults."""
    if document is None:
        return family.space(task)
    names = [parameter.name for parameter in parameters_of(document)[0]]
    return SearchSpace.from_json(document, default=family.defaults(names, task))


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


def _measured(reply: Reply, recommendation: Recommendation) -> tuple[Confirmation, Confirmation]:
    if len(reply.confirmations) != 2 or dict(reply.confirmations[1].config) != dict(recommendation.config):
        raise FloraError(f"party {reply.party!r} did not confirm the recommendation")
    return reply.confirmations[0], reply.confirmations[1]


def _model(replies: Sequence[Reply]) -> bytes:
    if len({reply.model for reply in replies}) > 1:
        raise FloraError("the parties ended the training with different models")
    return replies[0].model
