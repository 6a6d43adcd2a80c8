"""``flora-lab private --epsilon``: what noise costs, from a table of truths."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flora.party.under_noise import as_floats, variance_of_share
from flora.problem.plan import SearchPlan
from flora_lab.judge import epsilon
from flora_lab.judge.epsilon import AXES, VOTES, TruthGrid
from flora_lab.main import main
from flora_lab.store import Store
from tests.conftest import SVM_SPACE

SHAPE = len(AXES["C"]), len(AXES["gamma"])
PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", 3, 3)


class Bowl:
    """A party's surface, which is lowest at C = 10 and gamma = 0.01."""

    def mean(self, points: Any) -> Any:
        """Return the loss."""
        return ((points[:, :2] - [0.6, 0.5]) ** 2).sum(axis=1)

    def deviation(self, points: Any) -> Any:
        """Return zeros."""
        return np.zeros(len(points))


def test_a_loss_is_that_of_the_table_and_between_its_places_interpolated() -> None:
    table = np.arange(SHAPE[0] * SHAPE[1], dtype=float).reshape(SHAPE)
    assert epsilon._loss_at(table, {"C": AXES["C"][2], "gamma": AXES["gamma"][5]}) == pytest.approx(table[2, 5])
    between = {"C": 10**0.5, "gamma": AXES["gamma"][5]}
    assert epsilon._loss_at(table, between) == pytest.approx((table[2, 5] + table[3, 5]) / 2)
    assert epsilon._loss_at(table, {"C": 1e9, "gamma": 1e-9}) == pytest.approx(table[-1, 0])


def test_votes_are_about_cells_of_the_table() -> None:
    sizes = {name: len(costs) * len(gammas) for name, (costs, gammas) in VOTES.items()}
    assert sizes == {"vote on 42 cells": 42, "vote on 12 cells": 12}
    assert all(set(costs) <= set(AXES["C"]) and set(gammas) <= set(AXES["gamma"]) for costs, gammas in VOTES.values())


@pytest.mark.parametrize("parties", [20, 100])
def test_little_noise_recommends_what_none_does_and_much_noise_anything(parties: int) -> None:
    rng = np.random.default_rng(0)
    surveys = epsilon._Surveys([Bowl()] * parties, PLAN)
    near = surveys.pick(100.0, rng)
    assert np.linalg.norm(SVM_SPACE.encode([near])[0, :2] - [0.6, 0.5]) < 0.2
    votes = epsilon._Votes([Bowl()] * parties, PLAN, epsilon._cells(*VOTES["vote on 42 cells"], SVM_SPACE.default))
    chosen = {"C": 10.0, "gamma": 0.01}
    assert {name: votes.pick(None, rng)[name] for name in chosen} == chosen
    assert {name: votes.pick(100.0, rng)[name] for name in chosen} == chosen
    assert len({votes.pick(0.01, rng)["gamma"] for _ in range(20)}) > 3


def test_the_noise_of_all_shares_is_what_parties_add(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, clip, parties = np.random.default_rng(1), 0.5, 50
    total = epsilon._noisy_total(np.zeros((parties, 4_000)), clip, 2.0, rng)
    deviation = as_floats(np.array([1]), clip)[0] * np.sqrt(parties * variance_of_share(2.0, parties))
    assert total.std() == pytest.approx(deviation, rel=0.06)
    monkeypatch.setattr(epsilon, "variance_of_share", lambda *_: 0)
    one = epsilon._noisy_total(np.full((parties, 4), 9.0), clip, 2.0, rng)
    assert np.allclose(one, parties * clip / 2)


@pytest.mark.slow
def test_a_cell_is_kept_and_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(epsilon, "DRAWS", 2)
    store = Store.of(tmp_path / "results", "private", "T3-k5")
    truths = [{"config": cell, "losses": [[0.5 - 0.001 * k]]} for k, cell in enumerate(epsilon._cells(
        AXES["C"], AXES["gamma"], PLAN.space.default))]  # fmt: skip
    store.add(TruthGrid("generated-1").name, {"truths": truths})
    command = ["private", "--results", str(tmp_path / "results"), "--dataset", "generated-1", "--family", "svm"]
    command += ["--seeds", "1", "--trials", "3", "--parties", "20", "--epsilon", "4"]
    assert main([*command, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert {(line["rule"], line["epsilon"]) for line in first["lines"]} == {
        (rule, each) for rule in ("surface", *VOTES) for each in (0.0, 4.0)
    }
    assert main([*command, "--stored", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == first


def test_without_stored_cells_there_is_nothing_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["private", "--results", str(tmp_path), "--stored", "--epsilon", "1"]) == 2
    assert "has none of what was asked for" in capsys.readouterr().err
