"""Hostile input: every reader takes it or refuses it with a FloraError, in bounded time and memory.

The short form runs in CI: hypothesis draws the edits, and shrinks those that break something. ``make fuzz`` is the long
one: ``FLORA_FUZZ`` is the number of cases for each reader, and ``FLORA_FUZZ_SEED`` chooses others. There a plain
generator draws them: hypothesis takes several times as long for a case as most readers.
"""

import faulthandler
import math
import os
import random
import resource
import shutil
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from flora.core.rules import one_line
from flora.errors import FloraError
from tests.hostile.mutations import EDITS, Edit
from tests.hostile.readers import READERS, Reader

SHORT, LONG = 150, int(os.environ.get("FLORA_FUZZ", "0"))  # cases
SEED = int(os.environ.get("FLORA_FUZZ_SEED", "0"))
SECONDS = 20  # of the processor that one case may take: a busy machine, or one that stood still, ends none
BLOCKED = 600  # seconds by the clock
MOST_MEMORY = 64 * 2**20  # bytes by which one case may raise the process's peak, besides some copies of its input
COPIES = 40
MOST_WORDS = 12_000  # characters of a message: more than the longest text that it may quote


class HangingError(BaseException):
    """A reader did not come to an end; nothing that catches exceptions catches this."""


@contextmanager
def bounded(size: int) -> Iterator[None]:
    """Raise where what is inside takes too long, or too much memory for an input of that size."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise HangingError(f"no end after {SECONDS} seconds")

    before, earlier = peak(), signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, earlier)
    taken = peak() - before
    assert taken <= MOST_MEMORY + COPIES * size, f"{taken} bytes of memory for an input of {size}"


@dataclass
class Watchdog:
    """Ends the process where a library written in C does not end, which no signal interrupts.

    It is wound up every few seconds, not for each case: that is a thread's end and another's beginning, and took more
    of the long form's time on a busy machine than the readers.
    """

    wound: float = -math.inf

    def wind(self) -> None:
        """Give what follows enough time, by the clock: somebody may wait, and take nothing of the processor."""
        if time.monotonic() - self.wound > SECONDS:
            faulthandler.dump_traceback_later(BLOCKED, exit=True)
            self.wound = time.monotonic()


@pytest.fixture
def watchdog() -> Iterator[Watchdog]:
    """A watchdog for a test's cases."""
    yield Watchdog()
    faulthandler.cancel_dump_traceback_later()


def emptied(folder: Path) -> Path:
    """Return a folder without what the case before has left there."""
    for left in folder.iterdir():
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink()
    return folder


def peak() -> int:
    """Return the most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def survives(read: Callable[[bytes], Any], data: bytes) -> None:
    """Raise unless a reader takes the bytes, or refuses them in one line that can be printed."""
    try:
        with bounded(len(data)), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a library, on what it reads
            read(data)
    except FloraError as error:
        words = str(error)
        assert words.strip()
        assert len(words) <= MOST_WORDS
        assert "\n".join(map(one_line, words.split("\n"))) == words  # a table's problems are a table


@cache
def corpus(reader: Reader) -> tuple[bytes, ...]:
    return tuple(reader.corpus())


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_takes_what_is_valid(reader: Reader, tmp_path: Path) -> None:
    taken = 0
    for data in corpus(reader):
        with suppress(FloraError):  # some documents are valid for another reader of the same name, or need others
            reader.read(data, tmp_path)
            taken += 1
    assert taken > 0 or reader.name == "a journal"  # of which a file is always replaced


Case = tuple[int, list[Edit]]  # which valid document, and what is done to it


def drawn(name: str, count: int, valid: int) -> Iterator[Case]:
    """Yield the cases of the long form."""
    rng = random.Random(f"{SEED} {name}")
    for _ in range(count):
        edits = [(rng.getrandbits(20), rng.getrandbits(20), rng.getrandbits(20)) for _ in range(rng.randint(1, 4))]
        yield rng.randrange(valid), edits


def shrunk(reader: Reader, survived: Callable[[int, list[Edit]], None]) -> None:
    """Try the cases of the short form."""
    shares = settings(
        max_examples=max(10, round(SHORT * reader.share)),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    which = st.integers(0, len(corpus(reader)) - 1)
    seed(SEED)(shares(given(which, EDITS)(survived)))()


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_survives_what_is_hostile(reader: Reader, tmp_path: Path, watchdog: Watchdog) -> None:
    valid = corpus(reader)

    def survived(which: int, edits: list[Edit]) -> None:
        watchdog.wind()
        survives(lambda data: reader.read(data, emptied(tmp_path)), reader.mutate(valid[which], edits))

    with suppress(FloraError):
        reader.read(valid[0], tmp_path)  # what it imports is not the case's
    if not LONG:
        return shrunk(reader, survived)
    for case in drawn(reader.name, LONG, len(valid)):
        try:
            survived(*case)
        except BaseException as error:
            error.add_note(f"the case was {case}")
            raise
    return None
