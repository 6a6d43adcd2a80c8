import json
from dataclasses import replace
from typing import Any

import pytest

from flora.core.codec import read, to_document
from flora.errors import InputError
from flora.problem.plan import SearchPlan, first_difference
from flora.problem.space import Real, SearchSpace

SPACE = SearchSpace((Real("C", 0.01, 1000.0, "log"),), {"C": 1})
PLAN = SearchPlan("svm", "classification", SPACE, "balanced_accuracy", trials=20, folds=5, send=7, seed=3)


def test_a_plan_comes_back_from_its_json() -> None:
    assert read(SearchPlan, json.loads(json.dumps(to_document(PLAN)))) == PLAN


def test_a_plan_that_says_little_has_the_papers_defaults() -> None:
    little = {"family": "svm", "task": "classification", "space": SPACE.to_json(), "scoring": "r2"}
    assert read(SearchPlan, little) == SearchPlan("svm", "classification", SPACE, "r2", 100, 10, "tpe", None, 0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"trials": 0}, "trials must be a whole number of at least 1, got 0"),
        ({"trials": 2.5}, "trials must be a whole number, got 2.5"),
        ({"trials": True}, "trials must be a whole number, got True"),
        ({"folds": 1}, "cv must be a whole number of at least 2, got 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"send": 0}, "send must be a whole number of at least 1, got 0"),
        ({"send": 1.5}, "send must be a whole number or null, got 1.5"),
        ({"sampler": 3}, "sampler must be at most 1000 printable characters, got 3"),
        ({"task": "ranking"}, r"task must be one of \['classification', 'regression'\], got 'ranking'"),
        ({"family": "s\nvm"}, r"family must be at most 1000 printable characters, got 's\\nvm'"),
        ({"scoring": []}, r"scoring must be at most 1000 printable characters, got \[\]"),
        ({"paths": 1}, "paths must be true or false, got 1"),
        ({"race": 0}, "race must be true or false, got 0"),
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
        {"paths": False},
        {"race": True},
    ],
)
def test_another_search_has_another_identity(change: dict[str, Any]) -> None:
    assert replace(PLAN, **change).identity() != PLAN.identity()


def test_a_plan_with_other_fields_is_refused() -> None:
    document = to_document(PLAN)
    with pytest.raises(InputError, match="plan has the unknown field 'code', it has"):
        read(SearchPlan, {**document, "code": "x"}, "plan")
    document.pop("scoring")
    with pytest.raises(InputError, match="plan lacks the field 'scoring'"):
        read(SearchPlan, document, "plan")
    bad = {"n": {"type": "int", "range": [9, 1], "default": 5}}
    with pytest.raises(InputError, match=r"plan\.space: n: need low < high"):
        read(SearchPlan, {**document, "scoring": "r2", "space": bad}, "plan")


def test_the_first_difference_is_said_in_words() -> None:
    assert first_difference({"seed": 1, "folds": 3}, {"seed": 1, "folds": 3}) is None
    assert first_difference({"seed": 1}, {"seed": 1, "folds": 3}) == "its folds is null, now 3"
    long = first_difference({"space": {"C": "x" * 100}}, {"space": {}})
    assert long == f"its space is {json.dumps({'C': 'x' * 100})[:57]}..., now {{}}"
