"""What a whole run takes with nothing stored: a few fits are timed, and counted as often as the tables have them.

Where a piece is stored with its own seconds, these are what counts. Seconds are a processor's, so that other work of
the machine is not in them; two cores take half as many on the clock.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console

from flora.core.workers import one_thread
from flora.problem.trials import PartyTrials, Trial
from flora.program.request import A_TRAINING, ENOUGH_FOLDS, Request
from flora.randomness import stream
from flora_lab.cells import Cell
from flora_lab.paper.answer import PaperAnswer, answers_of
from flora_lab.paper.as_published import SEED, AuthorsModel
from flora_lab.paper.boxes import box_of, recommended
from flora_lab.paper.published import SURFACES
from flora_lab.paper.rows import DRAWS, ROW, TableRow
from flora_lab.paper.searches import SCORING, PaperSearch, home_of, in_testbed, searches_of, tables_of
from flora_lab.pieces import POOLED, Bench
from flora_lab.tables import number, table_of_numbers

CellPiece = PaperSearch | TableRow | PaperAnswer
SAMPLE = 4  # configs, beside the default, drawn at random from the box
KINDS = ("search on all rows", "parties' searches", "rows", "answers")


@dataclass(frozen=True)
class KindCost:
    """What the pieces of one kind take, of a family on a dataset."""

    family: str
    dataset: str
    kind: str
    pieces: int
    fits: int
    seconds: float
    recorded: int  # pieces whose own seconds are stored

    @property
    def hours(self) -> float:
        """The same in hours."""
        return self.seconds / 3600


class Clock:
    """Seconds of a fit, and of a surface, each timed once."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.fits: dict[tuple[str, str, int], float] = {}
        self.draws: dict[tuple[str, int, int], float] = {}

    def fit(self, search: PaperSearch) -> float:
        """Return what a fit of a search takes, on average over configs drawn at random from its box."""
        cell, key = search.cell, (search.cell.family, search.cell.dataset, search.size)
        if key not in self.fits:
            rows, box = search.rows(self.bench), box_of(cell.family, "published")
            train, test = (rows.take(places) for places in rows.folds(SEED, "search")[0])
            model, times = AuthorsModel.of(cell.family), []
            for config in [box.default, *box.decode(box.sample(stream(SEED, "cost"), SAMPLE))]:
                began = time.process_time()
                with one_thread():
                    model.score(config, train, test, SCORING, SEED)
                times.append(time.process_time() - began)
            self.fits[key] = float(np.mean(times))
        return self.fits[key]

    def surfaces(self, cell: Cell) -> float:
        """Return what it takes to learn and minimise each surface once, from as many pairs as the parties send."""
        count = min(cell.trials or cell.send or self.bench.protocol.trials, self.bench.protocol.trials)
        key = (cell.family, cell.parties, count)
        if key not in self.draws:
            began = time.process_time()
            with one_thread():
                for name in SURFACES:
                    recommended(_made_up(cell, count), cell.family, name, SEED)
            self.draws[key] = time.process_time() - began
        return self.draws[key]


def _made_up(cell: Cell, count: int) -> list[PartyTrials]:
    """Return pairs at random: it takes no longer to learn from true ones."""
    box, rng = box_of(cell.family, cell.box), stream(SEED, "cost", "pairs")
    return [
        PartyTrials(
            f"party-{k}",
            None,
            box,
            SCORING,
            tuple(Trial(config, float(rng.random())) for config in box.decode(box.sample(rng, count))),
        )
        for k in range(cell.parties)
    ]


def costs_of(cells: Sequence[Cell], bench: Bench) -> list[KindCost]:
    """Return what the cells take, dearest first: every search once, although several cells may share it."""
    clock, found = Clock(bench), dict[tuple[str, str, str], list[tuple[int, float, bool]]]()
    pieces: list[CellPiece] = [*searches_of(cells, bench), *map(TableRow, cells), *answers_of(cells)]
    for piece in pieces:
        fits, seconds = _estimated(piece, clock)
        took = bench.seconds.read(piece.name)
        if took is not None and took["done_before"] < 1:
            seconds = took["seconds"] / (1 - took["done_before"])
        key = (piece.cell.family, piece.cell.dataset, _kind(piece))
        found.setdefault(key, []).append((fits, seconds, took is not None))
    costs = [
        KindCost(
            *key, len(each), sum(fits for fits, _, _ in each), sum(s for _, s, _ in each), sum(r for _, _, r in each)
        )
        for key, each in found.items()
    ]
    return sorted(costs, key=lambda cost: -cost.seconds)


def _kind(piece: CellPiece) -> str:
    if isinstance(piece, PaperSearch):
        return KINDS[0] if piece.party == POOLED else KINDS[1]
    return KINDS[2] if isinstance(piece, TableRow) else KINDS[3]


def _estimated(piece: CellPiece, clock: Clock) -> tuple[int, float]:
    """Return how many fits a piece is, and what it takes by those that were timed."""
    cell, protocol = piece.cell, clock.bench.protocol
    if isinstance(piece, PaperSearch):
        fits = piece.plan(protocol).trials * protocol.folds
        return fits, fits * clock.fit(piece)
    whole = PaperSearch(home_of(cell), POOLED)
    if isinstance(piece, TableRow) and in_testbed(cell):
        fits = (1 + len(SURFACES)) * A_TRAINING
        return fits, fits * clock.fit(whole)
    if isinstance(piece, TableRow):
        fits = ROW * protocol.folds
        return fits, fits * clock.fit(whole) + DRAWS * clock.surfaces(cell)
    apart = (1 + Request.confirm) * protocol.folds * cell.parties
    pooled = 2 * ENOUGH_FOLDS + (3 if cell.family == "hgb" else 1) * protocol.folds
    party = PaperSearch(cell, next(iter(tables_of(cell, clock.bench.data))))
    return apart + pooled, apart * clock.fit(party) + pooled * clock.fit(whole)


def show_costs(tables: Mapping[str, Sequence[KindCost]], console: Console) -> None:
    """Print what each protocol takes, dearest first, and the sum."""
    for protocol, costs in tables.items():
        heads = ("pieces", "recorded", "fits", "s a fit", "hours")
        table = table_of_numbers(f"Hours of one processor core, with nothing stored ({protocol})", heads, width=None)
        for cost in costs:
            name = f"{cost.family} {cost.dataset}, {cost.kind}"
            each = number(cost.seconds / cost.fits, 3)
            table.add_row(name, str(cost.pieces), str(cost.recorded), str(cost.fits), each, number(cost.hours, 2))
        whole = [sum(part) for part in zip(*((c.pieces, c.recorded, c.fits) for c in costs), strict=True)]
        table.add_row("all", *map(str, whole), "", number(sum(cost.hours for cost in costs), 1))
        console.print(table)
