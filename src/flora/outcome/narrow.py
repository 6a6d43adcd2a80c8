"""Tables in a narrow terminal: lines break between words, no name is cut off, and no number parts from its error."""

import re
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from flora.outcome.numbers import SPACE

LONGEST = 20  # letters of a word that is kept whole: a longer one is folded


def whole(table: Table, width: int) -> Table:
    """Return the table with cells that break between words, where it is wider than ``width``.

    Where even single words do not fit beside each other, each row becomes a paragraph: nothing is left out.
    """
    excess = _widest(table) - width
    if excess <= 0:
        return table
    lengths, least = [], []
    for column in table.columns:
        column.no_wrap, column.overflow = False, "fold"
        cells = [_plain(cell) for cell in column.cells]
        lengths.append([cell_len(text) for text in (_plain(column.header), *cells)])
        words = [*_parts(_plain(column.header)), *(word for cell in cells for word in _words(cell))]
        least.append(min(max(map(cell_len, words), default=1), LONGEST))
    if sum(map(max, lengths)) - sum(least) < excess:
        return _told(table, width)
    for column, share in zip(table.columns, _narrowed(lengths, least, excess), strict=True):
        column.width, column.header = share, escape(_folded(_plain(column.header), share))
    return table


def _plain(cell: object) -> str:
    return Text.from_markup(str(cell)).plain


def _words(text: str) -> list[str]:
    return [text] if "±" in text else text.split()


def _parts(name: str) -> list[str]:
    """Return a header's words; that of an HP breaks behind an underscore, too."""
    return re.findall(r"[^\s_]*_+|[^\s_]+", name)


def _folded(header: str, width: int) -> str:
    """Return a header as lines of at most ``width`` letters, where its parts allow it."""
    lines = [""]
    for part in re.findall(r"\s*(?:[^\s_]*_+|[^\s_]+)", header):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part if lines[-1] else part.lstrip()
    return "\n".join(lines)


def _told(table: Table, width: int) -> Table:
    """Return the same with a paragraph for each row: what its columns say, one after the other."""
    first, *others = table.columns
    names = [_plain(cell) for cell in first.cells]
    rest = max(width - max(map(cell_len, names), default=0) - 6, LONGEST)
    told = Table("", "", title=table.title, title_justify="left", box=table.box, pad_edge=False, show_header=False)
    cells = [list(column.cells) for column in others]
    for k, (name, row) in enumerate(zip(names, table.rows, strict=True)):
        pairs = [_pair(_plain(column.header), _plain(own[k]), rest) for column, own in zip(others, cells, strict=True)]
        lines = wrap(", ".join(pairs), rest, break_on_hyphens=False)
        told.add_row(escape(name), escape("\n".join(lines).replace(SPACE, " ")), style=row.style)
    return told


def _pair(name: str, cell: str, width: int) -> str:
    """Return what a column says: on one line, if there is room for both."""
    between = SPACE if cell_len(f"{name} {cell},") <= width else " "
    return name.replace(" ", SPACE) + between + cell.replace(" ", SPACE)


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
