"""``flora-lab calibration``: stored cells of the judge, asked again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flora.problem.trials import Gain
from flora_lab.datasets import DATASETS, made_up
from flora_lab.judge.command import USUAL
from flora_lab.judge.compared import crossed_answers
from flora_lab.judge.earned import Earned
from flora_lab.judge.run import JudgedCell
from flora_lab.main import main
from flora_lab.store import Store
from tests.lab.judge.cases import made_up_record

SMALL = made_up("design", 60, 3, n_informative=2, n_redundant=0, random_state=1)


def calibration(*arguments: object) -> int:
    return main(["calibration", *map(str, arguments)])


def store(results: Path, family: str = "svm", dataset: str = "generated-1") -> None:
    """Store a made-up cell: 1/C is its loss at the parties, and half of that in truth."""
    record = made_up_record(
        family,
        lambda config: 0.3 / float(config.get("C", 10 * config.get("learning_rate", 1))),
        lambda config: 0.15 / float(config.get("C", 10 * config.get("learning_rate", 1))),
    )
    record = replace(record, cell=replace(record.cell, dataset=dataset))
    Store.of(results, "judge", USUAL.name).add(JudgedCell(record.cell).name, record.to_document())


def test_what_parties_measured_needs_no_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(tmp_path)
    store(tmp_path, dataset="pima")
    assert calibration("--results", tmp_path, "--stored", "--json", "--csv", tmp_path / "table.csv") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["families"]["trained"] == []
    [line] = document["families"]["measured"]
    assert (line["family"], line["cells"], line["datasets"], line["use"]) == ("svm", 2, 2, 2)
    assert line["true"] == pytest.approx(100 * (0.15 - 0.015))
    assert 13 < line["too_much"]["value"] < 14
    [crossed] = document["families"]["crossed"]
    assert (crossed["cells"], crossed["datasets"], crossed["true"]) == (10, 2, pytest.approx(line["true"]))
    [earned] = document["earned"]
    assert (earned["cells"], earned["datasets"], earned["gains"]["default"]) == (2, 2, 0)
    assert earned["gains"]["trained"] == earned["gains"]["chosen"] == pytest.approx(line["true"])
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 1 + 2 + 10
    assert calibration("--results", tmp_path, "--stored") == 0
    assert capsys.readouterr().out.count("Stated against true gains") == 2  # none of trainings that nobody made
    assert calibration("--results", tmp_path, "--stored", "--family", "hgb") == 2
    assert "has none of the cells that were asked for" in capsys.readouterr().err


@pytest.mark.parametrize("family", ["svm", "hgb"])
def test_trainings_of_a_stored_cell_are_made_once(
    family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "generated-1", SMALL)
    store(tmp_path, family)
    assert calibration("--results", tmp_path, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    trained, *crossed, measured = document["cells"]
    assert (trained["basis"], len(crossed), measured["basis"]) == ("trained", 5, "measured")
    # the trees were another library's: their truth is measured anew, on the rows; that of an svm still holds
    assert (trained["true"] == pytest.approx(measured["true"])) == (family == "svm")
    assert calibration("--results", tmp_path, "--stored", "--json") == 0
    assert json.loads(capsys.readouterr().out) == document


def test_what_is_lost_to_the_verdict_and_what_to_the_candidates() -> None:
    true = {1.0: 0.3, 10.0: 0.25, 100.0: 0.1}  # of C: 10 is the one candidate, and 100 would be better still
    record = made_up_record("svm", lambda config: 0.3 / float(config["C"]), lambda config: true[float(config["C"])])
    answers = crossed_answers(record)
    gains = {"default": 0.0, "trained": 0.05, "chosen": 0.05, "candidate": 0.05, "searched": 0.2}
    assert Earned.of(record, answers).gains == pytest.approx(gains)
    kept = [replace(answer, verdict=replace(answer.verdict, gain=Gain(0.0, 1.0, 4))) for answer in answers]
    assert Earned.of(record, kept).gains == pytest.approx({**gains, "trained": 0.0})


def test_a_candidate_that_is_best_in_one_fold_by_chance_is_not_the_best_there() -> None:
    record = made_up_record("svm", lambda config: 0.3 / float(config["C"]), lambda config: 0.3)
    lucky = (0.2, 0.35, 0.35, 0.35, 0.35)
    truths = tuple(replace(t, losses=(lucky if t.config["C"] == 10 else (0.3,) * 5,)) for t in record.truths)
    earned = Earned.of(replace(record, truths=truths), crossed_answers(record))
    assert earned.gains["candidate"] == 0


def test_the_fold_that_judges_has_no_part_in_the_verdict() -> None:
    losses = {
        0.01: (0.30, 0.31, 0.29, 0.30, 0.30),
        1.0: (0.30, 0.29, 0.31, 0.30, 0.30),
        10.0: (0.2, 0.21, 0.2, 0.2, 0.5),
    }
    record = made_up_record("svm", lambda config: 0.3 / float(config["C"]), lambda config: 0.15 / float(config["C"]))
    truths = tuple(
        replace(truth, losses=(losses.get(float(truth.config["C"]), losses[10.0]),)) for truth in record.truths
    )
    answers = crossed_answers(replace(record, truths=truths))
    assert [answer.true for answer in answers] == pytest.approx([0.10, 0.08, 0.11, 0.10, -0.20])
    assert [answer.verdict.gain.estimate for answer in answers][-1] == pytest.approx(0.39 / 4)
    assert answers[-1].use
    assert not answers[0].use  # 0.10 is not beyond the error of a fold in which 0.2 were lost
