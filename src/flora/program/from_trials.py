"""The algorithm where the parties' trials are there already, as by files: what is learnt from them, and confirmed.

The trials say what a search was, as far as they do; nobody can be asked for a schema, and nobody can add up.
"""

from collections.abc import Sequence

from flora.aggregator.aggregation import aggregate
from flora.aggregator.inside import recommended_inside
from flora.errors import TrialsError
from flora.models import FAMILIES, family_of
from flora.problem.plan import SearchPlan
from flora.problem.schema import Task
from flora.problem.space import SearchSpace
from flora.problem.trials import PartyTrials
from flora.program.drive import Program
from flora.program.request import Request
from flora.program.single_shot import Outcome, confirm


def recommend_from(trials: Sequence[PartyTrials], request: Request, box: SearchSpace | None = None) -> Program[Outcome]:
    """Learn one surface from trials, and confirm its best configs; ``box`` is a narrower space to recommend in."""
    family = trials[0].family if trials else None
    known = family_of(family) if family in FAMILIES else None  # no module is imported because a file names it
    found = aggregate(trials, request.surface, request.seed, known)
    if box is not None:
        found = recommended_inside(found, box, request.seed)
    plan = plan_of(trials, request.seed)
    if request.confirm and plan is None:
        raise TrialsError(
            f"party {found.trials[0].party!r}: without a family, a task and folds its trials cannot be confirmed"
        )
    return Outcome((yield from confirm(found, plan, None, request)) if plan else found, plan)


def plan_of(trials: Sequence[PartyTrials], seed: int) -> SearchPlan | None:
    """Return how trials were searched, from their files alone; None where these do not say."""
    first = min(trials, key=lambda party: party.party)
    folds = [trial.folds for party in trials for trial in party.trials if trial.folds]
    if first.family is None or first.task not in ("classification", "regression") or not folds:
        return None
    if not first.space.default:
        return None
    task: Task = "classification" if first.task == "classification" else "regression"
    return SearchPlan(
        first.family, task, first.space, first.scoring, folds=max(folds), seed=seed, positive=first.positive
    )
