"""Steps and replies as text: what comes back is what was sent. ``tests/hostile`` sends them what is not."""

import base64
import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.errors import WireError
from flora.party.sketch import sketch_of
from flora.problem import wire
from flora.problem.learning_curve import CurvePoint, LearningCurve
from flora.problem.messages import (
    REPLIES,
    STEPS,
    Certify,
    CertifyReply,
    Confirm,
    Confirmation,
    ConfirmReply,
    Describe,
    DescribeReply,
    Reply,
    Search,
    SearchReply,
    Step,
    Train,
    TrainReply,
)
from flora.problem.plan import MOST_CONFIGS, SearchPlan
from flora.problem.private_messages import (
    ConfirmPrivately,
    ConfirmPrivatelyReply,
    SearchPrivately,
    SearchPrivatelyReply,
    Survey,
    SurveyReply,
)
from flora.problem.schema import Column, Schema
from flora.problem.sketch import Sketch
from flora.problem.trials import FailedTrial, PartyTrials, Trial
from flora.problem.wire import (
    MODEL_REPLY,
    MOST_MODEL,
    REPLY,
    STEP,
    most_reply,
    read_letter,
    read_reply,
    read_step,
    reply_text,
    step_digest,
    step_text,
)
from tests.conftest import SVM_SPACE

STEADY = settings(derandomize=True, deadline=None, max_examples=150)
CONFIG = {"C": 2.0, "gamma": 1 / 3, "tol": 1e-3}
PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=7, seed=3)
SCHEMA = Schema(
    "kind",
    "classification",
    (Column("Größe", "numeric", low=0.0, high=1.5), Column("w", "categorical", ("a", "b"))),
    (0, 1),
)
SKETCH = sketch_of(np.random.default_rng(0).normal(size=(60, 3)), party="a", seed=3)
CURVE = LearningCurve("a", CONFIG, (CurvePoint(9, 0.5, 0.1), CurvePoint(20, 0.4, 0)))
TRIALS = PartyTrials(
    "a",
    60,
    SVM_SPACE,
    "max_error",
    (Trial(SVM_SPACE.default, 0.1 + 0.2, 0.0, 5, 60), Trial(CONFIG, -1e100)),
    (FailedTrial(CONFIG, "ValueError"),),
    "svm",
    "classification",
)
DESCRIBE, SEARCH = Describe(), Search(PLAN, SCHEMA)
CONFIRM, CERTIFY = Confirm(PLAN, SCHEMA, (CONFIG, CONFIG)), Certify(PLAN, SCHEMA, (CONFIG,))
TRAIN = Train(PLAN, SCHEMA, CONFIG, 0.1, choose=True)
SEARCH_PRIVATELY, SURVEY = SearchPrivately(PLAN, SCHEMA), Survey(PLAN, SCHEMA, "forest")
CONFIRM_PRIVATELY = ConfirmPrivately(PLAN, SCHEMA, (CONFIG, CONFIG), 90, free=True)
GAINS = ConfirmPrivatelyReply("a", 60, 3, (SVM_SPACE.default, CONFIG), (0.0, -0.1), (0, 1), (0.0, 0.01), (1.0, 4.5))
EVERY_STEP: list[Step] = [
    DESCRIBE,
    Describe(SCHEMA, "classification"),
    SEARCH,
    Search(PLAN),
    Confirm(PLAN, None, (CONFIG,)),
    CONFIRM,
    CERTIFY,
    TRAIN,
    SEARCH_PRIVATELY,
    SURVEY,
    Survey(PLAN, None, "gp", by_rows=True),
    Survey(PLAN, SCHEMA, "forest", epsilon=2.5),
    CONFIRM_PRIVATELY,
]
EVERY_REPLY: list[tuple[Step, Reply]] = [
    (DESCRIBE, DescribeReply("Hôpital Nord", 0)),
    (DESCRIBE, DescribeReply("a", 60, SCHEMA, ("one value only in column 'x'",))),
    (SEARCH, SearchReply("a", 60, TRIALS, ("5 folds instead of 10",))),
    (CONFIRM, ConfirmReply("a", 60, (Confirmation(Trial(CONFIG, 0.25, 1e-5, 5, 60), -0.0, 5e-324),) * 2)),
    (CERTIFY, CertifyReply("a", 60, SKETCH, (CURVE,))),
    (CERTIFY, CertifyReply("a", 9, None, ())),
    (TRAIN, TrainReply("a", 60, bytes(range(256)), CONFIG, 0.25)),
    (TRAIN, TrainReply("a", 60, b"", CONFIG)),
    (SEARCH, SearchReply("a", 60, None, ("has one class only",))),
    (SEARCH_PRIVATELY, SearchPrivatelyReply("a", 60, searched=False, notes=("its rows allow no search",))),
    (SURVEY, SurveyReply("a", 60, 3, (0.25, -1e100, 1 / 3), (0.0, 5e-324))),
    (CONFIRM_PRIVATELY, GAINS),
]


@pytest.mark.parametrize("step", EVERY_STEP, ids=lambda step: step.name)
def test_a_step_comes_back_as_it_was(step: Step) -> None:
    text = step_text(step)
    assert text.isascii()
    assert read_step(text) == read_step(text.encode()) == step
    assert step_text(read_step(text)) == text
    assert step_digest(read_step(text)) == step_digest(step)


@pytest.mark.parametrize(("step", "reply"), EVERY_REPLY, ids=[step.name for step, _ in EVERY_REPLY])
def test_a_reply_comes_back_as_it_was(step: Step, reply: Reply) -> None:
    text = reply_text(reply, step)
    assert text.isascii()
    assert read_reply(text, step) == read_reply(text.encode(), step) == reply
    assert reply_text(read_reply(text, step), step) == text
    letter = read_letter(text, "reply")
    assert (letter.reply, letter.step, letter.digest) == (reply, step.name, step_digest(step))


def test_every_step_and_reply_is_among_these() -> None:
    assert {type(step) for step in EVERY_STEP} == set(STEPS.values())
    assert {type(reply) for _, reply in EVERY_REPLY} == set(REPLIES.values())
    private = ["search-privately", "survey", "confirm-privately"]
    assert list(STEPS) == list(REPLIES) == ["describe", "search", "confirm", "certify", "train", *private]
    assert [name for name, step in STEPS.items() if step.together] == ["certify", "train", *private[1:]]


PARTY_SAYS = {
    DescribeReply: ["party", "rows", "schema", "notes"],
    Schema: ["target", "task", "columns", "classes", "weight"],
    Column: ["name", "kind", "categories", "low", "high"],
    SearchReply: ["party", "rows", "trials", "notes"],
    PartyTrials: ["party", "rows", "space", "scoring", "trials", "failed", "family", "task", "positive"],
    Trial: ["config", "loss", "error", "folds", "rows"],
    FailedTrial: ["config", "reason"],
    ConfirmReply: ["party", "rows", "confirmations", "notes"],
    Confirmation: ["trial", "gain", "gain_error"],
    CertifyReply: ["party", "rows", "sketch", "curves", "notes"],
    Sketch: ["party", "rows", "width", "seed", "quantiles"],
    LearningCurve: ["party", "config", "points"],
    CurvePoint: ["rows", "loss", "error"],
    TrainReply: ["party", "rows", "model", "config", "held_loss", "guess_loss", "notes"],
    SearchPrivatelyReply: ["party", "rows", "searched", "notes"],
    SurveyReply: ["party", "rows", "parties", "means", "deviations", "notes"],
    ConfirmPrivatelyReply: ["party", "rows", "parties", "configs", "gains", "compared", "errors", "degrees", "notes"],
}


@pytest.mark.parametrize("kind", PARTY_SAYS, ids=lambda kind: kind.__name__)
def test_a_party_says_this_and_no_more(kind: type[Any]) -> None:
    """The privacy line: who adds a field to what leaves a party changes this test, and says so in docs/security.md."""
    assert [part.name for part in fields(kind)] == PARTY_SAYS[kind]


def records_in(hint: Any) -> set[Any]:
    """Return the records that a type is made of, theirs included."""
    inside = {record for part in get_args(hint) for record in records_in(part)}
    if isinstance(hint, type) and is_dataclass(hint):
        inside |= {hint, *(record for part in get_type_hints(hint).values() for record in records_in(part))}
    return inside


def test_no_other_record_is_inside_of_a_reply() -> None:
    found = {record for kind in REPLIES.values() for record in records_in(kind)}
    assert {kind for kind in found if kind.__module__ != "flora.problem.parameters"} == {*PARTY_SAYS, type(SVM_SPACE)}


@pytest.mark.parametrize(("step", "reply"), EVERY_REPLY, ids=[step.name for step, _ in EVERY_REPLY])
def test_the_text_has_the_fields_of_the_record_and_says_which_step_it_answers(step: Step, reply: Reply) -> None:
    assert list(json.loads(reply_text(reply, step))) == [
        "format",
        "version",
        "step",
        "step_digest",
        *(part.name for part in fields(reply)),
    ]


def test_the_order_of_the_hps_survives() -> None:
    """It decides the order of the columns of a surface, and so the answer."""
    turned = type(SVM_SPACE)(SVM_SPACE.parameters[::-1], SVM_SPACE.default)
    back = read_step(step_text(Search(replace(PLAN, space=turned))))
    assert isinstance(back, Search)
    assert back.plan.space.names == ("tol", "gamma", "C")
    assert step_digest(back) != step_digest(Search(PLAN))


def test_frozen_mappings_and_numpy_scalars_become_plain() -> None:
    config: Any = MappingProxyType({"C": np.float64(2.0), "n": np.int64(3), "b": np.bool_(True), "f": np.float32(0.5)})
    back = read_reply(reply_text(TrainReply("a", 1, b"", config), TRAIN), TRAIN)
    assert isinstance(back, TrainReply)
    assert {name: type(value) for name, value in back.config.items()} == {"C": float, "n": int, "b": bool, "f": float}
    assert back.config == {"C": 2.0, "n": 3, "b": True, "f": 0.5}


def changed(text: str, change: Callable[[Any], object]) -> str:
    document = json.loads(text)
    change(document)
    return json.dumps(document)


(DESCRIBED, SEARCHED, CONFIRMED, CERTIFIED, TRAINED) = ((EVERY_REPLY[k]) for k in (1, 2, 3, 4, 6))


@pytest.mark.parametrize(
    ("sent", "change", "says"),
    [
        (TRAINED, lambda d: d.update(format="other"), "expected 'flora-reply' version 2, got .'other', 2."),
        (TRAINED, lambda d: d.update(version=True), "expected 'flora-reply' version 2, got .'flora-reply', True."),
        (TRAINED, lambda d: d.pop("rows"), "lacks the field 'rows'"),
        (TRAINED, lambda d: d.update(rows_of_data=[[1]]), "has the unknown field 'rows_of_data', it has"),
        (TRAINED, lambda d: d.update({"\x1b[1m\n": 1}), r"has the unknown field '\\x1b\[1m\\n'"),
        (TRAINED, lambda d: d.update(party="a\x1b[1m"), "party must be 1 to 200 printable characters"),
        (TRAINED, lambda d: d.update(party=""), "party must be 1 to 200 printable characters"),
        (TRAINED, lambda d: d.update(rows=-1), "rows must be a whole number from 0 to 2.53, got -1"),
        (TRAINED, lambda d: d.update(rows=2**53 + 1), "rows must be a whole number from 0 to 2.53"),
        (TRAINED, lambda d: d.update(rows=10**400), "numbers must be finite, got 1000"),
        (TRAINED, lambda d: d.update(held_loss=1e101), "held_loss must be a finite number of at most 1e100"),
        (TRAINED, lambda d: d.update(model="%%"), "model must be base64 text"),
        (TRAINED, lambda d: d.update(model="A"), "model must be base64 text"),
        (TRAINED, lambda d: d.update(model="ä"), "model must be base64 text"),
        (TRAINED, lambda d: d.update(model=[1]), "model must be base64 text"),
        (TRAINED, lambda d: d.update(config={"C": [1]}), r"config\.C must be .* got \[1\]"),
        (TRAINED, lambda d: d.update(config={"C\n": None}), r"config\.C\? must be .* got None"),
        (TRAINED, lambda d: d.update(notes=["a\nb"]), r"notes\[0\] must be at most 1000 printable characters"),
        (TRAINED, lambda d: d.update(notes=["x" * 1001]), r"notes\[0\] must be at most 1000 printable characters"),
        (TRAINED, lambda d: d.update(notes="ab"), "notes must be a list of at most 100000, got 'ab'"),
        (TRAINED, lambda d: d.update(notes=["\ud800"]), "text must be Unicode"),
        (TRAINED, lambda d: d.update(step="describe"), "has the unknown field 'model'"),
        (TRAINED, lambda d: d.update(step="shell"), "a reply names its step"),
        (TRAINED, lambda d: d.update(step=["train"]), "a reply names its step"),
        (TRAINED, lambda d: d.pop("step_digest"), "a reply names its step"),
        (TRAINED, lambda d: d.update(step_digest="0" * 64), "answers another step than 'train', a 'train'"),
        (DESCRIBED, lambda d: d.update(schema={}), "schema: a schema is a JSON object with format 'flora-schema'"),
        (DESCRIBED, lambda d: d.update(trials=None), "has the unknown field 'trials'"),
        (DESCRIBED, lambda d: d["schema"].update(rows=1), "schema: .* has the unknown field 'rows'"),
        (DESCRIBED, lambda d: d["schema"].update(columns=[{"\n": 1}]), r"columns\[0\] has the unknown field '\\n'"),
        (SEARCHED, lambda d: d.update(party="b"), "PartyTrials: its party must be the sender's 'b', got 'a'"),
        (SEARCHED, lambda d: d["trials"].update(party="b"), "its party must be the sender's 'a', got 'b'"),
        (SEARCHED, lambda d: d.update(trials=7), "trials: a file of trials is a JSON object, got 7"),
        (
            SEARCHED,
            lambda d: d["trials"].update(version=2),
            "trials: expected 'flora-trials' version 1, got .'flora-trials', 2.",
        ),
        (SEARCHED, lambda d: d["trials"].update(space_digest="0"), "trials: space_digest does not match the space"),
        (
            SEARCHED,
            lambda d: d["trials"]["trials"][1].update(loss="0.5"),
            r"trials: trials\[1\]\.loss must be a finite",
        ),
        (SEARCHED, lambda d: d["trials"]["trials"][1]["config"].update(C=1e9), r"trials\[1\]: C: 1000000000.0 is not"),
        (SEARCHED, lambda d: d["trials"].update(trials=[], failed=[]), "need 1 to 10000 trials, got 0"),
        (SEARCHED, lambda d: d["trials"]["failed"][0].update(reason="a row: 1,\n2"), r"failed\[0\]\.reason must be 1"),
        (CONFIRMED, lambda d: d["confirmations"][1].pop("gain"), r"confirmations\[1\] lacks the field 'gain'"),
        (CONFIRMED, lambda d: d["confirmations"][1].pop("loss"), r"confirmations\[1\] lacks the field 'loss'"),
        (CONFIRMED, lambda d: d["confirmations"][1].update(trial={}), r"\[1\] has the unknown field 'trial'"),
        (CONFIRMED, lambda d: d["confirmations"][1].update(gain="1"), r"confirmations\[1\]\.gain must be a finite"),
        (CONFIRMED, lambda d: d["confirmations"][0].update(gain_error=-1), r"\[0\]\.gain_error must be .* from 0 to"),
        (
            CONFIRMED,
            lambda d: d["confirmations"][0].update(error=-1),
            r"confirmations\[0\]\.error must be .* from 0 to",
        ),
        (
            CONFIRMED,
            lambda d: d["confirmations"][0].update(config=[]),
            r"\[0\]\.config must be a JSON object, got \[\]",
        ),
        (CONFIRMED, lambda d: d["confirmations"][0].update(rows=0), r"\[0\]\.rows must be a whole number from 1"),
        (CONFIRMED, lambda d: d.update(confirmations={}), "confirmations must be a list of at most 100000, got {}"),
        (CERTIFIED, lambda d: d["sketch"].update(party="b"), "Sketch: its party must be the sender's 'a', got 'b'"),
        (CERTIFIED, lambda d: d["curves"][0].update(party="b"), "LearningCurve: its party must be the sender's 'a'"),
        (CERTIFIED, lambda d: d["sketch"]["quantiles"][0].reverse(), "sketch: .* must be finite and in order"),
        (CERTIFIED, lambda d: d["curves"][0]["points"][0].update(rows=0), r"curves\[0\]\.points\[0\]\.rows must be a"),
        (CERTIFIED, lambda d: d["curves"][0].update(points=[]), r"curves\[0\]: a learning curve has 1 to 16 growing"),
    ],
)
def test_a_bad_reply_is_refused_and_the_field_named(
    sent: tuple[Step, Reply], change: Callable[[Any], object], says: str
) -> None:
    step, reply = sent
    with pytest.raises(WireError, match=says) as caught:
        read_reply(changed(reply_text(reply, step), change), step, "north")
    assert str(caught.value).startswith("north: ")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("step", "change", "says"),
    [
        (SEARCH, lambda d: d.update(step="shell"), r"step must be one of \['describe', .*\], got 'shell'"),
        (SEARCH, lambda d: d.update(step=["search"]), r"step must be one of .*, got \['search'\]"),
        (SEARCH, lambda d: d.pop("step"), "step must be one of .*, got None"),
        (SEARCH, lambda d: d.update(version=1), "expected 'flora-step' version 2, got .'flora-step', 1."),
        (SEARCH, lambda d: d.update(code="import os"), "has the unknown field 'code'"),
        (SEARCH, lambda d: d.pop("plan"), "lacks the field 'plan'"),
        (SEARCH, lambda d: d.update(consent="all"), "has the unknown field 'consent'"),
        (SEARCH, lambda d: d.update(plan=5), "plan must be a JSON object, got 5"),
        (SEARCH, lambda d: d["plan"].pop("space"), "plan lacks the field 'space'"),
        (SEARCH, lambda d: d["plan"].update(rows=1), "plan has the unknown field 'rows'"),
        (SEARCH, lambda d: d["plan"].update(trials=0), "plan: trials must be a whole number of at least 1, got 0"),
        (SEARCH, lambda d: d["plan"].update(scoring=[]), r"plan\.scoring must be text, got \[\]"),
        (SEARCH, lambda d: d["plan"].update(space=[]), r"plan\.space: a search space is a JSON object, got \[\]"),
        (SEARCH, lambda d: d["plan"].update(space="{}"), r"plan\.space: a search space is a JSON object, got '{}'"),
        (SEARCH, lambda d: d["plan"]["space"]["C"].update(type="\n"), r"plan\.space: C: the type must be one of"),
        (SEARCH, lambda d: d.update(schema=7), "schema: a schema is a JSON object with format"),
        (CERTIFY, lambda d: d.update(schema=None), "schema: a schema is a JSON object with format"),
        (CONFIRM, lambda d: d.update(configs=None), "configs must be a list of at most 100000, got None"),
        (CONFIRM, lambda d: d.update(configs=[]), "configs must be 1 to 1000, got 0"),
        (CERTIFY, lambda d: d.update(configs=[]), "configs must be 1 to 1000, got 0"),
        (CONFIRM, lambda d: d.update(configs=d["configs"] * 501), "configs must be 1 to 1000, got 1002"),
        (CONFIRM, lambda d: d.update(configs=[{"C": None}]), r"configs\[0\]\.C must be .* got None"),
        (CONFIRM, lambda d: d["configs"][0].update(C=1e9), "C: 1000000000.0 is not in"),
        (CERTIFY, lambda d: d["configs"][0].pop("C"), "a config must name"),
        (TRAIN, lambda d: d.update(config=[1]), r"config must be a JSON object, got \[1\]"),
        (TRAIN, lambda d: d.update(held=0.6), "held must be a share from 0 to a half, got 0.6"),
        (TRAIN, lambda d: d.update(held=None), "held must be .* got None"),  # as the testbed once asked
        (TRAIN, lambda d: d.update(choose=1), "choose must be true or false, got 1"),
    ],
)
def test_a_bad_step_is_refused_and_the_field_named(step: Step, change: Callable[[Any], object], says: str) -> None:
    with pytest.raises(WireError, match=says) as caught:
        read_step(changed(step_text(step), change), "question")
    assert str(caught.value).startswith("question: ")
    assert str(caught.value).isprintable()


TEXT = reply_text(TRAINED[1], TRAIN)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a flora-reply"),
        ("{", "not a flora-reply"),
        ("[]", r"a flora-reply is a JSON object, got \[\]"),
        ("[" * 40 + "]" * 40, "nested deeper than 32"),
        ("[" * 200_000, "not a flora-reply"),
        (TEXT.replace('"rows":60', '"rows":60,"rows":61'), "the key 'rows' comes twice"),
        (TEXT.replace('"rows":60', '"rows":NaN'), "numbers must be finite, got NaN"),
        (TEXT.replace('"rows":60', '"rows":1e999'), "numbers must be finite, got inf"),
        (TEXT.replace('"rows":60', '"\\ud800":60'), "text must be Unicode"),
        (TEXT.encode("utf-16"), "not a flora-reply"),
    ],
    ids=range(10),
)
def test_bad_text_is_refused(text: str | bytes, says: str) -> None:
    with pytest.raises(WireError, match=says):
        read_reply(text, TRAIN)
    with pytest.raises(WireError, match=says.replace("flora-reply", "flora-step")):
        read_step(text)


class TestSizes:
    def test_what_is_too_large_is_refused_before_it_is_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("flora.core.documents.parse", lambda text: pytest.fail("read"))
        for form, read in (
            (STEP, read_step),
            (REPLY, lambda text: read_reply(text, DESCRIBE)),
            (REPLY, lambda text: read_letter(text, "reply")),
        ):
            with pytest.raises(WireError, match=f"a {form.name} has at most {form.most} bytes, got {form.most + 1}"):
                read(b" " * (form.most + 1))

    def test_what_its_reader_would_refuse_is_not_sent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wire, "REPLY", replace(REPLY, most=300))
        assert len(reply_text(DescribeReply("a", 60), DESCRIBE)) <= 300
        with pytest.raises(WireError, match="a reply to 'describe' has at most 300 bytes, got"):
            reply_text(DESCRIBED[1], DESCRIBE)

    def test_a_model_may_be_larger_than_all_other_replies(self) -> None:
        assert most_reply(TRAIN) == MODEL_REPLY.most > most_reply(DESCRIBE) == REPLY.most
        assert {most_reply(step) for step in EVERY_STEP if step.name != "train"} == {REPLY.most}
        assert len(base64.b64encode(bytes(3 * 1000))) == 4 * 1000
        assert 4 * -(-MOST_MODEL // 3) < MODEL_REPLY.most < 4 * -(-MOST_MODEL // 3) + 2 * 2**20

    def test_a_large_model_comes_back(self) -> None:
        large = TrainReply("a", 60, bytes(40 * 2**20), CONFIG)
        assert len(reply_text(large, TRAIN)) > REPLY.most
        assert read_reply(reply_text(large, TRAIN), TRAIN) == large


def test_what_cannot_be_read_cannot_be_made() -> None:
    for make in (
        lambda: replace(TRAINED[1], rows=-1),
        lambda: replace(TRAINED[1], notes=("a\nb",)),
        lambda: TrainReply("a", 1, b"", CONFIG, float("nan")),
        lambda: replace(SEARCHED[1], party="b"),
        lambda: replace(CERTIFIED[1], party="b"),
        lambda: replace(TRAIN, config={"C": float("nan")}),
        lambda: replace(TRAIN, held=0.51),
        lambda: replace(TRAIN, held=None),  # type: ignore[arg-type]
        lambda: replace(CONFIRM, configs=(CONFIG,) * (MOST_CONFIGS + 1)),
        lambda: replace(CONFIRM_PRIVATELY, configs=()),
        lambda: replace(GAINS, gains=(0.0,)),
        lambda: replace(GAINS, errors=(0.0,)),
        lambda: replace(GAINS, compared=(0, 2)),
        lambda: replace(GAINS, compared=(), errors=(), degrees=()),
        lambda: Describe(task="ranking"),  # type: ignore[arg-type]
        lambda: TrainReply("a", 1, np.zeros(9), CONFIG),  # type: ignore[arg-type]
    ):
        with pytest.raises(WireError):
            make()


def test_a_reply_to_another_question_is_refused() -> None:
    text = reply_text(DESCRIBED[1], DESCRIBE)
    with pytest.raises(WireError, match="answers another step than 'describe', a 'describe'"):
        read_reply(text, Describe(task="regression"))
    with pytest.raises(WireError, match="answers another step than 'search', a 'describe'"):
        read_reply(text, SEARCH)


finite = st.floats(-1e100, 1e100)
amounts = st.floats(0, 1e100)
configs = st.fixed_dictionaries({"C": st.floats(0.01, 1000), "gamma": st.floats(1e-5, 10), "tol": st.floats(1e-5, 0.1)})
counts = st.none() | st.integers(1, 2**53)
tried = st.builds(Trial, configs, finite, st.none() | amounts, counts, counts)
names = st.text(st.characters(categories=("L", "N", "S")), min_size=1, max_size=20)
notes = st.lists(names).map(tuple)
rows = st.integers(0, 2**53)


@st.composite
def replies(draw: st.DrawFn) -> tuple[Step, Reply]:
    party = draw(names)
    found = draw(st.lists(tried, min_size=1, max_size=4))
    sizes = sorted(draw(st.sets(st.integers(1, 2**53), min_size=1, max_size=4)))
    points = tuple(CurvePoint(size, draw(finite), draw(amounts)) for size in sizes)
    columns = tuple(Column(name, "categorical", ("x", name)) for name in draw(st.sets(names)) if name != "x")
    lines = (tuple(sorted(draw(st.lists(finite, min_size=4, max_size=4)))),)
    sketch = draw(st.none() | st.just(Sketch(party, 40, 1, draw(st.integers(0, 2**53)), lines)))
    trials = PartyTrials(party, draw(counts), SVM_SPACE, draw(names), tuple(found))
    confirmed = tuple(Confirmation(trial, draw(finite), draw(amounts)) for trial in found)
    curves = draw(st.just(()) | st.just((LearningCurve(party, draw(configs), points),)))
    says, losses = (party, draw(rows)), st.tuples(st.none() | finite, st.none() | finite)
    made: list[tuple[Step, Reply]] = [
        (DESCRIBE, DescribeReply(*says, draw(st.none() | st.just(Schema("", "regression", columns))), draw(notes))),
        (SEARCH, SearchReply(*says, trials, draw(notes))),
        (CONFIRM, ConfirmReply(*says, confirmed, draw(notes))),
        (CERTIFY, CertifyReply(*says, sketch, curves, draw(notes))),
        (TRAIN, TrainReply(*says, draw(st.binary()), draw(configs), *draw(losses), draw(notes))),
    ]
    return draw(st.sampled_from(made))


@STEADY
@given(replies())
def test_any_reply_comes_back_as_it_was(sent: tuple[Step, Reply]) -> None:
    step, reply = sent
    assert read_reply(reply_text(reply, step), step) == reply
