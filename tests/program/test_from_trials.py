"""What is learnt from trials that are there already: how they were searched is known from themselves, or not at all."""

from dataclasses import replace

import pytest

from flora.errors import TrialsError
from flora.problem.messages import Step
from flora.problem.trials import PartyTrials, Trial
from flora.program.drive import drive
from flora.program.from_trials import plan_of, recommend_from
from flora.program.request import Request
from tests.conftest import SVM_SPACE

DEFAULT = dict(SVM_SPACE.default)


def trials(party: str) -> PartyTrials:
    tried = (Trial(DEFAULT, 0.2, 0.01, 5), Trial({"C": 9.0, "gamma": 0.2, "tol": 1e-3}, 0.1, 0.01, 5))
    return PartyTrials(party, 60, SVM_SPACE, "balanced_accuracy", tried, (), "svm", "classification")


def nobody(step: Step) -> list[object]:
    raise AssertionError(f"nobody is to be asked for {step.name!r}")


def test_a_plan_is_known_where_the_files_say_enough() -> None:
    plan = plan_of([trials("b"), trials("a")], 4)
    assert plan is not None
    assert (plan.family, plan.task, plan.folds, plan.seed) == ("svm", "classification", 5, 4)
    for missing in ({"family": None}, {"task": None}, {"trials": (Trial(DEFAULT, 0.2),)}):
        assert plan_of([replace(trials("a"), **missing)], 4) is None


def test_without_a_confirmation_nobody_is_asked() -> None:
    both = [trials("a"), trials("b")]
    outcome = drive(recommend_from(both, Request(confirm=0)), nobody)  # type: ignore[arg-type]
    assert outcome.found.trials == tuple(both)
    assert outcome.plan == plan_of(both, 0)
    assert outcome.trained is None


def test_what_cannot_be_confirmed_is_said_before_anybody_is_asked() -> None:
    unknown = [replace(trials("a"), family=None)]
    with pytest.raises(TrialsError, match="'a': without a family, a task and folds"):
        drive(recommend_from(unknown, Request(confirm=3)), nobody)  # type: ignore[arg-type]
