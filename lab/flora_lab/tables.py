"""Tables: for a terminal, as Markdown, and as CSV."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from flora_lab.statistics import Spread

WIDTH = 110  # where the output is no terminal: a column for each rule


def wide_console() -> Console:
    """Return the terminal, or where there is none a page that is wide enough for all columns."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def table_of_numbers(title: str, heads: Sequence[str], *, width: int | None = 5, fold: bool = False) -> Table:
    """Return an empty table: names on the left, which may fold, then columns of numbers."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("", no_wrap=not fold, overflow="fold" if fold else "ellipsis")
    for head in heads:
        table.add_column(head, no_wrap=True, justify="right", min_width=width)
    return table


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def to_csv(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return CSV: a column for each number, named by the way to it, as ``regret aplm median``."""
    flat = [dict(_flat(line)) for line in lines]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for line in flat for name in line)))
    writer.writeheader()
    writer.writerows(flat)
    return out.getvalue()


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name} {key}".strip())
    elif isinstance(value, list | tuple):
        yield name, "/".join(map(str, value))
    else:
        yield name, value


def number(value: float | None, digits: int) -> str:
    """Return a number in words, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def middle(spread: Spread | None, digits: int) -> str:
    """Return the median of a spread."""
    return number(None if spread is None else spread["median"], digits)


def with_quartiles(spread: Spread | None, digits: int) -> str:
    """Return the median of a spread with its quartiles behind it, where they differ."""
    if spread is None:
        return "-"
    median, low, high = (number(spread[key], digits) for key in ("median", "low", "high"))
    return median if low == high else f"{median} ({low}–{high})"
