"""The searches of the tables' cells."""

from dataclasses import replace
from pathlib import Path

import pytest

from flora.problem.trials import PartyTrials
from flora_lab.cells import Cell, Protocol
from flora_lab.paper.as_published import SEED
from flora_lab.paper.contents import cells_of
from flora_lab.paper.searches import PaperSearch, drawn, searches_of
from flora_lab.pieces import POOLED, Bench

PROTOCOL = Protocol(trials=4, folds=2, central=5, random=3)
WHOLE = Cell("svm", "sonar", 2, seed=SEED)
CELLS = [WHOLE, replace(WHOLE, trials=2), replace(WHOLE, send=2)]


def bench(data: Path, name: str) -> Bench:
    return Bench(data / name, "paper", data, PROTOCOL)


def test_searches_are_trials_that_anybody_can_aggregate(small_data: Path) -> None:
    place = bench(small_data, "trials")
    found = [search.trials(place) for search in searches_of(CELLS[:1], place)]
    assert [len(trials.trials) for trials in found] == [5, 3, 4, 4]
    assert all(isinstance(trials, PartyTrials) for trials in found)
    assert {trials.party for trials in found} == {"all rows", "party-1", "party-2"}


def test_svm_sees_features_scaled_before_the_split_and_hgb_raw_ones(small_data: Path) -> None:
    place = bench(small_data, "rows")
    scaled, raw = (PaperSearch(Cell(family, "sonar", 2), "party-1").rows(place) for family in ("svm", "hgb"))
    whole = PaperSearch(Cell("svm", "sonar", 2), POOLED).rows(place)
    assert (whole.X.min(axis=0).tolist(), whole.X.max(axis=0).tolist()) == ([0, 0], [1, 1])
    assert scaled.X.max() <= 1 < raw.X.max()
    assert (scaled.X.min(axis=0) > 0).any() or (scaled.X.max(axis=0) < 1).any()  # before the split


def test_held_out_rows_are_nobodys_and_each_party_draws_from_the_rest(small_data: Path) -> None:
    [bed] = cells_of("testbed", datasets=["oil-spill"])
    held, tables = drawn(bed, small_data)
    assert len(held) == 36
    assert sorted(held.target.value_counts() / len(held)) == pytest.approx([0.5, 0.5], abs=0.1)
    assert [len(table) for table in tables.values()] == [20, 20, 20]
    indices = [set(table.index) for table in tables.values()]
    for rows in indices:
        assert len(rows) == 20
        assert not rows & set(held.index)
    assert indices[0] != indices[1]
    other, _ = drawn(replace(bed, seed=SEED + 1), small_data)
    assert set(other.index) != set(held.index)
