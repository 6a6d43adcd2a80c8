"""Tables in a narrow terminal: lines break between words, and no name is cut off."""

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

LONGEST = 20  # letters of a word that is kept whole: a longer one is folded


def whole(table: Table, width: int) -> Table:
    """Return the table with cells that break between words, where it is wider than ``width``.

    Where even single words do not fit beside each other, columns fold in the middle of words: nothing is left out.
    """
    excess = _widest(table) - width
    if excess <= 0:
        return table
    lengths, least = [], []
    for column in table.columns:
        column.no_wrap, column.overflow = False, "fold"
        texts = [Text.from_markup(str(text)).plain for text in (column.header, *column.cells)]
        lengths.append([cell_len(text) for text in texts])
        words = [word for text in texts for word in text.split()]
        least.append(min(max(map(cell_len, words), default=1), LONGEST))
    if sum(map(max, lengths)) - sum(least) >= excess:  # else rich folds words
        for column, share in zip(table.columns, _narrowed(lengths, least, excess), strict=True):
            column.width = share
    return table


def _narrowed(lengths: list[list[int]], least: list[int], excess: int) -> list[int]:
    """Return widths that are less by ``excess`` in all: the column gives first in which the fewest cells break."""
    found = [max(each) for each in lengths]

    def price(k: int) -> tuple[bool, int, int]:
        return found[k] <= least[k], sum(length >= found[k] for length in lengths[k]), least[k] - found[k]

    for _ in range(excess):
        found[min(range(len(found)), key=price)] -= 1
    return found


def _widest(table: Table) -> int:
    console = Console(width=10_000)
    return console.measure(table).maximum
