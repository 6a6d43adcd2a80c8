"""Real federated trainings, scored on rows that nobody trained on."""

from pathlib import Path

import pytest
from flora_lab.paper.boxes import space_of
from flora_lab.paper.cells import SEED, Protocol
from flora_lab.paper.pieces import Bench, read_row, run
from flora_lab.paper.published import SURFACES, TESTBED
from flora_lab.paper.testbed import Bed, BedRow, beds_of, searches_of

from flora.errors import InputError
from flora.problem.trials import PartyTrials

PROTOCOL = Protocol(trials=3, folds=2)
BED = Bed("oil-spill")


def bench(data: Path, name: str) -> Bench:
    return Bench(data / name, data / f"{name}-work", data, PROTOCOL)


def test_held_out_rows_are_nobodys_and_each_party_draws_from_the_rest(small_data: Path) -> None:
    held, tables = BED.deal(small_data)
    assert len(held) == 36
    assert sorted(held.target.value_counts() / len(held)) == pytest.approx([0.5, 0.5], abs=0.1)
    assert [len(table) for table in tables.values()] == [20, 20, 20]
    drawn = [set(table.index) for table in tables.values()]
    for rows in drawn:
        assert len(rows) == 20
        assert not rows & set(held.index)
    assert drawn[0] != drawn[1]
    other, _ = Bed("oil-spill", SEED + 1).deal(small_data)
    assert set(other.index) != set(held.index)


def test_a_row_follows_from_searches_and_trainings_whatever_the_jobs(small_data: Path) -> None:
    one, two = bench(small_data, "one"), bench(small_data, "two")
    searches = searches_of([BED])
    assert len(list(run([searches, [BedRow(BED)]], one, jobs=1))) == 3 + 1
    row = read_row(BedRow(BED), one)
    assert row == read_row(BedRow(BED), two)  # the searches are made on the way
    assert set(row["surfaces"]) == set(SURFACES)
    assert 0.3 < row["baseline"] <= 1
    for found in row["surfaces"].values():
        space_of("hgb", "published").check(found["config"])
        assert 0.3 < found["score"] <= 1
    assert sum(row["held_out_classes"]) == 36
    assert row["protocol"] == {"trials": 3, "folds": 2}
    assert [len(PartyTrials.read(search.file(one)).trials) for search in searches] == [3, 3, 3]
    assert {path.parent.relative_to(one.results).as_posix() for path in one.results.rglob("*.json")} == {
        "T3-k2/searches",
        "T3-k2/testbed",
        "machines",
    }


def test_the_rows_are_the_papers() -> None:
    assert [bed.dataset for bed in beds_of(splits=1)] == ["oil-spill", "eeg-eye-state", "electricity"]
    assert {bed.seed for bed in beds_of(datasets=["electricity"], splits=3)} == {SEED, SEED + 1, SEED + 2}
    assert len({bed.name for box in ("published", "wide") for bed in beds_of(splits=2, box=box)}) == 12
    assert TESTBED["electricity"].parties == 6
    with pytest.raises(InputError, match="table testbed: has no dataset 'sonar'"):
        beds_of(datasets=["sonar"])
