"""Two runs side by side."""

from dataclasses import replace
from pathlib import Path

import pytest

from flora.cli.main import main
from flora.outcome.compare import compare
from flora.outcome.folder import RunFolder
from tests.outcome.report.cases import EVIL, Case, tuned


def run_in(folder: Path, case: Case) -> Path:
    result, trials = case
    run = RunFolder(folder, {"run": folder.name})
    run.begin()
    run.finish(replace(result, model=None), trials, b"")
    return folder


def test_only_what_differs_of_the_settings_is_shown() -> None:
    first, _ = tuned(["north", "south"])
    assert compare(first, first).settings == ()
    found = compare(first, replace(first, seed=7, sampler="gp"))
    assert [(line.what, line.first, line.second) for line in found.settings] == [
        ("sampler", "tpe", "gp"),
        ("seed", "0", "7"),
    ]
    assert found.comparable


def test_configs_gains_and_outcome_stand_side_by_side() -> None:
    first, _ = tuned(["north", "south"])
    second = replace(first, config={**first.config, "C": 0.5}, verdict="keep-defaults", parties=first.parties[:1])
    found = compare(first, second)
    assert [line.what for line in found.configs if line.differs] == ["C"]
    assert [(line.what, line.second) for line in found.parties] == [("north", "+0.010 ± 0.008"), ("south", "-")]
    outcome = {line.what: (line.first, line.second) for line in found.outcome}
    assert outcome["verdict"] == ("use", "keep-defaults")
    assert outcome["parties"] == ("2", "1")
    assert outcome["expected gain"][0] == "+0.0095 ± 0.0040"


def test_other_scorings_cannot_be_compared() -> None:
    first, _ = tuned(["north"])
    assert not compare(first, replace(first, scoring="accuracy")).comparable
    assert not compare(first, tuned(["north"], EVIL)[0]).comparable


def test_runs_of_other_tables_say_so() -> None:
    first, _ = tuned(["north", "south"])
    assert first.schema is not None
    other = replace(first, schema=replace(first.schema, target="Churn"), parties=first.parties[:1])
    found = compare(first, other)
    assert [(line.what, line.first, line.second) for line in found.settings] == [
        ("target", first.schema.target, "Churn"),
        ("parties", "north, south", "north"),
    ]
    assert not found.comparable
    assert compare(first, replace(first, schema=None)).comparable  # of files of trials: it is not known


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = run_in(tmp_path / "one", tuned(["north", "south"]))
    two = run_in(tmp_path / "two", tuned(["north"], surface="mplm"))
    assert main(["compare", str(one), str(two)]) == 0
    printed = capsys.readouterr().out
    assert all(
        word in printed for word in ("Settings that differ", "surface", "aplm", "mplm", "expected gain", "south")
    )
    assert main(["compare", str(one), str(two), "--json"]) == 0
    assert '"comparable": true' in capsys.readouterr().out
    assert main(["compare", str(one), str(tmp_path / "none")]) == 2
    assert "has no result.json" in capsys.readouterr().err
