"""Our tables beside the paper's."""

import csv
from typing import Any

import pytest

from flora_lab.paper.aggregate import aggregated
from flora_lab.paper.command import _lines
from flora_lab.paper.compare import Entry, entries_of, published_row
from flora_lab.paper.ours import Row
from flora_lab.paper.published import SURFACES
from flora_lab.tables import to_csv


def row(dataset: str = "sonar", *, regret: float = 0.4, best: float = 0.9, **changes: Any) -> dict[str, Any]:
    cell = {"family": "svm", "dataset": dataset, "parties": 3, "split": "paper", "trials": None, "send": None}
    cell |= {"box": "published", "seed": 5489}
    scores = {"baseline": 0.8, "best": best, "fresh_baseline": 0.8, "fresh_best": 0.85, "worst_party": 0.7}
    score = best - regret * (best - 0.8)
    surfaces = {name: [{"score": score, "trainings": 3.0}] for name in SURFACES}
    return {**cell, **scores, "best_party": 0.8, "gamma": 1.1, "surfaces": surfaces, **changes}


def compare(rows: list[Row]) -> list[Entry]:
    return entries_of("svm", rows)


def test_splits_become_a_median_with_quartiles() -> None:
    [entry] = compare([row(regret=0.1), row(regret=0.2), row(regret=0.6)])
    assert entry["splits"] == 3
    assert entry["regret"]["aplm"] == pytest.approx({"median": 0.2, "low": 0.15, "high": 0.4})
    assert entry["baseline"]["median"] == pytest.approx(80)
    assert entry["published"]["regret"] == {"sgm": 0.17, "sgm+u": 0.17, "mplm": 0.27, "aplm": 0.17}


@pytest.mark.parametrize(
    ("changes", "aplm"),
    [
        ({}, 0.17),
        ({"trials": 5}, 0.28),
        ({"send": 5}, 1.43),
        ({"family": "hgb", "dataset": "electricity", "parties": 50}, 1.13),
        ({"family": "hgb", "dataset": "electricity"}, 0.12),
    ],
)
def test_each_row_has_the_papers_number(changes: dict[str, Any], aplm: float) -> None:
    assert published_row(row(**changes))["regret"]["aplm"] == aplm


def test_what_the_paper_does_not_print_is_empty() -> None:
    assert published_row(row(trials=7)) == {}


def test_noise_is_called_noise() -> None:
    pollen, small, good = compare([row("pollen"), row("pc3", best=0.81), row("sonar")])
    assert "row number" in pollen["remark"]
    assert "noise" in small["remark"]
    assert good["remark"] == ""


def test_no_gap_no_regret() -> None:
    [entry] = compare([row(best=0.8)])
    assert entry["regret"]["aplm"] is None


def test_csv_has_a_line_for_each_entry_and_a_column_for_each_number() -> None:
    tables: list[dict[str, Any]] = [
        {"table": "svm", "protocol": "T9-k2-c3-r4", "rows": compare([row(), row("pc3")])},
        {"table": "testbed", "protocol": "T9-k2", "rows": entries_of("testbed", [bed_row()])},
        {"table": "aggregate", "rows": aggregated([row(regret=0.5), row("pc3", regret=0.2)])[:1]},
    ]
    text = to_csv([line for table in tables for line in _lines(table)])
    lines = list(csv.DictReader(text.splitlines()))
    assert [line["table"] for line in lines] == ["svm", "svm", "testbed", "aggregate"]
    assert float(lines[0]["regret aplm median"]) == pytest.approx(0.4)
    assert lines[0]["published regret aplm"] == "0.17"
    assert lines[0]["score aplm median"] == ""
    assert float(lines[2]["score aplm median"]) == pytest.approx(70)
    assert lines[2]["protocol"] == "T9-k2"
    assert float(lines[3]["computed mean median"]) == pytest.approx(0.35)


def bed_row(**changes: Any) -> dict[str, Any]:
    sizes = {"parties": 3, "rows": 200, "held_out": 0.4, "held_out_classes": [359, 16]}
    cell = {"family": "hgb", "dataset": "oil-spill", "seed": 5489, "box": "published"}
    return {**cell, **sizes, "baseline": 0.6, "surfaces": {name: {"score": 0.7} for name in SURFACES}, **changes}


def test_the_testbeds_splits_become_a_median() -> None:
    better = bed_row(seed=5490, surfaces={name: {"score": 0.8} for name in SURFACES})
    [entry] = entries_of("testbed", [better, bed_row()])
    assert entry["score"]["mplm"]["median"] == pytest.approx(75)
    assert entry["seeds"] == [5489, 5490]
    assert entry["published"]["score"] == {"sgm": 73.74, "sgm+u": 59.09, "mplm": 70.61, "aplm": 73.32}
    assert entry["remark"] == "only 16 of the held-out rows are of class 1"
    assert len(entries_of("testbed", [bed_row(), bed_row(box="wide")])) == 2
