"""The confirmation round by files: what comes back as it was, and what is refused in one sentence."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flora.errors import InputError, TrialsError
from flora.exchange import ANSWER, MOST_BYTES, Answer, Candidates, check_answers, format_of
from flora.federation import Confirmation
from flora.plan import SearchPlan
from flora.trials import MOST_TRIALS, PartyTrials, Trial
from tests.conftest import SVM_SPACE

OTHER = {"C": 9.0, "gamma": 0.2, "tol": 1e-3}
PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", folds=5, seed=3)
CANDIDATES = Candidates(PLAN, (OTHER, {"C": 0.5, "gamma": 1.0, "tol": 1e-4}))
DEFAULT = dict(SVM_SPACE.default)


def answer(party: str = "a", digest: str = CANDIDATES.digest) -> Answer:
    default = Confirmation(Trial(DEFAULT, 0.25, 0.01, 5, 60), 0.0, 0.0)
    return Answer(party, 60, digest, (default, Confirmation(Trial(OTHER, 0.125, 0.02, 5, 60), 0.125, 0.01)))


def trials(party: str) -> PartyTrials:
    return PartyTrials(party, 60, SVM_SPACE, "balanced_accuracy", (Trial(DEFAULT, 0.2),))


def written(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_candidates_come_back_from_their_file(tmp_path: Path) -> None:
    file = written(tmp_path / "c.json", CANDIDATES.to_json())
    assert Candidates.read(file) == CANDIDATES
    assert Candidates.read(file).digest == CANDIDATES.digest
    assert replace(CANDIDATES, configs=CANDIDATES.configs[::-1]).digest != CANDIDATES.digest
    assert replace(CANDIDATES, plan=replace(PLAN, seed=4)).digest != CANDIDATES.digest


def test_an_answer_comes_back_from_its_file(tmp_path: Path) -> None:
    file = written(tmp_path / "a.json", answer("Klinik Süd").to_json())
    assert Answer.read(file) == answer("Klinik Süd")
    assert format_of(file) == ANSWER
    assert format_of(written(tmp_path / "list.json", "[]")) is None


def test_what_leaves_a_party_has_these_fields_and_no_other() -> None:
    document = json.loads(answer().to_json())
    assert sorted(document) == ["candidates_digest", "confirmations", "format", "party", "rows", "version"]
    fields = ["config", "error", "folds", "gain", "gain_error", "loss", "rows"]
    assert [sorted(entry) for entry in document["confirmations"]] == [fields, fields]


BAD_PLANS: dict[str, tuple[Any, str]] = {
    "family": (5, "family must be of the type str, got 5"),
    "scoring": (None, "scoring must be of the type str, got None"),
    "paths": ("yes", "paths must be of the type bool, got 'yes'"),
    "task": ("clustering", "the task must be one of"),
    "folds": (1, "cv must be a whole number of at least 2, got 1"),
    "space": ({"C": 5}, "C: a range is a mapping"),
    "sampler": ([], "the sampler must be one of"),
}


class TestBadCandidates:
    @pytest.mark.parametrize("field", BAD_PLANS)
    def test_a_plan_that_is_none(self, tmp_path: Path, field: str) -> None:
        value, words = BAD_PLANS[field]
        document = json.loads(CANDIDATES.to_json())
        document["plan"][field] = value
        with pytest.raises(InputError, match=words) as refused:
            Candidates.read(written(tmp_path / "c.json", document))
        assert "c.json" in str(refused.value)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"configs": []}, "need 1 to 10000 candidates, got 0"),
            ({"configs": [{"C": 1.0}]}, "a config must name"),
            ({"configs": [{**OTHER, "C": 1e9}]}, "C: 1000000000.0 is not in"),
            ({"configs": [5]}, "a config must be a JSON object, got 5"),
            ({"configs": [OTHER] * (MOST_TRIALS + 1)}, "configs must be a list of at most 10000"),
            ({"plan": 5}, "plan must be a JSON object, got 5"),
            ({"version": 2}, "expected a file of the format 'flora-candidates', version 1"),
            ({"format": "flora-answer"}, "expected a file of the format 'flora-candidates'"),
            ({"code": "rm"}, "must have the fields"),
        ],
    )
    def test_a_file_that_is_none(self, tmp_path: Path, change: dict[str, Any], words: str) -> None:
        document = {**json.loads(CANDIDATES.to_json()), **change}
        with pytest.raises(InputError, match=words) as refused:
            Candidates.read(written(tmp_path / "c.json", document))
        assert "c.json" in str(refused.value)


class TestBadAnswers:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"party": ""}, "a party's name is"),
            ({"party": 5}, "a party's name is"),
            ({"rows": 0}, "rows must be a whole number of at least 1 and at most 2.53, got 0"),
            ({"rows": None}, "rows must be a whole number"),
            ({"rows": True}, "rows must be a whole number"),
            ({"rows": 10**400}, "rows must be a whole number"),
            ({"candidates_digest": [1]}, "candidates_digest must be text"),
            ({"confirmations": []}, "need 1 to 10000 confirmations, got 0"),
            ({"confirmations": "all"}, "confirmations must be a list"),
            ({"confirmations": [5]}, r"confirmations\[0\] must have the fields"),
            ({"models": []}, "must have the fields"),
        ],
    )
    def test_a_file_that_is_none(self, tmp_path: Path, change: dict[str, Any], words: str) -> None:
        document = {**json.loads(answer().to_json()), **change}
        with pytest.raises(TrialsError, match=words) as refused:
            Answer.read(written(tmp_path / "a.json", document))
        assert "a.json" in str(refused.value)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("loss", 1e300),
            ("loss", "low"),
            ("error", -1),
            ("folds", 2.5),
            ("rows", 0),
            ("gain", 1e308),
            ("gain", True),
            ("gain_error", -0.1),
            ("gain_error", None),
            ("config", [1]),
        ],
    )
    def test_a_measurement_that_is_none(self, tmp_path: Path, field: str, value: Any) -> None:
        document = json.loads(answer().to_json())
        document["confirmations"][1][field] = value
        with pytest.raises(TrialsError, match=field):
            Answer.read(written(tmp_path / "a.json", document))

    def test_no_file_no_json_too_large_too_deep(self, tmp_path: Path) -> None:
        for read in (Answer.read, Candidates.read, format_of):
            with pytest.raises(TrialsError, match="no such file"):
                read(tmp_path / "none.json")
            with pytest.raises(TrialsError, match="not a JSON file"):
                read(written(tmp_path / "half.json", answer().to_json()[:99]))
            with pytest.raises(TrialsError, match="not a JSON file"):
                read(written(tmp_path / "nan.json", '{"format": NaN}'))
            (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
            with pytest.raises(TrialsError, match="not a JSON file"):
                read(tmp_path / "binary.json")
            with pytest.raises(TrialsError, match=f"at most {MOST_BYTES} bytes"):
                read(written(tmp_path / "large.json", " " * (MOST_BYTES + 1)))

    @pytest.mark.parametrize("depth", [*range(900, 1000, 7), 5000])
    def test_nesting_of_any_depth_is_no_more_than_an_error(self, tmp_path: Path, depth: int) -> None:
        deep = "[" * depth + "]" * depth
        text = json.dumps({**json.loads(answer().to_json()), "confirmations": ["HERE"]}).replace('"HERE"', deep)
        with pytest.raises(TrialsError, match=r"a\.json"):
            Answer.read(written(tmp_path / "a.json", text))
        text = json.dumps({**json.loads(CANDIDATES.to_json()), "configs": ["HERE"]}).replace('"HERE"', deep)
        with pytest.raises(InputError, match=r"c\.json"):
            Candidates.read(written(tmp_path / "c.json", text))


class TestFuzz:
    """Whatever a file holds, it is read, or an InputError says why not."""

    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )

    @settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.data())
    def test_one_field_of_a_good_file_is_anything(self, tmp_path: Path, data: st.DataObject) -> None:
        for read, good in ((Answer.read, answer().to_json()), (Candidates.read, CANDIDATES.to_json())):
            document = json.loads(good)
            node = document
            while True:
                key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
                if not isinstance(node[key], dict | list) or not node[key] or data.draw(st.booleans()):
                    break
                node = node[key]
            node[key] = data.draw(self.values)
            file = written(tmp_path / "f.json", json.dumps(document))
            back = None
            with contextlib.suppress(InputError):
                back = read(file)
            assert back is None or read(written(file, back.to_json())) == back

    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 40))
    def test_a_piece_of_a_good_file_is_anything(self, tmp_path: Path, piece: bytes, start: int, length: int) -> None:
        for read, good in ((Answer.read, answer().to_json()), (Candidates.read, CANDIDATES.to_json())):
            whole = good.encode()
            (tmp_path / "f.json").write_bytes(whole[:start] + piece + whole[start + length :])
            with contextlib.suppress(InputError):
                read(tmp_path / "f.json")


class TestAnswersBelongTogether:
    def test_whatever_their_order(self) -> None:
        check_answers([answer("b"), answer("a")], [trials("a"), trials("b")])

    @pytest.mark.parametrize(
        ("answers", "words"),
        [
            ([answer("a")], "party 'b' has not answered; all 2 parties must"),
            ([answer("a"), answer("b"), answer("b")], "party 'b' answers twice"),
            ([answer("a"), answer("b"), answer("c")], "party 'c' answers, and has no file of trials here"),
            ([answer("a"), answer("b", "0" * 64)], "parties 'a' and 'b' answer different files of candidates"),
            (
                [answer("a"), Answer("b", 60, CANDIDATES.digest, (Confirmation(Trial({"C": 1e9}, 0.1), 0, 0),))],
                "party 'b' measured what is not in the space: a config must name",
            ),
        ],
    )
    def test_or_it_is_said_who_is_missing(self, answers: list[Answer], words: str) -> None:
        with pytest.raises(TrialsError, match=words):
            check_answers(answers, [trials("a"), trials("b")])
