"""The page of a consortium's run, by what its aggregator says and keeps."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from flora.cli.commands import status as module
from flora.cli.commands.status import WatchedKit
from flora.cli.main import main
from flora.core.codec import to_document
from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.run.session import NoAggregatorError
from flora.outcome.report import live as pages
from flora.problem.messages import Search, SearchReply
from flora.problem.trials import PartyTrials, Trial
from flora.problem.wire import reply_text
from flora.program.journal import Journal
from flora.program.request import Request
from flora.program.status import PartyStatus, RunStatus

REQUEST = Request(family="svm", seed=3)
SEARCH = Search(REQUEST.plan("classification"))


class Line:
    """An aggregator that says what a test wants."""

    def __init__(self, says: Sequence[RunStatus | None]) -> None:
        self.says = list(says)

    def running(self) -> list[str]:
        return ["job"]

    def connected(self) -> list[str]:
        return ["north", "south"]

    def status(self, job: str) -> RunStatus | None:
        if not self.says:
            raise NoAggregatorError("the aggregator does not answer")
        return self.says.pop(0)


def test_a_consortiums_run_is_watched_at_the_aggregators_kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parties = {
        "north": PartyStatus("has answered", 5, 5),
        "south": PartyStatus("works", 2, 5),
    }
    line = Line([RunStatus(), RunStatus("search", 2, parties)])

    @contextmanager
    def session(_: Kit) -> Iterator[Line]:
        yield line

    monkeypatch.setattr(module, "session", session)
    kit = Kit(tmp_path, "aggregator", "aggregator", Consortium("hearts", "localhost", ("north", "south")))
    journal = Journal(kit.state / "runs" / "r", {"consortium": "hearts", "request": to_document(REQUEST)})
    journal.known(SEARCH, ("north", "south"))
    tried = (Trial(dict(SEARCH.plan.space.default), 0.3),)
    sent = SearchReply("north", 60, PartyTrials("north", 60, SEARCH.plan.space, "balanced_accuracy", tried, (), "svm"))
    journal.keep(SEARCH, sent, reply_text(sent, SEARCH))

    watched = WatchedKit(kit)
    assert watched.name == "hearts"
    assert watched.live() is None  # it has begun, and asked nothing yet
    live = watched.live()
    assert live is not None
    assert (live.seed, live.plan) == (3, SEARCH.plan)
    assert [(party.name, party.done, party.total, party.state) for party in live.parties] == [
        ("north", 5, 5, "has answered"),
        ("south", 2, 5, "works"),
    ]
    assert live.steps[-1].words == "search"
    assert watched.trials(live) == [sent.trials]
    line.says = [RunStatus("train", 3, parties, training=2, folds=5)]
    training = watched.live()
    assert training is not None
    assert pages.line(training).startswith("training 2 of 11, iteration 5 of at most 5")
    assert watched.live() is None  # the aggregator has gone


def test_status_names_whom_a_sum_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parties = dict.fromkeys(("north", "south"), PartyStatus("works", 3, 9))
    line = Line([RunStatus("train", 3, parties, ("south",))])

    @contextmanager
    def session(_: Kit) -> Iterator[Line]:
        yield line

    kit = Kit(tmp_path, "aggregator", "aggregator", Consortium("hearts", "localhost", ("north", "south")))
    monkeypatch.setattr(module, "session", session)
    monkeypatch.setattr(Kit, "open", lambda *_: kit)
    assert main(["status", str(tmp_path)]) == 0
    assert "  a sum waits for south" in capsys.readouterr().out.splitlines()
