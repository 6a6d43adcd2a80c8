"""The memory of a local search: an Optuna study in a file, one whole trial at a time."""

import fcntl
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self
from urllib.parse import quote

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState, create_trial

from flora.core.files import write_whole
from flora.errors import InputError
from flora.models.rows import Rows
from flora.party.local_search.folds import Tried
from flora.party.local_search.optuna_space import config_from, distributions_of, params_from
from flora.party.local_search.race import Leader, Rules
from flora.party.local_search.samplers import make_sampler
from flora.problem.plan import SearchPlan, first_difference
from flora.problem.score_range import possible_loss
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import FailedTrial, PartyTrials, Trial
from flora.randomness import derived_seed


@dataclass
class Study:
    """An open search. No trial is ever half in the file: one is asked for in memory, and stored when it is done."""

    plan: SearchPlan
    party: str
    memory: optuna.Study
    file: optuna.Study | None
    searched: SearchSpace  # the plan's space, without an HP that each fit passes through anyway
    asked: optuna.Trial | None = field(default=None)

    @classmethod
    @contextmanager
    def open(
        cls, storage: Path | None, plan: SearchPlan, party: str, rows: Rows, searched: SearchSpace
    ) -> Iterator[Self]:
        """Open or begin the search that ``storage`` keeps, for this process alone."""
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        memory = optuna.create_study(study_name=party)
        if storage is None:
            yield cls(plan, party, memory, None, searched)
            return
        with _locked(storage):
            database = _database(storage)
            try:
                file = optuna.create_study(storage=database, study_name=party, load_if_exists=True)
                _check_same_search(storage, file, _identity(plan, rows))
                memory.add_trials(file.get_trials(deepcopy=False))
                yield cls(plan, party, memory, file, searched)
            finally:
                database.engine.dispose()

    @property
    def count(self) -> int:
        """The number of trials that are done."""
        return len(self.memory.get_trials(deepcopy=False, states=[TrialState.COMPLETE, TrialState.FAIL]))

    @property
    def seconds(self) -> float:
        """How long its fits took, those of a run that was killed included."""
        return sum(float(trial.user_attrs["seconds"]) for trial in self.memory.get_trials(deepcopy=False))

    @property
    def first_failure(self) -> str:
        """What the first failed trial said."""
        failed = self.memory.get_trials(deepcopy=False, states=[TrialState.FAIL])
        return str(failed[0].user_attrs["failure"]) if failed else "no trial"

    def propose(self, number: int) -> Config:
        """Return the HPs of trial ``number``: the default, then a function of the history and the number's seed."""
        if number == 0:
            return self.plan.space.default
        self.memory.sampler = make_sampler(
            self.plan.sampler, derived_seed(self.plan.seed, self.party, "propose", number)
        )
        self.asked = self.memory.ask(distributions_of(self.searched))
        return config_from(self.searched, self.asked.params)

    def add(self, outcome: Tried) -> None:
        """Store one finished trial, in one transaction."""
        params = params_from(self.searched, outcome.config) if self.asked is None else self.asked.params
        frozen = _frozen(outcome, params, self.searched)
        if self.file is not None:
            self.file.add_trial(frozen)
        if self.asked is None:
            self.memory.add_trial(frozen)
            return
        for key, value in frozen.user_attrs.items():
            self.asked.set_user_attr(key, value)
        self.memory.tell(self.asked, frozen.value, frozen.state)
        self.asked = None

    def leader(self, folds: int, rules: Rules) -> Leader | None:
        """Return the leader of the trials that were measured on so many folds; None where there are none."""
        stored = self.memory.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
        whole = [trial for trial in stored if len(trial.user_attrs["fold_losses"]) == folds]
        best = [min((losses for _, losses in _measured(trial)), key=sum) for trial in whole]
        return Leader.of(best, rules) if best else None

    def tried(self, most: int) -> list[Tried]:
        """Return what came of the first ``most`` trials."""
        return [_tried_from(stored.user_attrs) for stored in self.memory.get_trials(deepcopy=False)[:most]]

    def kept(self, measure: Callable[[int, Tried], Tried]) -> Callable[[int, Tried], Tried]:
        """Return what measures a trial on more folds, with the file's memory: nothing is measured twice."""

        def remembered(number: int, known: Tried) -> Tried:
            key = f"further:{number}"
            if self.file is not None and key in (stored := self.file.user_attrs):
                return _tried_from(stored[key])
            found = measure(number, known)
            if self.file is not None:
                self.file.set_user_attr(key, _attributes(found))
            return found

        return remembered

    def trial_of(self, pair: Tried, rows: int) -> Trial:
        """Return what a config came to. One that was not finished has an estimate, which no score need be."""
        loss, error = pair.loss_and_error()
        return Trial(pair.config, possible_loss(self.plan.scoring, loss), error, len(pair.fold_losses), rows)

    def party_trials(self, tried: Sequence[Tried], rows: int) -> PartyTrials:
        """Return what may leave the party of what was tried."""
        trials: list[Trial] = []
        failed: list[FailedTrial] = []
        for one in tried:
            if one.failure is not None:
                failed.append(FailedTrial(one.config, one.failure.split(":")[0]))
                continue
            trials += [self.trial_of(pair, rows) for pair in one.apart()]
        plan = self.plan
        return PartyTrials(
            self.party,
            rows,
            plan.space,
            plan.scoring,
            tuple(trials),
            tuple(failed),
            plan.family,
            plan.task,
            plan.positive,
        )


def stored_trials(storage: Path, plan: SearchPlan, party: str) -> list[Trial]:
    """Return what a search that may be under way has tried so far; the file is read only, and nobody is kept out."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    database = optuna.storages.RDBStorage(
        f"sqlite:///file:{quote(str(storage.resolve()))}?mode=ro&uri=true",
        skip_compatibility_check=True,
        skip_table_creation=True,
    )
    try:
        file = optuna.load_study(storage=database, study_name=party)
        study = Study(plan, party, file, None, plan.space)
        known = [one for one in study.tried(plan.trials) if one.failure is None]
        return [study.trial_of(pair, 1) for one in known for pair in one.apart()]
    finally:
        database.engine.dispose()


def _measured(stored: FrozenTrial) -> list[tuple[Config, list[float]]]:
    """Return a stored trial's config and each of its path, with the losses on the folds."""
    attributes = stored.user_attrs
    return [(attributes["config"], attributes["fold_losses"]), *attributes["path"]]


def _tried_from(attributes: Mapping[str, Any]) -> Tried:
    """Return the outcome that :func:`_attributes` wrote."""
    config, losses = attributes["config"], tuple(attributes["fold_losses"])
    path = tuple((step, tuple(found)) for step, found in attributes["path"])
    leader = Leader(*attributes["leader"]) if "leader" in attributes else None
    return Tried(config, losses, path, attributes["seconds"], attributes.get("failure"), leader)


def _attributes(outcome: Tried) -> dict[str, Any]:
    """Return an outcome as JSON's types."""
    return {
        "config": dict(outcome.config),
        "seconds": outcome.seconds,
        "fold_losses": list(outcome.fold_losses),
        "path": [[dict(config), list(losses)] for config, losses in outcome.path],
        **({} if outcome.failure is None else {"failure": outcome.failure}),
        **({} if outcome.leader is None else {"leader": [outcome.leader.expected, outcome.leader.spread]}),
    }


def _frozen(outcome: Tried, params: Mapping[str, Any], searched: SearchSpace) -> FrozenTrial:
    return create_trial(
        state=TrialState.COMPLETE if outcome.failure is None else TrialState.FAIL,
        value=outcome.loss_and_error()[0] if outcome.failure is None else None,
        params=dict(params),
        distributions=distributions_of(searched),
        user_attrs=_attributes(outcome),
    )


def _identity(plan: SearchPlan, rows: Rows) -> dict[str, Any]:
    """Return all that decides the trials. The digest of the rows stays in the party's own file."""
    digest = hashlib.sha256(np.ascontiguousarray(rows.X).tobytes())
    digest.update(np.ascontiguousarray(rows.y).tobytes())
    digest.update(b"" if rows.weights is None else np.ascontiguousarray(rows.weights).tobytes())
    identity: dict[str, Any] = json.loads(plan.identity())
    return {**identity, "rows": digest.hexdigest()}


def _check_same_search(path: Path, study: optuna.Study, identity: Mapping[str, Any]) -> None:
    stored = study.user_attrs.get("flora")
    if stored is None:  # new, or killed in its first moment
        study.set_user_attr("flora", dict(identity))
        return
    difference = first_difference({"race": False, **stored}, identity)  # searches were there before races
    if difference:
        raise InputError(f"{path} holds another search: {difference}; use another output, or delete it")


def _database(path: Path) -> optuna.storages.RDBStorage:
    """Return the database in a file. A new one is a copy: Optuna reads all its migrations three times to make one."""
    is_new = not path.exists()
    if is_new:
        write_whole(path, _empty_database())
    return optuna.storages.RDBStorage(f"sqlite:///{path}", skip_compatibility_check=is_new)


@cache
def _empty_database() -> bytes:
    """Return the file of a database without a study."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "empty.db"
        optuna.storages.RDBStorage(f"sqlite:///{file}", skip_compatibility_check=True).engine.dispose()
        return file.read_bytes()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes out; the lock goes with the process, even with kill -9."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{path} is in use by another search that is running now") from None
        yield
