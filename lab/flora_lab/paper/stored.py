"""All that is stored of the tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flora.errors import InputError
from flora_lab.cells import Protocol
from flora_lab.paper.compare import PERCENT
from flora_lab.paper.ours import Row
from flora_lab.store import Store

EXPERIMENT = "paper"  # whose results they are
COMMON = frozenset({"family", "dataset", "parties", "seed", "box", "protocol", "baseline", "surfaces", "versions"})
FIELDS = {  # what a piece of each kind must have
    "cells": COMMON | {"split", "trials", "send", "gamma", *PERCENT},
    "testbed": COMMON | {"rows", "held_out", "held_out_classes"},
    "answers": frozenset({"protocol", "evidence", "score", "default_counted", "counts"}),
}


@dataclass(frozen=True)
class StoredRows:
    """All that is stored of the tables: every row, of every protocol, box and split."""

    rows: Sequence[Row]
    beds: Sequence[Row]

    @classmethod
    def read(cls, results: Path) -> "StoredRows":
        """Read a folder of results; one that is not there has none."""
        stores = Store.all(results, EXPERIMENT)
        rows = [{**row, "answer": _answer(store, name)} for store in stores for name, row in _rows(store, "cells")]
        return cls(rows, [row for store in stores for _, row in _rows(store, "testbed")])

    @property
    def protocols(self) -> list[str]:
        """The names of the protocols, of which each number has one."""
        return sorted({row["protocol"].name for row in (*self.rows, *self.beds)})

    @property
    def versions(self) -> dict[str, list[str]]:
        """The versions of each library that any row was computed with."""
        found: dict[str, set[str]] = {}
        for row in (*self.rows, *self.beds):
            for name, version in row["versions"].items():
                found.setdefault(name, set()).add(version)
        return {name: sorted(versions) for name, versions in found.items()}


def _rows(store: Store, kind: str) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a kind, by name."""
    for name in sorted(store.names()):
        if name.startswith(f"{kind}/"):
            row = _checked(store, name)
            yield name.removeprefix(f"{kind}/"), {**row, "protocol": Protocol(**row["protocol"])}


def _answer(store: Store, cell: str) -> Row | None:
    """Return FLoRA's own answer in a cell, where there is one."""
    name = f"answers/{cell}"
    return None if store.read(name) is None else _checked(store, name)


def _checked(store: Store, name: str) -> Row:
    found, needed = store.read(name), FIELDS[name.partition("/")[0]]
    if not isinstance(found, dict) or not needed <= set(found):
        raise InputError(f"{store.packed}: {name} must have the fields {sorted(needed)}, got {found!s:.80}")
    return found
