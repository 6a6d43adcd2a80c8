"""Scorings and targets that go together, and those that do not."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import pytest
from sklearn.metrics import get_scorer_names

from flora.engines.threads import in_process
from flora.errors import InputError
from flora.models.model_file import unpack
from flora.outcome.evaluation import evaluate
from flora.problem.schema import Column, Label, Schema, Task
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.result import result_of
from flora.program.scoring import (
    OF_CLUSTERS,
    OF_NUMBERS,
    OF_TWO_CLASSES,
    WITHOUT_WEIGHTS,
    check_scoring,
    positive_class,
    scoring_notes,
    target_notes,
)
from flora.program.single_shot import Outcome, single_shot
from tests.conftest import gate, two_moons

TWO = Schema("y", "classification", (), ("ill", "well"))
THREE = Schema("y", "classification", (), (0, 1, 2))
NUMBERS = Schema("y", "regression", ())


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "f1", "neg_log_loss", "f1_macro"])
def test_what_goes_with_two_classes(scoring: str) -> None:
    check_scoring(scoring, TWO)


@pytest.mark.parametrize(
    ("scoring", "schema", "says"),
    [
        ("r2", TWO, "scoring 'r2' does not go with a classification; take one such as balanced_accuracy"),
        ("neg_mean_squared_error", THREE, "does not go with a classification"),
        ("accuracy", NUMBERS, "scoring 'accuracy' does not go with a regression; take one such as r2"),
        ("f1", THREE, "is of two classes, and 'y' has 3; take one such as f1_macro"),
        ("rand_score", TWO, "is of clusters"),
        ("exactness", None, "must be one of scikit-learn's scorers"),
    ],
)
def test_what_does_not_go_together_is_refused(scoring: str, schema: Schema | None, says: str) -> None:
    with pytest.raises(InputError, match=says):
        check_scoring(scoring, schema)


def test_the_lists_name_scikit_learns_scorers() -> None:
    known = set(get_scorer_names())
    assert known >= OF_CLUSTERS | OF_TWO_CLASSES
    assert len(OF_NUMBERS - known) <= 1  # scikit-learn has renamed max_error
    assert all(name in OF_NUMBERS for name in known if name.startswith("neg_") and name.endswith(("error", "deviance")))


def test_the_positive_class_is_said() -> None:
    said = "f1 asks how well the class 'well' is found, the last by order; --positive names another"
    assert scoring_notes("f1", TWO) == (said,)
    assert scoring_notes("accuracy", TWO) == ()
    request = Request(family="svm", trials=2, folds=2, confirm=0, trainings=0, scoring="recall")
    outcome = drive(single_shot(request), in_process([gate("a", two_moons(40, 1)), gate("b", two_moons(40, 2))]))
    assert (
        "recall asks how well the class 'upper' is found, the last by order; --positive names another" in outcome.notes
    )


@pytest.mark.parametrize(
    ("asked", "scoring", "schema", "positive"),
    [
        (None, "f1", TWO, None),
        ("ill", "f1", TWO, "ill"),
        ("well", "average_precision", TWO, "well"),
        ("0", "recall", Schema("y", "classification", (), (0, 1)), 0),  # as it is typed
        ("True", "f1", Schema("y", "classification", (), (False, True)), True),
        (None, "f1", Schema("y", "classification", (), ("well", "ill")), "ill"),  # the consortium's own order
        (None, "accuracy", Schema("y", "classification", (), ("well", "ill")), None),
    ],
)
def test_the_class_that_is_asked_for(asked: str | None, scoring: str, schema: Schema, positive: object) -> None:
    found = positive_class(asked, scoring, schema)
    assert (type(found), found) == (type(positive), positive)


@pytest.mark.parametrize(
    ("scoring", "schema", "says"),
    [
        ("f1", TWO, r"must be one of \['ill', 'well'\], got 'healthy'"),
        ("accuracy", TWO, "goes with two classes and a scoring such as f1, and 'accuracy' asks for none"),
        ("f1_macro", THREE, "'y' has 3"),
        ("r2", NUMBERS, "'y' is a number"),
    ],
)
def test_a_positive_class_that_makes_no_sense_is_refused(scoring: str, schema: Schema, says: str) -> None:
    with pytest.raises(InputError, match=says):
        positive_class("healthy", scoring, schema)


@pytest.mark.parametrize("family", ["svm", "hgb", "mlp"])
def test_another_positive_class_is_what_search_confirmation_comparison_and_model_are_asked_for(family: str) -> None:
    """The same rows with their labels' order turned around are scored alike, to the last digit of a search."""
    tables = {
        name: two_moons(60, seed).replace({"kind": {"upper": "b", "lower": "a"}}) for name, seed in (("n", 1), ("s", 2))
    }
    turned = {name: table.replace({"kind": {"a": "c"}}) for name, table in tables.items()}  # last without being told
    request = Request(family=family, trials=2, folds=2, confirm=1, trainings=5, scoring="recall")

    def run(tables: Mapping[str, pd.DataFrame], positive: str | None) -> Outcome:
        gates = [gate(name, table) for name, table in tables.items()]
        return drive(single_shot(replace(request, positive=positive)), in_process(gates))

    told, known, other = run(tables, "a"), run(turned, None), run(tables, None)
    assert told.schema is not None
    assert told.schema.classes == ("b", "a")
    losses = [
        [
            *(trial.loss for party in outcome.found.trials for trial in party.trials),
            *(each.trial.loss for each in outcome.found.confirmed["n"]),
            *(training.loss for training in outcome.trainings if training.loss is not None),
        ]
        for outcome in (told, known, other)
    ]
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]
    assert "recall asks how well the class 'a' is found, as was asked for" in told.notes
    result = result_of(told, request, {})
    assert (result.positive, result.scored) == ("a", "recall of 'a'")
    stored = unpack(told.model)
    assert evaluate(stored, tables["n"], result).positive == "a"


def test_a_run_with_a_scoring_of_numbers_ends_before_the_search() -> None:
    steps = []
    gates = [gate("a", two_moons(40, 1))]

    def watched(step: object) -> object:
        steps.append(step)
        return in_process(gates)(step)  # type: ignore[arg-type]

    with pytest.raises(InputError, match="does not go with a classification"):
        drive(single_shot(Request(family="svm", scoring="r2")), watched)  # type: ignore[arg-type]
    assert len(steps) == 1


def test_scorings_that_know_no_weights_are_scikit_learns_and_refused_with_weights() -> None:
    from sklearn.metrics import get_scorer, get_scorer_names

    known = {name for name in get_scorer_names() if not get_scorer(name)._accept_sample_weight()}
    assert known - OF_CLUSTERS <= WITHOUT_WEIGHTS
    weighted = Schema("y", "regression", (Column("x", "numeric"),), weight="w")
    with pytest.raises(InputError, match=r"'neg_max_error' knows no weights, and rows count by 'w'"):
        check_scoring("neg_max_error", weighted)
    assert scoring_notes("r2", weighted) == ("rows count by 'w', in trainings and in scores",)


@pytest.mark.parametrize(
    ("classes", "task", "said"),
    [
        ((0, 1, 2), None, True),
        ((0, 1), None, False),
        (("a", "b", "c"), None, False),
        ((0, 1, 2), "classification", False),
    ],
)
def test_whole_numbers_taken_for_classes_are_said(classes: tuple[Label, ...], task: Task | None, said: bool) -> None:
    notes = target_notes(Schema("grade", "classification", (Column("x", "numeric"),), classes), task)
    assert bool(notes) == said
    assert not said or notes == (
        "'grade': its 3 whole numbers are taken for classes; --task regression predicts a quantity",
    )
