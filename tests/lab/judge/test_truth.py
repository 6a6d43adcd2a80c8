"""What is measured on all rows: of what may be trained, and of what that is compared with."""

import pytest

from flora.errors import FloraError
from flora.models import family_of
from flora.models.rows import Rows, encode
from flora.party.tables.table import describe
from flora.problem.space import Config
from flora.program.request import Request
from flora_lab.datasets import made_up
from flora_lab.judge.truth import measure_truths

TRAINED: Config = {"max_iter": 27, "learning_rate": 0.02, "min_samples_leaf": 5, "l2_regularization": 0.01}
OTHER: Config = {"max_iter": 33, "learning_rate": 0.3, "min_samples_leaf": 2, "l2_regularization": 0.5}
PLAN = Request("hgb", "paper", trials=2, folds=2).plan("classification")


@pytest.fixture(scope="module")
def rows() -> Rows:
    table = made_up("design", 400, 6, n_informative=5, n_redundant=0, flip_y=0.0, random_state=3).read(None)
    return encode(table, describe(table, "target"))


def test_a_training_by_many_goes_past_the_range_and_counts_in_it_too(rows: Rows) -> None:
    alone, many = (
        measure_truths(
            rows,
            PLAN,
            family_of("hgb"),
            trained=[TRAINED, {**TRAINED, "max_iter": 45}],
            others=[OTHER],
            parties=parties,
        )
        for parties in (1, 32)
    )
    assert [len(each) for each in (alone, many)] == [2, 2]  # one config along its path, and the other
    assert max(alone[0].chosen) <= 200 < max(many[0].chosen) <= 800  # slow learning: more trees are better
    assert alone[0].chosen == alone[0].chosen_in_range == many[0].chosen_in_range
    assert {27, 45, *many[0].chosen, *alone[0].chosen} <= set(many[0].stops)
    assert many[0].at(100) == alone[0].at(100)
    assert many[0].as_chosen(in_range=True) == alone[0].as_chosen()


def test_another_is_known_at_its_own_place_alone(rows: Rows) -> None:
    found = measure_truths(rows, PLAN, family_of("hgb"), trained=[TRAINED], others=[OTHER], parties=32)[1]
    assert 33 in found.stops
    assert found.stops[-1] == 200
    with pytest.raises(FloraError, match="was not trained as a candidate is"):
        found.as_chosen()


def test_without_a_path_each_config_is_one_truth(rows: Rows) -> None:
    plan = Request("svm", trials=2, folds=2).plan("classification")
    config = dict(plan.space.default)
    found = measure_truths(
        rows, plan, family_of("svm"), trained=[config], others=[config, {**config, "C": 9.0}], parties=3
    )
    assert [truth.config for truth in found] == [config, {**config, "C": 9.0}]
    assert all(len(truth.losses) == 1 and not truth.stops for truth in found)
