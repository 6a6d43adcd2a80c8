from typing import Any

import pytest

from flora_lab import left_out
from flora_lab.main import main


@pytest.mark.parametrize("family", list(left_out.LEFT_OUT))
def test_each_search_has_the_same_configs_with_one_more_hp(family: str) -> None:
    plain = [{"learning_rate_init": 0.1 * k} for k in range(1, 9)]
    for parameter in left_out.LEFT_OUT[family]:
        more = left_out.with_one_more(plain, parameter, 3, family)
        assert [{**config, **known} for config, known in zip(more, plain, strict=True)] == more
        assert all(set(config) == {"learning_rate_init", parameter.name} for config in more)
        assert len({config[parameter.name] for config in more}) > 1
        assert more == left_out.with_one_more(plain, parameter, 3, family)


def test_means_have_an_interval_over_datasets() -> None:
    table = left_out.means_of(["a", "a", "b"], {"alpha": [1.0, 3.0, -1.0], "beta": [0.0, 0.0, 0.0]}).splitlines()
    assert table[2] == "| alpha | +1.0 | -1.0 +2.0 | 2 of 3 |"
    assert table[3] == "| beta | +0.0 | +0.0 +0.0 | 0 of 3 |"
    assert left_out.means_of(["a"], {"alpha": [1.0]}).endswith("| alpha | +1.0 | - | 1 of 1 |")


def test_a_line_for_each_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["left-out", "--dataset", "generated-1", "--trials", "2", "--folds", "2", "--most", "60"]
    assert main(typed) == 0
    lines = [[word.strip() for word in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert lines[0][1:] == ["default", "the paper's", "class_balance", "batch_size", "activation"]
    assert lines[2][0] == "generated-1"
    plain = float(lines[2][2])
    for line, score in zip(lines[6:], lines[2][3:], strict=True):
        assert float(line[1]) == pytest.approx(float(score) - plain, abs=0.11)


@pytest.mark.parametrize("typed", [["--trials", "0"], ["--folds", "1"], ["--most", "29"]])
def test_wrong_numbers_are_refused(typed: list[str], capsys: Any) -> None:
    assert main(["left-out", *typed]) == 2
    assert "at least" in capsys.readouterr().err
