"""A party: the only code that sees rows and answers the aggregator."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flora.collective import Alone, Collective
from flora.confirm import confirm
from flora.curves import learning_curve
from flora.errors import DataError, InputError
from flora.federation import Reply, Step
from flora.growth import check_trainable, family_path
from flora.model_file import pack
from flora.models import Held, Model, family_of
from flora.models.encoding import fit_encoding
from flora.models.scored import score_of
from flora.plan import SearchPlan
from flora.randomness import derived_seed, stream
from flora.schema import Schema
from flora.search import Progress, fold_count, no_progress, search_locally
from flora.sketch import joint, sketch_of
from flora.table import Rows, constant_columns, describe, encode
from flora.trials import loss_of
from flora.workers import Map, one_by_one, one_thread

FEWEST = 6  # rows of a party that holds any out


@dataclass(frozen=True)
class Party:
    """One party's rows and what it needs to answer."""

    name: str
    table: pd.DataFrame
    target: str
    drop: Sequence[str] = ()
    storage: Path | None = None
    spread: Map = one_by_one
    progress: Progress = no_progress

    def answer(self, step: Step, collective: Collective | None = None) -> Reply:
        """Return this party's reply; an error names the party."""
        answers: dict[str, Callable[[Any], Reply]] = {
            "describe": self._describe,
            "search": self._search,
            "confirm": self._confirm,
            "certify": partial(self._certify, collective=collective or Alone()),
            "train": partial(self._train, collective=collective or Alone()),
        }
        try:
            return answers[step.name](step.payload)
        except InputError as error:
            if str(error).startswith("party "):
                raise
            raise DataError(f"party {self.name!r}: {error}") from error

    def local_rows(self, task: Any, like: Schema | None = None) -> Rows:
        """Return the rows for the local search.

        They depend on this party's table and the columns' kinds alone, not on the other parties' categories or
        classes: so a party that searches by itself finds the same trials as one in a federation.
        """
        schema = describe(self.table, self.target, task=task, like=like, drop=self.drop)
        filled = tuple(column for column in schema.columns if self.table[column.name].notna().any())
        if not filled:
            raise DataError("need at least one column with values besides the target, got none")
        return encode(self.table, replace(schema, columns=filled))

    def _describe(self, payload: Any) -> Reply:
        given = Schema.from_json(payload["schema"]) if payload["schema"] else None
        schema = describe(self.table, self.target, task=payload["task"], like=given, drop=self.drop)
        rows = int(self.table[self.target].notna().sum())
        constant = constant_columns(self.table, schema)
        notes = [f"one value only in {_listed(constant)}"] if constant else []
        if rows < len(self.table):
            notes.append(f"{len(self.table) - rows} rows without a target are left out")
        return Reply(self.name, rows, schema=None if given else schema, notes=tuple(notes))

    def _search(self, payload: Any) -> Reply:
        plan, rows = self._plan_and_rows(payload)
        count = fold_count(rows, plan.folds)
        notes = (f"{count} folds instead of {plan.folds}: its smallest class has {count} rows",)
        family = family_of(plan.family)
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
        return Reply(self.name, len(rows), trials=trials, notes=notes if count < plan.folds else ())

    def _confirm(self, payload: Any) -> Reply:
        plan, rows = self._plan_and_rows(payload)
        family = family_of(plan.family)
        measured = confirm(rows, plan, family, payload["configs"], party=self.name, spread=self.spread)
        return Reply(self.name, len(rows), confirmations=measured)

    def _certify(self, payload: Any, collective: Collective) -> Reply:
        """Tell how the rows are distributed, in means over rows, and how losses fall with more rows."""
        plan, local = self._plan_and_rows(payload)
        rows = encode(self.table, Schema.from_json(payload["schema"]))
        with one_thread():
            encoding = fit_encoding(rows, collective)  # with all parties: the same statistics everywhere
        points = joint(encoding(rows.X), rows.y, len(rows.schema.classes))
        curves = tuple(
            learning_curve(local, plan, family_of(plan.family), config, party=self.name, spread=self.spread)
            for config in payload["configs"]
        )
        return Reply(self.name, len(rows), sketch=sketch_of(points, party=self.name, seed=plan.seed), curves=curves)

    def _train(self, payload: Any, collective: Collective) -> Reply:
        plan, schema = SearchPlan.from_json(payload["plan"]), Schema.from_json(payload["schema"])
        config, rows, loss = payload["config"], encode(self.table, schema), None
        family = family_of(plan.family)
        check_trainable(config, plan.space, family_path(plan.space, family))
        train = partial(family.train, collective=collective, seed=derived_seed(plan.seed, "train"))
        with one_thread():
            if payload["held"]:  # a first pass is judged by held-out rows, a second one uses them
                kept, held = hold_out(rows, payload["held"], stream(plan.seed, self.name, "held"))
                first = train(config, kept, held=Held(held, plan.scoring) if payload["choose"] else None)
                loss = _loss_on(held, first.model, plan.scoring)
                config = first.config
            done = train(config, rows)
        packed = pack(done.model, family=plan.family, schema=schema, config=done.config)
        return Reply(self.name, len(rows), model=packed, trained=done.config, held_loss=loss)

    def _plan_and_rows(self, payload: Any) -> tuple[SearchPlan, Rows]:
        plan = SearchPlan.from_json(payload["plan"])
        return plan, self.local_rows(plan.task, Schema.from_json(payload["schema"]) if payload["schema"] else None)


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


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in columns[:5])
    return f"column {shown}" if len(columns) == 1 else f"{len(columns)} columns: {shown}{', ...' * (len(columns) > 5)}"


def check_names(parties: Sequence[Party]) -> None:
    """Raise unless there is at least one party and every name is used once."""
    names = [party.name for party in parties]
    if not names:
        raise DataError("a federation needs at least one party")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"party names must differ, {name!r} comes twice")
