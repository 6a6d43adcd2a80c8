"""What a run writes of itself while it goes on, and the surface that is learnt from it."""

import time
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest

from flora.core.codec import to_document
from flora.core.workers import one_by_one
from flora.engines.threads import in_process
from flora.outcome import live as live_file
from flora.outcome.forming import forming
from flora.outcome.live import FORMAT, Live, seen, told_in
from flora.outcome.progress import RunProgress
from flora.outcome.report import live as pages
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.tables.table import Table
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import Outcome, single_shot
from tests.conftest import two_moons
from tests.outcome.report.cases import MIXED, party_trials

REQUEST = Request(family="svm", trials=4, folds=2, confirm=2, trainings=5)


def followed(progress: RunProgress, request: Request, storage: Path | None = None) -> Outcome:
    gates = [
        Gate(
            Party(
                name,
                Table(two_moons(50, k), "kind"),
                storage / f"{name}.db" if storage else None,
                progress.counting(name, one_by_one),
                progress.report,
            )
        )
        for k, name in enumerate(progress.parties)
    ]
    return drive(single_shot(request), progress.asking(in_process(gates)))


def test_a_run_tells_its_steps_its_parties_and_what_is_left() -> None:
    told: list[Live] = []
    progress = RunProgress(["a", "b"], lambda _: told.append(seen(progress, REQUEST)))
    followed(progress, REQUEST)
    lines = list(dict.fromkeys(step.words for live in told for step in live.steps))
    assert lines[:2] == ["columns", "the aggregator decides"]
    assert [line for line in lines if line.startswith("training")] == [f"training {k} of 5" for k in range(1, 6)]
    half = next(live for live in told if [party.done for party in live.parties] == [4, 1])
    assert [party.total for party in half.parties] == [4, 4]
    assert half.steps[-1].done == 5
    assert half.steps[-1].left is not None
    last = told[-1]
    assert [step.words for step in last.steps if step.ended] == [
        "columns",
        "search",
        "confirmation: configs measured",
        "training 5 of 5",  # all trainings are one step
    ]
    assert FORMAT.record(Live, FORMAT.text(to_document(last)), "live") == last


def test_it_stands_in_the_folder_while_the_run_goes_on_and_not_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_file, "SECONDS", 0.01)
    progress = RunProgress(["a"], lambda _: None)
    assert Live.read(tmp_path) is None
    with told_in(tmp_path, progress, REQUEST):
        time.sleep(0.1)
        assert Live.read(tmp_path) is None  # another folder must not be written to before the input has proved good
        (tmp_path / "run.json").write_text("{}")
        while (found := Live.read(tmp_path)) is None:
            time.sleep(0.01)
        assert found.steps[-1].words == "begins"
        assert found.silence < live_file.SILENT
    assert Live.read(tmp_path) is None
    assert pages.line(replace(found, written=found.written - 100)).startswith("No sign of life for 10")


def test_what_is_no_live_file_is_no_run_under_way(tmp_path: Path) -> None:
    (tmp_path / live_file.FILE).write_text('{"format": "flora-live", "version": 1}')
    assert Live.read(tmp_path) is None


def test_the_surface_forms_from_searches_that_are_under_way(tmp_path: Path) -> None:
    from flora.cli.watch import WatchedFolder

    (tmp_path / "studies").mkdir()
    halfway, go_on = Event(), Event()

    class Slow(RunProgress):
        def report(self, party: str, done: int, total: int) -> None:
            super().report(party, done, total)
            if (party, done) == ("b", 1):
                halfway.set()
                go_on.wait()

    progress = Slow(["a", "b"], lambda _: None)
    runner = Thread(target=followed, args=(progress, REQUEST, tmp_path / "studies"), daemon=True)
    runner.start()
    assert halfway.wait(300)
    try:
        live = seen(progress, REQUEST)
        trials = WatchedFolder(tmp_path).trials(live)
        assert [(party.party, len(party.trials)) for party in trials] == [("a", 4), ("b", 1)]
        found = forming(live, trials)
        assert found.survey is not None
        assert [party.party for party in found.survey.trials] == ["a"]  # b has too few
        html = pages.surface(found)
        assert "Learnt from 5 pairs" in html
        assert 'id="map"' in html
        assert "<td" in pages.steps(live, trials)
    finally:
        go_on.set()
        runner.join()


def test_before_there_are_trials_the_page_says_so() -> None:
    live = seen(RunProgress(["<b>a"], lambda _: None), REQUEST)
    assert "first few trials" in pages.surface(forming(live, []))
    assert "&lt;b&gt;a" in pages.steps(live, [])


def test_losses_of_a_column_end_after_as_many_decimals() -> None:
    trials = [party_trials(name, MIXED) for name in ("a", "b")]  # each with an error of 0.01
    html = pages.steps(seen(RunProgress(["a", "b"], lambda _: None), REQUEST), trials)
    for party in trials:
        assert f">{party.best.loss:.3f}</td>" in html
