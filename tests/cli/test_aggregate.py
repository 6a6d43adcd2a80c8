"""Trials of any study, as CSV files of any make."""

import gzip
import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from tests.cli.conftest import Run
from tests.cli.test_main import refused

TRIED = np.geomspace(0.01, 100, 30)


@pytest.fixture
def space(tmp_path: Path) -> Path:
    path = tmp_path / "space.json"
    path.write_text('{"C": {"type": "real", "space": "log", "range": [0.01, 100], "default": 1.0}}')
    return path


def study(path: Path, best: float, column: str = "score", sign: float = 1.0, **more: Sequence[float] | float) -> Path:
    """Write a study of scores from 0 to 1 whose best C is ``best``."""
    scores = sign * (1 - np.log(TRIED / best) ** 2 / 100)
    path.parent.mkdir(exist_ok=True)
    pd.DataFrame({"C": TRIED, column: scores, **more}).to_csv(path, index=False)
    return path


def best_c(outcome: tuple[int, str, str]) -> float:
    code, printed, err = outcome
    assert code == 0, err
    return float(json.loads(printed)["config"]["C"])


def test_scores_and_losses_of_any_name_and_sign_recommend_the_same(flora: Run, space: Path, tmp_path: Path) -> None:
    asked = ["--space", space, "--json"]
    plain = [study(tmp_path / name / "a.csv", 3.0) for name in ("plain",)]
    expected = best_c(flora("aggregate", *plain, *asked))
    named = study(tmp_path / "named" / "a.csv", 3.0, "mean acc")
    assert best_c(flora("aggregate", named, *asked, "--score-column", "mean acc")) == expected
    turned = study(tmp_path / "turned" / "a.csv", 3.0, "minus acc", sign=-1.0)
    scored = ["--scoring", "accuracy"]
    assert best_c(flora("aggregate", turned, *asked, *scored, "--score-column", "minus acc", "--negate")) == expected
    refused(flora("aggregate", turned, *asked, *scored, "--loss-column", "minus acc"), "accuracy", "--negate")


def test_trials_without_a_loss_are_said(flora: Run, space: Path, tmp_path: Path) -> None:
    path = study(tmp_path / "a.csv", 3.0)
    with path.open("a") as file:
        file.write("7.0,\n")
    code, _, err = flora("aggregate", path, "--space", space, "--scoring", "accuracy")
    assert code == 0, err
    assert f"a: 1 of {len(TRIED) + 1} trials failed, or ended early" in " ".join(err.split())


def test_rows_come_from_the_line_or_from_a_column(flora: Run, space: Path, tmp_path: Path) -> None:
    files = [study(tmp_path / f"{name}.csv", best, size=90.0) for name, best in (("a", 3.0), ("b", 5.0))]
    asked = ["aggregate", *files, "--space", space, "--json"]

    def rows(*more: object) -> list[int | None]:
        code, printed, err = flora(*asked, *more)
        assert code == 0, err
        return [party["rows"] for party in json.loads(printed)["parties"]]

    assert rows() == [None, None]
    assert rows("--rows", "a=120,b=45") == [120, 45]
    assert rows("--rows", "size") == [90, 90]
    refused(flora(*asked, "--rows", "a=120,c=4"), "--rows names 'c'", "['a', 'b']")
    for wrong in ("a=0", "a=x", "=3", "a=1,a=2", "a=1.5"):
        refused(flora(*asked, "--rows", wrong), "--rows is NAME=ROWS")
    refused(flora(*asked, "--rows", "rows"), "no column 'rows' (--rows)")


def test_a_folder_of_files_packed_or_not(flora: Run, space: Path, tmp_path: Path) -> None:
    folder = tmp_path / "studies"
    study(folder / "a.csv", 3.0)
    packed = study(folder / "b.csv", 5.0)
    (folder / "b.csv.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    (folder / "notes.txt").write_text("not read")
    (folder / "._a.csv").write_text("a system's own")
    code, printed, _ = flora("aggregate", folder, "--space", space, "--json")
    assert code == 0
    assert [party["name"] for party in json.loads(printed)["parties"]] == ["a", "b"]
    (tmp_path / "empty").mkdir()
    refused(flora("aggregate", tmp_path / "empty", "--space", space), "has no file that ends in")


def test_a_box_inside_of_the_space_that_was_searched(flora: Run, space: Path, tmp_path: Path) -> None:
    box = tmp_path / "box.json"
    box.write_text('{"C": {"type": "real", "space": "log", "range": [20, 60]}}')
    asked = ["aggregate", study(tmp_path / "a.csv", 3.0), "--space", space]
    assert 20 <= best_c(flora(*asked, "--inside", box, "--json")) < 30
    out = tmp_path / "run"
    assert flora(*asked, "--inside", box, "--out", out)[0] == 0
    assert (out / "report.html").exists()
    refused(flora(*asked, "--inside", box, "--propose", 2, "--out", out), "--inside takes files of trials alone")
    box.write_text('{"C": {"type": "real", "space": "log", "range": [20, 600]}}')
    refused(flora(*asked, "--inside", box), "600 of the box is not in the space")


@pytest.mark.parametrize(
    ("times", "scoring", "words"),
    [
        (100.0, "accuracy", ("got 35.8981", "percent")),
        (-1.0, "balanced_accuracy", ("sign", "--negate")),
        (1.0, "neg_mean_absolute_error", ("of at most 0", "--negate")),
        (1.0, "accurracy", ("scoring must be one of", "such as accuracy, got 'accurracy'")),
        (1e200, "score", ("1e100",)),
    ],
)
def test_a_score_that_cannot_be_is_refused_with_the_likely_cause(
    flora: Run, space: Path, tmp_path: Path, times: float, scoring: str, words: tuple[str, ...]
) -> None:
    file = study(tmp_path / "a.csv", 30.0, sign=times)
    refused(flora("aggregate", file, "--space", space, "--scoring", scoring), *words)


def test_losses_as_large_as_they_may_be_end_in_an_answer(flora: Run, space: Path, tmp_path: Path) -> None:
    for size in (1e100, -1e100, 1e-300):
        losses = pd.DataFrame({"C": TRIED, "loss": size * np.linspace(0, 1, len(TRIED))})
        losses.to_csv(tmp_path / "a.csv", index=False)
        for surface in ("aplm", "mplm", "sgm", "sgm+u", "median"):
            for regressor in ("forest", "gp"):
                more = ["--surface", surface, "--regressor", regressor, "--json"]
                assert 0.01 <= best_c(flora("aggregate", tmp_path / "a.csv", "--space", space, *more)) <= 100


def test_a_file_under_two_names_does_not_count_twice(flora: Run, space: Path, tmp_path: Path) -> None:
    file = study(tmp_path / "a.csv", 3.0)
    copy = tmp_path / "b.csv"
    copy.write_bytes(file.read_bytes())
    refused(flora("aggregate", file, copy, "--space", space), "'a' and 'b' have the very same 30 trials", "two names")


def test_a_terminal_shows_at_once_what_is_being_done(
    flora: Run, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [study(tmp_path / f"{name}.csv", 3.0 + k) for k, name in enumerate("ab")]
    code, _, err = flora("aggregate", *files, "--space", space)
    assert (code, err) == (0, "")
    terminal = Console(file=StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr("flora.cli.commands.aggregate.messages", terminal)
    assert flora("aggregate", *files, "--space", space)[0] == 0
    assert "the loss surface of 2 parties with 60 trials" in terminal.file.getvalue()  # type: ignore[attr-defined]
