"""Steps and replies as files: what comes back as it was, and what is refused in one sentence."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flora.aggregator.aggregation import aggregate
from flora.aggregator.surface import SurfaceChoice
from flora.engines.files import (
    CarriedFiles,
    NotAnsweredError,
    carried_texts,
    read_files,
    read_reply_file,
    read_step_file,
    step_file,
    with_files,
)
from flora.engines.threads import in_process
from flora.errors import InputError, TrialsError
from flora.problem.messages import (
    Confirm,
    Confirmation,
    ConfirmReply,
    DescribeReply,
    Reply,
    Search,
    SearchReply,
    Step,
)
from flora.problem.plan import SearchPlan
from flora.problem.trials import PartyTrials, Trial
from flora.problem.wire import Letter, reply_text, step_digest
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import confirm, single_shot
from tests.conftest import SVM_SPACE, gate, two_moons

OTHER = {"C": 9.0, "gamma": 0.2, "tol": 1e-3}
DEFAULT = dict(SVM_SPACE.default)
PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", folds=5, seed=3)
STEP = Confirm(PLAN, None, (OTHER, {"C": 0.5, "gamma": 1.0, "tol": 1e-4}))


def reply(party: str = "a") -> ConfirmReply:
    default = Confirmation(Trial(DEFAULT, 0.25, 0.01, 5, 60), 0.0, 0.0)
    return ConfirmReply(party, 60, (default, Confirmation(Trial(OTHER, 0.125, 0.02, 5, 60), 0.125, 0.01)))


def letter(party: str = "a", digest: str = step_digest(STEP)) -> Letter:
    return Letter(reply(party), "confirm", digest)


def trials(party: str) -> PartyTrials:
    tried = (Trial(DEFAULT, 0.2, 0.01, 5), Trial(OTHER, 0.1, 0.01, 5))
    return PartyTrials(party, 60, SVM_SPACE, "balanced_accuracy", tried, (), "svm", "classification")


def written(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_a_step_comes_back_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "step.json").write_bytes(step_file(STEP))
    again = read_step_file(tmp_path / "step.json")
    assert again == STEP
    assert step_digest(again) == step_digest(STEP) != step_digest(replace(STEP, configs=STEP.configs[::-1]))


def test_a_reply_comes_back_from_its_file(tmp_path: Path) -> None:
    file = written(tmp_path / "reply.json", reply_text(reply("Klinik Süd"), STEP))
    assert read_reply_file(file) == letter("Klinik Süd")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"configs": []}, "configs must be 1 to 1000, got 0"),
        ({"configs": [{"C": 1.0}]}, "a config must name"),
        ({"configs": [{**OTHER, "C": 1e9}]}, "C: 1000000000.0 is not in"),
        ({"configs": [5]}, r"configs\[0\] must be a JSON object, got 5"),
        ({"plan": 5}, "plan must be a JSON object, got 5"),
        ({"version": 1}, "expected 'flora-step' version 2"),
        ({"format": "flora-reply"}, "expected 'flora-step' version 2"),
        ({"step": "shell"}, "step must be one of"),
        ({"code": "rm"}, "unknown field 'code'"),
    ],
)
def test_a_file_that_is_no_step(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    file = written(tmp_path / "s.json", {**json.loads(step_file(STEP)), **change})
    with pytest.raises(InputError, match=rf"s\.json: .*{words}"):
        read_step_file(file)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"party": ""}, "party must be 1 to 200 printable characters"),
        ({"rows": True}, "rows must be a whole number"),
        ({"step_digest": [1]}, "a reply names its step"),
        ({"confirmations": "all"}, "confirmations must be a list"),
        ({"confirmations": [5]}, r"confirmations\[0\] must be a JSON object"),
        ({"models": []}, "unknown field 'models'"),
    ],
)
def test_a_file_that_is_no_reply(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    file = written(tmp_path / "r.json", {**json.loads(reply_text(reply(), STEP)), **change})
    with pytest.raises(InputError, match=rf"r\.json: .*{words}"):
        read_reply_file(file)


@pytest.mark.parametrize("depth", [*range(900, 1000, 20), 5000])
def test_nesting_of_any_depth_is_no_more_than_an_error(tmp_path: Path, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    document = {**json.loads(reply_text(reply(), STEP)), "confirmations": ["HERE"]}
    with pytest.raises(InputError, match=r"r\.json"):
        read_reply_file(written(tmp_path / "r.json", json.dumps(document).replace('"HERE"', deep)))


class TestEngine:
    both = (trials("a"), trials("b"))

    def test_trials_are_the_replies_to_a_search(self) -> None:
        replies = CarriedFiles(self.both)(Search(PLAN))
        assert replies == [SearchReply(party.party, 60, party) for party in self.both]

    def test_a_step_that_nobody_has_answered_is_what_to_carry_next(self) -> None:
        with pytest.raises(NotAnsweredError) as waiting:
            CarriedFiles(self.both)(STEP)
        assert waiting.value.step is STEP

    def test_the_program_goes_on_with_the_replies(self) -> None:
        found = aggregate(self.both, SurfaceChoice(regressor="gp"), 3)
        engine = CarriedFiles(self.both, (letter("a"), letter("b")))
        end = drive(confirm(found, PLAN, None, Request(confirm=2)), engine)
        assert end.recommendation.config == OTHER
        assert end.verdict is not None
        assert end.verdict.basis == "measured"

    @pytest.mark.parametrize(
        ("letters", "words"),
        [
            ([letter("a")], "party 'b' has not answered; all 2 parties must"),
            ([letter("a"), letter("b"), letter("b")], "party 'b' answers twice"),
            ([letter("a"), letter("b"), letter("c")], "party 'c' answers, and has no file of trials here"),
            ([letter("a"), letter("b", "0" * 64)], "parties 'a' and 'b' answer different files of candidates"),
            ([letter("a"), Letter(DescribeReply("b", 1), "describe", "d")], "party 'b' answers 'describe'"),
        ],
    )
    def test_replies_that_do_not_belong_together(self, letters: list[Letter], words: str) -> None:
        with pytest.raises(TrialsError, match=words):
            CarriedFiles(self.both, tuple(letters))


def test_parties_that_meet_after_an_exchange_are_not_asked_again(tmp_path: Path) -> None:
    request = Request(family="svm", trials=3, folds=3, confirm=2, seed=4)
    gates = [gate(name, two_moons(60, k)) for k, name in enumerate("ab")]
    whole = drive(single_shot(request), in_process(gates))
    files = []
    for party in whole.found.trials:
        files.append(written(tmp_path / f"{party.party}.json", party.to_json()))
    steps: list[str] = []
    engine = in_process(gates)

    def ask(step: Step) -> Iterable[Reply]:
        steps.append(step.name)
        return engine(step)

    met = drive(single_shot(request), with_files(read_files(files), ask))
    assert steps == ["describe", "confirm", "train"]
    assert met.model == whole.model
    assert carried_texts([path.read_text() for path in files]) == read_files(files)
