"""``flora-lab null``: the product on labels that nothing predicts."""

import json
from pathlib import Path

import numpy as np
import pytest

from flora.aggregator.comparison import Comparison
from flora.problem.trials import Gain
from flora_lab.evidence import RunEvidence
from flora_lab.judge.null import TARGET, NullRun, coin_tosses, counted
from flora_lab.main import main
from flora_lab.store import Store

SMALL = ["null", "--family", "svm", "--parties", "2", "--rows", "60", "--trials", "2", "--folds", "2"]


def test_counts_what_today_s_rule_says() -> None:
    better = RunEvidence(Comparison((0.5, 0.5, 0.5), (0.45, 0.46, 0.44)), Gain(0.0, 0.02, 4), 8)
    same = RunEvidence(None, Gain(0.0, 0.1, 4), 8)
    runs = [NullRun("svm", 3, 60, seed) for seed in range(4)]
    found = counted(runs, [better, same, better, same])
    assert (found["family"], found["parties"]) == ("svm", 3)
    assert (found["runs"], found["use"], found["rate"], found["rate_error"]) == (4, 2, 0.5, 0.25)
    assert found["stated"] == pytest.approx(found["stated_of_use"] / 2)
    assert 0.03 < found["stated_of_use"] < 0.05
    assert found["grades"] == {"keep-defaults, not shown": 2, "use, shown": 2}
    assert found["measured"]["use"] == 0
    assert counted(runs, [same])["stated_of_use"] is None


def test_labels_have_nothing_to_do_with_the_columns() -> None:
    table = coin_tosses(20_000, 3)
    label = table.pop(TARGET) == "heads"
    assert np.abs([np.corrcoef(table[name], label)[0, 1] for name in table]).max() < 0.03
    assert 0.48 < label.mean() < 0.52
    assert coin_tosses(20, 3).equals(coin_tosses(20, 3))
    assert not coin_tosses(20, 3).equals(coin_tosses(20, 4))


def test_the_command_runs_the_product_and_keeps_the_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = [*SMALL, "--runs", "2", "--results", str(tmp_path)]
    assert main([*typed, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    [line] = document["runs"]
    assert (line["runs"], line["parties"]) == (2, 2)
    store = Store.of(tmp_path, "null", "T2-k2")
    assert store.names() == {"runs/svm-p2-n60-s0", "runs/svm-p2-n60-s1"}
    assert main([*typed, "--stored", "--runs", "9"]) == 0
    assert f"{line['use']} of 2" in capsys.readouterr().out


def test_nothing_stored_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--stored", "--results", str(tmp_path)]) == 2
    assert "T2-k2.tsv.xz: has none of what was asked for" in capsys.readouterr().err
