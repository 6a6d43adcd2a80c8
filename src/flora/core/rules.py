"""What may be in a record's fields: their types say it, and a rule where a type is not enough.

A record is a frozen dataclass that calls :func:`check` when it is made, so that later code may trust it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from flora.errors import InputError

MOST_TEXT = 10_000  # characters of a text
MOST_COUNT = 2**53  # a float holds every whole number up to here

Check = Callable[[Any], str | None]  # what a value must be, where it is not


@dataclass(frozen=True)
class Rule:
    """What a value must keep to, besides its type."""

    words: str
    holds: Callable[[Any], bool]


def whole(least: int, most: int = MOST_COUNT) -> Rule:
    """Return the rule of a whole number between two others."""
    return Rule(f"a whole number from {least} to {'2^53' if most == MOST_COUNT else most}", _between(least, most))


def printable(least: int, most: int) -> Rule:
    """Return the rule of a text that can be shown in one line."""
    size = f"{least} to {most}" if least else f"at most {most}"
    return Rule(f"{size} printable characters", lambda text: least <= len(text) <= most and text.isprintable())


def _between(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: least <= value <= most


Count = Annotated[int, whole(1)]
Total = Annotated[int, whole(0)]
MOST_MEASURED = 1e100  # what is larger would not add up
Measure = Annotated[float, Rule("a finite number of at most 1e100", lambda value: abs(float(value)) <= MOST_MEASURED)]
Amount = Annotated[float, Rule("a finite number from 0 to 1e100", lambda value: 0 <= float(value) <= MOST_MEASURED)]
Share = Annotated[float, Rule("a share from 0 to a half", lambda value: 0 <= value <= 0.5)]
Name = Annotated[str, printable(1, 200)]
Sentence = Annotated[str, printable(0, 1000)]


def check(record: Any, error: type[InputError] = InputError) -> None:
    """Raise where a field of a record is not what its type says: to be called when the record is made."""
    kind: Any = type(record)
    for name, fault_of in _checks(kind):
        value = getattr(record, name)
        words = fault_of(value)
        if words is not None:
            raise error(f"{name} must be {words}, got {shown(value)}")


def shown(value: Any) -> str:
    """Return a value as a message quotes it: short, and in one line."""
    try:
        return one_line(f"{value!r:.80}")
    except RecursionError:
        return "what is nested too deep"


def one_line(message: str) -> str:
    """Return a message without what could move a reader's cursor: it may quote what somebody else wrote."""
    return "".join(letter if letter.isprintable() else "?" for letter in message)


def is_finite(value: Any) -> bool:
    """Whether ``value`` is a number that a float can hold; a bool is not taken for one."""
    if type(value) is float:  # nearly all are, and there may be millions
        return math.isfinite(value)
    try:
        return _is_number(value) and math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or _numpy_kind(value) in ("i", "u", "f")


def _numpy_kind(value: Any) -> str | None:
    return getattr(getattr(value, "dtype", None), "kind", None)


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """Return the types of a record's fields, with their rules."""
    return get_type_hints(kind, include_extras=True)


@cache
def _checks(kind: Any) -> tuple[tuple[str, Check], ...]:
    return tuple((part.name, fault_of_type(hints_of(kind)[part.name])) for part in fields(kind))


@cache
def fault_of_type(hint: Any) -> Check:
    """Return what tells whether a value is of a type: the words for the type, or None where it is."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _check_rules(arguments[0], [rule for rule in arguments[1:] if isinstance(rule, Rule)])
    if origin in (Union, UnionType):
        return _check_union(arguments)
    if origin is Literal:
        return lambda value: None if any(value is a or value == a for a in arguments) else f"one of {list(arguments)}"
    return _check_plain(hint, origin, arguments)


def _check_rules(plain: Any, rules: list[Rule]) -> Check:
    of_plain, words = fault_of_type(plain), rules[0].words if rules else None
    sure = _SURE.get(plain)
    if len(rules) != 1 or sure is None:
        return lambda value: _fault_of_rules(value, of_plain, rules, words)
    holds = rules[0].holds

    def fault(value: Any) -> str | None:
        if type(value) is plain and sure(value) and holds(value):
            return None
        return _fault_of_rules(value, of_plain, rules, words)

    return fault


def _check_union(arguments: tuple[Any, ...]) -> Check:
    of_any = fault_of_union([fault_of_type(part) for part in arguments])
    sure_of = {part: _SURE[part] for part in arguments if part in _SURE}

    def fault(value: Any) -> str | None:
        sure = sure_of.get(type(value))
        return None if sure is not None and sure(value) else of_any(value)

    return fault


def _check_plain(hint: Any, origin: Any, arguments: tuple[Any, ...]) -> Check:
    if origin is tuple:
        each = fault_of_type(arguments[0])
        return lambda value: _fault_of_parts(value, each)
    if origin is not None and issubclass(origin, Mapping):
        of_key, of_part = fault_of_type(arguments[0]), fault_of_type(arguments[1])
        return lambda value: _fault_of_mapping(value, of_key, of_part)
    if hint in _PLAIN:
        words, holds = _PLAIN[hint]
        sure = _SURE.get(hint, holds)
        return lambda value: None if (type(value) is hint and sure(value)) or holds(value) else words
    if hint is Any:
        return lambda _: None
    return lambda value: None if isinstance(value, hint) else f"a {getattr(hint, '__name__', hint)}"


_PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("text", lambda value: isinstance(value, str) and len(value) <= MOST_TEXT),
    bool: ("true or false", lambda value: isinstance(value, bool) or _numpy_kind(value) == "b"),
    int: ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: ("a finite number", is_finite),
    bytes: ("bytes", lambda value: isinstance(value, bytes)),
    NoneType: ("null", lambda value: value is None),
}


# Nearly all values are of these very types, and there may be millions: one look tells that they are what they must be.
_SURE: dict[Any, Callable[[Any], bool]] = {
    str: lambda value: len(value) <= MOST_TEXT,
    bool: lambda _: True,
    int: lambda _: True,
    float: math.isfinite,
    NoneType: lambda _: True,
}


def _fault_of_rules(value: Any, plain: Check, rules: list[Rule], words: str | None) -> str | None:
    fault = plain(value)
    if fault is not None:
        return words or fault
    for rule in rules:
        if not rule.holds(value):
            return words
    return None


def fault_of_union(parts: list[Check]) -> Check:
    """Return what tells whether a value is of one of several types."""

    def fault(value: Any) -> str | None:
        for part in parts:
            if part(value) is None:
                return None
        return " or ".join(dict.fromkeys(words for part in parts if (words := part(value))))

    return fault


def _fault_of_parts(value: Any, each: Check) -> str | None:
    if not isinstance(value, tuple):
        return "a list"
    return next((f"a list of which each is {words}" for part in value if (words := each(part))), None)


def _fault_of_mapping(value: Any, of_key: Check, of_part: Check) -> str | None:
    if type(value) is not dict and not isinstance(value, Mapping):  # a class is soon looked at, Mapping is not
        return "a JSON object"
    if not any(map(of_key, value)) and not any(map(of_part, value.values())):
        return None
    for key, part in value.items():
        words = of_key(key) or of_part(part)
        if words:
            return f"a JSON object of which each part is {words}"
    return None
