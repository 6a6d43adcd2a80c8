"""``flora paper`` from end to end, on small tables that pass for the paper's."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flora.cli import main

SMALL = ("--trials", "3", "--cv", "2", "--central", "3", "--random", "2", "--splits", "1")
Paper = Callable[..., tuple[int, str, str]]


@pytest.fixture
def paper(small_data: Path, capsys: pytest.CaptureFixture[str]) -> Paper:
    def run(*arguments: Any) -> tuple[int, str, str]:
        place = ("--data", small_data, "--results", small_data / "results")
        code = main(["paper", *map(str, (*arguments, *place))])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_testbed_is_trained_shown_and_stored(paper: Paper, small_data: Path) -> None:
    code, shown, _ = paper("testbed", "--dataset", "oil-spill", *SMALL, "--csv", small_data / "out.csv")
    assert code == 0
    assert "oil-spill 3 x 20 rows" in shown
    assert "(T3-k2)" in shown
    assert "73.3" in shown  # the paper's APLM
    again = json.loads(paper("testbed", "--dataset", "oil-spill", *SMALL, "--json")[1])
    assert again["settings"]["trials"] == 3
    [line] = csv.DictReader((small_data / "out.csv").read_text().splitlines())
    assert float(line["score aplm median"]) == again["rows"][0]["score"]["aplm"]["median"]


def test_the_testbed_knows_one_way_to_deal_rows(paper: Paper) -> None:
    code, _, said = paper("testbed", "--split", "dirichlet:0.5", *SMALL)
    assert code == 2
    assert "got --split dirichlet:0.5" in said
