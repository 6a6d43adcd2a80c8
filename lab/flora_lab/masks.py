"""``flora-lab masks``: what masks cost a training, in threads of this process.

Parties are threads that add up as across machines, but without a network: what is measured is the parties' own work,
as the process's own seconds (``time.process_time``, all threads together), so that other work on the machine weighs
less. Trainings with masks and without take turns. ``flora-lab network`` measures the same with a network, and
``--searches`` what a search in sums costs.
"""

import hashlib
import secrets
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.core.collective import Collective, Floats
from flora.core.masks import BLOCK, KEY_BYTES, TAG, FreshSigner, Masking, add_masks
from flora.core.threads import in_step
from flora.core.workers import one_thread
from flora.errors import FloraError, InputError
from flora.models import FAMILIES, family_of
from flora.models.rows import Rows
from flora.party.gate import WatchedCollective
from flora.problem.plan import at_least
from flora.problem.private_messages import FEWEST_PARTIES
from flora.problem.space import Config
from flora_lab import searches
from flora_lab.machine import about
from flora_lab.speed.trees import made_up_rows
from flora_lab.statistics import spread_of

PARTIES = (3, 20, 50)
ROWS, COLUMNS = 15_000, 30
CONFIGS: dict[str, Config] = {"hgb": {"max_iter": 5}, "svm": {}, "mlp": {"max_iter": 5}}


@dataclass(frozen=True)
class MaskOptions:
    """What ``flora-lab masks`` was asked for."""

    families: tuple[str, ...]
    parties: tuple[int, ...]
    rows: int | None
    repeats: int
    searches: bool

    def __post_init__(self) -> None:
        at_least("repeats", self.repeats, 1)
        for count in self.parties:
            at_least("parties", count, FEWEST_PARTIES if self.searches else 2)
        rows = self.rows or (ROWS if not self.searches else searches.ROWS_EACH * max(self.parties))
        if rows < 10 * max(self.parties):
            raise InputError(f"need at least 10 rows for each party, got {rows} for {max(self.parties)}")


@dataclass(frozen=True)
class TrainingCost:
    """What one training took: seconds of all parties together, and what one party sent."""

    seconds: float
    calls: int
    sent: int
    model: str  # its digest


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES), metavar="NAME")
    parser.add_argument("--parties", type=int, nargs="+", default=PARTIES, metavar="P", help="(3, 20 and 50)")
    each = f"of all parties together ({ROWS}; with --searches {searches.ROWS_EACH} for each party)"
    parser.add_argument("--rows", type=int, metavar="N", help=each)
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="of each training (%(default)s)")
    parser.add_argument("--searches", action="store_true", help="what a search in sums costs, beside one with pairs")


def run(parsed: Namespace) -> None:
    """Measure, and print a line for each family and number of parties as soon as it is there."""
    options = options_of(MaskOptions, parsed)
    sys.stdout.write(about("numpy", "scikit-learn", "cryptography") + "\n")
    if options.searches:
        for line in searches.lines(options.families, options.parties, options.rows, COLUMNS):
            print_line(line)
        return
    rows = options.rows or ROWS
    whole, cipher = (spread_of(1e3 * seconds, 3) for seconds in seconds_of_a_mask())
    print_line(f"A mask of a megabyte: {whole} own ms, of which the cipher alone {cipher}")
    sys.stdout.write(
        f"{rows} x {COLUMNS} rows, 5 trees or rounds; medians of {options.repeats} (least to most)\n"
        "| family | parties | own s a party, no masks | with masks | times | calls | MB a party, no masks | more |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    for family in options.families:
        for parties in options.parties:
            sys.stdout.write(line_of(family, parties, rows, options.repeats) + "\n")
            sys.stdout.flush()


def seconds_of_a_mask(repeats: int = 20) -> tuple[Floats, Floats]:
    """Return the own seconds of a mask of a megabyte, added to a party's words, and those of its cipher alone."""
    words, keys = np.zeros(125_000, dtype=np.int64), [secrets.token_bytes(KEY_BYTES) for _ in range(10)]
    block, cipher = bytes(8 * BLOCK), AESGCM(keys[0])
    stream = bytearray(len(block) + 8 * TAG)
    found = np.empty((2, repeats))
    for turn in range(repeats):
        began = time.thread_time()
        add_masks(words, str(turn), keys[:5], keys[5:])
        found[0, turn] = (time.thread_time() - began) / len(keys)
        began = time.thread_time()
        for _ in range(10):
            cipher.encrypt_into(bytes(12), block, None, stream)
        found[1, turn] = (time.thread_time() - began) / 10 * 1e6 / len(block)
    return found[0], found[1]


def line_of(family: str, parties: int, rows: int, repeats: int) -> str:
    """Return a line of the table: trainings with masks and without, in turn."""
    plain, masked = costs_of(family, parties, rows, repeats)
    if {cost.model for cost in (*plain, *masked)} != {plain[0].model}:
        raise FloraError(f"{family} with {parties} parties: masks have changed the model")
    seconds = [np.array([cost.seconds for cost in costs]) / parties for costs in (plain, masked)]
    ratio, more = np.median(seconds[1] / seconds[0]), masked[0].sent / plain[0].sent - 1
    words = " | ".join(map(spread_of, seconds))
    return (
        f"| {family} | {parties} | {words} | {ratio:.2f} | {masked[0].calls} "
        f"| {plain[0].sent / 1e6:.1f} | {100 * more:.2f} % |"
    )


def costs_of(family: str, parties: int, rows: int, repeats: int) -> tuple[list[TrainingCost], list[TrainingCost]]:
    """Return what trainings without masks and with masks cost, after one of each that does not count."""
    table = made_up_rows(rows, COLUMNS)
    shares = [table.take(index) for index in np.array_split(np.arange(rows), parties)]
    plain, masked = list[TrainingCost](), list[TrainingCost]()
    for turn in range(repeats + 1):
        for found, begin in ((plain, as_it_is), (masked, with_masks(parties))):
            cost = trained(family, shares, begin)
            if turn:
                found.append(cost)
    return plain, masked


Begin = Callable[[Collective], Collective]


def as_it_is(line: Collective) -> Collective:
    """Return the line."""
    return line


def with_masks(parties: int) -> Begin:
    """Return what puts masks before a party's line."""
    names = tuple(f"party-{k:03}" for k in range(parties))
    signers = FreshSigner.for_each(names)
    return lambda line: Masking(names, signers[names[line.rank]]).begin(line, "train")


def trained(family: str, shares: Sequence[Rows], begin: Begin) -> TrainingCost:
    """Return what a training by threads costs."""
    lines: list[WatchedCollective] = []

    def share(rows: Rows, line: Collective) -> str:
        watched = WatchedCollective(line, lambda: False)
        lines.append(watched)
        model = family_of(family).train(CONFIGS[family], rows, begin(watched), 0).model
        return hashlib.sha256(b"".join(data for _, data in sorted(model.files().items()))).hexdigest()

    began = time.process_time()
    with one_thread():
        models = in_step([partial(share, rows) for rows in shares])
    return TrainingCost(time.process_time() - began, lines[0].calls, lines[0].sent, models[0])
