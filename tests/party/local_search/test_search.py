"""The local search: its folds, its failures, its memory, and what a kill does to it."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from flora.core.workers import workers
from flora.errors import FloraError, InputError
from flora.models import family_of
from flora.models.family import Scores
from flora.models.hgb.family import GradientBoosting
from flora.models.rows import Rows, encode
from flora.models.svm import SupportVectors
from flora.party.local_search import race
from flora.party.local_search.folds import Tried, folds_of
from flora.party.local_search.search import search_locally
from flora.party.local_search.study import Study
from flora.party.tables.table import describe
from flora.problem.plan import SearchPlan
from flora.problem.space import Config, Integer, Real, SearchSpace
from flora.problem.trials import PartyTrials
from flora.randomness import derived_seed
from tests.conftest import SVM_SPACE, two_moons

PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=12, folds=3)
SVM = family_of("svm")
HGB = GradientBoosting()
TREES = SearchPlan("hgb", "classification", HGB.spaces("classification")["own"], "balanced_accuracy", trials=4, folds=3)
STOPS = [10, 16, 27, 45, 74, 100, 121, 200]


def rows(count: int = 40) -> Rows:
    table = two_moons(count, 1)
    return encode(table, describe(table, "kind"))


def test_the_default_config_is_the_first_trial() -> None:
    found = search_locally(rows(), PLAN, SVM, party="a")
    assert found.trials[0].config == dict(SVM_SPACE.default)
    assert found.default == found.trials[0]
    assert len(found.trials) == 12


@pytest.mark.parametrize("sampler", ["tpe", "gp", "random"])
def test_every_sampler_stays_in_the_space_and_repeats_itself(sampler: Any) -> None:
    plan = replace(PLAN, sampler=sampler, trials=14)
    first, second = (search_locally(rows(), plan, SVM, party="a") for _ in range(2))
    assert first.to_json() == second.to_json()
    assert len({tuple(trial.config.values()) for trial in first.trials}) == 14
    assert search_locally(rows(), plan, SVM, party="b").trials[1:] != first.trials[1:]


def test_a_loss_is_the_mean_over_folds_with_its_standard_error() -> None:
    found = search_locally(rows(), replace(PLAN, trials=1), SVM, party="a").trials[0]
    folds = folds_of(rows(), PLAN, "a", "search")
    scores = [
        SVM.score(SVM_SPACE.default, rows().take(train), rows().take(test), "balanced_accuracy", 0)[0][1]
        for train, test in folds
    ]
    assert found.loss == pytest.approx(1 - np.mean(scores))
    assert found.error == pytest.approx(np.std(scores, ddof=1) / np.sqrt(3))
    assert (found.folds, found.rows) == (3, 40)


def test_the_same_trials_with_one_and_two_jobs() -> None:
    alone = search_locally(rows(), PLAN, SVM, party="a")
    with workers(2) as spread:
        shared = search_locally(rows(), PLAN, SVM, party="a", spread=spread)
    assert alone.to_json() == shared.to_json()


@dataclass(frozen=True)
class Fragile(SupportVectors):
    """An SVM that cannot bear a large C."""

    limit: float = 1.5

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        if float(config["C"]) > self.limit:
            raise MemoryError("patient 4711 does not fit")
        return super().score(config, train, test, scoring, seed, path)


def test_the_estimate_of_a_config_that_was_left_behind_is_a_loss_that_the_scoring_can_give() -> None:
    """After a fold that is harder, or easier, than the others the plain estimate is an f1 below 0, or above 1."""
    easy, hard = (0.1, 0.9, 0.9), (0.9, 0.1, 0.1)  # what the leader expects of the folds
    tried = [
        Tried(dict(SVM_SPACE.default), (loss,), leader=race.Leader(expected, spread=0.1))
        for expected, loss in ((easy, 1.0), (hard, 0.0))
    ]
    assert [one.loss_and_error()[0] for one in tried] == [
        pytest.approx(1.533, abs=1e-3),
        pytest.approx(-0.533, abs=1e-3),
    ]
    with Study.open(None, replace(PLAN, scoring="f1"), "a", rows(), SVM_SPACE) as study:
        found = study.party_trials(tried, 40)
    assert [trial.loss for trial in found.trials] == [1.0, 0.0]
    assert PartyTrials.from_json(found.to_json()) == found  # a reader takes it


def test_a_failed_trial_is_recorded_and_its_text_stays_here(tmp_path: Path) -> None:
    found = search_locally(rows(), PLAN, Fragile(), party="a", storage=tmp_path / "study.db")
    assert found.failed
    assert len(found.failed) + len(found.trials) == 12
    assert {failure.reason for failure in found.failed} == {"MemoryError"}
    assert "4711" not in found.to_json()
    again = search_locally(rows(), PLAN, Fragile(), party="a", storage=tmp_path / "study.db")
    assert again.to_json() == found.to_json()


def test_all_trials_failing_is_an_error_that_says_why() -> None:
    with pytest.raises(FloraError, match="every trial failed, the first with MemoryError: patient"):
        search_locally(rows(), PLAN, Fragile(limit=0.0), party="a")


@dataclass(frozen=True)
class Deadly(SupportVectors):
    """An SVM that takes its worker process with it."""

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        if float(config["C"]) > 1.5:
            os._exit(1)
        return super().score(config, train, test, scoring, seed, path)


def test_a_dead_worker_is_no_failed_trial(tmp_path: Path) -> None:
    storage = tmp_path / "study.db"
    with workers(2) as spread, pytest.raises(FloraError, match="a worker process ended"):
        search_locally(rows(), PLAN, Deadly(), party="a", storage=storage, spread=spread)
    healed = search_locally(rows(), PLAN, SVM, party="a", storage=storage)
    assert healed.to_json() == search_locally(rows(), PLAN, SVM, party="a").to_json()


def test_send_keeps_the_best_pairs() -> None:
    whole = search_locally(rows(), PLAN, SVM, party="a")
    best = search_locally(rows(), replace(PLAN, send=4), SVM, party="a")
    assert sorted(t.loss for t in best.trials) == sorted(t.loss for t in whole.trials)[:4]


def test_a_longer_search_goes_on_from_a_shorter_one(tmp_path: Path) -> None:
    storage = tmp_path / "study.db"
    short = search_locally(rows(), replace(PLAN, trials=5), SVM, party="a", storage=storage)
    longer = search_locally(rows(), PLAN, SVM, party="a", storage=storage)
    assert longer.trials[:5] == short.trials
    assert longer.to_json() == search_locally(rows(), PLAN, SVM, party="a").to_json()
    assert search_locally(rows(), replace(PLAN, trials=5), SVM, party="a", storage=storage).to_json() == short.to_json()


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"seed": 1}, "seed"),
        ({"folds": 4}, "folds"),
        ({"scoring": "accuracy"}, "scoring"),
        ({"sampler": "gp"}, "sampler"),
    ],
)
def test_another_search_in_the_same_file_is_refused(tmp_path: Path, other: Any, word: str) -> None:
    storage = tmp_path / "study.db"
    search_locally(rows(), replace(PLAN, trials=1), SVM, party="a", storage=storage)
    with pytest.raises(InputError, match=f"holds another search: its {word} is"):
        search_locally(rows(), replace(PLAN, trials=1, **other), SVM, party="a", storage=storage)
    with pytest.raises(InputError, match="holds another search: its rows is"):
        search_locally(rows(41), replace(PLAN, trials=1), SVM, party="a", storage=storage)


def test_the_study_opens_in_optuna(tmp_path: Path) -> None:
    search_locally(rows(), PLAN, SVM, party="a", storage=tmp_path / "study.db")
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'study.db'}")
    study = optuna.load_study(study_name="a", storage=storage)
    assert len(study.trials) == 12
    imported = PartyTrials.from_optuna(study, scoring="balanced_accuracy", rows=40)
    assert [t.loss for t in imported.trials] == [t.value for t in study.trials]
    storage.engine.dispose()


def test_further_studies_are_begun_without_reading_optunas_migrations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(PLAN, trials=2)
    first = search_locally(rows(), short, SVM, party="a", storage=tmp_path / "first.db")
    monkeypatch.delattr("optuna.storages._rdb.storage.alembic_script.ScriptDirectory.from_config")
    second = search_locally(rows(), short, SVM, party="a", storage=tmp_path / "second.db")
    assert first.to_json() == second.to_json()
    monkeypatch.undo()
    optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'second.db'}").engine.dispose()  # Optuna's own check passes


@pytest.mark.slow
def test_three_kills_change_nothing(tmp_path: Path) -> None:
    """A search killed at random moments and started again ends with the trials of one that was not."""
    data = tmp_path / "site.csv"
    two_moons(80, 7).to_csv(data, index=False)

    def command(out: Path) -> list[str]:
        flora = "import sys; from flora.cli.main import main; sys.exit(main())"
        options = ["--target", "kind", "--model", "svm", "--trials", "30", "--cv", "4", "--seed", "3"]
        return [sys.executable, "-c", flora, "search", str(data), *options, "--out", str(out)]

    undisturbed, killed = tmp_path / "undisturbed.json", tmp_path / "killed.json"
    began = time.monotonic()
    subprocess.run(command(undisturbed), check=True, capture_output=True)
    whole = time.monotonic() - began
    moments = random.Random(5)
    for _ in range(3):
        process = subprocess.Popen(
            command(killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            process.wait(timeout=moments.uniform(0.3, 0.9) * whole)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    subprocess.run(command(killed), check=True, capture_output=True)
    assert killed.read_bytes() == undisturbed.read_bytes()


def test_two_searches_on_one_file_at_once_are_refused(tmp_path: Path) -> None:
    storage = tmp_path / "study.db"

    def look(party: str, done: int, total: int) -> None:
        with pytest.raises(InputError, match="in use by another search"):
            search_locally(rows(), PLAN, SVM, party="a", storage=storage)

    search_locally(rows(), replace(PLAN, trials=1), SVM, party="a", storage=storage, progress=look)


@dataclass(frozen=True)
class Interrupted(GradientBoosting):
    """Stops in the midst of a trial, as a user may."""

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        if len(train) % 2 == 0 and config["learning_rate"] != 0.1:
            raise KeyboardInterrupt
        return super().score(config, train, test, scoring, seed, path)


@dataclass(frozen=True)
class Counted(SupportVectors):
    """An SVM that is told apart by C alone, and notes its fits in a file."""

    notes: str = ""

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        with Path(self.notes).open("a") as file:
            file.write(".")
        return [(config, 1 - abs(np.log10(float(config["C"]))) / 10 - len(test) % 2 / 100)]


class TestRaces:
    plan = replace(PLAN, folds=6, race=True)

    def test_who_is_behind_is_not_finished_and_the_best_is(self, tmp_path: Path) -> None:
        notes = tmp_path / "fits"
        found = search_locally(rows(), self.plan, Counted(notes=str(notes)), party="a").trials
        assert found[0].folds == 6  # the default, C = 1, is the best
        assert found[0].loss == pytest.approx(0.01 * 4 / 6)
        assert {trial.folds for trial in found[1:]} <= {1, 2}
        assert len(notes.read_text()) == sum(trial.folds or 0 for trial in found)
        for trial in found[1:]:
            assert trial.loss == pytest.approx(found[0].loss + abs(np.log10(float(trial.config["C"]))) / 10, abs=0.01)
            assert trial.error == pytest.approx(np.std([0.01] * 4 + [0.0] * 2, ddof=1), rel=0.5)
        whole = search_locally(rows(), PLAN, Counted(notes=str(notes)), party="a").trials
        assert {trial.folds for trial in whole} == {3}

    def test_the_same_trials_with_any_number_of_jobs(self) -> None:
        alone = search_locally(rows(), self.plan, SVM, party="a")
        assert len({trial.folds for trial in alone.trials}) > 1
        for jobs in (2, 3):
            with workers(jobs) as spread:
                assert search_locally(rows(), self.plan, SVM, party="a", spread=spread).to_json() == alone.to_json()

    def test_a_race_that_was_stopped_goes_on_as_it_was(self, tmp_path: Path) -> None:
        storage = tmp_path / "study.db"
        search_locally(rows(), replace(self.plan, trials=5), SVM, party="a", storage=storage)
        goes_on = search_locally(rows(), self.plan, SVM, party="a", storage=storage)
        assert goes_on.to_json() == search_locally(rows(), self.plan, SVM, party="a").to_json()
        with pytest.raises(InputError, match="holds another search"):
            search_locally(rows(), replace(self.plan, race=False), SVM, party="a", storage=storage)

    def test_a_search_from_before_races_goes_on_without_one(self, tmp_path: Path) -> None:
        storage = tmp_path / "study.db"
        search_locally(rows(), replace(PLAN, trials=1), SVM, party="a", storage=storage)
        database = optuna.storages.RDBStorage(f"sqlite:///{storage}")
        study = optuna.load_study(study_name="a", storage=database)
        study.set_user_attr("flora", {k: v for k, v in study.user_attrs["flora"].items() if k != "race"})
        database.engine.dispose()
        search_locally(rows(), replace(PLAN, trials=2), SVM, party="a", storage=storage)
        with pytest.raises(InputError, match="holds another search: its race is false, now true"):
            search_locally(rows(), replace(PLAN, race=True), SVM, party="a", storage=storage)

    def test_paths_race_as_wholes_and_end_where_a_fit_is_lost(self) -> None:
        plan = replace(TREES, folds=8, trials=8, race=True)
        found = search_locally(rows(80), plan, HGB, party="a").trials
        fits: dict[Any, list[Any]] = {}
        for trial in found:
            fits.setdefault(trial.config["learning_rate"], []).append(trial)
        for fit in fits.values():
            assert len({trial.folds for trial in fit}) == 1
            stops = sorted(int(trial.config["max_iter"]) for trial in fit)
            assert stops == STOPS[: len(stops)]
        assert {len(fit) for fit in fits.values()} > {len(STOPS)}  # some were lost on their way


class TestRacesOnFewFolds:
    plan = replace(PLAN, folds=6, race=True)

    @pytest.fixture(autouse=True)
    def _few_rows_are_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(race, "ENOUGH_ROWS", 20)  # of 40 rows: three of the six folds

    def test_the_best_has_all_folds_and_who_is_not_near_it_few(self, tmp_path: Path) -> None:
        notes = tmp_path / "fits"
        found = search_locally(rows(), self.plan, Counted(notes=str(notes)), party="a")
        assert found.best.folds == 6
        assert {trial.folds for trial in found.trials} <= {1, 2, 3, 6}
        assert len(notes.read_text()) == sum(trial.folds or 0 for trial in found.trials) < 12 * 3
        for trial in found.trials:
            assert trial.loss == pytest.approx(0.01 * 4 / 6 + abs(np.log10(float(trial.config["C"]))) / 10, abs=0.01)

    def test_the_same_trials_with_any_number_of_jobs(self) -> None:
        alone = search_locally(rows(), self.plan, SVM, party="a")
        with workers(2) as spread:
            assert search_locally(rows(), self.plan, SVM, party="a", spread=spread).to_json() == alone.to_json()

    def test_a_longer_search_is_that_of_one_go_and_nothing_is_measured_twice(self, tmp_path: Path) -> None:
        storage, notes = tmp_path / "study.db", tmp_path / "fits"
        family, short = Counted(notes=str(notes)), replace(self.plan, trials=5)
        before = search_locally(rows(), short, family, party="a", storage=storage)
        longer = search_locally(rows(), self.plan, family, party="a", storage=storage)
        assert longer.to_json() == search_locally(rows(), self.plan, Counted(notes=os.devnull), party="a").to_json()
        fits = len(notes.read_text())
        assert search_locally(rows(), short, family, party="a", storage=storage).to_json() == before.to_json()
        assert len(notes.read_text()) == fits

    def test_a_finished_config_has_the_losses_of_a_plain_search(self) -> None:
        plain = search_locally(rows(), replace(self.plan, trials=1, race=False), SVM, party="a")
        raced = search_locally(rows(), replace(self.plan, trials=1), SVM, party="a")
        assert raced.to_json() == plain.to_json()


class TestPaths:
    def test_one_fit_makes_a_pair_at_every_stop(self) -> None:
        found = search_locally(rows(), TREES, HGB, party="a")
        assert len(found.trials) == 4 * len(STOPS)
        assert found.trials[0].config == dict(TREES.space.default)
        for k in range(0, len(found.trials), len(STOPS)):
            fit = found.trials[k : k + len(STOPS)]
            assert sorted(int(trial.config["max_iter"]) for trial in fit) == STOPS
            assert len({tuple(sorted({**trial.config, "max_iter": 0}.items())) for trial in fit}) == 1

    def test_a_pair_of_a_path_is_that_of_a_fit_of_its_own(self) -> None:
        found = search_locally(rows(), replace(TREES, trials=1), HGB, party="a").trials
        folds = folds_of(rows(), TREES, "a", "search")
        seeds = [derived_seed(0, "a", "trial", 0, k) for k in range(3)]
        for trial in found[:3]:
            alone = [
                HGB.score(trial.config, rows().take(train), rows().take(test), "balanced_accuracy", seed)[0][1]
                for seed, (train, test) in zip(seeds, folds, strict=True)
            ]
            assert trial.loss == pytest.approx(1 - np.mean(alone))

    def test_without_paths_every_trial_is_one_pair(self) -> None:
        found = search_locally(rows(), replace(TREES, paths=False), HGB, party="a")
        assert len(found.trials) == 4
        assert len({trial.config["max_iter"] for trial in found.trials}) > 1

    def test_the_sampler_learns_from_the_best_of_a_path(self, tmp_path: Path) -> None:
        found = search_locally(rows(), TREES, HGB, party="a", storage=tmp_path / "study.db")
        storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'study.db'}")
        study = optuna.load_study(study_name="a", storage=storage)
        losses = np.array([trial.loss for trial in found.trials]).reshape(4, -1)
        assert study.trials[0].value == losses[0, 0]  # the default counts as it is
        assert [trial.value for trial in study.trials[1:]] == losses[1:].min(axis=1).tolist()
        assert "max_iter" not in study.trials[1].params
        storage.engine.dispose()

    def test_a_search_that_was_stopped_goes_on_with_its_paths(self, tmp_path: Path) -> None:
        storage = tmp_path / "study.db"
        with pytest.raises(KeyboardInterrupt):
            search_locally(rows(42), TREES, Interrupted(), party="a", storage=storage)
        search_locally(rows(42), replace(TREES, trials=3), HGB, party="a", storage=storage)
        stopped = search_locally(rows(42), TREES, HGB, party="a", storage=storage)
        assert stopped.to_json() == search_locally(rows(42), TREES, HGB, party="a").to_json()
        with pytest.raises(InputError, match="holds another search: its paths is true, now false"):
            search_locally(rows(42), replace(TREES, paths=False), HGB, party="a", storage=storage)

    def test_a_search_may_not_make_more_pairs_than_a_file_holds(self) -> None:
        with pytest.raises(InputError, match="trials must be at most 1250, for each has 8 losses, got 1251"):
            search_locally(rows(), replace(TREES, trials=1251), HGB, party="a")
        with pytest.raises(InputError, match="trials must be at most 10000, got 10001"):
            search_locally(rows(), replace(PLAN, trials=10_001), SVM, party="a")
        outside = SearchSpace(
            (Integer("max_iter", 1, 3), Real("learning_rate", 0.1, 1.0)), {"max_iter": 100, "learning_rate": 0.1}
        )
        with pytest.raises(InputError, match="trials must be at most 3333, for each has 3 losses, got 3334"):
            search_locally(rows(), replace(TREES, space=outside, trials=3334), HGB, party="a")


class TestSeconds:
    def test_a_budget_ends_the_search_after_the_trial_in_which_it_is_used_up(self, tmp_path: Path) -> None:
        rows = encode(two_moons(60, 1), describe(two_moons(60, 1), "kind"))
        whole = search_locally(rows, PLAN, SVM, party="a")
        short = search_locally(rows, replace(PLAN, seconds=1e-9), SVM, party="a", storage=tmp_path / "a.db")
        assert short.trials == whole.trials[:1]  # the default, at least
        again = search_locally(rows, replace(PLAN, seconds=1e-9), SVM, party="a", storage=tmp_path / "a.db")
        assert again.trials == short.trials  # seconds of a run before count
        longer = search_locally(rows, replace(PLAN, seconds=1e9), SVM, party="a", storage=tmp_path / "a.db")
        assert longer.trials == whole.trials

    def test_it_is_a_number_above_zero(self) -> None:
        with pytest.raises(InputError, match="seconds must be a number above 0 or null, got 0"):
            replace(PLAN, seconds=0)
