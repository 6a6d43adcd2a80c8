"""Records as JSON, and back. What somebody else may have written is read here, and nowhere else.

A record is a frozen dataclass, and the types of its fields say what may be in them: ``str``, ``bool``, ``int``,
``float`` (always finite), ``bytes`` (base64), ``None``, ``Literal``, a union, ``tuple[X, ...]``, ``Mapping[str, X]``,
another record, or a class with a form of its own (:func:`has_form`); ``Annotated`` adds a rule. A field that a reader
does not know is refused; one with a default may be left out. Nothing is ever pickled.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from flora.core.rules import Check, fault_of_type, fault_of_union, hints_of, one_line, shown
from flora.errors import InputError

MOST_ITEMS = 100_000  # of a list

R = TypeVar("R")
Read = Callable[[Any, str], Any]  # a JSON value and its place, to the value


@dataclass(frozen=True)
class Form:
    """How a class of its own is written as JSON's types, and read back."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


_FORMS: dict[type, Form] = {}


def has_form(kind: type, write: Callable[[Any], Any], read: Callable[[Any], Any]) -> None:
    """Let a class have a form of its own instead of that of its fields."""
    _FORMS[kind] = Form(write, read)


# The metadata of a field whose record's own fields stand beside its neighbours, and are left out where it is None.
FLAT = {"flat": True}


def to_document(record: Any) -> dict[str, Any]:
    """Return a record as JSON's types, its fields in their order."""
    document: dict[str, Any] = {}
    for part in fields(record):
        value = getattr(record, part.name)
        if part.metadata.get("flat"):
            document |= {} if value is None else to_document(value)
        else:
            document[part.name] = to_json(value)
    return document


def to_json(value: Any) -> Any:  # noqa: PLR0911  (a line for each type)
    """Return any value of a record as JSON's types."""
    if type(value) in (NoneType, str, bool, int, float):
        return value
    if hasattr(value, "item"):  # a NumPy scalar
        return value.item()
    if type(value) in _FORMS:
        return _FORMS[type(value)].write(value)
    if is_dataclass(value):
        return to_document(value)
    if isinstance(value, Mapping):
        return {key: to_json(part) for key, part in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, tuple | list):
        return [to_json(part) for part in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def read(kind: type[R], document: Any, place: str = "") -> R:
    """Return the record that ``document`` holds; an error names the field, the rule and the value."""
    try:
        hint: Any = kind
        found: R = _reader(hint)(document, place)
    except RecursionError:  # shallow enough to be parsed, too deep to be shown in a message
        raise InputError(f"{place or 'the document'}: nested too deep") from None
    return found


@cache
def _reader(hint: Any) -> Read:  # noqa: PLR0911  (a line for each type)
    """Return how a JSON value becomes one of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        inner, fault_of = _reader(arguments[0]), fault_of_type(hint)
        return lambda value, place: _checked(inner(value, place), fault_of, place)
    if origin in (Union, UnionType):
        return _read_union(arguments)
    if origin is tuple:
        each = _reader(arguments[0])
        return lambda value, place: _read_list(value, place, each)
    if origin is not None and origin is not Literal and issubclass(origin, Mapping):
        part = _reader(arguments[1])
        return lambda value, place: _read_mapping(value, place, part)
    if hint in _FORMS:
        return lambda value, place: _read_form(_FORMS[hint], value, place)
    if is_dataclass(hint):
        return lambda value, place: _read_record(hint, value, place)
    if hint is bytes:
        return _read_bytes
    fault_of = fault_of_type(hint)
    return lambda value, place: _checked(value, fault_of, place)


def _checked(value: Any, fault_of: Check, place: str) -> Any:
    words = fault_of(value)
    if words is not None:
        raise InputError(f"{place} must be {words}, got {shown(value)}".lstrip())
    return value


def _read_union(arguments: tuple[Any, ...]) -> Read:
    others = [part for part in arguments if part is not NoneType]
    if len(others) == 1:  # a value or null
        inner = _reader(others[0])
        return lambda value, place: None if value is None else inner(value, place)
    fault_of = fault_of_union(
        [fault_of_type(part) for part in arguments]
    )  # of plain values: nothing else is in a union
    return lambda value, place: _checked(value, fault_of, place)


def _read_list(value: Any, place: str, each: Read) -> tuple[Any, ...]:
    if not isinstance(value, list) or len(value) > MOST_ITEMS:
        raise InputError(f"{place} must be a list of at most {MOST_ITEMS}, got {shown(value)}".lstrip())
    return tuple(each(part, f"{place}[{k}]") for k, part in enumerate(value))


def _read_mapping(value: Any, place: str, part: Read) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > MOST_ITEMS:
        raise InputError(f"{place} must be a JSON object, got {shown(value)}".lstrip())
    return {key: part(inner, f"{place}.{one_line(key[:80])}".lstrip(".")) for key, inner in value.items()}


def _read_bytes(value: Any, place: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise InputError(f"{place} must be base64 text ({error!s:.80})") from error


def _read_form(form: Form, value: Any, place: str) -> Any:
    try:
        return form.read(value)
    except InputError as error:
        raise type(error)(f"{place}: {error}" if place else str(error)) from error
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:  # a reader caught unawares
        words = one_line(f"{type(error).__name__}: {error!s:.200}")
        raise InputError(f"{place or 'it'}: cannot be read ({words})") from error


def read_fields(kind: type[R], document: Any, place: str = "") -> R:
    """Return a record by its fields, though its class has a form of its own."""
    found: R = _read_record(kind, document, place)
    return found


def _read_record(kind: Any, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise InputError(f"{place or 'it'} must be a JSON object, got {shown(value)}")
    parts, hints = fields(kind), hints_of(kind)
    inside = {part.name: hints[part.name] for part in parts if part.metadata.get("flat")}
    known = {part.name for part in parts if part.name not in inside}
    known |= {inner.name for hint in inside.values() for inner in fields(_flat_kind(hint))}
    for key in value:
        if key not in known:
            raise InputError(f"{place or 'it'} has the unknown field {shown(key)}, it has {sorted(known)}")
    found = {
        part.name: _read_flat(inside[part.name], value, place)
        if part.name in inside
        else _reader(hints[part.name])(value[part.name], f"{place}.{part.name}".lstrip("."))
        for part in parts
        if part.name in inside or _is_there(part, value, place)
    }
    try:
        return kind(**found)
    except InputError as error:
        raise type(error)(f"{place}: {error}" if place else str(error)) from error


def _is_there(part: "Field[Any]", value: dict[str, Any], place: str) -> bool:
    if part.name in value:
        return True
    if part.default is MISSING and part.default_factory is MISSING:
        raise InputError(f"{place or 'it'} lacks the field {part.name!r}")
    return False


def _flat_kind(hint: Any) -> Any:
    return next((part for part in get_args(hint) if part is not NoneType), hint)


def _read_flat(hint: Any, value: dict[str, Any], place: str) -> Any:
    kind = _flat_kind(hint)
    own = {part.name: value[part.name] for part in fields(kind) if part.name in value}
    return None if not own and kind is not hint else _read_record(kind, own, place)
