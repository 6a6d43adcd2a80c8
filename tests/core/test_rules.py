"""What may be in a record's fields: each type, each rule, and what a message quotes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from flora.core.rules import (
    Amount,
    Count,
    Measure,
    Name,
    Rule,
    Sentence,
    Share,
    Total,
    check,
    fault_of_type,
    hints_of,
    is_finite,
    one_line,
    printable,
    shown,
    whole,
)
from flora.errors import InputError, WireError

Even = Annotated[int, Rule("an even number", lambda value: value % 2 == 0)]


@dataclass(frozen=True)
class Inner:
    """A record inside of another."""

    size: Count


@pytest.mark.parametrize(
    ("hint", "good", "bad", "words"),
    [
        (str, ["", "ä\n", "x" * 10_000, np.str_("a")], [None, 1, b"x", ["x"], "x" * 10_001], "text"),
        (bool, [True, False, np.bool_(True)], [0, 1, None, "true", 1.0], "true or false"),
        (int, [0, -1, 10**400], [True, 1.0, "1", None], "a whole number"),
        (
            float,
            [0, -1.5, 1e308, np.float32(0.5), np.int64(3), np.uint8(1)],
            [True, math.nan, math.inf, -math.inf, 10**400, "1", None, np.float64("nan"), np.bool_(True), 1j],
            "a finite number",
        ),
        (bytes, [b"", b"x"], ["x", None, bytearray(b"x")], "bytes"),
        (type(None), [None], [0, "", False], "null"),
        (Literal["a", "b"], ["a", "b"], ["c", "", None, 1, ["a"], {}], "one of ['a', 'b']"),
        (int | None, [3, None], [True, "3", 1.5], "a whole number or null"),
        (str | int | bool, ["a", 3, True], [1.5, None, []], "text or a whole number or true or false"),
        (tuple[int, ...], [(), (1, 2)], [[1], None, 3, "12"], "a list"),
        (tuple[int, ...], [], [(1, "2"), (1.5,)], "a list of which each is a whole number"),
        (tuple[tuple[Name, ...], ...], [(("a",), ())], [(("",),)], "a list of which each is a list of which each is"),
        (Mapping[str, float], [{}, {"a": 1}, MappingProxyType({"a": 0.5})], [[], None, "a"], "a JSON object"),
        (Mapping[str, float], [], [{"a": "1"}, {"a": math.nan}], "a JSON object of which each part is a finite number"),
        (Mapping[str, float], [], [{1: 1.0}], "a JSON object of which each part is text"),
        (Inner, [Inner(1)], [None, {"size": 1}, Inner], "a Inner"),
        (Inner | None, [Inner(1), None], [{}], "a Inner or null"),
        (Any, [None, 1, object()], [], ""),
        (Count, [1, 2**53], [0, -1, 2**53 + 1, True, 1.0], "a whole number from 1 to 2^53"),
        (Total, [0, 2**53], [-1, 2**53 + 1], "a whole number from 0 to 2^53"),
        (Annotated[int, whole(2, 5)], [2, 5], [1, 6], "a whole number from 2 to 5"),
        (Measure, [-1e100, 0, 1e100, np.float32(1)], [1.1e100, -1.1e100, math.nan, "1", True], "a finite number of at"),
        (
            Amount,
            [0, 1e100, -0.0, np.float32(1)],
            [-1e-300, 1.1e100, math.inf, True],
            "a finite number from 0 to 1e100",
        ),
        (Share, [0, 0.5], [-0.1, 0.51, True], "a share from 0 to a half"),
        (Name, ["a", "ä b", "x" * 200], ["", "x" * 201, "a\n", "\x1b[1m", 3, None], "1 to 200 printable characters"),
        (Sentence, ["", "x" * 1000], ["x" * 1001, "a\tb", 3], "at most 1000 printable characters"),
        (Even | None, [2, None], [3, "2"], "an even number or null"),
    ],
)
def test_a_type_says_what_it_holds(hint: Any, good: list[Any], bad: list[Any], words: str) -> None:
    fault_of = fault_of_type(hint)
    assert [value for value in good if fault_of(value) is not None] == []
    for value in bad:
        assert str(fault_of(value)).startswith(words)


def test_every_rule_of_a_type_holds() -> None:
    both = fault_of_type(Annotated[Even, Rule("below ten", lambda value: value < 10)])
    assert both(8) is None
    assert both(9) == both(12) == "an even number"


def test_a_text_has_at_least_and_at_most_so_many_printable_characters() -> None:
    rule = printable(2, 3)
    assert rule.words == "2 to 3 printable characters"
    assert [rule.holds(text) for text in ("a", "ab", "abc", "abcd", "a\n")] == [False, True, True, False, False]
    assert printable(0, 3).words == "at most 3 printable characters"


@dataclass(frozen=True)
class Record:
    """A record that is true from birth."""

    name: Name
    size: "Count" = 1
    notes: tuple[Sentence, ...] = ()

    def __post_init__(self) -> None:
        check(self, WireError)


def test_a_record_is_true_from_birth() -> None:
    assert Record("a", 2, ("b",)).size == 2
    assert list(hints_of(Record)) == ["name", "size", "notes"]
    with pytest.raises(WireError, match=r"^name must be 1 to 200 printable characters, got 'a\\nb'$"):
        Record("a\nb")
    with pytest.raises(WireError, match=r"^size must be a whole number from 1 to 2\^53, got True$"):
        Record("a", True)
    with pytest.raises(WireError, match=r"^notes must be a list, got \['b'\]$"):
        Record("a", 1, ["b"])  # type: ignore[arg-type]


def test_an_error_is_the_users_input_unless_told_otherwise() -> None:
    @dataclass(frozen=True)
    class Plain:
        size: Count

        def __post_init__(self) -> None:
            check(self)

    with pytest.raises(InputError) as caught:
        Plain(0)
    assert type(caught.value) is InputError


@pytest.mark.parametrize(
    ("value", "finite"),
    [(0, True), (1.5, True), (10**308, True), (10**400, False), (math.nan, False), (True, False), ("1", False)],
)
def test_finite_is_what_a_float_can_hold(value: Any, finite: bool) -> None:
    assert is_finite(value) is finite


def test_a_message_quotes_in_one_short_line() -> None:
    assert shown("a\nb\x1b") == r"'a\nb\x1b'"
    assert len(shown("x" * 1000)) == 80
    assert shown({"a": [1]}) == "{'a': [1]}"
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "what is nested too deep"


def test_one_line_has_nothing_that_moves_a_cursor() -> None:
    assert one_line("a\r\nb\x1b[2J\u2028ü \U0001f600") == "a??b?[2J?ü \U0001f600"
