"""How commands print: the answer on standard output, all else on standard error."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flora.cli.plain import harmless
from flora.outcome.narrow import whole

messages = Console(stderr=True)


def note(text: str) -> None:
    """Tell the person something beside the result."""
    messages.print(harmless(text), markup=False, highlight=False, soft_wrap=True)


def show_cells(cells: Sequence[Sequence[str]]) -> None:
    """Show a table beside the result; its first row is the header, and no line is wider than the terminal."""
    table = Table(*cells[0], box=SIMPLE_HEAD, pad_edge=False)
    for row in cells[1:]:
        table.add_row(*(escape(harmless(cell)) for cell in row))
    messages.print(whole(table, messages.width))
