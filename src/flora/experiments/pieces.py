"""Runs pieces. Each search and each row is a file; a run computes what is not there, so it goes on where it stopped."""

import fcntl
import json
import multiprocessing
import os
import sqlite3
import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.durable import write_whole
from flora.errors import FloraError
from flora.experiments.cells import Protocol
from flora.experiments.machine import note_machine
from flora.models import family_of
from flora.plan import SearchPlan
from flora.search import search_locally
from flora.table import Rows

FIT = 500  # rows that would take as long as what a fit takes besides its rows: a guess, for the time left
ROW = 10  # configs that would take as long as a row of numbers: the same


@dataclass(frozen=True)
class Bench:
    """Where results are kept, what they are computed from, and how thoroughly."""

    results: Path  # small files, one a search and one a row
    work: Path  # searches that are under way
    data: Path | None
    protocol: Protocol


class Piece(typing.Protocol):
    """A result that is computed once and kept as a file."""

    def file(self, bench: Bench) -> Path:
        """Return the file that keeps it."""
        ...

    def compute(self, bench: Bench) -> bytes:
        """Return what is to be kept."""
        ...

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is, roughly, and which part of it is done."""
        ...


def keep(piece: Piece, bench: Bench) -> Path:
    """Return the file of a piece, which is computed if it is not there; if another run is about it, wait for that."""
    file = piece.file(bench)
    if file.exists():
        return file
    with _alone(bench.work / f"{file.relative_to(bench.results).as_posix().replace('/', '-')}.lock"):
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, piece.compute(bench))
            note_machine(bench.results)
    return file


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Keep other runs out, which wait; the lock goes with the process, even with kill -9."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(stages: Sequence[Sequence[Piece]], bench: Bench, jobs: int) -> Iterator[None]:
    """Do what is missing, a stage after the other, with joblib's workers; yield after each piece."""
    from joblib import Parallel, delayed

    for pieces in stages:
        work = [delayed(_keep_alone)(piece, bench) for piece in missing(pieces, bench)]
        for _ in Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
            yield


def _keep_alone(piece: Piece, bench: Bench) -> None:
    """Compute a piece in one worker: dask would send out each tree of a forest."""
    from joblib import parallel_config

    with parallel_config(backend="sequential"):
        keep(piece, bench)


def missing(pieces: Sequence[Piece], bench: Bench) -> list[Piece]:
    """Return the pieces that are not there yet."""
    return [piece for piece in pieces if not piece.file(bench).exists()]


def work_done(pieces: Sequence[Piece], bench: Bench) -> tuple[float, float]:
    """Return how much work the pieces are, and how much of it is done; a search that is under way counts in part."""
    total = done = 0.0
    for piece in pieces:
        size, part = piece.work(bench)
        total, done = total + size, done + size * (1.0 if piece.file(bench).exists() else part)
    return total, done


def read_row(row: Piece, bench: Bench) -> dict[str, Any]:
    """Return a row of numbers, computed if it is not there; the first rows did not name their box."""
    return {"box": "published", **json.loads(keep(row, bench).read_bytes())}


def to_bytes(row: Mapping[str, Any]) -> bytes:
    """Return a row as it is kept."""
    return (json.dumps(row, indent=1, allow_nan=False) + "\n").encode()


def searched(plan: SearchPlan, rows: Rows, party: str, storage: Path) -> bytes:
    """Return the trials of a search, which goes on where a killed one stopped."""
    found = search_locally(rows, plan, family_of(plan.family), party=party, storage=storage, progress=while_asked)
    return found.to_json().encode()


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
