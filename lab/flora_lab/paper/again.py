"""Stored rows once more, from nothing: each search, row and answer is computed anew and compared byte for byte."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from flora.errors import InputError
from flora.problem.plan import at_least
from flora.randomness import stream
from flora_lab.cells import Cell
from flora_lab.paper.answer import answers_of
from flora_lab.paper.rows import TableRow
from flora_lab.paper.searches import searches_of
from flora_lab.pieces import Bench, Piece, compute_missing, missing


@dataclass(frozen=True)
class Compared:
    """One piece: what is stored, and what came of computing it again."""

    name: str
    differs_in: tuple[str, ...]  # the fields; none where all bytes are the same

    @property
    def words(self) -> str:
        """What a person wants to know."""
        return f"differs in {', '.join(self.differs_in)}" if self.differs_in else "the same bytes"


def drawn_cells(cells: Sequence[Cell], bench: Bench, count: int, seed: int) -> list[Cell]:
    """Return some of the cells that are stored, drawn at random."""
    at_least("--again", count, 1)
    at_least("--draw", seed, 0)
    absent = missing([TableRow(cell) for cell in cells], bench)
    there = [cell for cell in cells if TableRow(cell) not in absent]
    if len(there) < count:
        raise InputError(f"--again {count}: of the rows that are asked for {len(there)} are stored")
    order = stream(seed, "again").permutation(len(there))
    return [there[k] for k in sorted(order[:count])]


def computed_again(cells: Sequence[Cell], bench: Bench, jobs: int) -> list[Compared]:
    """Compute all pieces of the cells that are stored, in an empty folder, and compare them with what is stored."""
    rows, answers = [TableRow(cell) for cell in cells], answers_of(cells)
    stages: list[list[Piece]] = [list(searches_of(cells, bench)), [*rows, *answers]]
    absent = [piece.name for stage in stages for piece in missing(stage, bench)]
    stages = [[piece for piece in stage if piece.name not in absent] for stage in stages]
    with TemporaryDirectory() as folder:
        empty = replace(bench, results=Path(folder))
        compute_missing(f"{len(cells)} rows again", stages, empty, jobs)
        return [_compared(piece.name, bench, empty) for stage in stages for piece in stage]


def show_compared(found: Sequence[Compared], console: Console) -> None:
    """Print each piece and what came of it."""
    for each in found:
        console.print(f"{each.name}: {each.words}", highlight=False, soft_wrap=True)
    same = sum(not each.differs_in for each in found)
    console.print(f"{same} of {len(found)} pieces have the same bytes", highlight=False)


def _compared(name: str, stored: Bench, computed: Bench) -> Compared:
    if stored.store.text(name) == computed.store.text(name):
        return Compared(name, ())
    one, other = stored.store.read(name), computed.store.read(name)
    fields = sorted(key for key in {*one, *other} if one.get(key) != other.get(key))
    return Compared(name, tuple(fields) or ("its form",))
