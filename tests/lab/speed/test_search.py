"""The search beside what a user would write; how long both take is not tested."""

import pytest

from flora_lab.main import main
from flora_lab.speed import search, trees


def test_both_ways_are_searched_and_scored(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = trees.made_up_rows(90, 5)
    monkeypatch.setattr(search, "a_third", lambda name, data: rows)
    command = [
        "speed",
        "search",
        "--family",
        "svm",
        "--family",
        "hgb",
        "--tried",
        "3",
        "--folds",
        "4",
        "--repeats",
        "1",
    ]
    assert main(command) == 0
    lines = [line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith(("| O", "| F"))]
    ways = ["Optuna + scikit-learn", "FLoRA, all folds", "FLoRA, raced"]
    assert [line[1].strip() for line in lines] == ways * 2
    for line in lines:
        assert 0 <= float(line[5]) <= 1
        assert 0 <= float(line[6]) <= 1
    fits = [int(line[4]) for line in lines]
    assert fits[:2] == fits[3:5] == [12, 12]
    assert max(fits[2], fits[5]) <= 12


@pytest.mark.parametrize("name", ["tried", "repeats", "jobs"])
def test_it_refuses_nothing_to_do(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "search", f"--{name}", "0"]) == 2
    assert name in capsys.readouterr().err
