"""The scientist's line: who is there, by our own clock alone, and what NVFlare's errors mean."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nvflare.fuel.flare_api.api_spec import AuthorizationError, JobNotRunning

from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.run.job import Run
from flora.engines.nvflare.run.session import NoAggregatorError, Session, read_status
from flora.errors import FloraError
from flora.program.request import Request

KIT = Kit(Path(), "scientist", "s", Consortium("hearts", "localhost", ("north", "south")))
RUN = Run("hearts", ("north", "south"), Request())


class Api:
    """NVFlare's own session, as far as we call it."""

    def __init__(self) -> None:
        self.calls: dict[str, str] = {"north": "1", "south": "1", "east": "1"}
        self.jobs: dict[str, dict[str, Any]] = {}

    def get_system_info(self) -> Any:
        clients = [SimpleNamespace(name=name, last_connect_time=time) for name, time in self.calls.items()]
        running = [SimpleNamespace(job_id=job) for job, meta in self.jobs.items() if meta.get("running")]
        return SimpleNamespace(client_info=clients, job_info=running)

    def get_job_meta(self, job: str) -> dict[str, Any]:
        return self.jobs[job]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("flora.engines.nvflare.run.session.time.monotonic", lambda: now[0])
    return now


def test_connected_is_who_is_of_the_consortium_and_listed() -> None:
    api = Api()
    line = Session(KIT, api)
    assert line.connected() == ["north", "south"]
    del api.calls["south"]
    assert line.connected() == ["north"]


def test_who_was_lost_must_call_anew() -> None:
    api = Api()
    line = Session(KIT, api)
    assert line.connected(again=["south"]) == ["north"]
    assert line.connected(again=["south"]) == ["north"]  # the same call as before is no sign of life
    api.calls["south"] = "2"
    assert line.connected(again=["south"]) == ["north", "south"]


def test_back_is_who_is_silent_in_the_run_and_yet_calls(clock: list[float]) -> None:
    api = Api()
    line = Session(KIT, api)
    assert line.back({}) == []
    assert line.back({"south": 100.0}) == []
    clock[0] = 110.0
    api.calls["south"] = "2"
    assert line.back({"south": 100.0}) == ["south"]
    assert line.back({"north": 100.0}) == []


def test_a_run_under_way_is_found_by_its_name() -> None:
    api = Api()
    line = Session(KIT, api)
    assert line.under_way(RUN) is None
    api.jobs = {"j1": {"running": True, "name": "other"}, "j2": {"running": True, "name": RUN.name}}
    assert line.under_way(RUN) == "j2"
    assert line.running() == ["j1", "j2"]


@pytest.mark.parametrize(
    ("status", "ended"),
    [("RUNNING", None), ("FINISHED:COMPLETED", "FINISHED:COMPLETED"), ("FAILED_TO_RUN", "FAILED_TO_RUN")],
)
def test_a_run_has_ended_when_nvflare_says_so(status: str, ended: str | None) -> None:
    api = Api()
    api.jobs = {"j": {"status": status}}
    assert Session(KIT, api).ended("j") == ended


def failing(error: Exception) -> Any:
    def fail(*_: Any) -> None:
        raise error

    return SimpleNamespace(get_system_info=fail, do_app_command=fail, get_job_meta=fail, abort_job=fail)


def test_whatever_nvflare_raises_is_no_answer_and_a_refusal_is_one() -> None:
    with pytest.raises(NoAggregatorError, match=r"does not answer \(RuntimeError: broken line"):
        Session(KIT, failing(RuntimeError("broken line"))).connected()
    with pytest.raises(FloraError, match="the aggregator refused: not yours"):
        Session(KIT, failing(AuthorizationError("not yours"))).connected()


def test_a_run_that_is_not_running_has_no_status_and_an_abort_never_fails() -> None:
    assert Session(KIT, failing(JobNotRunning("over"))).status("j") is None
    Session(KIT, failing(RuntimeError("broken line"))).abort("j")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("works", "must be a JSON object"),
        ({"step": "train", "parties": {"north": {"state": "is fine"}}}, "parties.north.state must be one of"),
        ({"step": "train", "number": "4"}, "number must be a whole number"),
    ],
)
def test_what_the_aggregator_says_of_a_run_is_not_trusted(found: Any, words: str) -> None:
    with pytest.raises(FloraError, match=f"the aggregator's word on the run cannot be read: .*{words}"):
        read_status(found)
