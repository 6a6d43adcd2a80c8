"""``flora benchmark recommend``: options in, a table out."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from flora.core.files import write_whole
from flora.errors import InputError
from flora.outcome.console import work_bar
from flora.problem.plan import at_least
from flora_lab.judge.cells import Cell, Protocol, Record
from flora_lab.judge.datasets import DATASETS
from flora_lab.judge.judge import judge, line_to_json, summarise
from flora_lab.judge.rules import RULES
from flora_lab.judge.run import FOLDER, CellRecord, bench_of
from flora_lab.judge.show import show, to_csv
from flora_lab.paper.pieces import Bench, Piece, missing, run, work_done

FAMILIES = ("hgb", "svm")
WIDTH = 110  # where the output is no terminal: a column for each rule


def recommend(options: Namespace) -> dict[str, Any]:
    """Compute the cells that are not stored yet, and score the rules on all of them."""
    for name in ("seeds", "trials", "jobs"):
        at_least(name, getattr(options, name), 1)
    if options.csv and not options.csv.absolute().parent.is_dir():  # better said before the run than after it
        raise InputError(f"{options.csv}: its folder is not there")
    protocol = Protocol(trials=options.trials)
    bench = bench_of(options.results, options.data, protocol)
    pieces = [CellRecord(cell, protocol) for cell in cells_of(options)]
    if options.stored:
        pieces = [piece for piece in pieces if piece.file(bench).exists()]
        if not pieces:
            raise InputError(f"{options.results / FOLDER / protocol.name}: has none of the cells that were asked for")
    _compute(pieces, bench, options.jobs)
    lines = judge([Record.read(piece.file(bench)) for piece in pieces], RULES)
    summaries = summarise(lines)
    if options.csv:
        write_whole(options.csv, to_csv(lines).encode())
    if not options.json:
        show(lines, summaries, Console() if Console().is_terminal else Console(width=WIDTH))
    return {
        "benchmark": "recommend",
        "protocol": asdict(protocol),
        "cells": list(map(line_to_json, lines)),
        "rules": list(map(asdict, summaries)),
    }


def _compute(cells: Sequence[CellRecord], bench: Bench, jobs: int) -> None:
    """Compute what is missing: first the searches on all rows, each once."""
    left = [piece for piece in cells if not piece.file(bench).exists()]
    stages: list[list[Piece]] = [missing(list(dict.fromkeys(piece.pooled for piece in left)), bench), [*left]]
    pieces = [piece for stage in stages for piece in stage]
    with work_bar("cells", lambda: work_done(pieces, bench), Console(stderr=True)):
        for _ in run(stages, bench, jobs):
            pass


def cells_of(options: Namespace) -> list[Cell]:
    """Return the cells that were asked for; without names, those of all datasets that rules are designed on."""
    design = [name for name, dataset in DATASETS.items() if dataset.use == "design"]
    return [
        Cell(dataset, family, parties, options.split, seed, options.liar)
        for dataset in options.dataset or design
        for family in options.family or FAMILIES
        for parties in options.parties or [3]
        for seed in range(options.seeds)
    ]
