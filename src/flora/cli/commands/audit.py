"""``flora audit``: a party's record of all that left it."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flora.cli.arguments import add_json
from flora.cli.parsed import options_of
from flora.party.audit import FIRST, Entry, verify


@dataclass(frozen=True)
class AuditOptions:
    """What ``flora audit`` was asked for."""

    file: Path
    json: bool


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("file", type=Path, metavar="FILE", help="KIT/state/audit.jsonl")
    add_json(parser, "it")


def run(parsed: Namespace) -> dict[str, Any]:
    """Read and verify a log, and show what left."""
    options = options_of(AuditOptions, parsed)
    entries = verify(options.file)
    document = {
        "format": "flora-audit",
        "version": 1,
        "file": str(options.file),
        "last": entries[-1].hash if entries else FIRST,
        "entries": [asdict(entry) for entry in entries],
    }
    if not options.json:
        console = Console()
        console.print(audit_table(entries))
        whole = f"{len(entries)} entries, each with the hash of the one before; the last is {document['last']}"
        console.print(whole, markup=False, highlight=False, soft_wrap=True)
    return document


def audit_table(entries: Sequence[Entry]) -> Table:
    """Return the entries as a table to look at."""
    table = Table(box=SIMPLE_HEAD)
    for header in ("time (UTC)", "what", "to", "bytes"):
        table.add_column(header, no_wrap=True)
    table.add_column("SHA-256", overflow="fold")
    table.add_column("note", overflow="fold")
    for entry in entries:
        time = entry.time.removesuffix("+00:00")
        table.add_row(
            time, escape(entry.what), escape(entry.to), str(entry.size), entry.sha256[:16], escape(entry.note)
        )
    return table
