"""The command times made-up trials; how long they take is not tested."""

import pytest

from flora_lab.main import main
from flora_lab.speed.aggregate import SPACE, made_up_trials


def test_it_prints_a_line_for_each_number_of_parties(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "aggregate", "--parties", "1", "2", "--tried", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[3:]] == ["1", "2"]
    assert all(float(line.split("|")[6]) > 0 for line in lines[3:])


def test_it_refuses_no_parties(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "aggregate", "--parties", "0"]) == 2
    assert "parties" in capsys.readouterr().err


def test_each_party_has_trials_of_its_own() -> None:
    one, other = made_up_trials(1, 5), made_up_trials(2, 5)
    assert one == made_up_trials(1, 5)
    assert one.space is other.space is SPACE
    assert one.trials != other.trials
