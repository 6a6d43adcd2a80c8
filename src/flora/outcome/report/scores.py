"""How good the model is, beside what there would be without it."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flora.aggregator.comparison import mean_loss
from flora.outcome.numbers import counted
from flora.problem.trials import loss_of
from flora.program.result import Result

if TYPE_CHECKING:
    from flora.outcome.evaluation import Evaluation


@dataclass(frozen=True)
class Score:
    """One score with its error, and of what."""

    name: str
    value: float
    error: float | None
    words: str = ""
    single: tuple[float, ...] = ()  # of the parties that it is the mean of
    kind: str = "other"  # how its mark is drawn

    @property
    def ends(self) -> list[float]:
        """All that must fit on its scale."""
        error = self.error or 0.0
        return [self.value - error, self.value + error, *self.single]


def scores(result: Result, tested: "Evaluation | None" = None) -> list[Score]:
    """Return the model's score, the default's, and the mean of those that parties reach alone, as far as known."""
    return [*_federated(result), *_tested(result, tested), *_alone(result)]


def _tested(result: Result, tested: "Evaluation | None") -> list[Score]:
    """Return the trained model's own score on rows that no party had."""
    figures = tested.figures if tested else ()
    rows = tested.rows if tested else 0
    words = f"The model that was trained, on {counted(rows, 'row')} of --test, which no party had."
    name = "the model, on new rows"
    return [
        Score(name, each.score, each.error, words, kind="ours") for each in figures if each.scoring == result.scoring
    ]


def _federated(result: Result) -> list[Score]:
    found = result.model_score
    if found is None:
        return []
    use = result.verdict == "use"
    words = f"Federated models by {found.folds} trainings each, judged on rows that they left out."
    ours = "federated, recommended" if use else "federated, defaults"
    model = Score(ours, found.score, found.standard_error, words, kind="ours")
    if not use:
        return [model]
    seen = [each.held_loss for each in result.trainings if each.fold is not None and each.held_loss is not None]
    kept = [
        each.held_loss
        for each in result.trainings
        if each.fold is not None and each.held_loss is not None and _is_default(each.config, result)
    ]
    error = mean_loss(kept) if 2 * len(kept) == len(seen) else None
    return [model, Score("federated, defaults", found.default_score, error.error if error else None, words)]


def _is_default(config: object, result: Result) -> bool:
    """Whether a training's config is the default, but for what a training chooses itself."""
    free = set(result.chosen_in_training)
    default = {k: v for k, v in (result.default or {}).items() if k not in free}
    return isinstance(config, dict) and {k: v for k, v in config.items() if k not in free} == default


def _alone(result: Result) -> list[Score]:
    """Return the mean score of models that each party trains and judges on its own rows alone."""
    use = result.verdict == "use"
    losses = [
        (entry.recommended_loss, entry.recommended_loss_error, entry.rows or 1)
        if use
        else (entry.default_loss, entry.default_loss_error, entry.rows or 1)
        for entry in result.parties
        if entry.measured
    ]
    known = [(loss_of(result.scoring, loss), error, rows) for loss, error, rows in losses if loss is not None]
    if not known:
        return []
    rows_in_all = sum(rows for _, _, rows in known)
    mean = sum(score * rows for score, _, rows in known) / rows_in_all
    squares = [(error * rows / rows_in_all) ** 2 for _, error, rows in known if error is not None]
    error = math.sqrt(sum(squares)) if len(squares) == len(known) else None
    which = "the recommended" if use else "the default"
    words = f"A party alone has {which} hyper-parameters and its own rows only, and is judged on those."
    name = "a party alone, on average" if len(known) > 1 else "the party alone"
    return [Score(name, mean, error, words, tuple(score for score, _, _ in known))]
