"""Names as a person reads them."""

from collections.abc import Sequence

NAMED = 5


def some_of(names: Sequence[str]) -> str:
    """Return names in a row, the first of them where they are many.

    >>> some_of(["a", "b"]), some_of("abcdefgh")
    ('a, b', 'a, b, c, d, e and 3 more')
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
