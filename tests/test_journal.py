"""The aggregator's memory: what was answered is not asked again, whatever was killed when."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from flora.engines.inprocess import in_process
from flora.errors import FloraError, InputError
from flora.federation import Program, Reply, Step, drive
from flora.journal import Journal, remembered
from flora.party import Party
from flora.plan import SearchPlan
from flora.single_shot import Request, single_shot
from flora.wire import reply_to_json
from tests.conftest import SVM_SPACE, two_moons

PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=7)
DESCRIBE = Step("describe", {"schema": None, "task": None})
SEARCH = Step("search", {"plan": PLAN.to_json(), "schema": None})
TRAIN = Step(
    "train", {"plan": PLAN.to_json(), "schema": None, "config": dict(SVM_SPACE.default), "held": 0.0, "choose": False}
)
IDENTITY = {"seed": 0, "parties": {"a": 60, "b": 50}}
PARTIES = ("a", "b", "c")


def other_plan(**changes: Any) -> Step:
    return Step("search", {"plan": {**PLAN.to_json(), **changes}, "schema": None})


def test_what_is_kept_is_there_in_the_next_process(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run", IDENTITY)
    assert journal.have(DESCRIBE) == {}
    replies = [Reply("b", 2), Reply("a", 1, notes=("n",)), Reply("../" + "ü" * 190, 3)]
    for reply in replies:
        journal.keep(DESCRIBE, reply)
    journal.keep(SEARCH, Reply("b", 9))
    again = Journal(tmp_path / "run", IDENTITY)
    assert list(again.have(DESCRIBE)) == ["../" + "ü" * 190, "a", "b"]
    assert list(again.have(DESCRIBE).values()) == sorted(replies, key=lambda reply: reply.party)
    assert again.have(SEARCH) == {"b": Reply("b", 9)}
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
        (other_plan(trials=8), "02-search was asked for otherwise: its payload.plan.trials is 7, now 8"),
        (other_plan(seed=1), "its payload.plan.seed is 0, now 1"),
        (
            Step("search", {"schema": None, "plan": PLAN.to_json()}),
            "its fields come in another order; use another folder, or delete it",
        ),
    ],
)
def test_a_changed_request_is_refused_with_what_changed(tmp_path: Path, step: Step, says: str) -> None:
    first = Journal(tmp_path, IDENTITY)
    first.have(DESCRIBE)
    first.keep(SEARCH, Reply("a", 1))
    again = Journal(tmp_path, IDENTITY)
    again.have(DESCRIBE)
    with pytest.raises(InputError, match=says):
        again.have(step)
    with pytest.raises(InputError, match=says):
        again.keep(step, Reply("a", 1))
    assert again.have(SEARCH) == {"a": Reply("a", 1)}


def test_replies_of_two_trainings_never_mix(tmp_path: Path) -> None:
    first = Journal(tmp_path, IDENTITY)
    first.have(TRAIN)
    for party in "ab":
        first.keep(TRAIN, Reply(party, 1, model=b"first"))
    second = Journal(tmp_path, IDENTITY)
    assert list(second.have(TRAIN)) == ["a", "b"]
    second.keep(TRAIN, Reply("c", 1, model=b"second"))  # and here it is killed
    assert {reply.model for reply in Journal(tmp_path, IDENTITY).have(TRAIN).values()} == {b"second"}
    second.keep(TRAIN, Reply("a", 1, model=b"second"))
    assert list(Journal(tmp_path, IDENTITY).have(TRAIN)) == ["a", "c"]


class Engine:
    """Answers for the named parties, in a turned order, and notes who was asked."""

    def __init__(self, attempt: str) -> None:
        self.attempt = attempt
        self.asked: list[tuple[str, str]] = []

    def __call__(self, step: Step, missing: frozenset[str]) -> Iterable[Reply]:
        self.asked.append((step.name, "".join(sorted(missing))))
        for party in sorted(missing, reverse=True):
            yield Reply(party, len(step.name), model=self.attempt.encode() if step.name == "train" else b"")


def three_steps() -> Program[list[tuple[str, bytes]]]:
    yield DESCRIBE
    yield SEARCH
    trained = yield TRAIN
    return [(reply.party, reply.model) for reply in trained]


def test_only_what_is_missing_is_asked_for_and_a_training_is_asked_of_all(tmp_path: Path) -> None:
    first = Journal(tmp_path, IDENTITY)
    for party in PARTIES:
        first.keep(DESCRIBE, Reply(party, 8))
    first.keep(SEARCH, Reply("b", 6))
    first.keep(TRAIN, Reply("b", 5, model=b"first"))
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


def test_a_reply_that_was_not_asked_for_is_refused(tmp_path: Path) -> None:
    ask = remembered(lambda step, missing: [Reply("z", 1)], PARTIES, Journal(tmp_path, IDENTITY))
    with pytest.raises(FloraError, match="party 'z' was not asked for a reply to 'search', and sent one"):
        ask(SEARCH)
    twice = remembered(lambda step, missing: [Reply("a", 1), Reply("a", 2)], PARTIES, Journal(tmp_path, IDENTITY))
    with pytest.raises(FloraError, match="party 'a' was not asked"):
        twice(SEARCH)
    assert Journal(tmp_path, IDENTITY).have(SEARCH) == {"a": Reply("a", 1)}


def test_a_file_that_was_changed_is_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path, IDENTITY)
    journal.keep(SEARCH, Reply("a", 1))
    (file,) = (path for path in tmp_path.glob("*/a-*.json"))
    file.write_text(reply_to_json(Reply("b", 1)))
    with pytest.raises(InputError, match=r"holds a reply of 'b', whose file is b-[0-9a-f]{12}\.json"):
        journal.have(SEARCH)
    for data in (b"{", b"\xff"):
        file.write_bytes(data)
        with pytest.raises(InputError, match=r"a-[0-9a-f]{12}\.json: .*without this file the party is asked again"):
            journal.have(SEARCH)
    (tmp_path / "01-search" / "step.json").write_text("[]")
    with pytest.raises(InputError, match=r"step\.json: must be a JSON object"):
        Journal(tmp_path, IDENTITY).have(SEARCH)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"run\.json: not a JSON file"):
        Journal(tmp_path, IDENTITY)


def test_a_whole_run_begun_again_asks_nobody_and_is_the_same(tmp_path: Path) -> None:
    parties = [Party(name, two_moons(rows, rows), "kind") for name, rows in (("a", 60), ("b", 50))]
    request = Request(family="svm", trials=2, folds=2)
    whole = in_process(parties)
    first = drive(
        single_shot(request), remembered(lambda step, missing: whole(step), ("a", "b"), Journal(tmp_path, IDENTITY))
    )
    again = drive(
        single_shot(request),
        remembered(lambda step, missing: pytest.fail(step.name), ("a", "b"), Journal(tmp_path, IDENTITY)),
    )
    assert again.model == first.model
    assert again.found.trials == first.found.trials
    assert again.found.recommendation == first.found.recommendation


KILLS = """
import json, os, shutil, signal, sys
from pathlib import Path
from tests.test_journal import IDENTITY, PARTIES, Engine, drive, three_steps, Journal, remembered

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
