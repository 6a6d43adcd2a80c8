"""``flora-lab paper`` from end to end, on small tables that pass for the paper's."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flora_lab.main import main
from flora_lab.store import Store, compressed

SMALL = ("--trials", "3", "--cv", "2", "--central", "3", "--random", "2", "--splits", "1")
Paper = Callable[..., tuple[int, str, str]]


@pytest.fixture
def paper(small_data: Path, capsys: pytest.CaptureFixture[str]) -> Paper:
    def run(*arguments: Any) -> tuple[int, str, str]:
        place = ("--data", small_data, "--results", small_data / "results")
        code = main(["paper", *map(str, (*arguments, *place))])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_testbed_is_trained_shown_and_stored(paper: Paper, small_data: Path) -> None:
    code, shown, _ = paper("testbed", "--dataset", "oil-spill", *SMALL, "--csv", small_data / "out.csv")
    assert code == 0
    assert "oil-spill 3 x 20 rows" in shown
    assert "(T3-k2)" in shown
    assert "73.3" in shown  # the paper's APLM
    again = json.loads(paper("testbed", "--dataset", "oil-spill", *SMALL, "--json")[1])
    assert again["settings"]["trials"] == 3
    [line] = csv.DictReader((small_data / "out.csv").read_text().splitlines())
    assert float(line["score aplm median"]) == again["rows"][0]["score"]["aplm"]["median"]


def test_the_testbed_knows_one_way_to_deal_rows(paper: Paper) -> None:
    code, _, said = paper("testbed", "--split", "dirichlet:0.5", *SMALL)
    assert code == 2
    assert "got --split dirichlet:0.5" in said


def test_all_is_every_table_that_has_the_dataset(paper: Paper) -> None:
    code, printed, _ = paper("all", "--dataset", "sonar", "--stored", "--json", *SMALL)
    assert code == 0
    tables = json.loads(printed)["tables"]
    assert [table["table"] for table in tables] == ["hgb", "svm", "mlp", "aggregate", "rounds", "communication"]
    assert all(table["rows"] == [] for table in tables)
    assert tables[1]["missing"] == ["svm-sonar-p3-paper-s5489"]
    code, _, said = paper("all", "--dataset", "iris", *SMALL)
    assert code == 2
    assert "no table has the dataset 'iris'" in said


@pytest.mark.parametrize(("options", "splits"), [((), 5), (("--quick",), 2), (("--quick", "--splits", 3), 3)])
def test_quick_has_fewer_splits_unless_they_are_given(paper: Paper, options: tuple[Any, ...], splits: int) -> None:
    printed = paper("svm", "--dataset", "sonar", "--stored", "--json", *options)[1]
    assert len(json.loads(printed)["missing"]) == splits


def test_what_is_stored_is_shown_and_nothing_is_computed(paper: Paper, small_data: Path) -> None:
    assert paper("svm", "--dataset", "sonar", *SMALL)[0] == 0
    before = {path: path.read_bytes() for path in (small_data / "results").rglob("*") if path.is_file()}
    for data in small_data.glob("*.csv"):
        data.unlink()  # without the data nothing can be computed
    code, shown, _ = paper("svm", "--stored", *SMALL)
    assert code == 0
    assert "svm sonar" in shown
    assert "table svm (T3-k2-c3-r2): 5 rows are not there yet" in shown
    assert "19 rows are not there yet" in paper("aggregate", "--stored", *SMALL)[1]
    assert "0.17" in paper("all", "--stored", "--dataset", "sonar", *SMALL)[1]
    assert paper("svm", "--stored", "--markdown", small_data / "page.md")[0] == 0
    assert "| svm sonar | published | 80.2 |" in (small_data / "page.md").read_text()
    assert before == {path: path.read_bytes() for path in (small_data / "results").rglob("*") if path.is_file()}


@pytest.mark.slow
def test_stored_rows_come_out_again_to_the_last_byte_or_are_named(paper: Paper, small_data: Path) -> None:
    asked = ("svm", "--dataset", "sonar", *SMALL)
    assert "of the rows that are asked for 0 are stored" in paper(*asked, "--again", 1)[2]
    assert paper(*asked)[0] == 0
    code, shown, _ = paper(*asked, "--again", 1)
    assert code == 0
    assert "searches/svm-sonar-p3-paper-s5489-party-2: the same bytes" in shown
    assert "7 of 7 pieces have the same bytes" in shown
    [store] = Store.all(small_data / "results", "paper")
    name = "cells/svm-sonar-p3-paper-s5489"
    pieces = {name: store.text(name) for name in store.names()}
    store.packed.write_bytes(compressed({**pieces, name: pieces[name].replace(b'"gamma":1', b'"gamma":2')}))
    code, shown, said = paper(*asked, "--again", 1)
    assert code == 1
    assert f"{name}: differs in gamma" in shown
    assert "6 of 7 pieces" in shown
    assert "not what comes out here" in said


def test_cost_times_a_few_fits_and_computes_nothing(paper: Paper, small_data: Path) -> None:
    code, printed, _ = paper("svm", "--dataset", "sonar", *SMALL, "--cost", "--json")
    assert code == 0
    costs = {cost["kind"]: cost for cost in json.loads(printed)["costs"]["T3-k2-c3-r2"]}
    fits = {"search on all rows": (3 + 2) * 2, "parties' searches": 3 * 3 * 2, "rows": 22 * 2}
    assert {kind: costs[kind]["fits"] for kind in fits} == fits
    assert all(cost["seconds"] > 0 and cost["recorded"] == 0 for cost in costs.values())
    assert not (small_data / "results").exists()
    assert paper("svm", "--dataset", "sonar", *SMALL)[0] == 0
    again = json.loads(paper("svm", "--dataset", "sonar", *SMALL, "--cost", "--json")[1])["costs"]["T3-k2-c3-r2"]
    assert "…" not in paper("svm", "--dataset", "sonar", *SMALL, "--cost")[1]  # no number is cut
    assert all(cost["recorded"] == cost["pieces"] for cost in again)
    took = Store.of(small_data / "results", "seconds", "paper-T3-k2-c3-r2")
    assert sum(cost["seconds"] for cost in again) == pytest.approx(sum(took.read(n)["seconds"] for n in took.names()))


def test_what_would_fail_in_the_end_is_refused_at_once(paper: Paper, small_data: Path) -> None:
    for option in ("--csv", "--markdown"):
        code, _, said = paper("svm", *SMALL, option, small_data / "nowhere" / "file")
        assert (code, said.count("\n")) == (2, 1)
        assert "its folder is not there" in said
    assert paper("svm", *SMALL, "--jobs", "0")[0] == 2
