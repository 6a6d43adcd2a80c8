"""How a party's table is written, and which of its columns count: one record for every command that reads a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from flora.core.rules import check
from flora.errors import InputError

Dates = Literal["refuse", "parts", "parts-dmy", "parts-mdy"]
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SPELLED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}
Say = Callable[[str], None]  # tells the person at the party's own screen; nothing of it leaves


def unsaid(text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class TableFormat:
    """A party's own table, as it comes. None: found out from the file, and said."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()  # texts that stand for a missing value, besides the usual ones
    dates: Dates = "refuse"
    auto: bool = False  # leave out identifiers and free text
    weight: str | None = None  # the column that says how much each row counts

    def __post_init__(self) -> None:
        check(self)
        if self.sep in SPELLED:
            object.__setattr__(self, "sep", SPELLED[self.sep])
        if self.sep is not None and len(self.sep) != 1:
            raise InputError(f"--sep must be one character or tab, got {self.sep!r}")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"--decimal must be . or , and got {self.decimal!r}")
        if self.sep == self.decimal == ".":  # two commas can be told apart, where numbers stand in quotes
            raise InputError("--sep and --decimal must differ, both are '.'")
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise InputError(
                f"--encoding must be one that Python knows, such as utf-8 or cp1252, got {self.encoding!r}"
            )


def _is_encoding(name: str) -> bool:
    try:
        "".encode(name)  # codecs.lookup would also know those of bytes, as base64
    except (LookupError, ValueError):
        return False
    return True
