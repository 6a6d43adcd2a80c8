"""The number of trees is the one that the parties' held-out rows like best, together."""

from functools import partial

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

from flora.collective import Alone, Collective
from flora.engines.inprocess import in_step
from flora.models import Trained
from flora.models.hgb import BoostedTrees, GradientBoosting
from flora.models.tree_count import losses_along
from flora.table import Rows, describe, encode

HGB = GradientBoosting()
FAST = {"max_iter": 60, "learning_rate": 0.3, "min_samples_leaf": 5}


def rows(task: str, count: int = 400) -> Rows:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(count, 4))
    noisy = X[:, 0] + X[:, 1] ** 2 + rng.normal(0, 0.5, count)
    y = {"numbers": noisy, "two": (noisy > 1).astype(int), "three": np.digitize(noisy, [0, 2])}[task]
    table = pd.DataFrame(X, columns=list("abcd")).assign(y=y if task == "numbers" else y.astype(str))
    return encode(table, describe(table, "y"))


@pytest.mark.parametrize("task", ["numbers", "two", "three"])
def test_losses_are_those_of_the_cut_model(task: str) -> None:
    whole = rows(task)
    kept, held = whole.take(np.arange(300)), whole.take(np.arange(300, 400))
    model = HGB.train(FAST, kept, Alone(), 0).model
    losses = losses_along(model.booster, held)
    for count in (1, 7, 60):
        cut = model.cut(count)
        probabilities = cut.predict_proba(held.X)
        if probabilities is None:
            expected = np.sum((cut.predict(held.X) - held.y) ** 2)
        else:
            expected = -np.log(probabilities[np.arange(len(held)), held.y]).sum()
        assert losses[count - 1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("task", ["numbers", "two", "three"])
def test_parties_choose_together_what_is_best_on_all_their_held_out_rows(task: str) -> None:
    whole = rows(task)
    kept = [whole.take(np.arange(k, 300, 2)) for k in range(2)]
    held = [whole.take(np.arange(300, 370)), whole.take(np.arange(370, 400))]

    def share(rank: int, collective: Collective) -> Trained[BoostedTrees]:
        return HGB.train(FAST, kept[rank], collective, 0, held[rank])

    one, other = in_step([partial(share, rank) for rank in range(2)])
    full = in_step([partial(lambda rank, end: HGB.train(FAST, kept[rank], end, 0), rank) for rank in range(2)])[0].model
    best = int(np.argmin(sum(losses_along(full.booster, part) for part in held))) + 1
    assert one.config == other.config == {**FAST, "max_iter": best}
    assert 1 < best < 60  # it overfits long before the end
    assert one.model.files() == other.model.files()
    assert one.model.booster.current_iteration() == best
    np.testing.assert_array_equal(one.model.predict(whole.X), full.cut(best).predict(whole.X))


def test_a_party_without_held_out_rows_leaves_the_choice_to_the_others() -> None:
    whole = rows("two")
    none = whole.take(np.arange(0))
    booster: lgb.Booster = HGB.train({**FAST, "max_iter": 5}, whole, Alone(), 0).model.booster
    assert losses_along(booster, none).tolist() == [0.0] * 5


def test_the_chosen_number_goes_by_the_name_that_the_config_uses() -> None:
    whole = rows("two")
    config = {"num_iterations": 30, "learning_rate": 0.5}
    chosen = HGB.train(config, whole.take(np.arange(300)), Alone(), 0, whole.take(np.arange(300, 400))).config
    assert set(chosen) == set(config)
    assert int(chosen["num_iterations"]) < 30
