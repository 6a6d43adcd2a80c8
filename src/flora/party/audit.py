"""A party's own record of all that left it: JSON lines, each with the hash of the line before.

A line that is changed, taken out or put in later breaks the chain, and :func:`verify` says where. What a chain cannot
show is an end that was cut off, or a file that was written anew from its first line by somebody who can write it: to
show that too, keep the last hash somewhere else.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO, Self

from flora.core.documents import MIB, parse
from flora.core.files import append_durably, locked, sync_folder, write_whole
from flora.errors import FloraError, InputError

FIRST = "0" * 64  # stands for the line before the first
REPAIR = "repair"
MOST_TEXT = 1000  # characters of a field
MOST_LINE = 64 * 2**10  # bytes: more than three such fields can take
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Entry:
    """One line: something that left, or a repair of the file."""

    time: str  # UTC, ISO 8601
    what: str
    to: str
    sha256: str  # of the data that left
    size: int  # its bytes
    note: str
    previous: str
    hash: str  # of all the above

    @classmethod
    def made(cls, time: str, what: str, to: str, data: bytes, note: str, previous: str) -> Self:
        """Return the entry of data that leaves."""
        entry = cls(time, what, to, hashlib.sha256(data).hexdigest(), len(data), note, previous, "")
        return replace(entry, hash=_hash_of(asdict(entry)))

    @classmethod
    def from_line(cls, line: bytes) -> Self:
        """Return the entry in a line, or raise ValueError: also where its hash is not that of what it says."""
        document = parse(line)
        names = [field.name for field in fields(cls)]
        if not isinstance(document, dict) or list(document) != names:
            raise ValueError(f"it must be an object with the fields {', '.join(names)}")
        for name, value in document.items():
            _check_field(name, value)
        if document["hash"] != _hash_of(document):
            raise ValueError("its hash is not that of what it says")
        return cls(**document)

    def to_line(self) -> bytes:
        """Return the line."""
        return json.dumps(asdict(self)).encode() + b"\n"


class AuditLog:
    """The file of one party, for threads and processes together. A broken file is refused, a torn end is repaired."""

    def __init__(self, path: str | Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path, self._clock = Path(path), clock
        with self._alone():
            self._last_hash()
            _verify_rest(self.path)

    def record(self, what: str, to: str, data: bytes, note: str = "") -> Entry:
        """Write down that ``data`` leaves. When this returns it is on the disk; before that nothing may leave."""
        for name, text in (("what", what), ("to", to), ("note", note)):
            try:
                _check_field(name, text)
            except ValueError as error:
                raise InputError(f"an entry of an audit log: {error}") from error
        with self._alone():
            entry = Entry.made(self._now(), what, to, data, note, self._last_hash())
            append_durably(self.path, entry.to_line())
        return entry

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked(self.path):
                if not self.path.exists():
                    append_durably(self.path, b"")
                    sync_folder(self.path.parent)
                yield
        except OSError as error:
            raise FloraError(f"{self.path}: nothing may leave that cannot be written down ({error})") from error

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="milliseconds")

    def _last_hash(self) -> str:
        """Return the last line's hash. Where a kill has torn that line, a line that says so takes its place.

        The file is replaced in one move: there is no moment at which the torn line is gone and nothing says so.
        """
        line, torn = self._end()
        try:
            previous = Entry.from_line(line).hash if line else FIRST
        except ValueError as error:
            raise InputError(f"{self.path}: the last line: {error}") from error
        if not torn:
            return previous
        note = f"a write was cut short after {len(torn)} bytes, whose digest this is; they are not in the file any more"
        entry = Entry.made(self._now(), REPAIR, "nobody", torn, note, previous)
        write_whole(self.path, self.path.read_bytes()[: -len(torn)] + entry.to_line(), mode=0o600)
        return entry.hash

    def _end(self) -> tuple[bytes, bytes]:
        """Return the last whole line, and what was begun after it."""
        with self.path.open("rb") as file:
            size = file.seek(0, SEEK_END)
            file.seek(max(0, size - 2 * MOST_LINE))
            *lines, torn = file.read().split(b"\n")
        if len(torn) > MOST_LINE:
            raise InputError(f"{self.path}: the last line is longer than {MOST_LINE} bytes, so this is no audit log")
        return (lines[-1] if lines else b""), torn


def verify(path: str | Path) -> tuple[Entry, ...]:
    """Return the entries of a log, or raise an :class:`InputError` that says which line is broken, and why."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with path.open("rb") as file:
        return tuple(entry for _, entry in _entries(path, file, _Place()))


@dataclass(frozen=True)
class _Place:
    """How far this process has verified a file."""

    size: int = 0
    digest: str = hashlib.sha256().hexdigest()  # of all bytes up to here
    lines: int = 0
    last: str = FIRST  # the hash of the line before


_verified: dict[Path, _Place] = {}  # by file, read and written by who has locked it


def _verify_rest(path: Path) -> None:
    """Verify a log, without the lines that this process has verified before and that are byte for byte as they were."""
    place = _verified.get(path, _Place())
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while part := file.read(min(MIB, place.size - file.tell())):
            digest.update(part)
        if digest.hexdigest() != place.digest:
            place, digest = _Place(), hashlib.sha256()
            file.seek(0)
        lines, last = place.lines, place.last
        for line, entry in _entries(path, file, place):
            digest.update(line)
            lines, last = lines + 1, entry.hash
        _verified[path] = _Place(file.tell(), digest.hexdigest(), lines, last)


def _entries(path: Path, file: BinaryIO, place: _Place) -> Iterator[tuple[bytes, Entry]]:
    """Return each line from a place on, with what it says, or raise :class:`InputError` at the first that is broken."""
    last = place.last
    for number, line in enumerate(iter(file.readline, b""), place.lines + 1):
        try:
            entry = _next(line, last)
        except ValueError as error:
            raise InputError(f"{path}: line {number}: {error}") from error
        last = entry.hash
        yield line, entry


def _next(line: bytes, previous: str) -> Entry:
    if not line.endswith(b"\n"):
        raise ValueError("it is torn: a write was cut short, and the party's next start repairs that")
    entry = Entry.from_line(line[:-1])
    if entry.previous != previous:
        raise ValueError("it does not follow the line before: one was changed, taken out or put in")
    return entry


def _hash_of(content: Mapping[str, Any]) -> str:
    """Return the hash of an entry: of all its fields but the hash itself."""
    return hashlib.sha256(json.dumps({**content, "hash": ""}).encode()).hexdigest()


def _check_field(name: str, value: Any) -> None:
    """Raise ValueError unless ``value`` can be that field's."""
    if name == "size":
        if type(value) is not int or value < 0:
            raise ValueError(f"size must be a whole number from 0, got {value!r:.40}")
        return
    if not isinstance(value, str) or len(value) > MOST_TEXT or not value.isprintable():
        raise ValueError(f"{name} must be at most {MOST_TEXT} printable characters, got {value!r:.40}")
    if name in ("sha256", "previous", "hash") and not _HASH.fullmatch(value):
        raise ValueError(f"{name} must be a SHA-256 in hexadecimal, got {value!r:.40}")
    if name == "time" and datetime.fromisoformat(value).utcoffset() != timedelta(0):
        raise ValueError(f"time must be in UTC, got {value!r:.40}")
