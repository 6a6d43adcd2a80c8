"""Names as a person reads them."""

import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

NAMED = 5


def some_of(names: Sequence[str]) -> str:
    """Return names in a row, the first of them where they are many.

    >>> some_of(["a", "b"]), some_of("abcdefgh")
    ('a, b', 'a, b, c, d, e and 3 more')
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def nearest(typed: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Return the known name that was probably meant, whatever its case; None where none is so alike.

    >>> nearest("INCOME", ["income", "age"]), nearest("incmoe", ["income", "age"]), nearest("sex", ["income", "age"])
    ('income', 'income', None)
    """
    folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    found = get_close_matches(typed.casefold(), folded, n=1, cutoff=likeness)
    return folded[found[0]] if found else None


def cut(text: str, most: int = 40) -> str:
    """Return a text in quotes, and less of it where it is long.

    >>> cut("moon"), cut("Nest never observed", 10)
    ("'moon'", "'Nest ne...'")
    """
    return repr(text if len(text) <= most else f"{text[: most - 3]}...")


def to_drop(column: str) -> str:
    """Return the option that leaves a column out, as a shell takes it.

    >>> to_drop("Date Egg")
    "--drop 'Date Egg'"
    """
    return f"--drop {shlex.quote(column)}"
