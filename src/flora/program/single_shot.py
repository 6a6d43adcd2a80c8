"""The whole algorithm of the paper as one short program. It sees what parties reply, never a row.

In process, by files and across machines it is this program that runs; what differs is the engine that carries its
steps. :func:`recommend` is its middle: all but the agreement on columns and the training.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flora.aggregator.aggregation import Aggregation, aggregate, conclude
from flora.aggregator.certificate.bounds import certify
from flora.aggregator.certificate.record import Certificate
from flora.aggregator.choose import same_config
from flora.aggregator.comparison import Comparison, Training, loss_of_guess, loss_of_training, trained_config
from flora.aggregator.evidence import Objective
from flora.aggregator.learnt import beside_guess
from flora.core.naming import some_of
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
from flora.problem.score_range import guessed_loss
from flora.problem.space import Config
from flora.problem.trials import PartyTrials
from flora.program.drive import Program, asked
from flora.program.private import confirm_privately, search_privately
from flora.program.request import Families, Request
from flora.program.scoring import check_scoring, may_be_quantity, positive_class, scoring_notes, target_notes


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
    comparison: Comparison | None = None  # None where no federated models were compared

    @property
    def trained(self) -> Training | None:
        """The training that the model comes from, if there was one: the last, on all rows."""
        return self.trainings[-1] if self.trainings else None


def single_shot(request: Request, families: Families = family_of) -> Program[Outcome]:
    """Recommend, and train what the verdict says on all rows."""
    outcome = yield from recommend(request, families)
    trainings, model = yield from train(outcome, request)
    return replace(outcome, trainings=(*outcome.trainings, *trainings), model=model)


def recommend(request: Request, families: Families = family_of) -> Program[Outcome]:
    """Agree on columns, search locally, learn one surface, confirm its best configs, and compare federated models."""
    described = yield from asked(Describe(request.schema, request.task), DescribeReply)
    schema = request.schema or agree({reply.party: _schema(reply) for reply in described})
    plan = request.plan(schema.task, families)
    if request.certificate and schema.weight is not None:
        raise InputError("the certificate counts all rows the same: leave out --certificate, or --weight")
    guesses: dict[str, float] = {}
    if families is family_of:  # a scikit-learn user's scorer need not have a name
        check_scoring(plan.scoring, schema)
        plan = replace(plan, positive=positive_class(request.positive, plan.scoring, schema))
        schema = schema.with_positive(plan.positive)
        guesses = guesses_of(plan.scoring, described, schema)
    searched: Sequence[Reply]
    if request.private:
        found, searched = yield from search_privately(plan, schema, request, families(plan.family))
        found = yield from confirm_privately(found, plan, schema, request)
    else:
        found, searched = yield from search(plan, schema, request, families(plan.family))
        found = yield from confirm(found, plan, schema, request)
    found = beside_guess(found, guesses, request.objective)
    found, comparison, trainings = yield from compare(found, plan, schema, request)
    certificate = (yield from bound(found, plan, schema, request)) if request.certificate else None
    replies: list[Reply] = [*described, *searched]
    notes = notes_of([(reply.party, note) for reply in replies for note in reply.notes])
    asked_for = schema.task if request.schema or families is not family_of else request.task
    of_all = scoring_notes(plan.scoring, schema, chosen=plan.positive is not None)
    notes = (*target_notes(schema, asked_for), *of_all, *notes)
    return Outcome(found, plan, schema, trainings, b"", notes, certificate, comparison)


def notes_of(parties: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return each note once, after the names of the parties that it is about.

    >>> notes_of([("a", "no value at all"), ("b", "one class"), ("c", "no value at all")])
    ('a, c: no value at all', 'b: one class')
    """
    about: dict[str, list[str]] = {}
    for party, note in parties:
        about.setdefault(note, []).append(party)
    return tuple(f"{some_of(found)}: {note}" for note, found in about.items())


def guesses_of(scoring: str, described: Sequence[DescribeReply], schema: Schema) -> dict[str, float]:
    """Return what a guess loses at most by the classes that each party has; none where the rows alone tell."""
    classes = {reply.party: len((reply.schema or schema).classes) for reply in described}
    losses = {party: guessed_loss(scoring, count) for party, count in classes.items()}
    return {party: loss for party, loss in losses.items() if loss is not None}


def search(
    plan: SearchPlan, schema: Schema | None, request: Request, family: Family
) -> Program[tuple[Aggregation, list[SearchReply]]]:
    """Let each party search on its own rows, and learn one loss surface from all pairs: lines 1 to 7 of the paper."""
    replies = yield from asked(Search(plan, schema), SearchReply)
    trials = [_checked(reply.trials, plan) for reply in replies if reply.trials]
    if not trials:
        quantity = "; say --task regression if the target is a quantity" if may_be_quantity(schema) else ""
        raise InputError(
            "no party can search: "
            + "; ".join(notes_of([(r.party, note) for r in replies for note in r.notes]))
            + quantity
        )
    return aggregate(trials, request.surface, plan.seed, family), replies


def confirm(found: Aggregation, plan: SearchPlan, schema: Schema | None, request: Request) -> Program[Aggregation]:
    """Let all parties measure the surface's best configs beside the default, and choose by that."""
    if not request.confirm:
        return found
    configs = tuple(dict(config) for config in found.propose(request.confirm, plan.seed))
    replies = yield from asked(Confirm(plan, schema, configs), ConfirmReply)
    searched = {party.party for party in found.trials}  # who could not search cannot measure, either
    confirmed = {reply.party: _confirmations(reply, plan) for reply in replies if reply.party in searched}
    rows = {reply.party: reply.rows for reply in replies if reply.party in searched}
    return conclude(found, confirmed, rows, request.objective)


def bound(found: Aggregation, plan: SearchPlan, schema: Schema, request: Request) -> Program[Certificate]:
    """Ask for what the paper's theorem needs, and return how much better than what is trained another config may be."""
    configs = (dict(plan.space.default), dict(found.recommendation.config))
    searched = {party.party for party in found.trials}
    replies = yield from asked(Certify(plan, schema, configs[:1] if same_config(*configs) else configs), CertifyReply)
    evidence = [reply for reply in replies if reply.party in searched]
    return certify(
        found,
        to_train(found, plan),
        seed=plan.seed,
        objective=request.objective,
        sketches=[reply.sketch for reply in evidence if reply.sketch],
        curves=[curve for reply in evidence for curve in reply.curves],
    )


def to_train(found: Aggregation, plan: SearchPlan) -> Config:
    """Return the config that the verdict says to train: the recommendation, or the default."""
    use = found.verdict is not None and found.verdict.decision == "use"
    return found.recommendation.config if use else plan.space.default


def compare(
    found: Aggregation, plan: SearchPlan, schema: Schema, request: Request
) -> Program[tuple[Aggregation, Comparison | None, tuple[Training, ...]]]:
    """Train recommendation and default together, without one fold of every party's rows after the other.

    That is the only evidence at the size of all rows; the verdict is then its, and no other's.
    """
    if not request.compared_folds or not plan.space.default:
        return found, None, ()
    trainings: list[Training] = []
    for fold in range(request.compared_folds):
        for config in _compared(found, plan):
            step = _step(config, found, plan, schema, fold, request)
            replies = yield from asked(step, TrainReply)
            trainings.append(_training(replies, request.objective, _counted(found), fold))
    comparison = _comparison(trainings, len(_compared(found, plan)))
    measured = found.choice.chosen.gain if found.choice else None
    verdict = comparison.verdict(measured, found.parties) if comparison else None
    return (replace(found, verdict=verdict) if verdict else found), comparison, tuple(trainings)


def train(outcome: Outcome, request: Request) -> Program[tuple[tuple[Training, ...], bytes]]:
    """Train what the verdict says on all rows; return the training and its model."""
    if request.trainings == 0:
        return (), b""
    config = to_train(outcome.found, outcome.plan) if outcome.plan else None
    training, model = yield from train_with(config, outcome, request)
    return (training,), model


def train_with(config: Config | None, outcome: Outcome, request: Request) -> Program[tuple[Training, bytes]]:
    """Train a config on all rows, or the default; return the training and its model."""
    found, plan, schema = outcome.found, outcome.plan, outcome.schema
    if plan is None or schema is None:
        raise FloraError("trials alone do not say which rows are to be trained on")
    step = _step(plan.space.default if config is None else config, found, plan, schema)
    replies = yield from asked(step, TrainReply)
    return _training(replies, request.objective, _counted(found)), _model(replies)


def _compared(found: Aggregation, plan: SearchPlan) -> list[Config]:
    """Return the default and the recommendation, or the default alone where they train to the same model."""
    counted = _counted(found)
    pair = [plan.space.default, found.recommendation.config]
    same = same_config(*(counted.at_top(config) if counted else config for config in pair))
    return pair[:1] if same else pair  # trees that a training counts itself are no difference


def _comparison(trainings: Sequence[Training], configs: int) -> Comparison | None:
    """Return the losses of both configs' trainings; None where a fold has none: a class was missing in it."""
    losses = [training.loss for training in trainings if training.loss is not None]
    if len(losses) < len(trainings):
        return None
    guesses = [training.guess for training in trainings[::configs] if training.guess is not None]
    known = tuple(guesses) if len(guesses) * configs == len(trainings) else ()
    return Comparison(tuple(losses[::configs]), tuple(losses[1::2]) if configs > 1 else (), known)


def _counted(found: Aggregation) -> Path | None:
    """Return the path whose place the training chooses itself, where there is one and rows enough."""
    return found.path if counts_by_held_rows(found.rows) else None


def _step(
    config: Config, found: Aggregation, plan: SearchPlan, schema: Schema, fold: int = 0, request: Request | None = None
) -> Train:
    """Return a training on all rows, or, for a request that compares, on all but one fold of them."""
    path = _counted(found)
    wanted = {**config, path.name: path.furthest(found.parties)} if path else config
    whole = Train(plan, schema, dict(wanted), HELD if path else 0.0, path is not None)
    if request is None:
        return whole
    return replace(whole, fold=fold, folds=request.compared_folds, apart=request.objective == "worst")


def _schema(reply: DescribeReply) -> Schema:
    if reply.schema is None:
        raise FloraError(f"party {reply.party!r} sent no schema")
    return reply.schema


def _checked(trials: PartyTrials, plan: SearchPlan) -> PartyTrials:
    """Return a party's trials, checked to be what was asked for."""
    if trials.family not in (None, plan.family):
        raise TrialsError(f"party {trials.party!r} sent trials of {trials.family!r:.80}, asked for is {plan.family!r}")
    if trials.space.digest != plan.space.digest or trials.scoring != plan.scoring:
        raise TrialsError(f"party {trials.party!r} sent trials of another space or scoring ({trials.scoring})")
    if trials.positive != plan.positive:
        asked = [
            f"{label!r}" if label is not None else "the last by order" for label in (plan.positive, trials.positive)
        ]
        raise TrialsError(
            f"party {trials.party!r} sent trials of another positive class (--positive): {asked[1]}, not {asked[0]}"
        )
    return trials


def _confirmations(reply: ConfirmReply, plan: SearchPlan) -> tuple[Confirmation, ...]:
    """Return what a party measured, checked to be configs of the space."""
    for confirmation in reply.confirmations:
        try:
            plan.space.check(confirmation.config)
        except InputError as error:
            raise TrialsError(f"party {reply.party!r} measured what is not in the space: {error}") from error
    return reply.confirmations


def _training(
    replies: Sequence[TrainReply], objective: Objective, counted: Path | None, fold: int | None = None
) -> Training:
    chosen = (counted.name,) if counted else ()
    losses = loss_of_training(replies, objective), loss_of_guess(replies, objective)
    return Training(trained_config(replies), losses[0], chosen, fold, losses[1])


def _model(replies: Sequence[TrainReply]) -> bytes:
    if len({reply.model for reply in replies}) > 1:
        raise FloraError("the parties ended the training with different models")
    return replies[0].model
