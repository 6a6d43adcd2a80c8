"""Several parties' tables on one machine: what is found out about them, or wrong with them, is told in one go."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flora.cli.options import TableOptions
from flora.cli.printing import note
from flora.errors import DataError
from flora.problem.messages import Describe, Reply, Step
from flora.program.drive import Ask
from flora.program.single_shot import notes_of

if TYPE_CHECKING:
    from flora.party.tables.table import Table


def opened_tables(named: Sequence[tuple[str, str]], options: TableOptions) -> "dict[str, Table]":
    """Return the parties' tables; what is found out about several is said once, with their names."""
    from flora.party.tables.file import name_of_table

    heard: dict[str, list[str]] = {name: [] for name, _ in named}
    try:
        return {name: options.open(path, heard[name].append) for name, path in named}
    finally:
        for words in notes_of(
            [(name, text.removeprefix(f"{name_of_table(path)}: ")) for name, path in named for text in heard[name]]
        ):
            note(words)


def told_together(ask: Ask, tables: "Mapping[str, Table]") -> Ask:
    """Return the same engine; what is wrong with the tables is told of all parties in one go."""

    def told(step: Step) -> list[Reply]:
        try:
            return list(ask(step))
        except DataError:
            if isinstance(step, Describe):
                _check_tables(tables, step)
            raise

    return told


def _check_tables(tables: "Mapping[str, Table]", step: Describe) -> None:
    """Raise if several parties' tables are not what a description needs."""
    from flora.party.tables.problems import refused_together

    errors = {}
    for name, table in tables.items():
        try:
            table.described(step.task, step.schema)
        except DataError as error:
            errors[name] = error
    together = refused_together(errors)
    if together is not None:
        raise together
