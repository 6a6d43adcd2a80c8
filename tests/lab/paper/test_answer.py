"""FLoRA's own answer in a cell of the paper: the product's program, the paper's models."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flora.core.codec import read
from flora.core.collective import Alone
from flora.models.family import Held
from flora.models.hgb.family import GradientBoosting
from flora.party.training import leave_out
from flora.problem.path import HELD
from flora.randomness import derived_seed, stream
from flora_lab.cells import Cell, Protocol
from flora_lab.evidence import RunEvidence
from flora_lab.paper.answer import PaperAnswer, answers_of
from flora_lab.paper.as_published import SEED, AuthorsModel
from flora_lab.paper.boxes import box_of
from flora_lab.paper.pooled import Pooled
from flora_lab.paper.searches import PaperSearch, tables_of
from flora_lab.pieces import POOLED, Bench

CELL = Cell("svm", "sonar", 2, "paper", SEED)
TREES = replace(CELL, family="hgb")


def bench(data: Path, **changes: int) -> Bench:
    protocol = {"trials": 8, "folds": 2, "central": 5, "random": 3, **changes}
    return Bench(data / "answers", "paper", data, Protocol(**protocol))


def test_the_choice_is_confirmed_by_all_parties_and_compared_by_trainings(small_data: Path) -> None:
    place = bench(small_data)
    answer = PaperAnswer(CELL).read(place)
    assert sorted(answer["confirmed"]) == ["party-1", "party-2"]
    for said in answer["confirmed"].values():
        assert said[0]["config"] == box_of("svm", "published").default
        assert answer["config"] in [each["config"] for each in said]
    losses = answer["evidence"]["trained"]
    assert losses["guesses"] == [0.5, 0.5]
    assert len(losses["default"]) == len(losses["recommended"]) == 2  # 8 trials of 2 folds pay for so many
    gain = float(np.mean(np.subtract(losses["default"], losses["recommended"])))
    verdict = read(RunEvidence, answer["evidence"]).verdict(2)
    assert verdict.basis == "trained"
    assert verdict.gain.estimate == pytest.approx(gain)
    assert answer["score"] == Pooled.of(CELL, place).score(answer["config"])
    assert answer["default_counted"] is None  # there is nothing to count


def test_a_training_leaves_out_a_fold_of_every_partys_rows(small_data: Path) -> None:
    place = bench(small_data)
    answer = PaperAnswer(CELL).read(place)
    parties = {party: PaperSearch(CELL, party).rows(place) for party in tables_of(CELL, small_data)}
    pairs = [leave_out(rows, 1, 2, stream(CELL.seed, name, "fold")) for name, rows in parties.items()]
    (kept_X, kept_y), (left_X, left_y) = (
        (np.concatenate([pair[k].X for pair in pairs]), np.concatenate([pair[k].y for pair in pairs])) for k in (0, 1)
    )
    schema = pairs[0][0].schema
    [(_, score)] = AuthorsModel.of("svm").score(
        box_of("svm", "published").default,
        type(pairs[0][0])(kept_X, kept_y, schema),
        type(pairs[0][0])(left_X, left_y, schema),
        "balanced_accuracy",
        0,
    )
    assert answer["evidence"]["trained"]["default"][1] == pytest.approx(1 - score, abs=1e-12)


def counted_by_hand(place: Bench, trees: int) -> float:
    """The default with its trees counted in each fold, with nothing of the answer's own code."""
    pooled, scores = Pooled.of(TREES, place), []
    default = box_of("hgb", "published").default
    for train, test in pooled.rows.folds(SEED, "search"):
        kept, held = leave_out(pooled.rows.take(train), 1, 3, stream(SEED, POOLED, "held"))
        judge = Held(held, "balanced_accuracy")
        found = GradientBoosting().train(
            {**default, "max_iter": trees}, kept, Alone(), derived_seed(SEED, "train"), judge
        )
        fitted, left = (pooled.rows.take(places) for places in (train, test))
        scores.append(AuthorsModel.of("hgb").score(found.config, fitted, left, "balanced_accuracy", 0)[0][1])
    return float(np.mean(scores))


@pytest.mark.slow
def test_trees_are_counted_where_the_training_would_count_them(
    small_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert round(1 / HELD) == 3
    place = bench(small_data)
    few = PaperAnswer(TREES).read(place)
    expected = counted_by_hand(place, 264)  # 200, times two parties to the power of 0.4
    assert few["default_counted"] == expected
    assert few["counts"] is False
    assert few["score"] == Pooled.of(TREES, place).score(few["config"])
    assert {c["config"]["max_iter"] for c in few["confirmed"]["party-1"]} >= {10, 200}  # along the path
    monkeypatch.setattr("flora.problem.path.ENOUGH", 60)
    many: dict[str, Any] = PaperAnswer(TREES).compute(place)
    assert many["counts"] is True
    assert many["default_counted"] == expected
    assert many["score"] == Pooled.of(TREES, place).counted_score({**many["config"], "max_iter": 264})


def test_only_cells_with_all_pairs_have_an_answer() -> None:
    others = [replace(CELL, trials=5), replace(CELL, send=5), replace(CELL, box="wide")]
    bed = Cell("hgb", "oil-spill", 3, "n200-h40", SEED)
    assert answers_of([CELL, TREES, *others, bed]) == [PaperAnswer(CELL), PaperAnswer(TREES)]
