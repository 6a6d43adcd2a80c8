"""A party: the only code that sees rows and answers the aggregator."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from flora.core.collective import Alone, Collective
from flora.core.workers import Map, one_by_one, one_thread
from flora.errors import DataError, InputError
from flora.models import family_of
from flora.models.encoding import fit_encoding
from flora.models.family import Held, Model, ModelFamily, Trained, TrainsTogether
from flora.models.model_file import pack
from flora.models.rows import Rows
from flora.models.scored import score_of
from flora.party.folds import fold_count
from flora.party.learning_curve import learning_curve
from flora.party.measure import confirm
from flora.party.search import Progress, no_progress, search_locally
from flora.party.sketch import joint, sketch_of
from flora.problem.messages import (
    Certify,
    CertifyReply,
    Confirm,
    ConfirmReply,
    Describe,
    DescribeReply,
    Reply,
    Search,
    SearchReply,
    Step,
    Train,
    TrainReply,
)
from flora.problem.path import check_trainable, family_path
from flora.problem.schema import Schema, Task
from flora.problem.space import Config
from flora.problem.trials import loss_of
from flora.randomness import derived_seed, stream

FEWEST = 6  # rows of a party that holds any out


class Source(Protocol):
    """Where a party's rows come from: a table, or what a scikit-learn user has in memory."""

    @property
    def count(self) -> int:
        """The number of rows."""
        ...

    def described(self, task: Task | None, like: Schema | None) -> tuple[Schema, int, list[str]]:
        """Return the schema, the number of rows, and what the user should know."""
        ...

    def local_rows(self, task: Task | None, like: Schema | None) -> Rows:
        """Return the rows for the local search, which know nothing of the other parties."""
        ...

    def rows(self, schema: Schema) -> Rows:
        """Return the rows as the agreed schema has them."""
        ...


@dataclass(frozen=True)
class Party:
    """One party's rows and what it needs to answer."""

    name: str
    source: Source
    storage: Path | None = None  # keeps its search; without one a killed search is lost
    spread: Map = one_by_one
    progress: Progress = no_progress
    families: Callable[[str], ModelFamily] = family_of

    def answer(self, step: Step, collective: Collective | None = None) -> Reply:
        """Return this party's reply; an error names the party."""
        with self._named_in_errors():
            return self._answer(step, collective or Alone())

    @contextmanager
    def _named_in_errors(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            if str(error).startswith("party "):
                raise
            raise DataError(f"party {self.name!r}: {error}") from error

    def rows(self, schema: Schema) -> Rows:
        """Return the rows as the agreed schema has them; an error names the party."""
        with self._named_in_errors():
            return self.source.rows(schema)

    def _answer(self, step: Step, collective: Collective) -> Reply:
        match step:
            case Describe():
                return self._describe(step)
            case Search():
                return self._search(step)
            case Confirm():
                return self._confirm(step)
            case Certify():
                return self._certify(step, collective)
            case Train():
                return self._train(step, collective)

    def _describe(self, step: Describe) -> DescribeReply:
        schema, rows, notes = self.source.described(step.task, step.schema)
        return DescribeReply(self.name, rows, None if step.schema else schema, tuple(notes))

    def _search(self, step: Search) -> SearchReply:
        plan, rows = step.plan, self.source.local_rows(step.plan.task, step.schema)
        count = fold_count(rows, plan.folds)
        notes = (f"{count} folds instead of {plan.folds}: its smallest class has {count} rows",)
        family = self.families(plan.family)
        family.rehearse(plan.space.default, rows, plan.seed)
        trials = search_locally(
            rows,
            plan,
            family,
            party=self.name,
            storage=self.storage,
            spread=self.spread,
            progress=self.progress,
        )
        return SearchReply(self.name, len(rows), trials, notes if count < plan.folds else ())

    def _confirm(self, step: Confirm) -> ConfirmReply:
        rows = self.source.local_rows(step.plan.task, step.schema)
        family = self.families(step.plan.family)
        measured = confirm(rows, step.plan, family, step.configs, party=self.name, spread=self.spread)
        return ConfirmReply(self.name, len(rows), measured)

    def _certify(self, step: Certify, collective: Collective) -> CertifyReply:
        plan, local = step.plan, self.source.local_rows(step.plan.task, step.schema)
        rows = self.rows(step.schema)
        with one_thread():
            encoding = fit_encoding(rows, collective)  # with all parties: the same statistics everywhere
        points = joint(encoding(rows.X), rows.y, len(rows.schema.classes))
        curves = tuple(
            learning_curve(local, plan, self.families(plan.family), config, party=self.name, spread=self.spread)
            for config in step.configs
        )
        return CertifyReply(self.name, len(rows), sketch_of(points, party=self.name, seed=plan.seed), curves)

    def _train(self, step: Train, collective: Collective) -> TrainReply:
        family = self.families(step.plan.family)
        train = partial(family.train, collective=collective, seed=derived_seed(step.plan.seed, "train"))

        def alone(config: Config, rows: Sequence[Rows], held: Sequence[Held] | None = None) -> Trained[Model]:
            return train(config, rows[0], held=held[0] if held else None)

        return train_as([self], step, family, alone)[0]


def train_in_one_place(parties: Sequence[Party], step: Train) -> list[TrainReply] | None:
    """Return all parties' replies where their rows may lie together; None where the family needs parties apart."""
    family = parties[0].families(step.plan.family)
    if not isinstance(family, TrainsTogether):
        return None
    return train_as(parties, step, family, partial(family.train_together, seed=derived_seed(step.plan.seed, "train")))


class _Training(Protocol):
    """One training on some parties' rows."""

    def __call__(self, config: Config, rows: Sequence[Rows], held: Sequence[Held] | None = None) -> Trained[Model]:
        """Train with a config."""
        ...


def train_as(parties: Sequence[Party], step: Train, family: ModelFamily, train: _Training) -> list[TrainReply]:
    """Train once, or with a first pass that is judged by held-out rows and a second one that uses them."""
    plan, config = step.plan, step.config
    check_trainable(config, plan.space, family_path(plan.space, family))
    rows = [party.rows(step.schema) for party in parties]
    losses: list[float | None] = [None] * len(parties)
    with one_thread():
        if step.held:
            pairs = [
                hold_out(own, step.held, stream(plan.seed, party.name, "held"))
                for party, own in zip(parties, rows, strict=True)
            ]
            judges = [Held(held, plan.scoring) for _, held in pairs]
            first = train(config, [kept for kept, _ in pairs], held=judges if step.choose else None)
            losses = [_loss_on(held, first.model, plan.scoring) for _, held in pairs]
            config = first.config
        done = train(config, rows)
    packed = pack(done.model, family=plan.family, schema=step.schema, config=done.config)
    return [
        TrainReply(party.name, len(own), packed, done.config, loss)
        for party, own, loss in zip(parties, rows, losses, strict=True)
    ]


def hold_out(rows: Rows, share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return the rows to train on, and a share of them to choose by, alike in their classes: none of very few rows."""
    order = rng.permutation(len(rows))
    if rows.schema.task == "classification":  # sorted by class: every so many-th row is then a stratified sample
        order = order[np.argsort(rows.y[order], kind="stable")]
    every = round(1 / share)
    held = np.zeros(len(rows), dtype=bool)
    if len(rows) >= FEWEST:
        held[order[every // 2 :: every]] = True
    return rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held))


def _loss_on(held: Rows, model: Model, scoring: str) -> float | None:
    """Return a model's loss, or None where so few rows have none: a class is missing, or R² of one row."""
    if not len(held):
        return None
    try:
        loss = loss_of(scoring, score_of(model, held, scoring))
    except ValueError:  # scikit-learn's, as for a log loss of one class
        return None
    return loss if np.isfinite(loss) else None


def check_names(names: Sequence[str]) -> None:
    """Raise unless there is at least one party and every name is used once."""
    if not names:
        raise DataError("a federation needs at least one party")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"party names must differ, {name!r} comes twice")
