"""The number of trees is one that the parties' held-out rows like as well as any, together."""

from functools import partial

import numpy as np
import pytest

from flora.core.collective import Alone, Collective
from flora.core.threads import in_step
from flora.models.family import Held, Trained
from flora.models.hgb.family import GradientBoosting
from flora.models.hgb.model import BoostedTrees
from flora.models.hgb.tree_count import best_tree_count, row_losses
from flora.models.rows import Rows
from tests.models.hgb.tables import schema_of

HGB = GradientBoosting()
FAST = {"max_iter": 30, "learning_rate": 0.3, "min_samples_leaf": 5}
SCORING = {"numbers": "r2", "two": "balanced_accuracy", "three": "neg_log_loss"}


def rows(task: str, count: int = 400, noise: float = 0.5) -> Rows:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(count, 4))
    noisy = X[:, 0] + X[:, 1] ** 2 + rng.normal(0, noise, count)
    y = {"numbers": noisy, "two": (noisy > 1).astype(int), "three": np.digitize(noisy, [0, 2])}[task]
    return Rows(X, y, schema_of([0] * 4, {"numbers": 0, "two": 2, "three": 3}[task]))


@pytest.mark.parametrize("scoring", ["r2", "balanced_accuracy", "accuracy", "neg_log_loss", "roc_auc_ovr"])
def test_losses_are_the_cut_models_own(scoring: str) -> None:
    whole = rows("numbers" if scoring == "r2" else "three")
    kept, held = whole.take(np.arange(300)), whole.take(np.arange(300, 400))
    model = HGB.train(FAST, kept, Alone(), 0).model
    losses = row_losses(model, Held(held, scoring), Alone())
    for count in (1, 7, 30):
        cut = model.cut(count)
        probabilities = cut.predict_proba(held.X)
        if probabilities is None:
            expected = (cut.predict(held.X) - held.y) ** 2
        elif scoring in ("neg_log_loss", "roc_auc_ovr"):
            expected = -np.log(probabilities[np.arange(len(held)), held.y])
        else:
            classes = np.bincount(held.y) if scoring == "balanced_accuracy" else np.ones(3)
            expected = (cut.predict(held.X) != held.y) / classes[held.y]
        np.testing.assert_allclose(losses[:, count - 1], expected, rtol=1e-9)


def test_two_classes_have_their_log_loss() -> None:
    whole = rows("two")
    model = HGB.train(FAST, whole, Alone(), 0).model
    losses = row_losses(model, Held(whole, "roc_auc"), Alone())
    probabilities = model.predict_proba(whole.X)
    assert probabilities is not None
    np.testing.assert_allclose(losses[:, -1], -np.log(probabilities[np.arange(400), whole.y]), rtol=1e-9)


@pytest.mark.parametrize("task", SCORING)
def test_parties_choose_together_what_one_with_all_their_rows_would(task: str) -> None:
    whole = rows(task)
    kept = [whole.take(np.arange(k, 300, 2)) for k in range(2)]
    held = [whole.take(np.arange(300, 370)), whole.take(np.arange(370, 400))]

    def share(rank: int, collective: Collective) -> Trained[BoostedTrees]:
        return HGB.train(FAST, kept[rank], collective, 0, Held(held[rank], SCORING[task]))

    one, other = in_step([partial(share, rank) for rank in range(2)])
    full = HGB.train_together(FAST, kept, 0).model
    best = best_tree_count(full, Held(whole.take(np.arange(300, 400)), SCORING[task]), Alone())
    assert one.config == other.config == {**FAST, "max_iter": best}
    assert one.model.files() == other.model.files() == full.cut(best).files()


def test_too_many_trees_are_not_taken_where_the_rows_can_tell() -> None:
    whole = rows("numbers", 1200, noise=2.0)
    kept, held = whole.take(np.arange(300)), whole.take(np.arange(300, 1200))
    chosen = HGB.train({**FAST, "max_iter": 200}, kept, Alone(), 0, Held(held, "r2"))
    count = int(chosen.config["max_iter"])
    assert count < 100
    all_trees, cut = HGB.train({**FAST, "max_iter": 200}, kept, Alone(), 0).model, chosen.model
    errors = [np.mean((model.predict(held.X) - held.y) ** 2) for model in (cut, all_trees)]
    assert errors[0] < errors[1]


def test_of_what_the_rows_cannot_tell_apart_the_most_trees_are_taken() -> None:
    whole = rows("two", 400)
    model = HGB.train(FAST, whole, Alone(), 0).model
    nothing = Held(whole.take(np.arange(0)), "balanced_accuracy")
    assert row_losses(model, nothing, Alone()).shape == (0, 30)
    assert best_tree_count(model, nothing, Alone()) == 30
    few = Held(whole.take(np.arange(3)), "balanced_accuracy")
    assert best_tree_count(model, few, Alone()) == 30
