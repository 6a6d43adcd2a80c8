"""Pieces that are run, stopped, and run again."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

from joblib import parallel_config

from flora.experiments.cells import Cell, Protocol
from flora.experiments.pieces import FIT, ROW, Bench, Piece, missing, run, searched, work_done
from flora.experiments.run import CellRow, Search, searches_of

PROTOCOL = Protocol(trials=4, folds=2, central=5, random=3)
CELLS = [Cell("svm", "sonar", 2), Cell("svm", "sonar", 2, trials=2), Cell("svm", "sonar", 2, send=2)]


def bench(data: Path, name: str) -> Bench:
    return Bench(data / name, data / f"{name}-work", data, PROTOCOL)


def stages(cells: list[Cell], place: Bench) -> tuple[list[Search], list[CellRow]]:
    return searches_of(cells, place), [CellRow(cell) for cell in cells]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.json"))}


def test_a_run_that_is_stopped_goes_on_and_ends_the_same(small_data: Path) -> None:
    whole, broken = bench(small_data, "whole"), bench(small_data, "broken")
    done = list(run(stages(CELLS[:2], whole), whole, jobs=1))
    assert len(done) == 2 + 2 + 2  # pooled searches, parties' searches, rows
    list(islice(run(stages(CELLS[:2], broken), broken, jobs=1), 3))
    assert len(missing(searches_of(CELLS[:2], broken), broken)) == 1
    list(run(stages(CELLS[:2], broken), broken, jobs=1))
    assert files(broken.results) == files(whole.results)
    assert list(run(stages(CELLS[:2], whole), whole, jobs=1)) == []


def test_another_backend_and_two_jobs_change_nothing(small_data: Path) -> None:
    one, two = bench(small_data, "one"), bench(small_data, "two")
    list(run(stages(CELLS[:1], one), one, jobs=1))
    with parallel_config(backend="threading"):  # a process of its own has not seen our small sonar
        list(run(stages(CELLS[:1], two), two, jobs=2))
    assert files(one.results) == files(two.results)


def test_work_is_counted_by_trials_even_within_a_search(small_data: Path) -> None:
    place = bench(small_data, "work")
    first, second = searches_of(CELLS[:1], place)[2:]
    pieces: list[Piece] = [first, second, CellRow(CELLS[0])]
    total, done = work_done(pieces, place)
    assert (done, total) == (0, 2 * 4 * (30 + FIT) + ROW * (60 + FIT))
    halfway = replace(first._plan(PROTOCOL), trials=2)
    searched(halfway, first._rows(small_data), first.party, place.work / f"{PROTOCOL.name}-{first.name}.db")
    assert work_done(pieces, place)[1] == 2 * (30 + FIT)
    first.trials(place)
    assert work_done(pieces, place)[1] == 4 * (30 + FIT)
    (place.work / f"{PROTOCOL.name}-{second.name}.db").write_text("not yet a database")
    assert work_done(pieces, place) == (total, 4 * (30 + FIT))
