"""Runs pieces: searches, and the numbers that follow from them. What is there is not computed again."""

import multiprocessing
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from typing import Protocol as Contract

from flora.cli.printing import messages
from flora.errors import FloraError, InputError
from flora.models import family_of
from flora.models.family import ModelFamily
from flora.models.rows import Rows
from flora.party.local_search.search import search_locally
from flora.problem.plan import SearchPlan
from flora_lab.bar import work_bar
from flora_lab.cells import Protocol
from flora_lab.machine import note_machine
from flora_lab.store import Store

SECONDS = "seconds"  # of a processor: not in the pieces, whose bytes are the same wherever they are computed
POOLED = "all rows"  # in place of a party's name
FIT = 500  # rows that would take as long as what a fit takes besides its rows: a guess, for the time left


@dataclass(frozen=True)
class Bench:
    """Where results are kept, what they are computed from, and how thoroughly."""

    results: Path
    experiment: str
    data: Path | None
    protocol: Protocol

    @property
    def store(self) -> Store:
        """The pieces that there are."""
        return Store.of(self.results, self.experiment, self.protocol.name)

    @property
    def seconds(self) -> Store:
        """How long each piece took: seconds of a processor, and which part of it an earlier run had done before."""
        return Store.of(self.results, SECONDS, f"{self.experiment}-{self.protocol.name}")

    def storage(self, search: str) -> Path:
        """Return the file of a search that is under way."""
        return self.store.work / f"{search}.db"


class Piece(Contract):
    """A result that is computed once and kept."""

    @property
    def name(self) -> str:
        """Its name in the store."""
        ...

    def compute(self, bench: Bench) -> Any:
        """Return what is to be kept, as JSON's types."""
        ...

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is, roughly, and which part of it is done."""
        ...


P = TypeVar("P", bound=Piece)


def keep(piece: Piece, bench: Bench) -> Any:
    """Return a piece, which is computed if it is not there; if another run is about it, wait for that."""
    store = bench.store
    found = store.read(piece.name)
    if found is None:
        with store.alone(piece.name):
            if store.read(piece.name) is None:
                _, done = piece.work(bench)
                began = time.process_time()
                document = piece.compute(bench)
                took = {"seconds": round(time.process_time() - began, 2), "done_before": done}
                bench.seconds.add(piece.name, took)  # before the piece: what is there is not computed again
                store.add(piece.name, document)
                note_machine(bench.results)
        found = store.read(piece.name)
    return found


def run(stages: Sequence[Sequence[Piece]], bench: Bench, jobs: int) -> Iterator[None]:
    """Do what is missing, a stage after the other, with joblib's workers; yield after each piece, and pack them all."""
    from joblib import Parallel, delayed

    try:
        for pieces in stages:
            work = [delayed(_keep_alone)(piece, bench) for piece in missing(pieces, bench)]
            for _ in Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
                yield
    finally:
        bench.seconds.pack()
        bench.store.pack()


def compute_missing(what: str, stages: Sequence[Sequence[Piece]], bench: Bench, jobs: int) -> None:
    """Do what is missing, with a bar that says how far it is."""
    left = [piece for stage in stages for piece in missing(stage, bench)]
    with work_bar(what, lambda: work_done(left, bench), messages):
        for _ in run(stages, bench, jobs):
            pass


def at_hand(pieces: Sequence[P], bench: Bench, *, stored: bool, jobs: int, before: Sequence[Piece] = ()) -> list[P]:
    """Return the pieces that are there, if no others are wanted; else all: what is missing is computed now.

    ``before`` are pieces that these need: they come first.
    """
    if not stored:
        compute_missing("pieces", [before, pieces], bench, jobs)
        return list(pieces)
    there = bench.store.names()
    found = [piece for piece in pieces if piece.name in there]
    if not found:
        raise InputError(f"{bench.store.packed}: has none of what was asked for")
    return found


def _keep_alone(piece: Piece, bench: Bench) -> None:
    """Compute a piece in one worker: dask would send out each tree of a forest."""
    from joblib import parallel_config

    with parallel_config(backend="sequential"):
        keep(piece, bench)


def missing(pieces: Sequence[P], bench: Bench) -> list[P]:
    """Return the pieces that are not there yet."""
    there = bench.store.names()
    return [piece for piece in pieces if piece.name not in there]


def work_done(pieces: Sequence[Piece], bench: Bench) -> tuple[float, float]:
    """Return how much work the pieces are, and how much of it is done; a search that is under way counts in part."""
    total = done = 0.0
    there = bench.store.names()
    for piece in pieces:
        size, part = piece.work(bench)
        total, done = total + size, done + size * (1.0 if piece.name in there else part)
    return total, done


def searched(
    plan: SearchPlan, rows: Rows, party: str, storage: Path, family: ModelFamily | None = None
) -> dict[str, Any]:
    """Return the trials of a search, as they would leave a party; it goes on where a killed one stopped."""
    kind = family or family_of(plan.family)
    return search_locally(rows, plan, kind, party=party, storage=storage, progress=while_asked).to_document()


def while_asked(party: str, done: int, total: int) -> None:
    """Raise in a worker process whose run was killed: it would compute on for nobody. What is done is kept."""
    parent = multiprocessing.parent_process()
    if parent is not None and os.getppid() != parent.pid:
        raise FloraError(f"{party}: the run that asked for this search has ended, after {done} of {total} trials")


def search_work(trials: int, rows: int, storage: Path) -> tuple[float, float]:
    """Return how much work a search is (a fit has a cost of its own besides its rows), and which part is stored."""
    size = float(trials * (rows + FIT))
    if not storage.exists():
        return size, 0.0
    try:
        with closing(sqlite3.connect(f"file:{storage}?mode=ro", uri=True, timeout=1)) as stored:
            return size, min(1.0, stored.execute("SELECT count(*) FROM trials").fetchone()[0] / trials)
    except sqlite3.Error:  # its first moment, or just being written
        return size, 0.0
