import json
from dataclasses import replace
from typing import Any

import pytest

from flora.errors import InputError
from flora.plan import SearchPlan
from flora.space import Real, SearchSpace

SPACE = SearchSpace((Real("C", 0.01, 1000.0, "log"),), {"C": 1})
PLAN = SearchPlan("svm", "classification", SPACE, "balanced_accuracy", trials=20, folds=5, send=7, seed=3)


def test_a_plan_comes_back_from_its_json() -> None:
    assert SearchPlan.from_json(json.loads(json.dumps(PLAN.to_json()))) == PLAN


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"trials": 0}, "trials must be a whole number of at least 1, got 0"),
        ({"trials": 2.5}, "trials must be a whole number of at least 1, got 2.5"),
        ({"trials": True}, "trials must be a whole number of at least 1, got True"),
        ({"folds": 1}, "cv must be a whole number of at least 2, got 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"send": 0}, "send must be a whole number of at least 1, got 0"),
        ({"sampler": "grid"}, "the sampler must be one of .* got 'grid'"),
        ({"space": SearchSpace(SPACE.parameters)}, "the space needs a default config"),
    ],
)
def test_a_plan_is_true_from_birth(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        replace(PLAN, **change)


@pytest.mark.parametrize("change", [{"trials": 200}, {"send": None}])
def test_a_search_may_be_made_longer(change: dict[str, Any]) -> None:
    assert replace(PLAN, **change).identity() == PLAN.identity()


@pytest.mark.parametrize(
    "change",
    [
        {"family": "mlp"},
        {"task": "regression"},
        {"space": SearchSpace(SPACE.parameters, {"C": 2})},
        {"scoring": "accuracy"},
        {"folds": 6},
        {"sampler": "random"},
        {"seed": 4},
    ],
)
def test_another_search_has_another_identity(change: dict[str, Any]) -> None:
    assert replace(PLAN, **change).identity() != PLAN.identity()


def test_a_plan_with_other_fields_is_refused() -> None:
    document = PLAN.to_json()
    with pytest.raises(InputError, match=r"a search plan has the fields .* got .*'code'"):
        SearchPlan.from_json({**document, "code": "x"})
    document.pop("seed")
    with pytest.raises(InputError, match="a search plan has the fields"):
        SearchPlan.from_json(document)
