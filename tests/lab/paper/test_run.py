"""The rows of the tables, and the searches that they follow from."""

from pathlib import Path

import pytest
from flora_lab.paper.boxes import space_of
from flora_lab.paper.cells import Cell, Protocol
from flora_lab.paper.pieces import Bench, missing, read_row
from flora_lab.paper.run import CellRow, Search, searches_of

from flora.problem.trials import PartyTrials

PROTOCOL = Protocol(trials=4, folds=2, central=5, random=3)
CELLS = [Cell("svm", "sonar", 2), Cell("svm", "sonar", 2, trials=2), Cell("svm", "sonar", 2, send=2)]


def bench(data: Path, name: str) -> Bench:
    return Bench(data / name, data / f"{name}-work", data, PROTOCOL)


def test_a_row_has_all_columns_and_follows_from_the_searches(small_data: Path) -> None:
    place = bench(small_data, "rows")
    row, short, sent = (read_row(CellRow(cell), place) for cell in CELLS)
    central = Search(Cell("svm", "sonar"), "all rows").trials(place)
    assert len(central.trials) == 5
    assert row["baseline"] == 1 - central.trials[0].loss
    assert row["best"] == 1 - min(trial.loss for trial in central.trials)
    assert row["best_party"] >= row["worst_party"] > 0.5
    for name, found in row["surfaces"].items():
        expected = (
            (row["best"] - found["score"]) / (row["best"] - row["baseline"]) if row["best"] > row["baseline"] else None
        )
        assert found["regret"] == pytest.approx(expected), name
        assert 1 <= found["trainings"] <= 4
    assert row["surfaces"] != short["surfaces"]
    assert {key: row[key] for key in ("baseline", "best", "gamma")} == {
        key: sent[key] for key in ("baseline", "best", "gamma")
    }


def test_searches_are_trials_that_anybody_can_aggregate(small_data: Path) -> None:
    place = bench(small_data, "trials")
    found = [search.trials(place) for search in searches_of(CELLS[:1], place)]
    assert [len(trials.trials) for trials in found] == [5, 3, 4, 4]
    assert all(isinstance(trials, PartyTrials) for trials in found)
    assert {trials.party for trials in found} == {"all rows", "party-1", "party-2"}


def test_svm_sees_features_scaled_before_the_split_and_hgb_raw_ones(small_data: Path) -> None:
    scaled, raw = (Search(Cell(family, "sonar", 2), "party-1")._rows(small_data) for family in ("svm", "hgb"))
    assert all(column.low is not None for column in scaled.schema.columns)
    assert all(column.low is None for column in raw.schema.columns)


def test_parties_search_the_wide_box_and_are_recommended_a_config_of_the_published_one(small_data: Path) -> None:
    place = bench(small_data, "wide")
    wide = Cell("svm", "sonar", 2, box="wide")
    row = read_row(CellRow(wide), place)
    assert row["box"] == "wide"
    spaces = {search.party: search.trials(place).space for search in searches_of([wide], place)}
    assert spaces == {
        "all rows": space_of("svm", "published"),
        "party-1": space_of("svm", "wide"),
        "party-2": space_of("svm", "wide"),
    }
    for found in row["surfaces"].values():
        space_of("svm", "published").check(found["config"])
    assert missing(searches_of(CELLS[:1], place), place) == [
        Search(Cell("svm", "sonar", 2), party) for party in ("party-1", "party-2")
    ]


def test_a_row_that_does_not_name_its_box_is_of_the_published_one(small_data: Path) -> None:
    place = bench(small_data, "old")
    file = CellRow(CELLS[0]).file(place)
    file.parent.mkdir(parents=True)
    file.write_text('{"family": "svm"}')
    assert read_row(CellRow(CELLS[0]), place) == {"family": "svm", "box": "published"}
