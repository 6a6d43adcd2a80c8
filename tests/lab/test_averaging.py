from typing import Any

import numpy as np
import pytest

from flora.errors import DataError
from flora_lab import averaging
from flora_lab.main import main


def test_a_line_for_each_dataset_and_the_gaps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["averaging", "--dataset", "breast_cancer", "--parties", "2", "9", "--seeds", "1"]) == 0
    lines = [[word.strip() for word in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["balanced accuracy", "rows that train", "pooled", "pooled, to the end", "p = 2", "p = 9"]
    assert lines[2][:2] == ["breast_cancer", "380"]
    pooled, _, *federated = (float(word) for word in lines[2][2:])
    assert all(score > pooled - 5 for score in federated)  # the search's network stops early, and so lies lower
    gaps = {line[0]: line[1:] for line in lines[6:]}
    assert list(gaps) == ["pooled, to the end", "p = 2", "p = 9"]
    assert float(gaps["p = 2"][0]) == pytest.approx(pooled - federated[0], abs=0.11)


def test_gaps_are_points_below_the_pooled_training() -> None:
    cells = [{"pooled": 0.9, "pooled, to the end": 0.9, "p = 2": low} for low in (0.8, 0.89, 0.95)]
    last = averaging.gaps(cells, averaging.ways_of([2])).splitlines()[-1]
    assert last == "| p = 2 | +2.0 | -3.8 | +1.0 | +8.2 | 1 of 3 |"


def test_a_class_of_a_dataset_makes_a_rare_one() -> None:
    rows = averaging.rows_of("digits:8", None)
    assert rows.schema.classes == ("no", "yes")
    assert np.bincount(rows.y).tolist() == [1797 - 174, 174]
    with pytest.raises(DataError, match=r"digits: has no class '11'"):
        averaging.rows_of("digits:11", None)


def test_configs_are_the_default_or_drawn_from_the_papers_space() -> None:
    (default,) = averaging.drawn_configs(0)
    assert default["learning_rate_init"] == 1e-3
    assert averaging.drawn_configs(3) == averaging.drawn_configs(3)
    assert len(averaging.drawn_configs(3)) == 3


@pytest.mark.parametrize("typed", [["--parties", "0"], ["--seeds", "0"], ["--configs", "-1"]])
def test_wrong_numbers_are_refused(typed: list[str], capsys: Any) -> None:
    assert main(["averaging", *typed]) == 2
    assert "at least" in capsys.readouterr().err
