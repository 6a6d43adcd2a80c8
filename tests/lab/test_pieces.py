"""Pieces that are run, stopped, and run again."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from joblib import parallel_config

from flora_lab.cells import Cell, Protocol
from flora_lab.paper.rows import ROW, TableRow
from flora_lab.paper.searches import PaperSearch, searches_of
from flora_lab.pieces import FIT, Bench, Piece, missing, run, searched, work_done

PROTOCOL = Protocol(trials=4, folds=2, central=5, random=3)
WHOLE = Cell("svm", "sonar", 2, seed=5489)
CELLS = [WHOLE, replace(WHOLE, trials=2)]


def bench(data: Path, name: str) -> Bench:
    return Bench(data / name, "paper", data, PROTOCOL)


def stages(cells: list[Cell], place: Bench) -> tuple[list[PaperSearch], list[TableRow]]:
    return searches_of(cells, place), [TableRow(cell) for cell in cells]


def pieces(place: Bench) -> dict[str, Any]:
    return {name: place.store.read(name) for name in place.store.names()}


def test_a_run_that_is_stopped_goes_on_and_ends_the_same(small_data: Path) -> None:
    whole, broken = bench(small_data, "whole"), bench(small_data, "broken")
    done = list(run(stages(CELLS, whole), whole, jobs=1))
    assert len(done) == 2 + 2 + 2  # pooled searches, parties' searches, rows
    list(islice(run(stages(CELLS, broken), broken, jobs=1), 3))
    assert len(missing(searches_of(CELLS, broken), broken)) == 1
    list(run(stages(CELLS, broken), broken, jobs=1))
    assert pieces(broken) == pieces(whole)
    assert list(run(stages(CELLS, whole), whole, jobs=1)) == []


def test_what_a_piece_took_stands_beside_the_pieces(small_data: Path) -> None:
    place = bench(small_data, "timed")
    searches, rows = stages(CELLS[:1], place)
    list(run([searches, rows], place, jobs=1))
    assert place.seconds.names() == place.store.names()
    assert place.seconds.packed.relative_to(place.results).as_posix() == "seconds/paper-T4-k2-c5-r3.tsv.xz"
    took = [place.seconds.read(name) for name in place.store.names()]
    assert all(each["seconds"] > 0 for each in took)
    assert [each["done_before"] for each in took] == [0.0] * len(took)


def test_another_backend_and_two_jobs_change_nothing(small_data: Path) -> None:
    one, two = bench(small_data, "one"), bench(small_data, "two")
    list(run(stages(CELLS[:1], one), one, jobs=1))
    with parallel_config(backend="threading"):  # a process of its own has not seen our small sonar
        list(run(stages(CELLS[:1], two), two, jobs=2))
    assert pieces(one) == pieces(two)


def test_work_is_counted_by_trials_even_within_a_search(small_data: Path) -> None:
    place = bench(small_data, "work")
    first, second = searches_of(CELLS[:1], place)[2:]
    both: list[Piece] = [first, second, TableRow(CELLS[0])]
    total, done = work_done(both, place)
    assert (done, total) == (0, 2 * 4 * (30 + FIT) + ROW * (60 + FIT))
    halfway = replace(first.plan(PROTOCOL), trials=2)
    searched(halfway, first.rows(place), first.party, place.storage(first.name))
    assert work_done(both, place)[1] == 2 * (30 + FIT)
    first.trials(place)
    assert work_done(both, place)[1] == 4 * (30 + FIT)
    place.storage(second.name).write_text("not yet a database")
    assert work_done(both, place) == (total, 4 * (30 + FIT))


def test_two_runs_at_the_same_time_share_a_search(small_data: Path) -> None:
    place = bench(small_data, "shared")
    [search] = searches_of(CELLS[:1], place)[:1]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: search.trials(place), range(2))
    assert one.to_json() == other.to_json()


ORPHAN = """
import multiprocessing, os, pathlib, sys, time
from flora.errors import FloraError
from flora_lab.pieces import while_asked

def work(said):
    while_asked("a", 0, 9)
    pathlib.Path(said).write_text("asked")
    while True:
        try:
            while_asked("a", 1, 9)
        except FloraError as error:
            pathlib.Path(said).write_text(str(error))
            return
        time.sleep(0.05)

if __name__ == "__main__":
    multiprocessing.get_context("spawn").Process(target=work, args=(sys.argv[1],)).start()
    time.sleep(600)
"""


def test_a_worker_of_a_killed_run_stops(tmp_path: Path) -> None:
    script, said = tmp_path / "orphan.py", tmp_path / "said"
    script.write_text(ORPHAN)
    run_to_be_killed = subprocess.Popen([sys.executable, script, said])
    assert read_when(said, "asked") == "asked"
    run_to_be_killed.kill()
    run_to_be_killed.wait()
    assert read_when(said, "a:") == "a: the run that asked for this search has ended, after 1 of 9 trials"


def read_when(file: Path, start: str, seconds: float = 60) -> str:
    """Return what is in a file as soon as it starts so, or what is in it when the time is up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (file.exists() and file.read_text().startswith(start)):
        time.sleep(0.05)
    return file.read_text() if file.exists() else ""
