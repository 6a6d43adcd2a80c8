"""Where results are kept: of each protocol one compressed file, which a run adds to.

The file is an xz-compressed table of two columns, a name and a JSON document, with a line for each piece. What a run
computes lies loose in a folder of work, a file a piece, until the run packs it: as one more xz stream behind the
others. So nothing is compressed twice, and two versions of a file are merged by writing one behind the other.
"""

import json
import lzma
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from flora.core.files import locked, write_whole
from flora.errors import InputError

WORK, SUFFIX = ".work", ".tsv.xz"


@dataclass(frozen=True)
class Store:
    """The pieces of one protocol, by name; a name has a folder in front, which says what kind of piece it is."""

    packed: Path  # one file
    work: Path  # a folder that is nobody else's business: loose pieces and locks

    @classmethod
    def of(cls, results: Path, experiment: str, protocol: str) -> Self:
        """Return the store of a protocol."""
        return cls(results / experiment / f"{protocol}{SUFFIX}", results / WORK / experiment / protocol)

    @classmethod
    def all(cls, results: Path, experiment: str) -> list[Self]:
        """Return the stores of all protocols that have any results."""
        packed = {path.name.removesuffix(SUFFIX) for path in (results / experiment).glob(f"*{SUFFIX}")}
        loose = {path.name for path in (results / WORK / experiment).glob("*")}
        return [cls.of(results, experiment, protocol) for protocol in sorted(packed | loose)]

    def names(self) -> frozenset[str]:
        """Return the names of all pieces."""
        loose = frozenset(self._loose())  # first: a piece that is being packed is in the file before it is gone here
        return loose | frozenset(self._packed())

    def read(self, name: str) -> Any:
        """Return the document of a piece; None where there is no such piece."""
        text = self.text(name)
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            where = self._file(name) if self._file(name).exists() else self.packed / name
            raise InputError(f"{where}: not a JSON file ({error})") from error

    def text(self, name: str) -> bytes:
        """Return the bytes of a piece; none where there is no such piece."""
        try:
            return self._file(name).read_bytes()
        except FileNotFoundError:
            return self._packed().get(name, b"")

    def add(self, name: str, document: Any) -> None:
        """Keep a piece."""
        write_whole(self._file(name), json.dumps(document, allow_nan=False, separators=(",", ":")).encode())

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Keep out others who would compute the same piece; they wait."""
        lock = self.work / "locks" / name
        lock.parent.mkdir(parents=True, exist_ok=True)
        with locked(lock):
            yield

    def pack(self, *, anew: bool = False) -> None:
        """Put the loose pieces into the file; ``anew``: and make the file as small as can be."""
        self.work.mkdir(parents=True, exist_ok=True)
        with locked(self.work / "pack"):
            loose, packed = self._loose(), self._packed()
            new = {name: path.read_bytes() for name, path in loose.items() if name not in packed}
            if anew and (packed or new):
                write_whole(self.packed, compressed({**packed, **new}))
            elif new:
                before = self.packed.read_bytes() if packed else b""
                write_whole(self.packed, before + compressed(new))
            for path in loose.values():
                path.unlink()

    def _file(self, name: str) -> Path:
        return self.work / "pieces" / f"{name}.json"

    def _loose(self) -> dict[str, Path]:
        folder = self.work / "pieces"
        return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.json"))}

    def _packed(self) -> Mapping[str, bytes]:
        try:
            state = self.packed.stat()
        except FileNotFoundError:
            return {}
        return _unpacked(self.packed, state.st_ino, state.st_mtime_ns, state.st_size)


def compressed(pieces: Mapping[str, bytes]) -> bytes:
    """Return pieces as one stream, those of similar names side by side."""
    return lzma.compress(b"".join(b"%s\t%s\n" % (name.encode(), pieces[name]) for name in sorted(pieces)))


@lru_cache(maxsize=8)
def _unpacked(path: Path, *version: int) -> Mapping[str, bytes]:  # noqa: ARG001  (another version is read anew)
    """Return the texts in a file, by name."""
    try:
        lines = lzma.decompress(path.read_bytes()).splitlines()
        return {name.decode(): text for name, text in (line.split(b"\t", 1) for line in lines)}
    except (lzma.LZMAError, ValueError) as error:
        raise InputError(f"{path}: not a file of results ({error})") from error
