"""The party's side of a federated training: on all its rows, or on all but those that the outcome is judged by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flora.core.collective import Alone, Collective, Floats, Followed
from flora.core.workers import one_thread
from flora.models.family import Held, Model, ModelFamily, Predicts, ScoresItself, Trained, TrainsTogether
from flora.models.guess import Guess, target_sums
from flora.models.model_file import pack
from flora.models.pooled_score import score_from, score_of_party, score_sums
from flora.models.rows import Rows
from flora.models.sums import added, pooled_sums
from flora.problem.family import Family
from flora.problem.messages import Train, TrainReply
from flora.problem.path import check_trainable, family_path
from flora.problem.space import Config
from flora.problem.trials import loss_of
from flora.randomness import stream

FEWEST = 6  # rows of a party that holds any out


class Trainer(Protocol):
    """Trainings on some parties' rows, and sums of what these parties have."""

    @property
    def family(self) -> Family:
        """What is trained."""
        ...

    def train(self, config: Config, rows: Sequence[Rows], held: Sequence[Held] | None = None) -> Trained[Model]:
        """Train with a config."""
        ...

    def add(self, parts: Sequence[Floats]) -> Floats:
        """Return the sum over all parties of the federation."""
        ...


@dataclass(frozen=True)
class Apart:
    """One party's end of a training: the others are at the other ends of the collective."""

    family: ModelFamily
    collective: Collective
    seed: int
    told: Callable[[int, int], None]  # of iterations

    def train(self, config: Config, rows: Sequence[Rows], held: Sequence[Held] | None = None) -> Trained[Model]:
        """Train with the other parties."""
        followed = Followed(self.collective, self.told)
        return self.family.train(config, rows[0], followed, self.seed, held[0] if held else None)

    def add(self, parts: Sequence[Floats]) -> Floats:
        """Add up with the other parties."""
        return added(parts[0], self.collective)


@dataclass(frozen=True)
class InOnePlace:
    """A training on the rows of all parties, which lie together."""

    family: TrainsTogether
    seed: int
    told: Callable[[int, int], None]  # of iterations

    def train(self, config: Config, rows: Sequence[Rows], held: Sequence[Held] | None = None) -> Trained[Model]:
        """Train on all of them."""
        return self.family.train_together(config, rows, self.seed, held, self.told)

    def add(self, parts: Sequence[Floats]) -> Floats:
        """Add up what all have here."""
        return pooled_sums(np.stack(parts), Alone())


def train_as(names: Sequence[str], rows: Sequence[Rows], step: Train, training: Trainer) -> list[TrainReply]:
    """Train on all rows and return the model, or on all but a fold and return the loss there."""
    check_trainable(step.config, step.plan.space, family_path(step.plan.space, training.family))
    with one_thread():
        if step.folds:
            return _judged(names, rows, step, training)
        done, losses = _trained(names, rows, step, training)
    packed = pack(done.model, family=step.plan.family, schema=step.schema, config=done.config)
    return [
        TrainReply(name, len(own), packed, done.config, loss)
        for name, own, loss in zip(names, rows, losses, strict=True)
    ]


def _judged(names: Sequence[str], rows: Sequence[Rows], step: Train, training: Trainer) -> list[TrainReply]:
    """Train on all rows but a fold of every party's, and return the loss there; the model stays."""
    pairs = [
        leave_out(own, step.fold, step.folds, stream(step.plan.seed, name, "fold"))
        for name, own in zip(names, rows, strict=True)
    ]
    done, _ = _trained(names, [kept for kept, _ in pairs], step, training)
    left = [out for _, out in pairs]
    losses = _losses_left_out(left, done.model, step, training)
    guesses = _losses_left_out(left, _guess(left, done.model, step, training), step, training)
    return [
        TrainReply(name, len(own), b"", done.config, loss, guess)
        for name, own, loss, guess in zip(names, rows, losses, guesses, strict=True)
    ]


def _guess(left: Sequence[Rows], model: Model, step: Train, training: Trainer) -> Guess | None:
    """Return the best prediction that looks at no column; None where only the model itself knows its scoring."""
    if isinstance(model, ScoresItself):
        return None
    total = training.add([target_sums(rows) for rows in left])
    return Guess.of(total, step.plan.scoring, len(step.schema.classes))


def _losses_left_out(
    left: Sequence[Rows], model: Predicts | None, step: Train, training: Trainer
) -> list[float | None]:
    """Return the loss on the rows that all parties left out, the same for each; or each one's own, if that counts."""
    scoring = step.plan.scoring
    if model is None:
        return [None] * len(left)
    if step.apart:
        return [_loss_on(rows, model, scoring) for rows in left]
    total = training.add([score_sums(model, rows, scoring) for rows in left])
    score = score_from(total, model, scoring, len(step.schema.classes))
    return [None if score is None else loss_of(scoring, score)] * len(left)


def _trained(
    names: Sequence[str], rows: Sequence[Rows], step: Train, training: Trainer
) -> tuple[Trained[Model], list[float | None]]:
    """Train once, or with a first pass that is judged by held-out rows and a second one that uses them."""
    if not step.held:
        return training.train(step.config, rows), [None] * len(names)
    scoring = step.plan.scoring
    pairs = [
        hold_out(own, step.held, stream(step.plan.seed, name, "held")) for name, own in zip(names, rows, strict=True)
    ]
    judges = [Held(held, scoring) for _, held in pairs]
    first = training.train(step.config, [kept for kept, _ in pairs], held=judges if step.choose else None)
    losses = [_loss_on(held, first.model, scoring) for _, held in pairs]
    return training.train(first.config, rows), losses


def hold_out(rows: Rows, share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return the rows to train on, and a share of them to choose by, alike in their classes: none of very few rows."""
    every = round(1 / share)
    return leave_out(rows, every // 2, every, rng)


def leave_out(rows: Rows, fold: int, folds: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return the rows to train on and one fold of them to judge by, alike in their classes: none of very few rows."""
    order = rng.permutation(len(rows))
    if rows.schema.task == "classification":  # sorted by class: every so many-th row is then a stratified sample
        order = order[np.argsort(rows.y[order], kind="stable")]
    left = np.zeros(len(rows), dtype=bool)
    if len(rows) >= FEWEST:
        left[order[fold::folds]] = True
    return rows.take(np.flatnonzero(~left)), rows.take(np.flatnonzero(left))


def _loss_on(rows: Rows, model: Predicts, scoring: str) -> float | None:
    """Return a model's loss, or None where so few rows have none: a class is missing, or R² of one row."""
    score = score_of_party(model, rows, scoring)
    return None if score is None else loss_of(scoring, score)
