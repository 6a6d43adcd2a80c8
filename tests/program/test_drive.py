from collections.abc import Iterator

import pytest

from flora.errors import FloraError, InputError
from flora.problem.messages import Describe, DescribeReply, Reply, Search, SearchReply, Step
from flora.problem.plan import SearchPlan
from flora.program.drive import Program, asked, drive, timed
from tests.conftest import SVM_SPACE

PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy")


def two_steps() -> Program[list[str]]:
    first = yield Describe()
    rows = sum(reply.rows for reply in first)
    second = yield Describe(task="regression" if rows == 6 else "classification")
    return [reply.party for reply in second]


def test_replies_come_sorted_and_the_programs_value_comes_out() -> None:
    steps = []

    def ask(step: Step) -> Iterator[Reply]:
        steps.append(step)
        return (DescribeReply(party, rows) for party, rows in (("c", 1), ("a", 2), ("b", 3)))

    assert drive(two_steps(), ask) == ["a", "b", "c"]
    assert steps == [Describe(), Describe(task="regression")]


def test_a_program_without_steps_asks_nobody() -> None:
    def nothing() -> Program[int]:
        return 7
        yield Describe()

    assert drive(nothing(), lambda _: pytest.fail("asked")) == 7


def test_two_parties_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="party names must differ, 'a' comes twice"):
        drive(two_steps(), lambda _: [DescribeReply("a", 1), DescribeReply("b", 1), DescribeReply("a", 1)])


@pytest.mark.parametrize("error", [ValueError("broken"), StopIteration("broken")])
def test_an_engines_error_is_not_taken_for_the_end(error: Exception) -> None:
    def ask(step: Step) -> list[Reply]:
        raise error

    with pytest.raises(type(error), match="broken"):
        drive(two_steps(), ask)


def test_a_reply_of_another_kind_is_refused_by_name() -> None:
    def searches() -> Program[int]:
        return len((yield from asked(Search(PLAN), SearchReply)))

    with pytest.raises(FloraError, match="party 'a' answered 'search' with a DescribeReply"):
        drive(searches(), lambda _: [DescribeReply("a", 1)])


def test_the_seconds_of_several_steps_of_a_kind_add_up() -> None:
    seconds = {"describe": 1000.0}
    drive(two_steps(), timed(lambda _: [DescribeReply("a", 1)], seconds))
    assert list(seconds) == ["describe"]
    assert seconds["describe"] > 1000.0
