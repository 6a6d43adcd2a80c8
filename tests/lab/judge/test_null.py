"""``flora-lab null``: the product on labels that nothing predicts."""

import json

import numpy as np
import pytest

from flora_lab.judge.null import TARGET, Said, coin_tosses, counted
from flora_lab.main import main


def test_counts_what_was_said() -> None:
    said = [Said("use", 0.04, "likely", 0.1), Said("keep-defaults", 0.0, "not shown", 1.0)]
    found = counted([*said, *said])
    assert (found["runs"], found["use"], found["rate"], found["rate_error"]) == (4, 2, 0.5, 0.25)
    assert (found["gain"], found["gain_of_use"]) == pytest.approx((0.02, 0.04))
    assert found["grades"] == {"likely": 2, "not shown": 2}
    assert counted(said[1:])["gain_of_use"] is None


def test_labels_have_nothing_to_do_with_the_columns() -> None:
    table = coin_tosses(20_000, 3)
    label = table.pop(TARGET) == "heads"
    assert np.abs([np.corrcoef(table[name], label)[0, 1] for name in table]).max() < 0.03
    assert 0.48 < label.mean() < 0.52
    assert coin_tosses(20, 3).equals(coin_tosses(20, 3))
    assert not coin_tosses(20, 3).equals(coin_tosses(20, 4))


def test_the_command_runs_the_product(capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["null", "--rows", "60", "--trials", "2", "--folds", "2", "--runs", "2", "--trainings", "0"]
    assert main([*typed, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["runs"], document["options"]["parties"]) == (2, 3)
    assert main(typed) == 0
    assert f"{document['use']} of 2" in capsys.readouterr().out
