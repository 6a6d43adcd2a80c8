"""A party: the only code that sees rows and answers the aggregator."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from flora.core.collective import Alone, Collective
from flora.core.noise import SYSTEM
from flora.core.workers import Map, one_by_one, one_thread
from flora.errors import DataError, InputError
from flora.models import family_of
from flora.models.encoding import fit_encoding
from flora.models.family import ModelFamily, TrainsTogether
from flora.models.rows import Rows
from flora.party.learning_curve import learning_curve
from flora.party.local_search.folds import fold_count, no_folds
from flora.party.local_search.search import Progress, no_progress, search_locally
from flora.party.measure import confirm
from flora.party.private import Candidates, OwnGains, OwnSurface, mean_gains, mean_surface
from flora.party.sketch import joint, sketch_of
from flora.party.training import Apart, InOnePlace, train_as
from flora.party.under_noise import mean_surface_under_noise
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
from flora.problem.path import along, fits_in, path_of
from flora.problem.plan import SearchPlan
from flora.problem.private_messages import (
    ConfirmPrivately,
    ConfirmPrivatelyReply,
    SearchPrivately,
    SearchPrivatelyReply,
    Survey,
    SurveyReply,
)
from flora.problem.schema import Schema, Task
from flora.problem.trials import PartyTrials
from flora.randomness import derived_seed
from flora.surrogate.own_surface import own_surface, trees_for


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
    progress: Progress = no_progress  # of a search
    families: Callable[[str], ModelFamily] = family_of
    kept: dict[str, PartyTrials] = field(default_factory=dict, repr=False, compare=False)  # of private searches
    training: Progress = no_progress  # iterations done, and how many there are at most: 0, if nobody knows
    noise: random.Random = field(default=SYSTEM, repr=False, compare=False)  # never the run's seed, which all know

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

    def _answer(self, step: Step, collective: Collective) -> Reply:  # noqa: PLR0911  (a line for each step)
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
            case SearchPrivately():
                return self._search_privately(step)
            case Survey():
                return self._survey(step, collective)
            case ConfirmPrivately():
                return self._confirm_privately(step, collective)

    def _local_rows(self, step: Search | Confirm | Certify) -> Rows:
        """Return the rows for measurements of this party's own."""
        return self.source.local_rows(step.plan.task, step.schema).with_positive(step.plan.positive)

    def _describe(self, step: Describe) -> DescribeReply:
        schema, rows, notes = self.source.described(step.task, step.schema)
        return DescribeReply(self.name, rows, None if step.schema else schema, tuple(notes))

    def _search(self, step: Search) -> SearchReply:
        plan, rows = step.plan, self._local_rows(step)
        why = no_folds(rows)
        if why:
            note = f"{why}: it cannot search, and takes part in the training"
            return SearchReply(self.name, len(rows), None, (note,))
        count = fold_count(rows, plan.folds)
        notes = (f"{count} folds instead of {plan.folds}: its smallest class has {count} rows",)
        family = self.families(plan.family)
        trials = self._searched(rows, plan, family)
        fewer = notes if count < plan.folds else ()
        return SearchReply(self.name, len(rows), trials, (*fewer, *_ended_early(trials, plan, family)))

    def _searched(self, rows: Rows, plan: SearchPlan, family: ModelFamily) -> PartyTrials:
        """Search, or go on with a search that is stored."""
        family.rehearse(plan.space.default, rows, plan.seed)
        return search_locally(
            rows,
            plan,
            family,
            party=self.name,
            storage=self.storage,
            spread=self.spread,
            progress=self.progress,
        )

    def _search_privately(self, step: SearchPrivately) -> SearchPrivatelyReply:
        rows = self.source.local_rows(step.plan.task, step.schema)
        if no_folds(rows):  # why would tell of its classes
            note = "its rows allow no search, and it takes part in the training"
            return SearchPrivatelyReply(self.name, len(rows), searched=False, notes=(note,))
        self.kept[memory_key(step.plan)] = self._searched(rows, step.plan, self.families(step.plan.family))
        return SearchPrivatelyReply(self.name, len(rows), searched=True)

    def _survey(self, step: Survey, collective: Collective) -> SurveyReply:
        plan, rows = step.plan, self.source.local_rows(step.plan.task, step.schema)
        own = None if no_folds(rows) else self._own_surface(step, rows, collective.size)
        if step.epsilon is None:
            found = mean_surface(own, plan.space, plan.seed, collective)
        else:
            found = mean_surface_under_noise(own, plan.space, plan.seed, step.epsilon, collective, self.noise)
        means, deviations = tuple(found.means.tolist()), tuple(found.deviations.tolist())
        return SurveyReply(self.name, len(rows), found.parties, means, deviations)

    def _own_surface(self, step: Survey, rows: Rows, parties: int) -> OwnSurface:
        plan = step.plan
        trials = self.kept.get(memory_key(plan)) or self._searched(rows, plan, self.families(plan.family))
        losses = np.array([trial.loss for trial in trials.trials])
        regressor = own_surface(
            self.name,
            plan.space.encode([trial.config for trial in trials.trials]),
            losses,
            regressor=step.regressor,
            seed=plan.seed,
            trees=trees_for(parties),
        )
        return OwnSurface(regressor, float(np.abs(losses).max()), float(len(rows)) if step.by_rows else 1.0)

    def _confirm_privately(self, step: ConfirmPrivately, collective: Collective) -> ConfirmPrivatelyReply:
        plan, rows = step.plan, self.source.local_rows(step.plan.task, step.schema)
        family = self.families(plan.family)
        path = path_of(plan, family.passes_through)
        groups = tuple(tuple(along(config, path)) for config in (plan.space.default, *step.configs))
        candidates, own = Candidates(groups, path, step.last, step.free), None
        if not no_folds(rows):
            measured = confirm(rows, plan, family, step.configs, party=self.name, spread=self.spread)
            own = OwnGains.of(measured, candidates.configs, len(rows))
        found = mean_gains(own, candidates, collective)
        numbers = (tuple(part.tolist()) for part in (found.errors, found.degrees))
        return ConfirmPrivatelyReply(
            self.name, len(rows), found.parties, found.configs, tuple(found.gains.tolist()), found.compared, *numbers
        )

    def _confirm(self, step: Confirm) -> ConfirmReply:
        rows = self._local_rows(step)
        family = self.families(step.plan.family)
        if no_folds(rows):
            return ConfirmReply(self.name, len(rows), ())
        measured = confirm(rows, step.plan, family, step.configs, party=self.name, spread=self.spread)
        return ConfirmReply(self.name, len(rows), measured)

    def _certify(self, step: Certify, collective: Collective) -> CertifyReply:
        plan, local = step.plan, self._local_rows(step)
        rows = self.rows(step.schema)
        with one_thread():
            encoding = fit_encoding(rows, collective)  # with all parties: the same statistics everywhere
        points = joint(encoding(rows.X), rows.y, len(rows.schema.classes))
        curves = tuple(
            learning_curve(local, plan, self.families(plan.family), config, party=self.name, spread=self.spread)
            for config in (() if no_folds(local) else step.configs)
        )
        return CertifyReply(self.name, len(rows), sketch_of(points, party=self.name, seed=plan.seed), curves)

    def _train(self, step: Train, collective: Collective) -> TrainReply:
        family = self.families(step.plan.family)
        end = Apart(family, collective, derived_seed(step.plan.seed, "train"), partial(self.training, self.name))
        return train_as([self.name], [self.rows(step.schema)], step, end)[0]


def train_in_one_place(parties: Sequence[Party], step: Train) -> list[TrainReply] | None:
    """Return all parties' replies where their rows may lie together; None where the family needs parties apart."""
    family = parties[0].families(step.plan.family)
    if not isinstance(family, TrainsTogether):
        return None
    names, rows = [party.name for party in parties], [party.rows(step.schema) for party in parties]
    told = partial(parties[0].training, names[0])
    return train_as(names, rows, step, InOnePlace(family, derived_seed(step.plan.seed, "train"), told))


def _ended_early(trials: PartyTrials, plan: SearchPlan, family: ModelFamily) -> tuple[str, ...]:
    """Return a note where a budget of time ended the search; what was not sent cannot be counted."""
    done = fits_in([trial.config for trial in trials.trials], path_of(plan, family.passes_through)) + len(trials.failed)
    if plan.seconds is None or plan.send is not None or done >= plan.trials:
        return ()
    return (f"{done} of {plan.trials} trials in {plan.seconds:g} seconds",)


def check_names(names: Sequence[str]) -> None:
    """Raise unless there is at least one party and every name is used once."""
    if not names:
        raise DataError("a federation needs at least one party")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"party names must differ, {name!r} comes twice")


def memory_key(plan: SearchPlan) -> str:
    """Return what a party remembers the pairs of a private search by."""
    return f"{plan.identity()} {plan.trials} {plan.seconds}"
