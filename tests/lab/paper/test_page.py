"""The page of results is a function of the files, and says what is not there."""

import json
from pathlib import Path
from typing import Any

import pytest

from flora.errors import InputError
from flora_lab.paper.contents import TABLES
from flora_lab.paper.page import page
from flora_lab.paper.stored import StoredRows
from flora_lab.store import Store
from tests.lab.paper.test_compare import bed_row, row

ROOT = Path(__file__).parents[3]
PROTOCOL = {"trials": 100, "folds": 10, "central": 600, "random": 60}


def put(results: Path, protocol: str, name: str, content: dict[str, Any]) -> None:
    full = {"protocol": PROTOCOL, "versions": {"flora": "0.1.0", "numpy": "2.4.6"}, **content}
    Store.of(results, "paper", protocol).add(name, full)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Rows of two splits, one that is not IID, one of the wide box, one of another protocol, and one training."""
    put(tmp_path, "a", "cells/1", row(regret=0.1))
    put(tmp_path, "a", "cells/2", row(regret=0.3, seed=5490))
    put(tmp_path, "a", "cells/3", row(regret=0.9, split="dirichlet:0.5"))
    put(tmp_path, "a", "cells/4", row("pc3", best=0.81))
    put(tmp_path, "a", "cells/5", row(regret=0.7, box="wide", seed=5495))
    put(tmp_path, "a", "cells/6", row(trials=5))
    put(tmp_path, "b", "cells/1", row(protocol={**PROTOCOL, "folds": 3}, versions={"numpy": "2.5.0"}))
    put(tmp_path, "c", "testbed/1", bed_row(protocol={"trials": 20, "folds": 3}))
    machine = {"cores": 2, "memory_gib": 24, "processor": "Xeon", "platform": "Linux x86_64"}
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines" / "one.json").write_text(json.dumps(machine))
    Store.of(tmp_path, "paper", "a").pack()  # the others are loose
    return tmp_path


def lines_of(results: Path, *tables: str) -> list[str]:
    return page(results, tables).splitlines()


def test_the_committed_page_is_what_the_committed_results_make() -> None:
    assert (ROOT / "docs" / "results.md").read_text() == page(ROOT / "results", TABLES), (
        "regenerate it: flora-lab paper all --stored --markdown docs/results.md"
    )


def test_the_head_says_where_and_how(results: Path) -> None:
    text = page(results, [])
    assert "- Machine: 2 cores (Xeon), 24 GiB of memory, Linux x86_64." in text
    assert "- Versions: flora 0.1.0, numpy 2.4.6 and 2.5.0." in text
    assert "- Protocol `T20-k3`: 20 trials of TPE at each party, 3-fold cross-validation (quick)." in text
    assert "- Protocol `T100-k3-c600-r60`:" in text
    assert "Pollen's label is the row number" in text


def test_ours_stand_below_the_papers_and_what_is_not_iid_next_to_what_is(results: Path) -> None:
    lines = lines_of(results, "svm")
    start = lines.index(
        "| svm sonar | published | 80.2 | 89.3 | - | - | 83.3 | 87.9 | 1.06 | 0.17 | 0.17 | 0.27 | 0.17 |"
    )
    spread = "0.20 (0.15–0.25)"
    scores = "80.0 | 90.0 | 80.0 | 85.0 | 70.0 | 80.0 | 1.10"
    assert lines[start + 1] == f"|  | paper, 2 splits | {scores} | {' | '.join([spread] * 4)} |"
    assert lines[start + 2] == "|  | trainings |  |  |  |  |  |  |  | 3 | 3 | 3 | 3 |"
    assert lines[start + 3] == f"|  | dirichlet:0.5, 1 split | {scores} | {' | '.join(['0.90'] * 4)} |"
    assert "- svm pc3 (paper): the gap is under 1.5 points: regrets are noise." in lines
    assert (
        "Not there yet, of the paper's rows: svm pollen, svm heart-statlog, svm oil-spill, svm eeg-eye-state." in lines
    )


def test_boxes_and_protocols_have_tables_of_their_own(results: Path) -> None:
    lines = lines_of(results, "svm")
    heads = [line for line in lines if line.startswith("### ")]
    assert heads == [
        "### `T100-k10-c600-r60`, published box",
        "### `T100-k10-c600-r60`, wide box",
        "### `T100-k3-c600-r60`, published box",
    ]
    assert "| paper, 1 split (seeds 5495) |" in "\n".join(lines)


def test_short_tables_the_aggregate_and_the_testbed(results: Path) -> None:
    rounds = lines_of(results, "rounds")
    assert "|  |  | gamma_p | SGM | SGM+U | MPLM | APLM |" in rounds
    assert "| svm sonar T=5 | published | 1.06 | 0.17 | 0.17 | 1.16 | 0.28 |" in rounds
    assert not any("svm sonar T=5," in line for line in rounds)  # as missing
    aggregate = "\n".join(lines_of(results, "aggregate"))
    assert "| overall | SGM+U | 0.65 ± 0.45 (0.64 ± 0.51) |" in aggregate
    assert "paper: ours over datasets, the median of all replications" in aggregate
    assert "| svm sonar | 0.100 | 0.100 | 0.100 | 0.100 |" in aggregate
    assert "dirichlet:0.5: ours over datasets" in aggregate
    bed = lines_of(results, "testbed")
    assert "| oil-spill, 3 x 200 rows | published | 59.0 | 73.7 | 59.1 | 70.6 | 73.3 |" in bed
    assert "|  | ours, 1 split | 60.0 | 70.0 | 70.0 | 70.0 | 70.0 |" in bed
    assert "- oil-spill: only 16 of the held-out rows are of class 1." in bed
    assert "Not there yet, of the paper's rows: oil-spill, eeg-eye-state, electricity." in bed  # with T = 500


def test_published_numbers_stand_beside_the_reach_of_ours(results: Path) -> None:
    lines = lines_of(results, "svm")
    assert (
        "| svm sonar | 80.20 (80.00) * | 89.29 (90.00) | 83.3 (70.0–70.0) * | 87.9 (80.0–80.0) * | 1.06 (1.10–1.10) * "
        "| 0.17 (0.10–0.30) | 0.17 (0.10–0.30) | 0.27 (0.10–0.30) | 0.17 (0.10–0.30) |"
    ) in lines
    assert (
        "Not marked, of 1 datasets: baseline 0, PMin 0, PMax 0, gamma_p 0, SGM 1, SGM+U 1, MPLM 1, APLM 1."
    ) in lines
    assert not any(line.startswith("| svm pc3 | 7") for line in lines)  # one split cannot say


def test_more_trainings_than_were_drawn_are_not_counted(results: Path) -> None:
    many = {name: [{"score": 0.9, "trainings": 61.0}] for name in row()["surfaces"]}
    put(results, "a", "cells/7", row("oil-spill", surfaces=many))
    assert "|  | trainings |  |  |  |  |  |  |  | > 60 | > 60 | > 60 | > 60 |" in lines_of(results, "svm")


def test_no_results_make_a_page_that_says_so(tmp_path: Path) -> None:
    text = page(tmp_path / "nowhere", TABLES)
    assert "Machine: not noted" in text
    assert text.count("Not there yet") == len(TABLES)


@pytest.mark.parametrize(
    ("content", "words"),
    [([1], "must have the fields"), ({"family": "svm"}, "must have the fields .*'baseline'")],
)
def test_a_broken_row_is_named(results: Path, content: Any, words: str) -> None:
    Store.of(results, "paper", "b").add("cells/1", content)
    with pytest.raises(InputError, match=rf"b\.tsv\.xz: cells/1 {words}"):
        StoredRows.read(results)
