"""The aggregator's memory: what was answered is not asked again, whatever was killed when."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flora.engines.threads import in_process
from flora.errors import FloraError, InputError
from flora.problem.messages import Describe, DescribeReply, Reply, Search, SearchReply, Step, Train, TrainReply
from flora.problem.plan import SearchPlan
from flora.problem.schema import Column, Schema
from flora.problem.trials import PartyTrials, Trial
from flora.problem.wire import reply_text
from flora.program.drive import Ask, Program, drive
from flora.program.journal import Journal, newest_search
from flora.program.request import Request
from flora.program.single_shot import single_shot
from tests.conftest import SVM_SPACE, gate, two_moons

PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=7)
SCHEMA = Schema("y", "classification", (Column("x", "numeric"),), (0, 1))
DESCRIBE = Describe()
SEARCH = Search(PLAN)
TRAIN = Train(PLAN, SCHEMA, dict(SVM_SPACE.default))
IDENTITY = {"seed": 0, "parties": {"a": 60, "b": 50}}
PARTIES = ("a", "b", "c")


def other_plan(**changes: Any) -> Step:
    return Search(replace(PLAN, **changes))


def described(party: str, rows: int = 1, note: str = "") -> DescribeReply:
    return DescribeReply(party, rows, notes=(note,) if note else ())


def searched(party: str, rows: int = 1) -> SearchReply:
    trials = PartyTrials(party, rows, SVM_SPACE, "balanced_accuracy", (Trial(dict(SVM_SPACE.default), 0.2),))
    return SearchReply(party, rows, trials)


def trained(party: str, model: bytes) -> TrainReply:
    return TrainReply(party, 1, model, dict(SVM_SPACE.default))


def keep(journal: Journal, step: Step, reply: Reply) -> None:
    journal.keep(step, reply, reply_text(reply, step))


def known(journal: Journal, step: Step, parties: Sequence[str] = PARTIES) -> dict[str, Reply]:
    return journal.known(step, parties)[0]


def test_what_is_kept_is_there_in_the_next_process(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run", IDENTITY)
    strange = "../" + "ü" * 190
    everybody = (strange, "a", "b")
    assert journal.known(DESCRIBE, everybody) == ({}, list(everybody))
    replies = [described("b", 2), described("a", 1, "n"), described(strange, 3)]
    for reply in replies:
        keep(journal, DESCRIBE, reply)
    keep(journal, SEARCH, searched("b", 9))
    again = Journal(tmp_path / "run", IDENTITY)
    assert list(known(again, DESCRIBE, everybody)) == [strange, "a", "b"]
    assert list(known(again, DESCRIBE, everybody).values()) == sorted(replies, key=lambda reply: reply.party)
    assert again.known(SEARCH, ("a", "b")) == ({"b": searched("b", 9)}, ["a"])
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_another_run_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path, IDENTITY)
    Journal(tmp_path, {"parties": {"b": 50, "a": 60}, "seed": 0})
    for identity, says in (
        ({**IDENTITY, "seed": 1}, "holds another run: its seed is 0, now 1"),
        ({**IDENTITY, "parties": {"a": 60, "b": 51}}, "holds another run: its parties.b is 50, now 51"),
        ({"seed": 0}, "holds another run: its parties.a is 60, now null"),
    ):
        with pytest.raises(InputError, match=says):
            Journal(tmp_path, identity)


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("")
    with pytest.raises(InputError, match=r"holds something else: it has no run\.json"):
        Journal(tmp_path, IDENTITY)
    with pytest.raises(InputError, match="is a file, and the journal of a run is a folder"):
        Journal(tmp_path / "thesis.txt", IDENTITY)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(FloraError, match="the run cannot be kept there"):
        Journal(tmp_path / "thesis.txt" / "run", IDENTITY)


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (other_plan(trials=8), "02-search was asked for otherwise: its plan.trials is 7, now 8"),
        (other_plan(seed=1), "its plan.seed is 0, now 1"),
    ],
)
def test_a_changed_request_is_refused_with_what_changed(tmp_path: Path, step: Step, says: str) -> None:
    first = Journal(tmp_path, IDENTITY)
    known(first, DESCRIBE)
    keep(first, SEARCH, searched("a"))
    again = Journal(tmp_path, IDENTITY)
    known(again, DESCRIBE)
    with pytest.raises(InputError, match=says):
        known(again, step)
    with pytest.raises(InputError, match=says):
        keep(again, step, searched("a"))
    assert known(again, SEARCH) == {"a": searched("a")}


def test_replies_of_two_trainings_never_mix(tmp_path: Path) -> None:
    first = Journal(tmp_path, IDENTITY)
    known(first, TRAIN)
    for party in "ab":
        keep(first, TRAIN, trained(party, b"first"))
    second = Journal(tmp_path, IDENTITY)
    assert second.known(TRAIN, ("a", "b")) == ({"a": trained("a", b"first"), "b": trained("b", b"first")}, [])
    assert second.known(TRAIN, PARTIES) == ({}, list(PARTIES))  # inside of it parties add up: all or nobody
    keep(second, TRAIN, trained("c", b"second"))  # and here it is killed
    assert known(Journal(tmp_path, IDENTITY), TRAIN, ("c",)) == {"c": trained("c", b"second")}
    assert known(Journal(tmp_path, IDENTITY), TRAIN, ("a",)) == {}
    keep(second, TRAIN, trained("a", b"second"))
    assert list(known(Journal(tmp_path, IDENTITY), TRAIN, ("a", "c"))) == ["a", "c"]


def remembered(
    ask_missing: Callable[[Step, Sequence[str]], Iterable[Reply]], parties: Sequence[str], journal: Journal
) -> Ask:
    """An engine that asks only the parties whose reply is not kept, and keeps each reply as it comes."""

    def ask(step: Step) -> list[Reply]:
        replies, missing = journal.known(step, parties)
        for reply in ask_missing(step, missing) if missing else ():
            keep(journal, step, reply)
            replies[reply.party] = reply
        return list(replies.values())

    return ask


class Engine:
    """Answers for the named parties, in a turned order, and notes who was asked."""

    def __init__(self, attempt: str) -> None:
        self.attempt = attempt
        self.asked: list[tuple[str, str]] = []

    def __call__(self, step: Step, missing: Sequence[str]) -> Iterable[Reply]:
        self.asked.append((step.name, "".join(sorted(missing))))
        for party in sorted(missing, reverse=True):
            if isinstance(step, Train):
                yield trained(party, self.attempt.encode())
            else:
                yield described(party) if isinstance(step, Describe) else searched(party)


def three_steps() -> Program[list[tuple[str, bytes]]]:
    yield DESCRIBE
    yield SEARCH
    replies = yield TRAIN
    return [(reply.party, reply.model) for reply in replies if isinstance(reply, TrainReply)]


def test_only_what_is_missing_is_asked_for_and_a_training_is_asked_of_all(tmp_path: Path) -> None:
    first = Journal(tmp_path, IDENTITY)
    for party in PARTIES:
        keep(first, DESCRIBE, described(party))
    keep(first, SEARCH, searched("b"))
    keep(first, TRAIN, trained("b", b"first"))
    engine = Engine("second")
    done = drive(three_steps(), remembered(engine, PARTIES, Journal(tmp_path, IDENTITY)))
    assert engine.asked == [("search", "ac"), ("train", "abc")]
    assert done == [("a", b"second"), ("b", b"second"), ("c", b"second")]
    nobody = Engine("third")
    assert drive(three_steps(), remembered(nobody, PARTIES, Journal(tmp_path, IDENTITY))) == done
    assert nobody.asked == []


def test_a_party_that_left_is_not_answered_for(tmp_path: Path) -> None:
    drive(three_steps(), remembered(Engine("first"), PARTIES, Journal(tmp_path, IDENTITY)))
    done = drive(three_steps(), remembered(Engine("second"), ("a", "b"), Journal(tmp_path, IDENTITY)))
    assert [party for party, _ in done] == ["a", "b"]


def test_a_file_that_was_changed_is_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path, IDENTITY)
    keep(journal, SEARCH, searched("a"))
    (file,) = (path for path in tmp_path.glob("*/a-*.json"))
    file.write_text(reply_text(searched("b"), SEARCH))
    with pytest.raises(InputError, match=r"holds a reply of 'b', whose file is b-[0-9a-f]{12}\.json"):
        known(journal, SEARCH)
    for data in (b"{", b"\xff", reply_text(searched("a"), other_plan(seed=1)).encode()):
        file.write_bytes(data)
        with pytest.raises(InputError, match=r"a-[0-9a-f]{12}\.json: .*without this file the party is asked again"):
            known(journal, SEARCH)
    (tmp_path / "01-search" / "step.json").write_text("[]")
    with pytest.raises(InputError, match=r"step\.json: must be a JSON object"):
        known(Journal(tmp_path, IDENTITY), SEARCH)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"run\.json: not a JSON file"):
        Journal(tmp_path, IDENTITY)


def test_a_whole_run_begun_again_asks_nobody_and_is_the_same(tmp_path: Path) -> None:
    gates = [gate(name, two_moons(rows, rows)) for name, rows in (("a", 60), ("b", 50))]
    request = Request(family="svm", trials=2, folds=2)
    whole = in_process(gates)
    first = drive(single_shot(request), remembered(lambda step, _: whole(step), ("a", "b"), Journal(tmp_path, {})))
    again = drive(
        single_shot(request),
        remembered(lambda step, _: pytest.fail(step.name), ("a", "b"), Journal(tmp_path, {})),
    )
    assert again.model == first.model
    assert again.found.trials == first.found.trials
    assert again.found.recommendation == first.found.recommendation


KILLS = """
import json, os, shutil, signal, sys
from pathlib import Path
from tests.program.test_journal import IDENTITY, PARTIES, Engine, drive, three_steps, Journal, remembered

def run(folder, attempt, note):
    engine = Engine(attempt)
    def noted(step, missing):
        for reply in engine(step, missing):
            yield reply
            note(step.name, reply.party)  # control is back: the reply is kept
    return drive(three_steps(), remembered(noted, PARTIES, Journal(folder, IDENTITY))), engine.asked

def killed_at(count, folder, file):
    def hook(event, arguments):
        nonlocal count
        if event in ("open", "os.mkdir", "os.rename", "os.remove") and str(folder) in str(arguments[0]):
            count -= 1
            if count == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    run(folder, "first", lambda *names: os.write(file, json.dumps(names).encode() + b"\\n"))
    os._exit(0)

for count in range(1, 1000):
    folder, notes = Path(sys.argv[1]) / "run", Path(sys.argv[1]) / "notes"
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    child = os.fork()
    if child == 0:
        killed_at(count, folder, file)
    status = os.waitpid(child, 0)[1]
    kept = [json.loads(line) for line in notes.read_text().splitlines()]
    done, asked = run(folder, "second", lambda *names: None)
    shutil.rmtree(folder)
    outcome = {"killed": os.WIFSIGNALED(status), "kept": kept, "done": done, "asked": asked}
    print(json.dumps(outcome, default=bytes.decode))
    if not os.WIFSIGNALED(status):
        break
"""


def test_a_run_killed_at_every_moment_goes_on_and_asks_nobody_twice(tmp_path: Path) -> None:
    """A child process is killed at its first file operation, then at its second, and so on to the end of the run."""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLS, str(tmp_path)], capture_output=True, check=True
    )
    outcomes = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(outcomes) > 40
    assert [outcome["killed"] for outcome in outcomes] == [True] * (len(outcomes) - 1) + [False]
    for outcome in outcomes:
        models = {model for _, model in outcome["done"]}
        assert [party for party, _ in outcome["done"]] == list(PARTIES)
        assert models in ({"first"}, {"second"})
        asked = dict(outcome["asked"])
        for step, party in outcome["kept"]:
            assert step == "train" or party not in asked.get(step, "")
        assert asked.get("train", "abc") == "abc"
    assert outcomes[-1]["asked"] == []
    assert {len(outcome["kept"]) for outcome in outcomes} == set(range(10))


def test_the_newest_runs_trials_can_be_looked_at_as_they_come(tmp_path: Path) -> None:
    assert newest_search(tmp_path) == ({}, None, [])
    earlier = Journal(tmp_path / "earlier", {"seed": 1})
    keep(earlier, SEARCH, searched("z"))
    os.utime(tmp_path / "earlier", (0, 0))
    journal = Journal(tmp_path / "now", IDENTITY)
    assert newest_search(tmp_path) == (IDENTITY, None, [])
    known(journal, DESCRIBE)
    known(journal, SEARCH)
    keep(journal, SEARCH, searched("b"))
    keep(journal, SEARCH, SearchReply("c", 3, None))
    stored, step, trials = newest_search(tmp_path)
    assert (stored, step, [party.party for party in trials]) == (IDENTITY, SEARCH, ["b"])
