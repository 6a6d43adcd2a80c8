"""``flora-lab paper`` from end to end, on small tables that pass for the paper's."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flora_lab.main import main

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


def test_what_would_fail_in_the_end_is_refused_at_once(paper: Paper, small_data: Path) -> None:
    for option in ("--csv", "--markdown"):
        code, _, said = paper("svm", *SMALL, option, small_data / "nowhere" / "file")
        assert (code, said.count("\n")) == (2, 1)
        assert "its folder is not there" in said
    assert paper("svm", *SMALL, "--jobs", "0")[0] == 2
