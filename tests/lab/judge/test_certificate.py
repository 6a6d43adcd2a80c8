"""``flora-lab certificate``: what the certificate says of a few runs."""

import json

import pytest

from flora_lab.judge.certificate import SHOWN, TABLES, TARGET, noisy, numbers
from flora_lab.main import main


def test_numbers_of_a_certificate_with_and_without_a_bound() -> None:
    measured = [{"basis": "trained", "value": 0.5}, {"basis": "measured", "value": 0.25}]
    number = {"value": 0.125, "status": "estimated"}
    found = numbers({"measured": measured, "tried": number, "bound": None, "range": number, "spread": number})
    assert found == {"measured": 0.25, "tried": 0.125, "bound": None, "range": 0.125, "spread": 0.125}
    assert numbers({})["measured"] is None


def test_a_fifth_of_the_labels_is_noise_and_each_table_has_a_target() -> None:
    assert noisy(100).equals(noisy(100))
    assert all(TARGET in make() for make in TABLES.values())


def test_the_command_runs_the_product(capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["certificate", "--tables", "breast_cancer", "--families", "svm", "--trials", "3", "--folds", "2"]
    assert main([*typed, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert (found["table"], found["family"], found["parties"]) == ("breast_cancer", "svm", 3)
    stated = [found[name] for name in SHOWN]
    assert all(value is None or value <= found["range"] for value in stated[:3])
    assert main(typed) == 0
    assert f"{found['range']:.3f}" in capsys.readouterr().out
