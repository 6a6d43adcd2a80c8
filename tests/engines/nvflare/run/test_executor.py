"""A party's side of a run: what comes passes the gate, what goes wrong leaves as a word, and all is written down."""

import errno
import json
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nvflare.apis.shareable import Shareable

from flora.core.workers import one_by_one
from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.foreground import Foreground
from flora.engines.nvflare.run import executor as executor_module
from flora.engines.nvflare.run.collective import message
from flora.engines.nvflare.run.executor import (
    BEAT_SECONDS,
    MOST_BEATS,
    FloraExecutor,
    Pulse,
    beat_seconds,
    cell_collective,
    counting,
    masks_of,
)
from flora.engines.nvflare.run.heartbeats import QUIET
from flora.engines.nvflare.run.site_settings import SiteSettings
from flora.engines.nvflare.run.tasks import HEADER, TEXT, ReplyHeader, StepHeader, fill
from flora.errors import CollectiveError
from flora.party.audit import AuditLog, verify
from flora.party.consent import DataSource
from flora.party.tables.format import TableFormat
from flora.party.tables.table import describe
from flora.problem.messages import Confirm, Describe, DescribeReply, Search, Train
from flora.problem.plan import SearchPlan
from flora.problem.wire import read_reply, step_text
from tests.conftest import SVM_SPACE, two_moons

ORDER = StepHeader(1, "server.run", ("north", "south"), version("flora-hpo"))


class Cell:
    """Notes what is sent beside the answers."""

    def __init__(self) -> None:
        self.beats: list[tuple[Any, ...]] = []
        self.core_cell = self

    def fire_and_forget(self, *sent: Any, **_: Any) -> None:
        self.beats.append(sent)


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    made = Kit(tmp_path, "party", "north", Consortium("hearts", "localhost", ("north", "south")))
    made.state.mkdir()
    (tmp_path / "local").mkdir()
    Foreground(made.state).open()
    two_moons(60, 1).to_csv(tmp_path / "north.csv", index=False)
    SiteSettings(DataSource(str(tmp_path / "north.csv"), "kind")).write(made)
    return made


def answered(kit: Kit, message: Any, cell: Cell | None = None) -> tuple[ReplyHeader, str]:
    engine = SimpleNamespace(get_cell=lambda: cell or Cell())
    return FloraExecutor()._answer(kit, message, SimpleNamespace(get_engine=lambda: engine), lambda: False)


def message_of(step: Any, order: StepHeader = ORDER) -> Any:
    return fill(Shareable(), order, step_text(step))


def test_a_party_s_table_format_reaches_its_runs(kit: Kit, tmp_path: Path) -> None:
    table = two_moons(60, 1).assign(remark=[f"case {k}" for k in range(60)], day="29.02.2024")
    table.to_csv(tmp_path / "north.csv", index=False, sep="|", decimal=",")
    form = TableFormat("|", ",", "cp1252", ("none",), "parts", auto=True)
    settings = SiteSettings(DataSource(str(tmp_path / "north.csv"), "kind", (), form), 2, True)
    settings.write(kit)
    assert SiteSettings.read(kit) == settings
    SiteSettings(settings.data).write(kit)
    answer, text = answered(kit, message_of(Describe()))
    assert answer == ReplyHeader("reply")
    reply = read_reply(text, Describe())
    assert isinstance(reply, DescribeReply)
    assert reply.schema is not None
    assert reply.schema.names == ("day.days", "day.month", "day.weekday", "day.year", "x", "y")
    assert "remark" not in text  # what a party leaves out does not leave, not even its name


def test_a_step_is_answered_and_the_aggregator_hears_that_the_party_is_there(kit: Kit) -> None:
    cell = Cell()
    answer, text = answered(kit, message_of(Describe()), cell)
    assert answer == ReplyHeader("reply")
    reply = read_reply(text, Describe())
    assert isinstance(reply, DescribeReply)
    assert (reply.party, reply.rows) == ("north", 60)
    assert cell.beats[0][2] == "server.run"
    (entry,) = verify(kit.state / "audit.jsonl")
    assert (entry.what, entry.size) == ("describe: reply", len(text))


def test_many_parties_beat_less_often_and_none_seems_quiet() -> None:
    assert beat_seconds(2) == BEAT_SECONDS
    assert 200 / beat_seconds(200) <= MOST_BEATS
    assert beat_seconds(100_000) < QUIET


def test_what_the_consent_forbids_is_refused_in_a_sentence(kit: Kit) -> None:
    (kit.path / "local" / "flora.json").write_text(json.dumps({"families": ["hgb"]}))
    plan = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", 3, 3)
    answer, text = answered(kit, message_of(Search(plan)))
    assert (answer.state, text) == ("refused", "")
    assert "the model must be one that this party allows (hgb)" in answer.words
    assert [entry.what for entry in verify(kit.state / "audit.jsonl")] == ["no reply"]


def test_another_version_is_refused(kit: Kit) -> None:
    answer, _ = answered(kit, message_of(Describe(), StepHeader(1, "server.run", ("north",), "9.9.9")))
    assert (answer.state, "9.9.9" in answer.words) == ("refused", True)


def test_of_an_error_only_its_class_leaves(kit: Kit) -> None:
    table = two_moons(60, 1).astype(object)
    table.loc[3, "x"] = "secret"
    table.to_csv(kit.path / "north.csv", index=False)
    answer, _ = answered(kit, message_of(Describe()))
    assert answer == ReplyHeader("failed", "DataError")
    lines, _ = Foreground(kit.state).lines(0)
    assert any("secret" in line for line in lines)  # the party's own screen says it all


def test_where_nothing_can_be_written_down_that_alone_leaves(kit: Kit) -> None:
    """As on a full disk: the aggregator hears why, in words that no row is in."""
    (kit.state / "audit.jsonl").mkdir()
    answer, text = answered(kit, message_of(Describe()))
    assert answer == ReplyHeader("failed", "its state cannot be used: Is a directory")
    assert text == ""


def test_a_disk_that_fills_up_in_a_step_is_named(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "of a path that nobody need know")

    monkeypatch.setattr(AuditLog, "record", full)
    answer, _ = answered(kit, message_of(Describe()))
    assert answer == ReplyHeader("failed", "its state cannot be used: No space left on device")


@pytest.mark.parametrize(("header", "text"), [(None, None), ("{", ""), ("[]", ""), ("{}", "{}")])
def test_a_message_of_something_else_is_no_more_than_an_error(kit: Kit, header: Any, text: Any) -> None:
    strange = Shareable()
    strange[HEADER], strange[TEXT] = header, text
    answer, _ = answered(kit, strange)
    assert answer.state == "failed"


def test_a_search_goes_on_in_the_file_of_its_plan_and_table(kit: Kit) -> None:
    plan = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", 2, 2)
    first, second = answered(kit, message_of(Search(plan)))[1], answered(kit, message_of(Search(plan)))[1]
    assert first == second
    (study,) = (kit.state / "studies").glob("*.db")
    two_moons(70, 2).to_csv(kit.path / "north.csv", index=False)
    answered(kit, message_of(Search(plan)))
    assert len(list((kit.state / "studies").glob("*.db"))) == 2
    assert study.exists()


def test_sums_are_masked_unless_the_aggregator_asks_for_none_or_nobody_else_is_there(kit: Kit) -> None:
    masks = masks_of(kit, ORDER)
    assert masks is not None
    assert (masks.parties, masks.place) == (("north", "south"), "server.run 1")
    assert masks_of(kit, replace(ORDER, masked=False)) is None
    assert masks_of(kit, replace(ORDER, parties=("north",))) is None


def test_sums_go_to_the_aggregator_s_first_process_or_to_the_run_s_and_nowhere_else() -> None:
    asked: list[str] = []

    def sent(channel: str, topic: str, target: str, *_: Any, **__: Any) -> Any:
        assert (channel, topic) == ("flora", "reduce")
        asked.append(target)
        return message({"state": "over", "number": 0, "lengths": [], "reason": "enough"})

    cell = SimpleNamespace(core_cell=SimpleNamespace(send_request=sent))
    for sums in ("", "server", "server.run"):
        with pytest.raises(CollectiveError, match="enough"):
            cell_collective(cell, replace(ORDER, sums=sums), "north", lambda: False).allgather(b"")
    assert asked == ["server.run", "server", "server.run"]
    for sums in ("south", "server.another"):
        with pytest.raises(CollectiveError, match=f"sums go to the aggregator alone, not to '{sums}'"):
            cell_collective(cell, replace(ORDER, sums=sums), "north", lambda: False)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (replace(ORDER, masked=False), "this party's sums leave under masks alone"),
        (replace(ORDER, parties=("north",)), "this party adds up with at least 2 parties, and 1 are to take part"),
    ],
)
def test_a_training_whose_sums_would_show_this_party_s_share_is_refused(
    kit: Kit, order: StepHeader, words: str
) -> None:
    plan = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", 3, 3)
    step = Train(plan, describe(two_moons(60, 1), "kind"), dict(SVM_SPACE.default))
    answer, text = answered(kit, message_of(step, order))
    assert (answer.state, text) == ("refused", "")
    assert words in answer.words
    assert [entry.what for entry in verify(kit.state / "audit.jsonl")] == ["no reply"]


def test_a_party_that_stalls_in_a_sum_holds_up_the_others_no_longer_than_they_allow(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives signs of life, agrees to take part, and never sends its key: the others are told to ask again."""
    now = iter(range(0, 10_000, 3))
    monkeypatch.setattr(executor_module, "time", SimpleNamespace(monotonic=lambda: float(next(now))))
    asked: list[str] = []

    class Stalled(Cell):
        def send_request(self, *sent: Any, **_: Any) -> Any:
            asked.append("again")
            state = "wait" if len(asked) < 100 else "over"
            return message({"state": state, "number": 0, "lengths": [], "reason": "the test's end"})

    (kit.path / "local" / "flora.json").write_text(json.dumps({"most_seconds": 60}))
    plan = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", 3, 3)
    step = Train(plan, describe(two_moons(60, 1), "kind"), dict(SVM_SPACE.default))
    answer, _ = answered(kit, message_of(step), Stalled())
    assert answer == ReplyHeader("refused", "this party computes for at most 60 seconds a step, and they are over")
    assert 5 < len(asked) < 60


def test_who_is_not_named_adds_up_with_nobody() -> None:
    with pytest.raises(CollectiveError, match="party 'west' is not among those who add up"):
        cell_collective(SimpleNamespace(), ORDER, "west", lambda: False)


def test_in_a_confirmation_the_configs_that_were_measured_are_counted() -> None:
    plan = SearchPlan("svm", "classification", SVM_SPACE, "accuracy", trials=2, folds=2)
    pulse = Pulse(Cell(), "server.run")
    confirm = Confirm(plan, None, ({"C": 2.0, "gamma": 0.1, "tol": 1e-3},))
    spread = counting(one_by_one, confirm, pulse)
    assert (pulse.done, pulse.total) == (0, 2)
    assert list(spread(abs, [-1, -2])) == [1, 2]
    assert (pulse.done, pulse.total) == (1, 2)
    assert counting(one_by_one, Search(plan), Pulse(Cell(), "server.run")) is one_by_one  # a search counts its trials
