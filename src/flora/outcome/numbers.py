"""Numbers for a person: as many digits as their error leaves."""

import math
from collections.abc import Iterable
from typing import Any

NONE = "–"
SPACE = "\u00a0"  # a number and its error stay on one line


def number(value: Any) -> str:
    """Return a value for a person: numbers with four digits.

    >>> number(0.123456), number(1234567), number(None), number(True), number("rbf")
    ('0.1235', '1234567', '–', 'true', 'rbf')
    """
    if value is None:
        return NONE
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def decimals(errors: Iterable[float | None]) -> int:
    """Return after how many decimals the numbers of a column end: the middle one of their errors keeps two digits.

    >>> decimals([0.0033]), decimals([0.042, 0.034, 0.0026]), decimals([12.5]), decimals([])
    (4, 3, 0, 4)
    """
    known = sorted(error for error in errors if error)
    if not known:
        return 4
    return min(max(1 - math.floor(math.log10(known[len(known) // 2])), 0), 8)


def plain(value: float | None, digits: int) -> str:
    """Return a number with so many decimals; one that rounds to nothing has no sign.

    >>> plain(0.96989, 4), plain(-1e-16, 4), plain(None, 4)
    ('0.9699', '0.0000', '–')
    """
    return NONE if value is None else f"{value:z.{digits}f}"


def signed(value: float, digits: int) -> str:
    """Return a difference with its sign; one that rounds to nothing has none.

    >>> signed(0.06543, 3), signed(-0.00001, 3)
    ('+0.065', '0.000')
    """
    text = f"{value:+.{digits}f}"
    return text if float(text) else text[1:]


def pair(value: str, error: float | None, digits: int) -> str:
    """Return a number that is written already with its error, as far as that is known.

    >>> pair("0.970", 0.0033, 3).replace(SPACE, " ")
    '0.970 ± 0.003'
    """
    return value if error is None else f"{value}{SPACE}±{SPACE}{error:.{digits}f}"


def with_error(value: float | None, error: float | None, digits: int) -> str:
    """Return a number with its error."""
    return pair(plain(value, digits), None if value is None else error, digits)


def signed_with_error(value: float, error: float | None, digits: int) -> str:
    """Return a difference with its error."""
    return pair(signed(value, digits), error, digits)


def bytes_words(size: int) -> str:
    """Return a size in round words.

    >>> bytes_words(912), bytes_words(34_567), bytes_words(2_345_678)
    ('912 bytes', '35 kB', '2.3 MB')
    """
    if size < 1_000:
        return f"{size} bytes"
    return f"{size / 1e3:.0f} kB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"


def counted(count: int, one: str, more: str | None = None) -> str:
    """Return a number of things.

    >>> counted(1, "party", "parties"), counted(3, "trial")
    ('1 party', '3 trials')
    """
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def listed(names: Iterable[str], most: int = 4) -> str:
    """Return names in a row, the first of many.

    >>> listed(["a", "b"]), listed("abcdefg")
    ('a and b', 'a, b, c, d and 3 more')
    """
    found = list(names)
    if len(found) > most:
        return f"{', '.join(found[:most])} and {len(found) - most} more"
    return " and ".join(filter(None, (", ".join(found[:-1]), *found[-1:])))
