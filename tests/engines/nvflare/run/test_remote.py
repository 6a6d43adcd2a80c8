"""A run followed from afar: submitted again where somebody was lost, without them where a quorum remains, or ended."""

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.run import remote as module
from flora.engines.nvflare.run.ending import Ending
from flora.engines.nvflare.run.job import Run
from flora.engines.nvflare.run.remote import STARTS, Follower, run_for
from flora.engines.nvflare.run.session import NoAggregatorError
from flora.errors import FloraError, InputError
from flora.program.request import Request
from flora.program.status import PartyStatus, RunStatus
from tests.program.test_result import result, trials

KIT = Kit(Path(), "aggregator", "a", Consortium("hearts", "localhost", ("west", "north", "south")))


class Line:
    """An aggregator that answers by a script: an outcome for each run that is submitted."""

    def __init__(self, folder: Path, outcomes: list[dict[str, Any] | None]) -> None:
        self.folder, self.outcomes = folder, outcomes
        self.runs: list[Run] = []
        self.present = ["north", "south", "west"]
        self.joins = False  # a run that somebody submitted before is under way
        self.aborted: list[str] = []

    def under_way(self, run: Run) -> str | None:
        if self.joins and not self.runs:
            self.runs.append(run)
            return "job-1"
        return None

    def connected(self, again: Collection[str] = ()) -> list[str]:
        return self.present

    def running(self) -> list[str]:
        return []

    def submit(self, run: Run) -> str:
        self.runs.append(run)
        return f"job-{len(self.runs)}"

    def ended(self, job: str) -> str | None:
        return "FINISHED"

    def status(self, job: str) -> RunStatus | None:
        return None

    def back(self, silent: Any) -> list[str]:
        return []

    def abort(self, job: str) -> None:
        self.aborted.append(job)

    @contextmanager
    def result(self, job: str) -> Iterator[Path | None]:
        outcome = self.outcomes[len(self.runs) - 1]
        if outcome is None:
            yield None
            return
        place = self.folder / job
        (place / "trials").mkdir(parents=True, exist_ok=True)
        Ending(**outcome).write(place)
        if outcome["state"] == "finished":
            (place / "result.json").write_text(result().to_text())
            (place / "model.flora").write_bytes(b"model")
            (place / "trials" / "00000.json").write_text(trials("a", 0.3).to_json())
        yield place


LOST = {"state": "lost", "error": "party 'south' was lost", "parties": ("south",), "step": "train"}
DONE = {"state": "finished"}


@pytest.fixture
def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(module, "PAUSE", 0.0)

    def make(outcomes: list[dict[str, Any] | None], **options: Any) -> tuple[Follower, Line, list[str]]:
        line, said = Line(tmp_path, outcomes), list[str]()

        @contextmanager
        def session(_: Kit) -> Iterator[Line]:
            yield line

        monkeypatch.setattr(module, "session", session)
        follower = Follower(KIT, run_for(KIT, Request()), said.append, lambda *_: None, **options)
        return follower, line, said

    return make


def test_what_a_finished_run_left_comes_back(followed: Any) -> None:
    follower, line, _ = followed([DONE])
    found = follower.follow()
    assert (found.result, found.model) == (result(), b"model")
    assert [party.party for party in found.trials] == ["a"]
    assert line.runs[0].parties == ("north", "south", "west")


def test_a_lost_party_is_waited_for_and_the_run_submitted_again(followed: Any) -> None:
    follower, line, said = followed([LOST, DONE])
    follower.follow()
    assert [run.left_out for run in line.runs] == [{}, {}]
    assert "party 'south' was lost" in said


@pytest.mark.parametrize("known", [True, False])
def test_a_run_that_ended_while_the_line_was_broken_is_told_unless_it_went_with_the_aggregator(
    followed: Any, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    follower, line, said = followed([LOST, DONE])
    states = iter([NoAggregatorError("no answer"), "FINISHED" if known else None])

    def ended(job: str) -> str | None:
        state = next(states, "FINISHED")
        if isinstance(state, NoAggregatorError):
            raise state
        return state

    monkeypatch.setattr(line, "ended", ended)
    follower.follow()
    assert len(line.runs) == 2
    assert ("party 'south' was lost" in said) == known


def test_with_a_quorum_the_run_goes_on_without_it(followed: Any) -> None:
    follower, line, said = followed([LOST, DONE], quorum=2)
    follower.follow()
    assert [run.left_out for run in line.runs] == [{}, {"south": "training"}]
    assert "going on without south (--quorum 2)" in said


LATE = {"state": "late", "error": "party 'south' has not answered", "parties": ("south",), "step": "search"}


def test_with_a_quorum_the_run_goes_on_without_who_is_late(followed: Any) -> None:
    follower, line, said = followed([LATE, DONE], quorum=2)
    follower.follow()
    assert [run.left_out for run in line.runs] == [{}, {"south": "late"}]
    assert line.runs[1].asked(training=False) == ["north", "west"]
    assert "party 'south' has not answered" in said


@pytest.mark.parametrize(("quorum", "words"), [(None, "2 have answered and all are"), (3, "3 are needed")])
def test_too_many_who_are_late_end_the_run(followed: Any, quorum: int | None, words: str) -> None:
    with pytest.raises(FloraError, match=rf"party 'south' has not answered; .*{words}"):
        followed([LATE], quorum=quorum)[0].follow()


def test_who_does_not_come_is_left_out_after_a_while(followed: Any) -> None:
    follower, line, _ = followed([DONE], quorum=2, wait=-1.0)
    line.present = ["north", "west"]
    follower.follow()
    assert [run.left_out for run in line.runs] == [{"south": "run"}]
    follower, line, _ = followed([DONE], quorum=2)
    follower.run = replace(follower.run, deadline=1e-9)
    line.present = ["north", "west"]
    follower.follow()
    assert [run.left_out for run in line.runs] == [{"south": "late"}]


def test_with_a_quorum_the_deadline_is_waited_for_though_it_is_longer_than_the_wait(followed: Any) -> None:
    follower, line, said = followed([DONE], quorum=2, wait=0.05)
    follower.run = replace(follower.run, deadline=0.3)
    line.present = ["north", "west"]
    follower.follow()
    assert [run.left_out for run in line.runs] == [{"south": "late"}]
    assert said.count("waiting for south to connect") == 1


@pytest.mark.parametrize(
    ("outcome", "kind", "words"),
    [
        ({"state": "failed", "error": "the space is bad", "input": True}, InputError, "the space is bad"),
        ({"state": "failed", "error": "broken", "input": False}, FloraError, "broken"),
        ({"state": "stopped"}, FloraError, "stopped by somebody else"),
    ],
)
def test_what_ends_a_run_for_good_is_raised(
    followed: Any, outcome: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        followed([outcome])[0].follow()


def test_a_run_that_was_about_to_stop_when_we_joined_it_is_begun_again(followed: Any) -> None:
    follower, line, said = followed([{"state": "stopped"}, DONE])
    line.joins = True
    follower.follow()
    assert len(line.runs) == 2
    assert "the run is under way already; following it" in said


def test_a_run_that_cannot_begin_is_tried_a_few_times(followed: Any) -> None:
    follower, line, _ = followed([None] * STARTS)
    with pytest.raises(FloraError, match="could not be started"):
        follower.follow()
    assert len(line.runs) == STARTS


def test_patience_ends(followed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    follower, line, said = followed([DONE], wait=-1.0)
    line.present = ["north"]
    with pytest.raises(FloraError, match="waiting for south, west to connect: gave up after"):
        follower.follow()

    @contextmanager
    def nobody(_: Kit) -> Iterator[None]:
        raise NoAggregatorError("the aggregator does not answer")
        yield

    monkeypatch.setattr(module, "session", nobody)
    with pytest.raises(FloraError, match="the aggregator does not answer; waiting for it: gave up"):
        follower.follow()
    assert said[-1].startswith("the aggregator does not answer")


def test_an_aggregator_that_is_gone_after_a_long_run_is_waited_for_from_then_on(
    followed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower, line, said = followed([DONE, DONE], wait=0.5)
    looks = iter([0.0] * 8 + [1.0, 0.0])  # eight looks take longer than the wait; then one has no answer

    def ended(job: str) -> str | None:
        look = next(looks, None)
        if look:
            raise NoAggregatorError("the aggregator does not answer")
        time.sleep(0.1)
        return "FINISHED" if look is None else None

    monkeypatch.setattr(line, "ended", ended)
    monkeypatch.setattr(line, "status", lambda _: RunStatus("search"))
    assert follower.follow().result == result()
    assert "the aggregator does not answer; waiting for it" in said


def test_a_session_that_opens_and_answers_nothing_is_not_waited_for_without_end(
    followed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower, line, _ = followed([DONE], wait=0.2)

    def under_way(_: Run) -> str | None:
        time.sleep(0.01)
        raise NoAggregatorError("the aggregator does not answer")

    monkeypatch.setattr(line, "under_way", under_way)
    with pytest.raises(FloraError, match="waiting for it: gave up"):
        follower.follow()


@pytest.mark.parametrize("helps", [True, False])
def test_a_run_that_neither_goes_on_nor_ends_is_ended_and_somebody_is_told(
    followed: Any, monkeypatch: pytest.MonkeyPatch, helps: bool
) -> None:
    """NVFlare waits long for the word of a party that was cut off when a run ended."""
    follower, line, said = followed([DONE] * STARTS)
    for name, seconds in (("QUIET", 0.01), ("FORGOTTEN", 0.1), ("ENDING", 0.0)):
        monkeypatch.setattr(module, name, seconds)
    monkeypatch.setattr(line, "ended", lambda _: "FINISHED:ABORTED" if helps and line.aborted else None)
    if helps:
        assert follower.follow().result == result()  # what it left is there
    else:
        with pytest.raises(FloraError, match="could not be started"):
            follower.follow()
    assert line.aborted == ["job-1", "job-2", "job-3"][: 1 if helps else STARTS]
    assert "the aggregator does not say how far the run is; waiting for its word" in said


def test_the_progress_names_whom_a_sum_waits_for(followed: Any) -> None:
    follower, _, said = followed([DONE])
    parties = {"north": PartyStatus(), "south": PartyStatus()}
    for awaited in ((), ("south",)):
        follower._show(RunStatus("train", 3, parties, awaited))
    assert said == ["train: north, south at work", "train: north, south at work; a sum waits for south"]
