"""``flora compare``: two runs side by side."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flora.cli.arguments import add_json
from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.outcome.compare import Line, compare
from flora.outcome.folder import read_run
from flora.outcome.narrow import whole


@dataclass(frozen=True)
class CompareOptions:
    """What ``flora compare`` was asked for."""

    first: Path
    second: Path
    json: bool


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("first", type=Path, metavar="OUT1", help="the folder of a run")
    parser.add_argument("second", type=Path, metavar="OUT2", help="the folder of another")
    add_json(parser, "the comparison")


def run(parsed: Namespace) -> dict[str, Any]:
    """Show two runs side by side."""
    options = options_of(CompareOptions, parsed)
    found = compare(read_run(options.first)[0], read_run(options.second)[0])
    if not options.json:
        names = (str(options.first), str(options.second))
        parts = {"Settings that differ": found.settings, "Recommended": found.configs}
        parts |= {"Gain at each party": found.parties, "Outcome": found.outcome}
        for title, lines in parts.items():
            if lines:
                _show(title, lines, names)
        if not found.settings:
            print_line("The runs have the same settings.")
        if not found.comparable:
            print_line("Their targets, scorings or spaces differ: gains and losses cannot be compared.")
    return found.to_document()


def _show(title: str, lines: Sequence[Line], names: tuple[str, str]) -> None:
    console = Console()
    table = Table("", *map(escape, names), title=title, title_justify="left", box=SIMPLE_HEAD)
    for line in lines:
        style = "bold" if line.differs else None
        table.add_row(escape(line.what), escape(line.first), escape(line.second), style=style)
    console.print(whole(table, console.width))
