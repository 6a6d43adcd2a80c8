"""Steps and replies as JSON text: all that crosses the wire outside the one training. Neither side trusts the other.

What may be in a reply is a table with a codec for each field of :class:`~flora.federation.Reply`, and what may be in a
step is a table with a check for each field of a payload. A new field is a new line; without one it does not travel.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from flora.errors import InputError, WireError
from flora.extrapolation import LearningCurve
from flora.federation import Confirmation, Reply, Step, StepName
from flora.parameters import is_finite
from flora.plan import SearchPlan
from flora.schema import Schema
from flora.sketch import Sketch
from flora.space_formats import load_json
from flora.trials import MOST_ROWS, PartyTrials, Trial

MIB = 2**20
MOST_DEPTH = 32  # what nests deeper is no message of ours
VERSION = 1

Read = Callable[[Any], Any]


@dataclass(frozen=True)
class Codec:
    """How one field is written as JSON's types and read back; ``most`` bounds the bytes of its JSON."""

    write: Callable[[Any], Any]
    read: Read
    most: int = MIB


def step_to_json(step: Step) -> str:
    """Return a step as JSON text; the order of its fields is kept."""
    check_step(step)
    return _text("a step", {"format": "flora-step", "version": VERSION, "name": step.name, "payload": step.payload})


def step_from_json(text: str) -> Step:
    """Return the step in ``text``, or raise a :class:`WireError` that names the field."""
    document = _document(text, "flora-step", {"name", "payload"}, MOST_STEP)
    step = Step(document["name"], document["payload"])
    check_step(step)
    return step


def check_step(step: Step) -> None:
    """Raise unless the step has a known name, and a payload of the fields that go with it."""
    if not isinstance(step.name, str) or step.name not in PAYLOADS:
        raise WireError(f"name must be one of {list(PAYLOADS)}, got {step.name!r:.40}")
    _check_fields("payload", step.payload, set(PAYLOADS[step.name]))
    for name, value in step.payload.items():
        _named(f"payload.{name}", PAYLOAD[name], value)


def reply_to_json(reply: Reply) -> str:
    """Return a reply as JSON text, checked as its reader will check it."""
    document: dict[str, Any] = {"format": "flora-reply", "version": VERSION}
    for name, codec in REPLY.items():
        document[name] = codec.write(getattr(reply, name))
        _check_size(name, document[name], codec.most)
    text = _text("a reply", document)
    reply_from_json(text)
    return text


def reply_from_json(text: str) -> Reply:
    """Return the reply in ``text``, or raise a :class:`WireError` that names the field."""
    document = _document(text, "flora-reply", set(REPLY), MOST_REPLY)
    for name, codec in REPLY.items():
        _check_size(name, document[name], codec.most)
    reply = Reply(**{name: _named(name, codec.read, document[name]) for name, codec in REPLY.items()})
    for name, party in _names(reply):
        if party != reply.party:
            raise WireError(f"{name}.party must be the sender's {reply.party!r}, got {party!r}")
    return reply


def _names(reply: Reply) -> Iterator[tuple[str, str]]:
    """Yield whose each part of a reply says that it is."""
    for field in fields(reply):
        value = getattr(reply, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if hasattr(part, "party"):
                yield field.name, part.party


def _document(text: str, form: str, names: set[str], most: int) -> dict[str, Any]:
    """Return the JSON object in ``text``: of the form, the version and the fields that are wanted."""
    if len(text) > most:
        raise WireError(f"{form}: must be text of at most {most} characters, got {len(text)}")
    try:
        document = load_json(text)
    except ValueError as error:
        raise WireError(f"{form}: not JSON ({error!s:.200})") from error
    _check_values(form, document)
    _check_fields(form, document, {"format", "version", *names})
    if document["format"] != form or document["version"] is True or document["version"] != VERSION:
        found = f"{document['format']!r:.40} version {document['version']!r:.40}"
        raise WireError(f"{form}: expected format {form!r} version {VERSION}, got {found}")
    return dict(document)


def _check_values(form: str, document: Any) -> None:
    """Raise at a number that is not finite, a text that is not Unicode, or what is nested too deep."""
    waiting: list[tuple[Any, tuple[Any, ...]]] = [(document, ())]
    while waiting:
        value, path = waiting.pop()
        fault = _fault(value, len(path))
        if fault:
            raise WireError(_one_line(f"{'.'.join(map(str, path)) or form:.200}: {fault}"))
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        waiting.extend((part, (*path, key)) for key, part in items)


def _fault(value: Any, depth: int) -> str | None:
    if isinstance(value, dict | list) and depth >= MOST_DEPTH:
        return f"nested deeper than {MOST_DEPTH}"
    if isinstance(value, int | float) and not isinstance(value, bool) and not is_finite(value):
        return f"numbers must be finite, got {value!r:.40}"
    for text in (value,) if isinstance(value, str) else value if isinstance(value, dict) else ():
        if not text.isascii() and text.encode(errors="replace").decode() != text:
            return f"text must be Unicode, got {text!r:.40}"
    return None


def _check_fields(place: str, document: Any, names: set[str]) -> None:
    if not isinstance(document, Mapping):
        raise WireError(f"{place} must be a JSON object, got {document!r:.40}")
    for name in sorted(names - set(document)):
        raise WireError(f"{place} lacks the field {name!r}")
    for name in sorted(map(str, set(document) - names)):
        raise WireError(f"{place} has the unknown field {name!r:.40}, it has {sorted(names)}")


def _check_size(name: str, value: Any, most: int) -> None:
    size = len(value) + 2 if isinstance(value, str) else len(_text(name, value))
    if size > most:
        raise WireError(f"{name} must have at most {most} bytes as JSON, got {size}")


def _named(name: str, read: Read, value: Any) -> Any:
    """Read a value; whatever is wrong with it, the error names the field."""
    try:
        return read(value)
    except InputError as error:
        raise WireError(_one_line(f"{name}: {error}")) from error
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:  # a reader caught unawares
        raise WireError(_one_line(f"{name}: cannot be read ({type(error).__name__}: {error!s:.200})")) from error


def _one_line(message: str) -> str:
    """Return a message without what could move a reader's cursor: it may quote what somebody else wrote."""
    return "".join(letter if letter.isprintable() else "?" for letter in message)


def _text(what: str, document: Any) -> str:
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":"), default=_mapping_or_scalar)
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(f"{what}: has no form in JSON ({error!s:.200})") from error


def _mapping_or_scalar(value: Any) -> Any:
    """Return a frozen mapping or a NumPy scalar as JSON's type."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is none of JSON's types")


def optional(codec: Codec) -> Codec:
    """Return a codec that lets None be null."""
    return Codec(
        lambda value: None if value is None else codec.write(value),
        lambda value: None if value is None else codec.read(value),
        codec.most,
    )


def several(codec: Codec, most: int) -> Codec:
    """Return a codec of a tuple; ``most`` bounds the bytes of all together."""

    def read(values: Any) -> tuple[Any, ...]:
        if not isinstance(values, list):
            raise WireError(f"must be a list, got {values!r:.40}")
        return tuple(_named(f"[{place}]", codec.read, value) for place, value in enumerate(values))

    return Codec(lambda values: [codec.write(value) for value in values], read, most)


def record(kind: type[Any], parts: Mapping[str, Codec]) -> Codec:
    """Return a codec of a frozen record, with a codec for each of its fields."""

    def read(document: Any) -> Any:
        _check_fields(kind.__name__, document, set(parts))
        return kind(**{name: _named(name, codec.read, document[name]) for name, codec in parts.items()})

    return Codec(lambda value: {name: codec.write(getattr(value, name)) for name, codec in parts.items()}, read)


def _plain(rule: str, holds: Callable[[Any], bool]) -> Codec:
    """Return a codec of what is the same in Python and in JSON, and must keep a rule."""

    def read(value: Any) -> Any:
        if not holds(value):
            raise WireError(f"must be {rule}, got {value!r:.80}")
        return value

    return Codec(lambda value: value, read)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_ROWS


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_config(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(part, str | int | float) for part in value.values())


def _read_schema(document: Any) -> Schema:
    _check_fields("a schema", document, {"format", "version", "target", "task", "classes", "columns"})
    return Schema.from_json(document)


def _read_plan(document: Any) -> SearchPlan:
    _check_fields("a search plan", document, {field.name for field in fields(SearchPlan)})
    for name in ("family", "task", "scoring"):
        _named(name, TEXT.read, document[name])
    if not isinstance(document["space"], Mapping):
        raise WireError(f"space must be a JSON object, got {document['space']!r:.40}")
    return SearchPlan.from_json(document)


def _model_bytes(text: Any) -> bytes:
    if not isinstance(text, str):
        raise WireError(f"must be base64 text, got {text!r:.40}")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise WireError(f"must be base64 text ({error})") from error


NUMBER = _plain("a finite number", is_finite)
ERROR = _plain("a finite number >= 0", lambda value: is_finite(value) and value >= 0)
COUNT = _plain("a whole number from 0 to 2^53", _is_count)
TEXT = _plain("printable text", _is_text)
CONFIG = _plain("a config, which maps HP names to values", _is_config)
NAME = _plain("1 to 200 printable characters", lambda value: _is_text(value) and 1 <= len(value) <= 200)
FLAG = _plain("true or false", lambda value: isinstance(value, bool))
SHARE = _plain("a share from 0 to a half", lambda value: is_finite(value) and 0 <= value <= 0.5)
TASK = _plain("classification, regression or null", lambda value: value in (None, "classification", "regression"))
SCHEMA = optional(Codec(Schema.to_json, _read_schema, 16 * MIB))
TRIAL = {"config": CONFIG, "loss": NUMBER, "error": optional(ERROR), "folds": optional(COUNT), "rows": optional(COUNT)}
CONFIRMATION = {"trial": record(Trial, TRIAL), "gain": NUMBER, "gain_error": ERROR}
REPLY: dict[str, Codec] = {  # a codec for each field of Reply
    "party": NAME,
    "rows": COUNT,
    "schema": SCHEMA,
    "trials": optional(
        Codec(
            lambda trials: json.loads(trials.to_json()),
            lambda document: PartyTrials.from_json(json.dumps(document, indent=1), "trials"),  # as the file is measured
            16 * MIB,
        )
    ),
    "confirmations": several(record(Confirmation, CONFIRMATION), 16 * MIB),
    "sketch": optional(Codec(Sketch.to_json, Sketch.from_json)),
    "curves": several(Codec(LearningCurve.to_json, LearningCurve.from_json), MIB),
    "model": Codec(lambda data: base64.b64encode(data).decode("ascii"), _model_bytes, 4 * (256 * MIB // 3 + 1) + 2),
    "trained": optional(CONFIG),
    "held_loss": optional(NUMBER),
    "notes": several(TEXT, MIB),
}
RECORDS: dict[type[Any], Mapping[str, Codec]] = {Reply: REPLY, Confirmation: CONFIRMATION, Trial: TRIAL}

PAYLOAD: dict[str, Read] = {  # how to check each field of a payload, which itself stays as it is
    "schema": SCHEMA.read,
    "task": TASK.read,
    "plan": _read_plan,
    "config": CONFIG.read,
    "configs": several(CONFIG, MIB).read,
    "held": SHARE.read,
    "choose": FLAG.read,
}
PAYLOADS: dict[StepName, tuple[str, ...]] = {  # which of them go with which step
    "describe": ("schema", "task"),
    "search": ("plan", "schema"),
    "confirm": ("plan", "schema", "configs"),
    "certify": ("plan", "schema", "configs"),
    "train": ("plan", "schema", "config", "held", "choose"),
}
MOST_STEP = 32 * MIB  # an agreed schema, a space and configs
MOST_REPLY = sum(codec.most for codec in REPLY.values()) + MIB
