"""All that is stored of the tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flora.errors import InputError
from flora_lab.cells import Protocol
from flora_lab.paper.compare import PERCENT, Row
from flora_lab.store import Store

EXPERIMENT = "paper"  # whose results they are
COMMON = frozenset({"family", "dataset", "parties", "seed", "box", "protocol", "baseline", "surfaces", "versions"})
FIELDS = {  # what a row of each kind must have
    "cells": COMMON | {"split", "trials", "send", "gamma", *PERCENT},
    "testbed": COMMON | {"rows", "held_out", "held_out_classes"},
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
        return cls(*([row for store in stores for row in _rows(store, kind)] for kind in FIELDS))

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


def _rows(store: Store, kind: str) -> Iterator[Row]:
    """Yield the rows of a kind."""
    for name in sorted(store.names()):
        if name.startswith(f"{kind}/"):
            row = store.read(name)
            if not isinstance(row, dict) or not FIELDS[kind] <= set(row):
                raise InputError(f"{store.packed}: {name} must have the fields {sorted(FIELDS[kind])}, got {row!s:.80}")
            yield {**row, "protocol": Protocol(**row["protocol"])}
