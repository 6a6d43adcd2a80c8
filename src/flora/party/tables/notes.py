"""What is odd about a party's table and no error: a sentence for the user about each."""

from collections.abc import Sequence

import pandas as pd

from flora.party.tables.identifiers import suspicion
from flora.problem.schema import Schema


def notes_on(frame: pd.DataFrame, schema: Schema, *, given: bool) -> list[str]:
    """Return notes on columns; a schema that was ``given`` by the consortium has decided what they are."""
    blank = [name for name in schema.names if not frame[name].notna().any()]
    constant = [name for name in constant_columns(frame, schema) if name not in blank]
    notes = [f"no value at all in {_columns(blank)}"] if blank else []
    notes += [f"one value only in {_columns(constant)}"] if constant else []
    return notes if given else notes + _suspicions(frame, schema)


def constant_columns(table: pd.DataFrame, schema: Schema) -> list[str]:
    """Return the names of columns with one value only: no error, but worth a warning."""
    return [name for name in schema.names if table[name].nunique(dropna=False) <= 1]


def _suspicions(frame: pd.DataFrame, schema: Schema) -> list[str]:
    """Return notes on numbers that may be identifiers or codes."""
    numeric = [column.name for column in schema.columns if column.kind == "numeric"]
    found: dict[str, list[str]] = {}
    for name in numeric:
        why = suspicion(frame[name])
        if why:
            found.setdefault(why, []).append(name)
    advice = "--drop it, or let a --schema call it categorical, if it is no quantity"
    return [f"{_columns(names)}: {why}; {advice}" for why, names in found.items()]


def _columns(names: Sequence[str]) -> str:
    shown = ", ".join(f"{name!r:.80}" for name in names[:5])
    return f"column {shown}" if len(names) == 1 else f"{len(names)} columns: {shown}{', ...' * (len(names) > 5)}"
