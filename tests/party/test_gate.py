"""The party's gate: nothing passes that the party does not allow, and nothing leaves before it is written down."""

import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flora.core.codec import to_document
from flora.core.collective import Alone, Collective, Integers
from flora.core.threads import in_step
from flora.errors import CollectiveError, ConsentError, FloraError, InputError
from flora.models import family_of
from flora.models.family import Scores
from flora.models.rows import Rows
from flora.models.svm import SupportVectors
from flora.party.audit import AuditLog, verify
from flora.party.consent import Consent, Pairs
from flora.party.gate import Gate, WatchedCollective
from flora.party.party import Party
from flora.party.tables.table import Table
from flora.problem.messages import Certify, Confirm, Describe, DescribeReply, Search, SearchReply, Step, Train
from flora.problem.plan import SearchPlan
from flora.problem.schema import Schema
from flora.problem.space import Config
from flora.problem.wire import read_reply, reply_text, step_text
from tests.conftest import SVM_SPACE, two_moons

PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=3, folds=2)
CONFIG = {"C": 10.0, "gamma": 5.0, "tol": 1e-3}
TABLE = Table(two_moons(60, 1), "kind")
SCHEMA = TABLE.described(None, None)[0]
DESCRIBE, SEARCH, CONFIRM = Describe(), Search(PLAN), Confirm(PLAN, None, (CONFIG,))
CERTIFY, TRAIN = Certify(PLAN, SCHEMA, (CONFIG,)), Train(PLAN, SCHEMA, CONFIG)
STEPS: list[Step] = [DESCRIBE, SEARCH, CONFIRM, CERTIFY, TRAIN]
PARTY = Party("north", TABLE)
every_step = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)


def log_in(folder: Path) -> AuditLog:
    return AuditLog(folder / "audit.jsonl")


def written(log: AuditLog) -> list[str]:
    return [entry.what for entry in verify(log.path)]


@dataclass
class Other:
    """A collective of two, whose other party adds nothing; it notes what is sent, and may look around meanwhile."""

    look: Callable[[], None] = lambda: None
    sent: list[Any] = field(default_factory=list)
    rank: int = 0
    size: int = 2

    def add_integers(self, values: Integers) -> Integers:
        self.look()
        self.sent.append(np.array(values))
        return np.array(values, dtype=np.int64)

    def allgather(self, data: bytes) -> Sequence[bytes]:
        self.look()
        self.sent.append(data)
        return [data, b"other"]


class Untouched:
    """Rows that nobody may look at."""

    @property
    def count(self) -> int:
        pytest.fail("the rows were counted")

    def described(self, task: object, like: object) -> tuple[Schema, int, list[str]]:
        pytest.fail("the rows were described")

    def local_rows(self, task: object, like: object) -> Rows:
        pytest.fail("the rows were read")

    def rows(self, schema: Schema) -> Rows:
        pytest.fail("the rows were read")


@dataclass
class Person:
    """Says yes so often, then no."""

    yes: int = 0
    asked: list[str] = field(default_factory=list)

    def __call__(self, words: str) -> bool:
        self.asked.append(words)
        return len(self.asked) <= self.yes


@every_step
def test_an_open_gate_lets_through_what_the_party_answers(step: Step) -> None:
    gate = Gate(PARTY)
    assert gate.name == "north"
    answered = PARTY.answer(step)
    assert gate.answer(step) == answered
    assert gate.letter(step) == reply_text(answered, step)
    assert read_reply(gate.letter(step), step) == answered


class TestConsent:
    @pytest.mark.parametrize("step", [SEARCH, CONFIRM, CERTIFY, TRAIN], ids=lambda step: step.name)
    def test_what_is_not_allowed_is_refused_before_the_rows_are_looked_at(self, tmp_path: Path, step: Step) -> None:
        log, other = log_in(tmp_path), Other()
        gate = Gate(Party("north", Untouched()), Consent(families=("hgb",), certificate=True), log, person=pytest.fail)
        for answer in (gate.answer, gate.letter):
            with pytest.raises(ConsentError, match="'svm' is asked for"):
                answer(step, other)
        assert (other.sent, written(log)) == ([], [])

    @every_step
    def test_with_too_few_rows_nothing_is_computed_and_no_sum_leaves(self, tmp_path: Path, step: Step) -> None:
        @dataclass(frozen=True)
        class Few(Untouched):
            count: int = 39

        log, other = log_in(tmp_path), Other()
        gate = Gate(Party("north", Few()), Consent(certificate=True, unmasked_sums=True), log)
        with pytest.raises(ConsentError, match="at least 40 rows, and it has fewer"):
            gate.answer(step, other)
        assert (other.sent, written(log)) == ([], [])

    def test_the_rows_that_count_are_those_with_a_target(self) -> None:
        table = two_moons(45, 1)
        table.loc[:5, "kind"] = None
        with pytest.raises(ConsentError, match="at least 40 rows"):
            Gate(Party("north", Table(table, "kind")), Consent()).answer(DESCRIBE)
        assert Gate(Party("north", Table(table, "kind")), Consent(fewest_rows=39)).answer(DESCRIBE).rows == 39

    def test_a_reply_is_cut_and_rounded_before_it_leaves_and_so_it_is_written_down(self, tmp_path: Path) -> None:
        log = log_in(tmp_path)
        gate = Gate(PARTY, Consent(pairs=Pairs(rounded=1, best=2)), log)
        reply, text = gate.answer(SEARCH), gate.letter(SEARCH)
        assert isinstance(reply, SearchReply)
        assert reply.trials is not None
        assert len(reply.trials.trials) == 2
        assert all(trial.loss == float(f"{trial.loss:.1g}") for trial in reply.trials.trials)
        assert reply.notes == ("it lets only its best 2 pairs leave", "it rounds losses to 1 digits")
        assert read_reply(text, SEARCH) == reply
        assert {entry.sha256 for entry in verify(log.path)} == {hashlib.sha256(text.encode()).hexdigest()}
        whole = PARTY.answer(SEARCH)
        assert isinstance(whole, SearchReply)
        assert whole.trials is not None
        assert len(whole.trials.trials) == 3


class TestPerson:
    @pytest.mark.parametrize("step", [CERTIFY, TRAIN], ids=lambda step: step.name)
    def test_no_sum_leaves_without_a_yes(self, tmp_path: Path, step: Step) -> None:
        log, other, person = log_in(tmp_path), Other(), Person()
        gate = Gate(Party("north", Untouched()), Consent(certificate=True, unmasked_sums=True), log, person=person)
        with pytest.raises(ConsentError, match=f"the administrator of 'north' said no to '{step.name}'"):
            gate.answer(step, other)
        assert (other.sent, written(log)) == ([], [])
        [words] = person.asked
        first, rest = words.split("\n", 1)
        assert first == f"take part in '{step.name}' with 2 parties: sums leave"
        assert json.loads(rest) == to_document(step)

    @pytest.mark.parametrize("step", [DESCRIBE, SEARCH, CONFIRM], ids=lambda step: step.name)
    def test_no_reply_leaves_without_a_yes(self, tmp_path: Path, step: Step) -> None:
        log, person = log_in(tmp_path), Person()
        gate = Gate(PARTY, Consent(), log, person=person)
        for answer in (gate.answer, gate.letter):
            with pytest.raises(ConsentError, match=f"the administrator of 'north' said no to '{step.name}'"):
                answer(step)
        assert written(log) == []
        assert len(person.asked) == 2
        for words in person.asked:
            first, rest = words.split("\n", 1)
            assert first == f"send this reply to '{step.name}'"
            assert json.loads(rest) == json.loads(reply_text(PARTY.answer(step), step))

    def test_a_sketch_is_shown_too_and_a_model_is_not(self, tmp_path: Path) -> None:
        log = log_in(tmp_path)
        for step, questions in ((CERTIFY, 2), (TRAIN, 1)):
            person = Person(yes=2)
            assert Gate(PARTY, log=log, person=person).answer(step, Other()) == PARTY.answer(step)
            assert len(person.asked) == questions
        with pytest.raises(ConsentError, match="said no to 'certify'"):
            Gate(PARTY, log=log, person=Person(yes=1)).answer(CERTIFY, Other())
        assert written(log)[-1] == "certify: sums"  # which have left; the reply has not


class TestLog:
    @pytest.mark.parametrize("step", [DESCRIBE, SEARCH, CONFIRM], ids=lambda step: step.name)
    def test_a_reply_is_written_down_when_it_may_leave(self, tmp_path: Path, step: Step) -> None:
        log = log_in(tmp_path)
        gate = Gate(PARTY, Consent(), log, to="Zürich")
        text = gate.letter(step)
        [entry] = verify(log.path)
        assert (entry.what, entry.to, entry.size) == (f"{step.name}: reply", "Zürich", len(text))
        assert entry.sha256 == hashlib.sha256(text.encode()).hexdigest()
        gate.answer(step, Other())
        assert verify(log.path)[1].sha256 == entry.sha256
        assert len(verify(log.path)) == 2

    @pytest.mark.parametrize("step", [CERTIFY, TRAIN], ids=lambda step: step.name)
    def test_that_sums_leave_is_written_down_before_the_first(self, tmp_path: Path, step: Step) -> None:
        log = log_in(tmp_path)
        seen: list[list[str]] = []
        other = Other(lambda: seen.append(written(log)))
        text = Gate(PARTY, log=log).letter(step, other)
        assert seen == [[f"{step.name}: sums begin"]] * len(other.sent)
        begin, sums, reply = verify(log.path)
        assert (begin.note, begin.size) == ("2 parties, no masks: the aggregator can read what this party adds", 0)
        assert [sums.what, reply.what] == [f"{step.name}: sums", f"{step.name}: reply"]
        data = [part if isinstance(part, bytes) else part.tobytes() for part in other.sent]
        digest = hashlib.sha256(b"".join(data)).hexdigest()
        assert sums.sha256 == hashlib.sha256(digest.encode()).hexdigest()
        assert sums.note.startswith(f"{len(data)} messages of {sum(map(len, data))} bytes;")
        assert reply.sha256 == hashlib.sha256(text.encode()).hexdigest()

    def test_sums_are_written_down_however_the_exchange_ends(self, tmp_path: Path) -> None:
        log, other = log_in(tmp_path), Other()

        def leave() -> None:
            if len(other.sent) == 1:
                raise CollectiveError("another party left the training")

        other.look = leave
        with pytest.raises(CollectiveError, match="another party left"):
            Gate(PARTY, log=log).answer(TRAIN, other)
        begin, sums = verify(log.path)
        assert (begin.what, sums.what) == ("train: sums begin", "train: sums")
        assert sums.note.startswith("2 messages of ")  # the second may have left

    def test_what_cannot_be_written_down_does_not_leave(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        log, other = log_in(tmp_path), Other()

        def full(path: Path, data: bytes) -> None:
            raise OSError("no space left")

        monkeypatch.setattr("flora.party.audit.append_durably", full)
        gate = Gate(PARTY, log=log)
        for leaves in (
            lambda: gate.answer(DESCRIBE),
            lambda: gate.letter(DESCRIBE),
            lambda: gate.answer(TRAIN, other),
        ):
            with pytest.raises(FloraError, match="nothing may leave that cannot be written down"):
                leaves()
        assert other.sent == []

    def test_a_party_that_fails_has_written_down_no_reply(self, tmp_path: Path) -> None:
        log = log_in(tmp_path)
        with pytest.raises(InputError, match="party 'north': target 'nowhere' is not in the table"):
            Gate(Party("north", Table(TABLE.frame, "nowhere")), log=log).answer(DESCRIBE)
        assert written(log) == []


@dataclass
class Clock:
    """Time passes when somebody says so."""

    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("flora.party.gate.time.monotonic", clock.monotonic)
    return clock


@dataclass(frozen=True)
class Slow(SupportVectors):
    """Each fit takes so long."""

    clock: Clock = field(default_factory=Clock)
    seconds: float = 1.0

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        self.clock.now += self.seconds
        return super().score(config, train, test, scoring, seed, path)


class TestTime:
    def gate(self, clock: Clock, log: AuditLog | None = None, **party: Any) -> Gate:
        slow = replace(PARTY, families=lambda name: Slow(clock=clock), **party)
        return Gate(slow, Consent(most_seconds=4.5, certificate=True, unmasked_sums=True), log)

    def test_a_search_ends_after_the_trial_that_took_too_long_and_what_is_done_is_kept(
        self, tmp_path: Path, clock: Clock
    ) -> None:
        done: list[int] = []
        log = log_in(tmp_path)
        gate = self.gate(
            clock, log, storage=tmp_path / "study.db", progress=lambda party, count, total: done.append(count)
        )
        with pytest.raises(ConsentError, match=r"at most 4\.5 seconds a step, and they are over"):
            gate.answer(SEARCH)  # 2 fits a trial: the third ends after 6 seconds
        assert done == [0, 1, 2, 3]
        assert written(log) == []
        clock.now += 1000
        assert gate.answer(SEARCH) == PARTY.answer(SEARCH)  # each step has its time, and the trials were kept

    def test_a_reply_that_took_too_long_does_not_leave(self, tmp_path: Path, clock: Clock) -> None:
        log = log_in(tmp_path)
        assert self.gate(clock, log).answer(CONFIRM) == PARTY.answer(CONFIRM)  # 4 fits
        with pytest.raises(ConsentError, match="they are over"):
            self.gate(clock, log).answer(replace(CONFIRM, configs=(CONFIG, CONFIG)))
        assert written(log) == ["confirm: reply"]

    def test_time_is_looked_at_before_each_sum(self, clock: Clock) -> None:
        def takes_three() -> None:
            clock.now += 3

        other = Other(takes_three)
        with pytest.raises(ConsentError, match="they are over"):
            self.gate(clock).answer(TRAIN, other)
        assert len(other.sent) == 2


class TestStop:
    def test_a_search_is_stopped_after_a_trial(self) -> None:
        done: list[int] = []
        gate = Gate(
            replace(PARTY, progress=lambda party, count, total: done.append(count)), stopped=lambda: len(done) > 1
        )
        with pytest.raises(CollectiveError, match="the run was stopped"):
            gate.answer(SEARCH)
        assert done == [0, 1]

    def test_a_training_is_stopped_before_the_next_sum(self) -> None:
        other = Other()
        with pytest.raises(CollectiveError, match="the run was stopped"):
            Gate(PARTY, stopped=lambda: len(other.sent) == 2).answer(TRAIN, other)
        assert len(other.sent) == 2


def test_only_a_gate_that_refuses_nothing_and_writes_nothing_down_watches_nothing(tmp_path: Path) -> None:
    """Rows of such parties may lie together in a training; whoever allows less has its sums watched."""
    assert Gate(PARTY).watches_nothing
    for watching in (
        Gate(PARTY, Consent()),
        Gate(PARTY, replace(Consent.of_everything(), pairs=Pairs(rounded=3))),
        Gate(PARTY, log=log_in(tmp_path)),
        Gate(PARTY, person=Person()),
    ):
        assert not watching.watches_nothing


def test_it_says_what_it_does() -> None:
    said: list[str] = []
    gate = Gate(PARTY, say=said.append, to="Zürich")
    text = gate.letter(DESCRIBE)
    assert said[0] == "describe: begins"
    assert re.fullmatch(r"describe: done in \d+\.\d s", said[1])
    assert said[2] == f"describe: sent {len(text)} bytes to Zürich"
    said.clear()
    gate.letter(TRAIN, Other())
    [sums] = [words for words in said if "sums" in words]
    assert sums.startswith("train: ")
    assert sums.endswith("s of it waiting")


def test_parties_train_the_same_model_behind_gates_and_each_writes_down_its_sums(tmp_path: Path) -> None:
    parties = [Party(name, Table(two_moons(rows, rows), "kind")) for name, rows in (("a", 60), ("b", 50))]
    logs = [AuditLog(tmp_path / f"{party.name}.jsonl") for party in parties]
    gates = [Gate(party, log=log) for party, log in zip(parties, logs, strict=True)]
    guarded = in_step([partial(gate.answer, TRAIN) for gate in gates])
    plain = in_step([partial(party.answer, TRAIN) for party in parties])
    assert guarded == plain
    sums = [verify(log.path)[1] for log in logs]
    assert [entry.what for entry in sums] == ["train: sums"] * 2
    assert sums[0].sha256 != sums[1].sha256  # of each party's own contributions


@dataclass(frozen=True)
class NoMasks:
    """Masks that hide nothing; they note which step they are for."""

    parties: tuple[str, ...]
    steps: list[str] = field(default_factory=list)

    def begin(self, collective: Collective, step: str) -> Collective:
        self.steps.append(step)
        return collective


class TestMasks:
    def test_sums_leave_under_them_and_the_log_says_with_whom(self, tmp_path: Path) -> None:
        log, masks = log_in(tmp_path), NoMasks(("north", "south"))
        gate = Gate(PARTY, Consent(), log, masks=masks)
        assert gate.answer(TRAIN, Other()) == PARTY.answer(TRAIN)
        assert masks.steps == [step_text(TRAIN)]
        assert verify(log.path)[0].note == "2 parties, masked, with south; the other can subtract its own share"

    def test_the_person_is_told(self) -> None:
        person = Person()
        with pytest.raises(ConsentError, match="said no"):
            Gate(PARTY, person=person, masks=NoMasks(("north", "south"))).answer(TRAIN, Other())
        assert person.asked[0].startswith("take part in 'train' with 2 parties: masked sums leave\n")

    def test_without_them_nothing_leaves_and_nothing_is_written_down(self, tmp_path: Path) -> None:
        log, other = log_in(tmp_path), Other()
        with pytest.raises(ConsentError, match="this party's sums leave under masks alone"):
            Gate(PARTY, Consent(), log).answer(TRAIN, other)
        assert (other.sent, written(log)) == ([], [])

    def test_a_line_of_the_log_has_room_for_any_number_of_names(self, tmp_path: Path) -> None:
        log = log_in(tmp_path)
        names = ("north", *(f"{k:060}" for k in range(1000)))
        Gate(PARTY, log=log, masks=NoMasks(names)).answer(TRAIN, Other(size=1001))
        note = verify(log.path)[0].note
        assert note.startswith(f"1001 parties, masked, with {names[1]}, ")
        assert hashlib.sha256(", ".join(names[1:]).encode()).hexdigest() in note


class TestWatchedCollective:
    def test_it_is_the_same_collective(self) -> None:
        watched = WatchedCollective(Other(rank=1, size=3), lambda: False)
        assert (watched.rank, watched.size) == (1, 3)
        near = WatchedCollective(Alone(), lambda: False)
        assert (near.rank, near.size) == (0, 1)
        assert near.add_integers(np.array([1, 2])).tolist() == [1, 2]

    def test_every_call_is_counted_and_digested_in_order(self) -> None:
        watched = WatchedCollective(Other(), lambda: False)
        table = np.arange(6).reshape(2, 3)
        assert watched.add_integers(table.T).shape == (3, 2)  # not contiguous
        assert watched.allgather(b"mine") == [b"mine", b"other"]
        assert watched.add_integers(np.array([-1, 2**62])).tolist() == [-1, 2**62]
        assert (watched.calls, watched.sent, watched.received) == (3, 48 + 4 + 16, 48 + 9 + 16)
        data = np.ascontiguousarray(table.T).tobytes() + b"mine" + np.array([-1, 2**62], dtype=np.int64).tobytes()
        assert watched.digest.hexdigest() == hashlib.sha256(data).hexdigest()

    def test_it_knows_how_long_it_waited(self) -> None:
        watched = WatchedCollective(Other(lambda: time.sleep(0.02)), lambda: False)
        watched.allgather(b"")
        watched.add_integers(np.zeros(1, dtype=np.int64))
        assert 0.04 <= watched.waiting < 60

    def test_when_stopped_nothing_is_sent_nor_counted(self) -> None:
        other = Other()
        watched = WatchedCollective(other, lambda: True)
        for call in (lambda: watched.add_integers(np.zeros(2, dtype=np.int64)), lambda: watched.allgather(b"x")):
            with pytest.raises(CollectiveError, match="the run was stopped"):
                call()
        assert (other.sent, watched.calls, watched.sent) == ([], 0, 0)


def test_the_party_may_have_families_of_its_own() -> None:
    asked: list[str] = []

    def families(name: str) -> Any:
        asked.append(name)
        return family_of(name)

    reply = Gate(replace(PARTY, families=families)).answer(SEARCH)
    assert reply == PARTY.answer(SEARCH)
    assert asked == ["svm"]
    assert isinstance(Gate(PARTY).answer(DESCRIBE), DescribeReply)
