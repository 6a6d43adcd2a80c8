"""The folder of a run, which it does not take from another."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flora.errors import InputError
from flora.outcome.folder import RunFolder, read_run, safe_name
from flora.problem.parameters import Real
from tests.outcome.report.cases import EVIL, EVIL_PARTY, MIXED, Case, aggregated, tuned


@given(st.text(min_size=1, max_size=60))
def test_any_party_has_a_file_of_its_own_inside_the_folder(name: str) -> None:
    path = Path("runs") / "trials" / f"{safe_name(name)}.json"
    assert path.parent.resolve() == (Path("runs") / "trials").resolve()
    assert path.resolve().parent == (Path("runs") / "trials").resolve()
    assert not safe_name(name).startswith(".")


def test_names_that_differ_have_files_that_differ() -> None:
    names = ["a/b", "a%2Fb", "a b", "a.b", ".a", "..", "<script>", "Ä"]
    assert len({safe_name(name) for name in names}) == len(names)


def test_a_folder_is_continued_by_its_own_run_only(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", {"seed": 0, "trials": 5})
    folder.begin()
    RunFolder(tmp_path / "run", {"seed": 0, "trials": 5})
    RunFolder(tmp_path / "run", {"seed": 1, "trials": 5})  # nothing is in it yet
    folder.study("a").write_bytes(b"a search")
    with pytest.raises(InputError, match="holds another run: its seed is 0, now 1"):
        RunFolder(tmp_path / "run", {"seed": 1, "trials": 5})
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(InputError, match="is not a folder of this run"):
        RunFolder(tmp_path / "run", {"seed": 0})
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError, match="is not a folder of this run"):
        RunFolder(tmp_path / "file", {"seed": 0})


def finished(folder: Path, case: Case, model: bytes = b"") -> RunFolder:
    run = RunFolder(folder, {"seed": 0})
    run.begin()
    run.finish(*case, model)
    return run


def test_what_a_run_leaves_is_read_back_and_its_report_says_it(tmp_path: Path) -> None:
    result, trials = tuned([EVIL_PARTY, "a/../b"], EVIL)
    finished(tmp_path / "run", (result, trials), b"the model")
    again, stored = read_run(tmp_path / "run")
    assert again.to_text() == result.to_text()
    assert again.schema == result.schema
    assert {party.party: party.digest for party in stored} == {party.party: party.digest for party in trials}
    assert (tmp_path / "run" / "model.flora").read_bytes() == b"the model"
    assert "Use the recommended hyper-parameters." in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]  # whatever the parties are called


@pytest.mark.parametrize("place", ["config", "trained_config"])
def test_a_config_whose_number_is_a_text_is_refused_before_it_is_drawn(tmp_path: Path, place: str) -> None:
    finished(tmp_path, tuned(["a", "b"]))
    file = tmp_path / "result.json"
    document = json.loads(file.read_text())
    name = next(p.name for p in MIXED.parameters if isinstance(p, Real))
    document[place][name] = "0.5"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match=rf"{name}: '0.5' is no value of this HP"):
        read_run(tmp_path)


def test_where_nothing_was_trained_there_is_no_model(tmp_path: Path) -> None:
    finished(tmp_path, aggregated(["a"]))
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", "result.json", "report.html", "trials", "studies"}


def test_what_is_no_finished_run_is_not_read(tmp_path: Path) -> None:
    RunFolder(tmp_path / "run", {"seed": 0}).begin()
    with pytest.raises(InputError, match="not the folder of a finished run"):
        read_run(tmp_path / "run")
    (tmp_path / "run" / "result.json").write_text('{"format": "flora-trials", "version": 1}')
    with pytest.raises(InputError, match=r"result\.json: expected 'flora-result' version 1"):
        read_run(tmp_path / "run")
