"""The rows of the tables, which follow from their cells' searches: emulated, or really trained."""

from dataclasses import replace
from pathlib import Path

from flora_lab.cells import Cell, Protocol
from flora_lab.paper.as_published import SEED
from flora_lab.paper.boxes import box_of
from flora_lab.paper.contents import cells_of
from flora_lab.paper.pooled import Pooled
from flora_lab.paper.published import SURFACES
from flora_lab.paper.rows import DRAWS, TableRow
from flora_lab.paper.searches import PaperSearch, home_of, searches_of
from flora_lab.pieces import POOLED, Bench, missing, run

PROTOCOL = Protocol(trials=4, folds=2, central=5, random=3)
WHOLE = Cell("svm", "sonar", 2, seed=SEED)
CELLS = [WHOLE, replace(WHOLE, trials=2), replace(WHOLE, send=2)]


def bench(data: Path, name: str) -> Bench:
    return Bench(data / name, "paper", data, PROTOCOL)


def test_a_row_has_all_columns_and_follows_from_the_searches(small_data: Path) -> None:
    place = bench(small_data, "rows")
    row, short, sent = (TableRow(cell).read(place) for cell in CELLS)
    central = PaperSearch(home_of(CELLS[0]), POOLED).trials(place)
    assert len(central.trials) == 5
    assert row["baseline"] == 1 - central.trials[0].loss
    assert row["best"] == 1 - min(trial.loss for trial in central.trials)
    assert row["best_party"] >= row["worst_party"] > 0.5
    for draws in row["surfaces"].values():
        assert len(draws) == DRAWS
        assert all(0.5 < draw["score"] <= 1 and 1 <= draw["trainings"] <= 4 for draw in draws)
    pooled = Pooled.of(WHOLE, place)
    first = row["surfaces"]["aplm"][0]
    assert pooled.score(first["config"]) == first["score"]
    assert pooled.score(box_of("svm", "published").default) == row["baseline"]
    assert row["surfaces"] != short["surfaces"]
    assert {key: row[key] for key in ("baseline", "best", "gamma")} == {
        key: sent[key] for key in ("baseline", "best", "gamma")
    }


def test_parties_search_the_wide_box_and_are_recommended_a_config_of_the_published_one(small_data: Path) -> None:
    place = bench(small_data, "wide")
    wide = replace(CELLS[0], box="wide")
    row = TableRow(wide).read(place)
    assert row["box"] == "wide"
    spaces = {search.party: search.trials(place).space for search in searches_of([wide], place)}
    assert spaces == {
        "all rows": box_of("svm", "published"),
        "party-1": box_of("svm", "wide"),
        "party-2": box_of("svm", "wide"),
    }
    for draws in row["surfaces"].values():
        for draw in draws:
            box_of("svm", "published").check(draw["config"])
    assert missing(searches_of(CELLS[:1], place), place) == [
        PaperSearch(CELLS[0], party) for party in ("party-1", "party-2")
    ]


def test_a_row_follows_from_searches_and_trainings_whatever_the_jobs(small_data: Path) -> None:
    [bed] = cells_of("testbed", datasets=["oil-spill"])  # small_data's
    one, two = (Bench(small_data / name, "paper", small_data, Protocol(3, 2)) for name in ("one", "two"))
    searches = searches_of([bed], one)
    assert len(list(run([searches, [TableRow(bed)]], one, jobs=1))) == 3 + 1
    row = TableRow(bed).read(one)
    assert row == TableRow(bed).read(two)  # the searches are made on the way
    assert set(row["surfaces"]) == set(SURFACES)
    assert 0.3 < row["baseline"] <= 1
    for found in row["surfaces"].values():
        box_of("hgb", "published").check(found["config"])
        assert 0.3 < found["score"] <= 1
    assert sum(row["held_out_classes"]) == 36
    assert row["protocol"] == {"trials": 3, "folds": 2}
    assert [len(search.trials(one).trials) for search in searches] == [3, 3, 3]
    assert one.store.packed.name == "T3-k2.tsv.xz"
    assert one.store.names() == {TableRow(bed).name, *(search.name for search in searches)}
    assert TableRow(bed).name == "testbed/hgb-oil-spill-p3-n20-h40-s5489"
