"""The table has a line for each place where a user waits; how long that is, is not tested."""

import pytest

from flora_lab.main import main
from flora_lab.speed import table, trees


def test_it_has_searches_trainings_aggregations_and_a_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = trees.made_up_rows(80, 5)
    monkeypatch.setattr(table, "a_third", lambda name, data: rows)
    for name, value in (("TRIALS", 3), ("FOLDS", 3), ("ROWS", 200), ("COLUMNS", 5)):
        monkeypatch.setattr(table, name, value)
    monkeypatch.setattr(trees, "TREES", 2)
    monkeypatch.setattr(trees, "PARTIES", (2, 3))
    assert main(["speed", "--family", "svm", "--repeats", "1", "--parties", "2", "--tried", "3"]) == 0
    found = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("| ")][2:]
    starts = ["search, svm", "training, p = 2", "training, p = 3", "aggregation, p = 2", "reading", "the first line"]
    assert [next((s for s in starts if line[0].strip().startswith(s)), "") for line in found] == starts
    for line in found:
        assert float(line[2].split()[0]) >= 0  # so little work rounds to 0.00
    assert float(found[0][3].split()[0]) > 0
