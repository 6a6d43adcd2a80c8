"""``flora-lab held-out``: a whole run, judged on rows that no party had."""

import json
from pathlib import Path

import pandas as pd
import pytest

from flora_lab.datasets import DATASETS, TARGET, load, made_up
from flora_lab.judge import held_out
from flora_lab.main import main
from flora_lab.options import RunOptions
from flora_lab.store import Store

SMALL = made_up("design", 80, 3, n_informative=2, n_redundant=0, random_state=1)


class Says:
    """A model that predicts a column of the rows."""

    def __init__(self, column: bytes) -> None:
        self.column = column.decode()

    def predict_table(self, rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"prediction": rows[self.column]})


def test_the_true_gain_is_that_of_the_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "unpack", Says)
    truth = ["a"] * 40 + ["b"] * 10
    half = ["a"] * 45 + ["b"] * 5  # finds half of the rare class: a balanced accuracy of 3/4
    table = pd.DataFrame({"half": half, "all": truth, TARGET: truth})
    found = held_out.true_gain([b"half", b"all"], table, seed=0)
    assert (found["default_score"], found["true"]) == pytest.approx((0.75, 0.25))
    assert 0.03 < found["true_error"] < 0.15
    assert held_out.true_gain([b"all", b"all"], table, seed=0)["true_error"] == 0


def test_a_small_run_from_end_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "generated-1", SMALL)
    typed = ["held-out", "--results", str(tmp_path), "--dataset", "generated-1", "--family", "svm", "--parties", "2"]
    assert main([*typed, "--trials", "4", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    [cell] = document["cells"]
    assert cell["name"] == "svm-generated-1-p2-iid-s0"
    assert cell["basis"] == "trained"
    stored = Store.of(tmp_path, "held-out", "T4-k5-n8").read(f"cells/{cell['name']}")
    assert stored["evidence"]["trained"]["default"]
    assert "C" in stored["config"]
    assert main([*typed, "--trials", "4", "--stored"]) == 0
    assert "svm" in capsys.readouterr().out


def test_parties_may_get_few_rows_of_a_large_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = made_up("design", 300, 3, n_informative=2, n_redundant=0, random_state=1)
    monkeypatch.setitem(DATASETS, "generated-1", SMALL)
    monkeypatch.setitem(DATASETS, "generated-2", large)
    monkeypatch.setattr(held_out, "MOST_HELD", 150)
    kept_in = RunOptions(None, tmp_path, False, None, 1, False)
    options = held_out.HeldOutOptions(("generated-1", "generated-2"), ("svm",), (), 1, 4, 100, kept_in)
    small, other = options.pieces()
    assert (small.rows, other.rows) == (None, 100)
    assert (small.name, other.name) == ("cells/svm-generated-1-p3-iid-s0", "cells/svm-generated-2-p3-iid-s0-n100")
    kept, held = other.split(load("generated-2"))
    assert (len(kept), len(held)) == (100, 150)
    assert not set(kept.index) & set(held.index)
    assert kept[TARGET].value_counts(normalize=True).max() == pytest.approx(0.5, abs=0.02)
    typed = ["held-out", "--results", str(tmp_path), "--dataset", "generated-2", "--rows", "99"]
    assert main(typed) == 2
    assert "rows must be a whole number of at least 100, got 99" in capsys.readouterr().err
