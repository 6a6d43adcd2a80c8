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
    if _widest(table) <= width:
        return table
    for column in table.columns:
        column.no_wrap, column.overflow = False, "fold"
        texts = [column.header, *column.cells]
        words = [word for text in texts for word in Text.from_markup(str(text)).plain.split()]
        column.min_width = min(max(map(cell_len, words), default=1), LONGEST)
    if sum((column.min_width or 1) + 2 for column in table.columns) + 2 > width:
        for column in table.columns:
            column.min_width = None
    return table


def _widest(table: Table) -> int:
    console = Console(width=10_000)
    return console.measure(table).maximum
