"""``flora schema``: what a party's columns are, or what several parties agree on."""

import json
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.arguments import TASKS
from flora.cli.options import stem
from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.cli.printing import note
from flora.cli.table_arguments import add_drop, add_format
from flora.core.files import write_whole
from flora.errors import DataError, InputError
from flora.party.tables.format import TableFormat
from flora.problem.schema import Schema, Task, agree


@dataclass(frozen=True)
class SchemaOptions:
    """What ``flora schema`` was asked for."""

    inputs: tuple[str, ...]
    target: str | None
    task: Task | None
    drop: tuple[str, ...]
    format: TableFormat
    out: Path


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help="tables, or schema files of parties to be merged")
    parser.add_argument("--target", metavar="COL", help="the column to predict (of tables)")
    parser.add_argument("--task", choices=TASKS)
    add_drop(parser)
    add_format(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="SCHEMA.json")


def run(parsed: Namespace) -> None:
    """Describe tables, or merge what parties described."""
    from flora.party.tables.file import name_of_table
    from flora.party.tables.table import open_table

    options = options_of(SchemaOptions, parsed)
    schemas: dict[str, Schema] = {}
    for name in options.inputs:
        if Path(name).suffix == ".json":
            schemas[stem(name)] = Schema.read(name)
        elif options.target is None:
            raise InputError(f"{name}: a table needs --target COL")
        else:
            table = open_table(name, options.target, options.drop, options.format, say=note)
            schemas[stem(name)], _, found = table.described(options.task, None)
            for words in found:
                note(f"{name_of_table(name)}: {words}")
    if len(schemas) < len(options.inputs):
        raise DataError(f"party names must differ, got {[stem(name) for name in options.inputs]}")
    agreed = agree(schemas)
    write_whole(options.out, (json.dumps(agreed.to_json(), indent=1) + "\n").encode())
    print_line(f"Written: {options.out}: {len(agreed.columns)} columns, {agreed.task} of {agreed.target!r}")
