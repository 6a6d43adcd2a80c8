"""``flora-lab private``: the parties of a stored cell keep their pairs, and what comes of that is scored."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flora_lab.judge.command import USUAL
from flora_lab.judge.run import JudgedCell
from flora_lab.main import main
from flora_lab.store import Store
from tests.lab.judge.cases import made_up_record


@pytest.mark.slow
def test_a_stored_cell_is_asked_again_in_private(
    tmp_path: Path, small_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = made_up_record("svm", lambda config: 0.2 / float(config["C"]), lambda config: 0.3 / float(config["C"]))
    record = replace(record, cell=replace(record.cell, dataset="sonar"))
    Store.of(tmp_path / "results", "judge", USUAL.name).add(JudgedCell(record.cell).name, record.to_document())
    command = ["private", "--results", str(tmp_path / "results"), "--dataset", "sonar", "--family", "svm"]
    assert main([*command, "--data", str(small_data), "--seeds", "1", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    rules = {rule["rule"]: rule for rule in first["rules"]}
    assert list(rules) == [
        *("default", "aplm", "flora", "flora's choice"),
        *("private minimum", "private", "private's choice"),
    ]
    assert rules["private minimum"]["wins"] + rules["private minimum"]["ties"] + rules["private minimum"]["losses"] == 1
    assert main([*command, "--stored", "--json"]) == 0  # without the data: it is kept
    assert json.loads(capsys.readouterr().out) == first


def test_without_a_stored_cell_there_is_nothing_to_ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["private", "--results", str(tmp_path), "--stored"]) == 2
    assert "has none of the cells that were asked for" in capsys.readouterr().err
