"""How a run across machines ended: its controller writes that beside the result, and the scientist fetches both."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

from flora.core.codec import to_document
from flora.core.documents import Format
from flora.core.files import write_whole
from flora.core.rules import Name, check, one_line
from flora.errors import FloraError, InputError, WireError

FILE = "outcome.json"
FORMAT = Format("flora-ending", error=WireError)


@dataclass(frozen=True)
class Ending:
    """Whether a run finished, and why not."""

    state: Literal["finished", "lost", "late", "stopped", "failed"]
    error: str = ""
    parties: tuple[Name, ...] = ()  # that are lost or late
    step: str = ""  # in which they are
    input: bool = False  # whether the input was wrong

    def __post_init__(self) -> None:
        check(self, WireError)

    @property
    def fault(self) -> FloraError:
        """The error that ended the run for good."""
        return (InputError if self.input else FloraError)(self.error)

    def write(self, folder: Path) -> None:
        """Write it into the folder that is fetched."""
        write_whole(folder / FILE, FORMAT.text(to_document(self)).encode())

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read it from there; its words may quote what a party said."""
        file = folder / FILE
        found = FORMAT.record(cls, FORMAT.file(file), file.name)
        return replace(found, error="\n".join(map(one_line, found.error.splitlines())))
