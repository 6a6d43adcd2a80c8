import numpy as np
import pytest

from flora.models.hgb import path_scores
from flora.models.hgb.boosting import Boosting
from flora.models.hgb.path_scores import Fold
from flora.models.hgb.settings import Settings
from flora.models.recent import Recent
from flora.models.rows import Rows
from tests.models.hgb.tables import table


def halves(kind: str = "categories", classes: int = 3) -> tuple[Rows, Rows]:
    rows = table(kind, classes, 600)
    return rows.take(np.arange(0, 600, 2)), rows.take(np.arange(1, 600, 2))


def test_who_has_heard_enough_ends_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = []
    whole = Boosting._iteration

    def noted(boosting: Boosting) -> object:
        grown.append(1)
        return whole(boosting)

    monkeypatch.setattr(Boosting, "_iteration", noted)
    fold = Fold.of(*halves(), 255)
    for count, score in fold.scores(Settings(max_iter=40), [3, 8, 40], "accuracy", 0):
        assert 0 <= score <= 1
        if count == 8:
            break
    assert len(grown) == 8


def test_scores_come_in_order_and_once_each() -> None:
    fold = Fold.of(*halves("numbers", 0), 255)
    scores = list(fold.scores(Settings(max_iter=9), [9, 2, 2, 5], "r2", 0))
    assert [count for count, _ in scores] == [2, 5, 9]
    assert scores == list(fold.scores(Settings(max_iter=9), [2, 5, 9], "r2", 0))


def test_a_fold_is_recalled_and_only_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_scores, "_recent", Recent())
    train, test = halves()
    first = Fold.recalled(train, test, 255)
    again = Fold.recalled(Rows(train.X.copy(), train.y.copy(), train.schema), test, 255)
    assert again is first
    assert Fold.recalled(train, test, 16) is not first
    moved = train.X.copy()
    moved[0, 4] += 1
    assert Fold.recalled(Rows(moved, train.y, train.schema), test, 255) is not first
    other = train.y.copy()
    other[0] = (other[0] + 1) % 3
    assert Fold.recalled(Rows(train.X, other, train.schema), test, 255) is not first
    assert Fold.recalled(train, train, 255) is not first
