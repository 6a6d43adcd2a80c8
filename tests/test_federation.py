from collections.abc import Iterator
from dataclasses import fields

import pytest

from flora.errors import InputError
from flora.federation import Confirmation, Program, Reply, Step, drive
from flora.trials import Trial


def test_exactly_these_fields_leave_a_party() -> None:
    names = ["party", "rows", "schema", "trials", "confirmations", "sketch", "curves", "model"]
    names += ["trained", "held_loss", "notes"]
    assert [field.name for field in fields(Reply)] == names
    assert [field.name for field in fields(Confirmation)] == ["trial", "gain", "gain_error"]


def two_steps() -> Program[list[str]]:
    first = yield Step("describe")
    second = yield Step("train", {"rows": sum(reply.rows for reply in first)})
    return [reply.party for reply in second]


def test_replies_come_sorted_and_the_programs_value_comes_out() -> None:
    asked = []

    def ask(step: Step) -> Iterator[Reply]:
        asked.append((step.name, dict(step.payload)))
        return (Reply(party, rows) for party, rows in (("c", 1), ("a", 2), ("b", 3)))

    assert drive(two_steps(), ask) == ["a", "b", "c"]
    assert asked == [("describe", {}), ("train", {"rows": 6})]


def test_a_program_without_steps_asks_nobody() -> None:
    def nothing() -> Program[int]:
        return 7
        yield Step("describe")

    assert drive(nothing(), lambda _: pytest.fail("asked")) == 7


def test_two_parties_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="party names must differ, 'a' comes twice"):
        drive(two_steps(), lambda _: [Reply("a", 1), Reply("b", 1), Reply("a", 1)])


@pytest.mark.parametrize("error", [ValueError("broken"), StopIteration("broken")])
def test_an_engines_error_is_not_taken_for_the_end(error: Exception) -> None:
    def ask(step: Step) -> list[Reply]:
        raise error

    with pytest.raises(type(error), match="broken"):
        drive(two_steps(), ask)


def test_a_confirmation_knows_its_config() -> None:
    assert Confirmation(Trial({"C": 1.0}, 0.5), 0.1, 0.01).config == {"C": 1.0}
