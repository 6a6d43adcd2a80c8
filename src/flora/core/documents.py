"""JSON files and messages that somebody else may have written: their size, their depth, what they call themselves."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from flora.core.codec import read
from flora.core.rules import MOST_COUNT, is_finite, one_line, shown
from flora.errors import InputError

MIB = 2**20
MOST_BYTES = 16 * MIB  # of a file or message that says nothing else
MOST_DEPTH = 32  # what nests deeper is nothing of ours
R = TypeVar("R")


def parse(text: str | bytes) -> Any:
    """Return the JSON in ``text``, or raise ValueError: also for a key that comes twice, and for what no JSON can hold.

    That is NaN, infinity, a number that no float can hold, a text that is not Unicode, and what is nested too deep.
    """

    def refuse(constant: str) -> None:
        raise ValueError(f"numbers must be finite, got {constant}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
            raise ValueError(f"the key {twice!r:.80} comes twice")
        return found

    decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    try:
        document = json.loads(decoded, parse_constant=refuse, object_pairs_hook=once)
    except RecursionError:
        raise ValueError("nested too deep") from None
    _check_values(document)
    return document


@dataclass(frozen=True)
class Format:
    """A kind of file or message: what it calls itself, how large it may be, and whose error it is if it is broken."""

    name: str
    version: int = 1
    most: int = MOST_BYTES
    error: type[InputError] = InputError

    def text(self, document: Mapping[str, Any], *, indent: int | None = 1) -> str:
        """Return the text of a document, with its name and version in front."""
        whole_document = {"format": self.name, "version": self.version, **document}
        separators = (",", ":") if indent is None else None
        return json.dumps(whole_document, indent=indent, separators=separators, allow_nan=False) + "\n"

    def document(self, text: str | bytes, source: str) -> dict[str, Any]:
        """Return the fields in a text that somebody else wrote, without name and version; ``source`` names it."""
        size = len(text) if isinstance(text, bytes) or text.isascii() else len(text.encode(errors="surrogatepass"))
        if size > self.most:
            raise self.error(f"{source}: a {self.name} has at most {self.most} bytes, got {size}")
        try:
            document = parse(text)
        except ValueError as error:
            raise self.error(one_line(f"{source}: not a {self.name} ({error!s:.200})")) from error
        if not isinstance(document, dict):
            raise self.error(f"{source}: a {self.name} is a JSON object, got {shown(document)}")
        found = (document.pop("format", None), document.pop("version", None))
        if found != (self.name, self.version) or found[1] is True:
            raise self.error(f"{source}: expected {self.name!r} version {self.version}, got {shown(found)}")
        return document

    def record(self, kind: type[R], text: str | bytes, source: str) -> R:
        """Return the record in a text that somebody else wrote."""
        document = self.document(text, source)
        try:
            return read(kind, document)
        except InputError as error:
            raise self.error(one_line(f"{source}: {error}")) from error

    def may_be_named_in(self, text: bytes) -> bool:
        """Whether a text may say that it is of this kind, before it is read; an escape may stand for any letter."""
        return self.name.encode() in text or b"\\" in text

    def file(self, path: Path) -> bytes:
        """Return what is in a file of this kind, if it is there and not too large."""
        return contents(path, self.most, self.error)


def contents(path: Path, most: int, error: type[InputError] = InputError) -> bytes:
    """Return a file's bytes, or raise where it is not there, or larger than what it may be."""
    if not path.is_file():
        raise error(f"{path}: {'a folder, expected a file' if path.is_dir() else 'no such file'}")
    if path.stat().st_size > most:
        raise error(f"{path}: has at most {most} bytes, got {path.stat().st_size}")
    return path.read_bytes()


def object_in(text: str | bytes, source: str, error: type[InputError] = InputError) -> dict[str, Any]:
    """Return the JSON object in a text that has no name and version of its own; ``source`` names it."""
    try:
        document = parse(text)
    except ValueError as problem:
        raise error(one_line(f"{source}: not JSON that can be read ({problem!s:.200})")) from problem
    if not isinstance(document, dict):
        raise error(f"{source}: must be a JSON object, got {shown(document)}")
    return document


def format_in(text: str | bytes, source: str) -> str | None:
    """Return what a JSON text says it is; None where it does not say."""
    try:
        document = parse(text)
    except ValueError as error:
        raise InputError(f"{source}: not a JSON file ({error!s:.200})") from error
    name = document.get("format") if isinstance(document, dict) else None
    return name if isinstance(name, str) else None


def _check_values(document: Any) -> None:
    """Raise ValueError at a number that is not finite, a text that is not Unicode, or what is nested too deep."""
    level, depth = [document], 0  # all values that are nested as deep
    while level:
        inner = [value for value in level if type(value) is dict or type(value) is list]
        if inner and depth >= MOST_DEPTH:
            raise ValueError(f"nested deeper than {MOST_DEPTH}")
        keys = [key for value in inner if type(value) is dict for key in value if not key.isascii()]
        for text in [value for value in level if type(value) is str and not value.isascii()] + keys:
            if text.encode(errors="replace").decode() != text:
                raise ValueError(f"text must be Unicode, got {shown(text)}")
        _check_numbers(level)
        level = [part for value in inner for part in (value.values() if type(value) is dict else value)]
        depth += 1


def _check_numbers(values: list[Any]) -> None:
    """Raise ValueError where a number is not finite: as good as always a look at the ends tells that each one is."""
    whole = [value for value in values if type(value) is int]
    real = [value for value in values if type(value) is float]
    if all(map(math.isfinite, real)) and (not whole or -MOST_COUNT <= min(whole) <= max(whole) <= MOST_COUNT):
        return
    for value in values:
        if type(value) in (int, float) and not is_finite(value):
            raise ValueError(f"numbers must be finite, got {shown(value)}")
