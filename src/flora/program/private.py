"""A private search: what the parties find stays with them, and the aggregator works with sums over all of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.private import (
    SurveyedMean,
    aggregate_noisy_sums,
    aggregate_sums,
    conclude_from_sums,
    counted_until,
    propose_from_sums,
)
from flora.errors import FloraError, InputError
from flora.problem.family import Family
from flora.problem.plan import SearchPlan
from flora.problem.privacy import too_few_for_noise
from flora.problem.private_messages import (
    ConfirmPrivately,
    ConfirmPrivatelyReply,
    SearchPrivately,
    SearchPrivatelyReply,
    Survey,
    SurveyReply,
    too_few,
)
from flora.problem.schema import Schema
from flora.program.drive import Program, asked
from flora.program.request import Request

R = TypeVar("R", SurveyReply, ConfirmPrivatelyReply)


def search_privately(
    plan: SearchPlan, schema: Schema | None, request: Request, family: Family
) -> Program[tuple[Aggregation, list[SearchPrivatelyReply]]]:
    """Let each party search and keep its pairs, and learn the mean of their surfaces from sums."""
    replies = yield from asked(SearchPrivately(plan, schema), SearchPrivatelyReply)
    rows = {reply.party: reply.rows for reply in replies if reply.searched}
    if why := too_few(len(rows)):
        raise InputError(why)
    epsilon, how, by_rows = request.epsilon, request.surface.regressor, request.surface.weights == "rows"
    if epsilon is not None and (why := too_few_for_noise(len(replies))):
        raise InputError(why)
    told = yield from asked(Survey(plan, schema, how, by_rows, epsilon), SurveyReply)
    if epsilon is not None:
        return replace(aggregate_noisy_sums(_alike(told), rows, plan, epsilon), family=family), replies
    return replace(aggregate_sums(_alike(told), rows, plan, how, by_rows=by_rows), family=family), replies


def confirm_privately(
    found: Aggregation, plan: SearchPlan, schema: Schema | None, request: Request
) -> Program[Aggregation]:
    """Let all parties measure the best configs and add up their gains, and choose by that.

    Under noise they measure nothing: it would cost epsilon, and tell less than the surface (docs/evaluation.md).
    """
    if not request.confirm or request.epsilon is not None or not isinstance(found.surface, SurveyedMean):
        return found
    configs = tuple(dict(config) for config in propose_from_sums(found, found.surface, request.confirm))
    told = yield from asked(ConfirmPrivately(plan, schema, configs, *counted_until(found)), ConfirmPrivatelyReply)
    return conclude_from_sums(found, _alike(told))


def _alike(replies: Sequence[R]) -> R:
    """Return what all parties say alike, for they added up together."""
    first = replies[0]
    for reply in replies[1:]:
        if replace(reply, party=first.party, rows=first.rows, notes=first.notes) != first:
            raise FloraError(f"parties {first.party!r} and {reply.party!r} ended with different sums")
    return first
