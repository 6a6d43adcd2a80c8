"""From what was typed to a command's record. It loads nothing else: ``flora party`` goes on for weeks with little."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

from flora.errors import InputError

O = TypeVar("O")  # noqa: E741  (options)


def check_jobs(jobs: int) -> None:
    """Raise unless somebody is at work."""
    if jobs < 1:
        raise InputError(f"jobs must be a whole number of at least 1, got {jobs}")


def options_of(kind: type[O], parsed: Namespace) -> O:
    """Return the options of a command as its record; a record inside takes its own fields from the same line."""
    found: Mapping[str, Any] = vars(parsed)
    hints = get_type_hints(kind)
    values = {
        part.name: options_of(hints[part.name], parsed) if is_dataclass(hints[part.name]) else _plain(found[part.name])
        for part in fields(kind)  # type: ignore[arg-type]
    }
    return kind(**values)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
