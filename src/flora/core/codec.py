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

from flora.core.rules import Check, fault_of_type, hints_of, one_line, shown
from flora.errors import InputError

MOST_ITEMS = 100_000  # of a list

R = TypeVar("R")
Place = str | tuple["Place", str | int]  # where a value stands; only an error puts it in words
Read = Callable[[Any, Place], Any]  # a JSON value and its place, to the value


@dataclass(frozen=True)
class Form:
    """How a class of its own is written as JSON's types, and read back."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


_FORMS: dict[type, Form] = {}


def has_form(kind: type, write: Callable[[Any], Any], read: Callable[[Any], Any]) -> None:
    """Let a class have a form of its own instead of that of its fields."""
    _FORMS[kind] = Form(write, read)


_CHECKED: set[Any] = set()


def checks_itself(kind: type) -> None:
    """Let a reader of many records of a class trust the check that each makes of all its fields when it is made.

    Its fields are plain values and mappings of these. Only where a record has a fault they are read one by one.
    """
    _CHECKED.add(kind)


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
        return _read_union(hint, arguments)
    if origin is tuple:
        each = _reader(arguments[0])
        if arguments[0] in _CHECKED:
            return lambda value, place: _read_checked(arguments[0], value) or _read_list(value, place, each)
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


def _words(place: Place) -> str:
    """Return where a value stands, as a message says it."""
    parts = list[str]()
    while not isinstance(place, str):
        place, last = place
        parts.append(f"[{last}]" if isinstance(last, int) else f".{one_line(last[:80])}")
    return "".join((place, *reversed(parts))).lstrip(".")


def _checked(value: Any, fault_of: Check, place: Place) -> Any:
    words = fault_of(value)
    if words is not None:
        raise InputError(f"{_words(place)} must be {words}, got {shown(value)}".lstrip())
    return value


def _read_union(hint: Any, arguments: tuple[Any, ...]) -> Read:
    others = [part for part in arguments if part is not NoneType]
    if len(others) == 1:  # a value or null
        inner = _reader(others[0])
        return lambda value, place: None if value is None else inner(value, place)
    fault_of = fault_of_type(hint)  # of plain values: nothing else is in a union
    return lambda value, place: _checked(value, fault_of, place)


def _read_list(value: Any, place: Place, each: Read) -> tuple[Any, ...]:
    if not isinstance(value, list) or len(value) > MOST_ITEMS:
        raise InputError(f"{_words(place)} must be a list of at most {MOST_ITEMS}, got {shown(value)}".lstrip())
    return tuple([each(part, (place, k)) for k, part in enumerate(value)])


def _read_checked(kind: Any, value: Any) -> tuple[Any, ...] | None:
    """Return the records of a list, or None where one of them has a fault or may have one."""
    if not isinstance(value, list) or len(value) > MOST_ITEMS or any(type(part) is not dict for part in value):
        return None
    sizes = (len(inner) for part in value for inner in part.values() if type(inner) is dict)
    if any(size > MOST_ITEMS for size in sizes):
        return None
    try:
        return tuple([kind(**part) for part in value])
    except (InputError, TypeError):  # TypeError: a field too many, or one that is missing
        return None


def _read_mapping(value: Any, place: Place, part: Read) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > MOST_ITEMS:
        raise InputError(f"{_words(place)} must be a JSON object, got {shown(value)}".lstrip())
    return {key: part(inner, (place, key)) for key, inner in value.items()}


def _read_bytes(value: Any, place: Place) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise InputError(f"{_words(place)} must be base64 text ({error!s:.80})") from error


def _read_form(form: Form, value: Any, place: Place) -> Any:
    try:
        return form.read(value)
    except InputError as error:
        raise type(error)(_within(place, str(error))) from error
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:  # a reader caught unawares
        words = one_line(f"{type(error).__name__}: {error!s:.200}")
        raise InputError(f"{_words(place) or 'it'}: cannot be read ({words})") from error


def _within(place: Place, message: str) -> str:
    words = _words(place)
    return f"{words}: {message}" if words else message


def read_fields(kind: type[R], document: Any, place: str = "") -> R:
    """Return a record by its fields, though its class has a form of its own."""
    found: R = _read_record(kind, document, place)
    return found


@dataclass(frozen=True)
class _Parts:
    """What a record is read from."""

    own: tuple[tuple["Field[Any]", Read], ...]  # fields of the document
    flat: tuple[tuple[str, Any], ...]  # names and types of records whose fields stand beside these
    known: frozenset[str]

    @classmethod
    @cache
    def of(cls, kind: Any) -> "_Parts":
        parts, hints = fields(kind), hints_of(kind)
        flat = tuple((part.name, hints[part.name]) for part in parts if part.metadata.get("flat"))
        own = tuple((part, _reader(hints[part.name])) for part in parts if not part.metadata.get("flat"))
        known = {part.name for part, _ in own} | {one.name for _, hint in flat for one in fields(_flat_kind(hint))}
        return cls(own, flat, frozenset(known))


def _read_record(kind: Any, value: Any, place: Place) -> Any:
    if not isinstance(value, dict):
        raise InputError(f"{_words(place) or 'it'} must be a JSON object, got {shown(value)}")
    parts = _Parts.of(kind)
    if not parts.known.issuperset(value):
        key = next(key for key in value if key not in parts.known)
        raise InputError(f"{_words(place) or 'it'} has the unknown field {shown(key)}, it has {sorted(parts.known)}")
    found = {
        part.name: each(value[part.name], (place, part.name))
        for part, each in parts.own
        if part.name in value or _lacks(part, place)
    }
    found |= {name: _read_flat(hint, value, place) for name, hint in parts.flat}
    try:
        return kind(**found)
    except InputError as error:
        raise type(error)(_within(place, str(error))) from error


def _lacks(part: "Field[Any]", place: Place) -> bool:
    """Return False where a field may be left out, and raise where it may not."""
    if part.default is MISSING and part.default_factory is MISSING:
        raise InputError(f"{_words(place) or 'it'} lacks the field {part.name!r}")
    return False


def _flat_kind(hint: Any) -> Any:
    return next((part for part in get_args(hint) if part is not NoneType), hint)


def _read_flat(hint: Any, value: dict[str, Any], place: Place) -> Any:
    kind = _flat_kind(hint)
    own = {part.name: value[part.name] for part in fields(kind) if part.name in value}
    return None if not own and kind is not hint else _read_record(kind, own, place)
