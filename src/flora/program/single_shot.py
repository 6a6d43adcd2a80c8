"""The whole algorithm of the paper as one short program. It sees what parties reply, never a row.

In process, by files and across machines it is this program that runs; what differs is the engine that carries its
steps. :func:`recommend` is its middle: all but the agreement on columns and the training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flora.aggregator.aggregation import Aggregation, aggregate, conclude
from flora.aggregator.certificate.bounds import certify
from flora.aggregator.certificate.record import Certificate
from flora.aggregator.choose import Objective, more_for_all, same_config
from flora.aggregator.further_trainings import Training, TrainingSurface, best_of, next_config
from flora.errors import FloraError, InputError, TrialsError
from flora.models import family_of
from flora.problem.family import Family
from flora.problem.messages import (
    Certify,
    CertifyReply,
    Confirm,
    Confirmation,
    ConfirmReply,
    Describe,
    DescribeReply,
    Reply,
    Search,
    SearchReply,
    Train,
    TrainReply,
)
from flora.problem.path import HELD, Path, counts_by_held_rows
from flora.problem.plan import SearchPlan
from flora.problem.schema import Schema, agree
from flora.problem.space import Config
from flora.problem.trials import PartyTrials
from flora.program.drive import Program, asked
from flora.program.request import Families, Request, check_scoring


@dataclass(frozen=True)
class Outcome:
    """All that a run found out."""

    found: Aggregation
    plan: SearchPlan | None = None  # None where only trials are known, and not how they were searched
    schema: Schema | None = None
    trainings: tuple[Training, ...] = ()
    model: bytes = b""
    notes: tuple[str, ...] = ()
    certificate: Certificate | None = None

    @property
    def trained(self) -> Training | None:
        """The training that the model comes from, if there was one."""
        return best_of(self.trainings) if self.trainings else None


def single_shot(request: Request, families: Families = family_of) -> Program[Outcome]:
    """Agree on columns, search locally, learn one surface, confirm its best configs, train once."""
    described = yield from asked(Describe(request.schema, request.task), DescribeReply)
    schema = request.schema or agree({reply.party: _schema(reply) for reply in described})
    plan = request.plan(schema.task, families)
    if families is family_of:  # a scikit-learn user's scorer need not have a name
        check_scoring(plan.scoring)
    found, searched = yield from search(plan, schema, request, families(plan.family))
    found = yield from confirm(found, plan, schema, request)
    certificate = (yield from bound(found, plan, schema)) if request.certificate else None
    trainings, model = yield from train(found, plan, schema, request)
    replies: list[Reply] = [*described, *searched]
    notes = tuple(f"{reply.party}: {note}" for reply in replies for note in reply.notes)
    return Outcome(found, plan, schema, trainings, model, notes, certificate)


def search(
    plan: SearchPlan, schema: Schema | None, request: Request, family: Family
) -> Program[tuple[Aggregation, list[SearchReply]]]:
    """Let each party search on its own rows, and learn one loss surface from all pairs: lines 1 to 7 of the paper."""
    replies = yield from asked(Search(plan, schema), SearchReply)
    trials = [_trials(reply, plan) for reply in replies]
    return aggregate(trials, request.surface, plan.seed, family), replies


def confirm(found: Aggregation, plan: SearchPlan, schema: Schema | None, request: Request) -> Program[Aggregation]:
    """Let all parties measure the surface's best configs beside the default, and choose by that."""
    if not request.confirm:
        return found
    configs = tuple(dict(config) for config in found.propose(request.confirm, plan.seed))
    replies = yield from asked(Confirm(plan, schema, configs), ConfirmReply)
    confirmed = {reply.party: _confirmations(reply, plan) for reply in replies}
    return conclude(found, confirmed, {reply.party: reply.rows for reply in replies}, request.objective)


def bound(found: Aggregation, plan: SearchPlan, schema: Schema) -> Program[Certificate]:
    """Ask for what the paper's theorem needs, and return the bound of what remains to be gained."""
    configs = (dict(plan.space.default), dict(found.recommendation.measured))
    evidence = yield from asked(Certify(plan, schema, configs), CertifyReply)
    return certify(
        found.trials,
        plan.space,
        found.surface,
        found.recommendation,
        seed=plan.seed,
        sketches=[reply.sketch for reply in evidence if reply.sketch],
        curves=[curve for reply in evidence for curve in reply.curves],
    )


def train(
    found: Aggregation, plan: SearchPlan, schema: Schema, request: Request
) -> Program[tuple[tuple[Training, ...], bytes]]:
    """Train once, or as often as was asked for; return all trainings, and the best one's model."""
    if not request.trainings:
        return (), b""
    counted = counts_by_held_rows(sum(party.rows or 0 for party in found.trials))
    path = found.path if counted else None
    first = _first_configs(found, plan, path)
    done: list[Training] = []
    models: list[bytes] = []
    for number in range(request.trainings):
        config = first[number] if number < len(first) else _next(request, plan, found, path, done)
        wanted = {**config, path.name: path.furthest(len(found.trials))} if path else config
        held = HELD if path or request.trainings > 1 else 0.0
        replies = yield from asked(Train(plan, schema, dict(wanted), held, path is not None), TrainReply)
        done.append(_training(replies, request.objective, (path.name,) if path else ()))
        models.append(_model(replies))
        if request.trainings > 1 and done[-1].loss is None:
            raise InputError("several trainings are compared on a third of each party's rows, and all have too few")
    return tuple(done), models[done.index(best_of(done))]


def _first_configs(found: Aggregation, plan: SearchPlan, path: Path | None) -> list[Config]:
    """Return the recommendation and the default, what the verdict says first; one where they train to the same."""
    default, recommended = plan.space.default, found.recommendation.config
    use = found.verdict is not None and found.verdict.decision == "use"
    first = [recommended, default] if use else [default, recommended]
    if same_config(*(path.at_top(config) if path else config for config in first)):
        return first[:1]  # trees that a training counts itself are no difference
    return first


def _next(
    request: Request, plan: SearchPlan, found: Aggregation, counted: Path | None, done: Sequence[Training]
) -> Config:
    """Return what to train after the recommendation and the default."""
    path = found.path
    grows = found.grows | ({path.name} if path else set())
    factor = more_for_all(len(found.trials), request.objective)
    config = next_config(TrainingSurface(found.surface, plan.space, counted, grows, factor), done, plan.seed)
    return {**plan.space.default, **config}  # what the training chooses itself has its place, too


def _schema(reply: DescribeReply) -> Schema:
    if reply.schema is None:
        raise FloraError(f"party {reply.party!r} sent no schema")
    return reply.schema


def _trials(reply: SearchReply, plan: SearchPlan) -> PartyTrials:
    """Return a party's trials, checked to be what was asked for."""
    trials = reply.trials
    if trials.space.digest != plan.space.digest or trials.scoring != plan.scoring:
        raise TrialsError(f"party {reply.party!r} sent trials of another space or scoring ({trials.scoring})")
    return trials


def _confirmations(reply: ConfirmReply, plan: SearchPlan) -> tuple[Confirmation, ...]:
    """Return what a party measured, checked to be configs of the space."""
    for confirmation in reply.confirmations:
        try:
            plan.space.check(confirmation.config)
        except InputError as error:
            raise TrialsError(f"party {reply.party!r} measured what is not in the space: {error}") from error
    return reply.confirmations


def _training(replies: Sequence[TrainReply], objective: Objective, chosen: tuple[str, ...]) -> Training:
    """Return what came of a training; the parties' losses on held-out rows count by rows, or the worst of them does."""
    configs = [reply.config for reply in replies]
    if any(config != configs[0] for config in configs):
        raise FloraError("the parties ended the training with different configs")
    judged: Mapping[str, tuple[float, int]] = {
        reply.party: (reply.held_loss, reply.rows) for reply in replies if reply.held_loss is not None
    }
    if not judged:
        return Training(configs[0], None, chosen)
    if objective == "worst":
        return Training(configs[0], max(loss for loss, _ in judged.values()), chosen)
    mean = sum(loss * rows for loss, rows in judged.values()) / sum(rows for _, rows in judged.values())
    return Training(configs[0], mean, chosen)


def _model(replies: Sequence[TrainReply]) -> bytes:
    if len({reply.model for reply in replies}) > 1:
        raise FloraError("the parties ended the training with different models")
    return replies[0].model
