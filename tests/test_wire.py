"""Steps and replies as text: what comes back is what was sent, and nothing else is let in."""

import base64
import json
from collections.abc import Callable
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.engines.inprocess import in_process
from flora.errors import InputError, WireError
from flora.extrapolation import CurvePoint, LearningCurve
from flora.federation import Ask, Confirmation, Reply, Step, StepName, drive
from flora.party import Party
from flora.plan import SearchPlan
from flora.schema import Column, Schema
from flora.single_shot import Request, single_shot
from flora.sketch import Sketch, sketch_of
from flora.trials import FailedTrial, PartyTrials, Trial
from flora.wire import (
    PAYLOADS,
    RECORDS,
    REPLY,
    reply_from_json,
    reply_to_json,
    step_from_json,
    step_to_json,
)
from tests.conftest import SVM_SPACE, two_moons

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
REPLIES = [
    Reply("Hôpital Nord", 0),
    Reply("a", 60, schema=SCHEMA, notes=("one value only in column 'x'",)),
    Reply(
        "a",
        60,
        trials=PartyTrials(
            "a",
            60,
            SVM_SPACE,
            "r2",
            (Trial(SVM_SPACE.default, 0.1 + 0.2, 0.0, 5, 60), Trial(CONFIG, -1e300)),
            (FailedTrial(CONFIG, "ValueError"),),
            "svm",
            "classification",
        ),
    ),
    Reply("a", 60, confirmations=(Confirmation(Trial(CONFIG, 0.25, 1e-5, 5, 60), -0.0, 5e-324),) * 2),
    Reply(
        "a", 60, sketch=SKETCH, curves=(LearningCurve("a", CONFIG, (CurvePoint(9, 0.5, 0.1), CurvePoint(20, 0.4, 0))),)
    ),
    Reply("a", 60, model=bytes(range(256)), trained=CONFIG, held_loss=0.25),
]
STEPS = [
    Step("describe", {"schema": None, "task": None}),
    Step("describe", {"schema": SCHEMA.to_json(), "task": "classification"}),
    Step("search", {"plan": PLAN.to_json(), "schema": SCHEMA.to_json()}),
    Step("confirm", {"plan": PLAN.to_json(), "schema": SCHEMA.to_json(), "configs": [CONFIG, CONFIG]}),
    Step("certify", {"plan": PLAN.to_json(), "schema": SCHEMA.to_json(), "configs": [CONFIG]}),
    Step(
        "train",
        {"plan": PLAN.to_json(), "schema": SCHEMA.to_json(), "config": CONFIG, "held": 0.1, "choose": True},
    ),
]


@pytest.mark.parametrize("reply", REPLIES, ids=range(len(REPLIES)))
def test_a_reply_comes_back_as_it_was(reply: Reply) -> None:
    text = reply_to_json(reply)
    assert text.isascii()
    assert reply_from_json(text) == reply
    assert reply_to_json(reply_from_json(text)) == text


@pytest.mark.parametrize("step", STEPS, ids=range(len(STEPS)))
def test_a_step_comes_back_as_it_was(step: Step) -> None:
    text = step_to_json(step)
    assert step_from_json(text) == step
    assert step_to_json(step_from_json(text)) == text


def test_the_order_of_the_hps_survives() -> None:
    """It decides the order of the columns of a surface, and so the answer."""
    turned = {name: SVM_SPACE.to_json()[name] for name in ("tol", "gamma", "C")}
    step = Step("search", {"plan": {**PLAN.to_json(), "space": turned}, "schema": None})
    assert list(step_from_json(step_to_json(step)).payload["plan"]["space"]) == ["tol", "gamma", "C"]


def test_frozen_mappings_and_numpy_scalars_become_plain() -> None:
    config: Any = MappingProxyType({"C": np.float64(2.0), "n": np.int64(3), "b": np.bool_(True)})
    (back,) = reply_from_json(
        reply_to_json(Reply("a", 1, confirmations=(Confirmation(Trial(config, 0.5), 0.0, 0.0),)))
    ).confirmations
    assert {name: type(value) for name, value in back.config.items()} == {"C": float, "n": int, "b": bool}


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_record_has_a_codec(kind: type[Any]) -> None:
    """A field that is new in a record needs a line in the table before it can travel."""
    assert list(RECORDS[kind]) == [field.name for field in fields(kind)]


def test_every_step_has_its_fields() -> None:
    assert list(PAYLOADS) == list(get_args(StepName))


def test_a_whole_run_over_text_gives_the_same_bytes() -> None:
    """The tables are complete: all that the algorithm asks and all that parties answer passes, and is the same."""
    parties = [Party(name, two_moons(rows, rows), "kind") for name, rows in (("a", 60), ("b", 50))]
    request = Request(family="svm", trials=3, folds=2, certificate=True)
    direct = in_process(parties)

    def over_text(ask: Ask) -> Ask:
        return lambda step: [reply_from_json(reply_to_json(reply)) for reply in ask(step_from_json(step_to_json(step)))]

    one, other = drive(single_shot(request), direct), drive(single_shot(request), over_text(direct))
    assert one.model == other.model
    assert one.found.trials == other.found.trials
    assert one.found.recommendation == other.found.recommendation
    assert one.found.confirmed == other.found.confirmed
    assert one.trainings == other.trainings
    assert one.notes == other.notes
    assert one.certificate is not None
    assert other.certificate is not None
    assert one.certificate.to_json() == other.certificate.to_json()


def changed(text: str, change: Callable[[Any], object]) -> str:
    document = json.loads(text)
    change(document)
    return json.dumps(document)


TRIALS, CONFIRMED, CERTIFIED, MODEL = (reply_to_json(reply) for reply in REPLIES[2:])


@pytest.mark.parametrize(
    ("text", "change", "says"),
    [
        (MODEL, lambda d: d.update(format="other"), "expected format 'flora-reply' version 1, got 'other' version 1"),
        (MODEL, lambda d: d.update(version=True), "version True"),
        (MODEL, lambda d: d.pop("rows"), "flora-reply lacks the field 'rows'"),
        (MODEL, lambda d: d.update(rows_of_data=[[1]]), "flora-reply has the unknown field 'rows_of_data', it has"),
        (MODEL, lambda d: d.update(party="a\x1b[1m"), "party: must be 1 to 200 printable characters"),
        (MODEL, lambda d: d.update(rows=-1), "rows: must be a whole number from 0"),
        (MODEL, lambda d: d.update(rows=10**400), "rows: numbers must be finite, got 1000"),
        (MODEL, lambda d: d.update(model="%%"), "model: must be base64 text"),
        (MODEL, lambda d: d.update(model="A"), "model: must be base64 text"),
        (MODEL, lambda d: d.update(model=[1]), r"model: must be base64 text, got \[1\]"),
        (MODEL, lambda d: d.update(notes=["a\nb"]), r"notes: \[0\]: must be printable text, got 'a\\nb'"),
        (MODEL, lambda d: d.update(notes="ab"), "notes: must be a list, got 'ab'"),
        (MODEL, lambda d: d.update(notes=["x" * 2**20]), "notes must have at most 1048576 bytes as JSON, got 1048580"),
        (MODEL, lambda d: d.update(notes=["\ud800"]), "notes.0: text must be Unicode"),
        (MODEL, lambda d: d.update(schema={}), "schema: a schema lacks the field 'classes'"),
        (MODEL, lambda d: d.update(schema={**SCHEMA.to_json(), "rows": 1}), "schema: a schema has the unknown field"),
        (
            MODEL,
            lambda d: d.update(schema={**SCHEMA.to_json(), "columns": [{"\n": 1}]}),
            "unexpected keyword argument '.'",
        ),
        (TRIALS, lambda d: d.update(party="b"), "trials.party must be the sender's 'b', got 'a'"),
        (CERTIFIED, lambda d: d["sketch"].update(party="b"), "sketch.party must be the sender's 'a', got 'b'"),
        (CERTIFIED, lambda d: d["curves"][0].update(party="b"), "curves.party must be the sender's 'a', got 'b'"),
        (TRIALS, lambda d: d["trials"]["trials"][1].update(loss="0.5"), r"trials: trials: trials\[1\]: loss must be"),
        (TRIALS, lambda d: d["trials"]["trials"][1]["config"].update(C=1e9), r"trials\[1\]: C: 1000000000.0 is not in"),
        (TRIALS, lambda d: d["trials"].update(scoring="x" * 17 * 2**20), "trials must have at most 16777216 bytes"),
        (CONFIRMED, lambda d: d["confirmations"][1].pop("gain"), r"\[1\]: Confirmation lacks the field 'gain'"),
        (CONFIRMED, lambda d: d["confirmations"][1].update(gain="1"), r"confirmations: \[1\]: gain: must be a finite"),
        (CONFIRMED, lambda d: d["confirmations"][0].update(gain_error=-1), r"gain_error: must be a finite number >= 0"),
        (CONFIRMED, lambda d: d["confirmations"][0]["trial"].update(error=-1), "error: must be a finite number >= 0"),
        (
            CONFIRMED,
            lambda d: d["confirmations"][0]["trial"].update(config={"C": [1]}),
            "config: must be a config, which maps HP",
        ),
        (CONFIRMED, lambda d: d["confirmations"][0]["trial"].update(rows=0), "rows must be a whole number of at least"),
        (CONFIRMED, lambda d: d.update(confirmations={}), "confirmations: must be a list, got {}"),
        (CERTIFIED, lambda d: d["sketch"]["quantiles"][0].reverse(), "must be finite and in order"),
        (CERTIFIED, lambda d: d["curves"][0]["points"][0].update(rows=0), "a learning curve's rows must be a whole"),
    ],
)
def test_a_bad_reply_is_refused_and_the_field_named(text: str, change: Callable[[Any], object], says: str) -> None:
    with pytest.raises(WireError, match=says) as caught:
        reply_from_json(changed(text, change))
    assert "\n" not in str(caught.value)


SEARCH, CONFIRM, TRAIN = (step_to_json(STEPS[k]) for k in (2, 3, 5))


@pytest.mark.parametrize(
    ("text", "change", "says"),
    [
        (SEARCH, lambda d: d.update(name="shell"), r"name must be one of \['describe', .*\], got 'shell'"),
        (SEARCH, lambda d: d.update(name=["search"]), r"name must be one of .*, got \['search'\]"),
        (SEARCH, lambda d: d.update(code="import os"), "flora-step has the unknown field 'code'"),
        (SEARCH, lambda d: d.update(payload=[]), r"payload must be a JSON object, got \[\]"),
        (SEARCH, lambda d: d["payload"].pop("plan"), "payload lacks the field 'plan'"),
        (SEARCH, lambda d: d["payload"].update(consent="all"), "payload has the unknown field 'consent'"),
        (SEARCH, lambda d: d["payload"].update(plan=5), "payload.plan: a search plan must be a JSON object, got 5"),
        (SEARCH, lambda d: d["payload"]["plan"].pop("seed"), "payload.plan: a search plan lacks the field 'seed'"),
        (SEARCH, lambda d: d["payload"]["plan"].update(trials=0), "payload.plan: trials must be a whole number"),
        (SEARCH, lambda d: d["payload"]["plan"].update(scoring=[]), "payload.plan: scoring: must be printable text"),
        (SEARCH, lambda d: d["payload"]["plan"].update(space=[]), "payload.plan: space must be a JSON object"),
        (SEARCH, lambda d: d["payload"].update(schema=7), "payload.schema: a schema must be a JSON object, got 7"),
        (CONFIRM, lambda d: d["payload"].update(configs=None), "payload.configs: must be a list, got None"),
        (CONFIRM, lambda d: d["payload"].update(configs=[{"C": None}]), "payload.configs: .0.: must be a config"),
        (TRAIN, lambda d: d["payload"].update(config=[1]), "payload.config: must be a config, which maps HP names"),
    ],
)
def test_a_bad_step_is_refused_and_the_field_named(text: str, change: Callable[[Any], object], says: str) -> None:
    with pytest.raises(WireError, match=says) as caught:
        step_from_json(changed(text, change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "flora-reply: not JSON"),
        ("{", "flora-reply: not JSON"),
        ("[]", r"flora-reply must be a JSON object, got \[\]"),
        ("[" * 40 + "]" * 40, "nested deeper than 32"),
        ("[" * 200_000, "flora-reply: not JSON"),
        (MODEL.replace('"rows":60', '"rows":60,"rows":61'), "the key 'rows' comes twice"),
        (MODEL.replace('"rows":60', '"rows":NaN'), "numbers must be finite, got NaN"),
        (MODEL.replace('"rows":60', '"rows":1e999'), "rows: numbers must be finite, got inf"),
        (MODEL.replace('"rows":60', '"\\ud800":60'), "text must be Unicode"),
    ],
    ids=range(9),
)
def test_bad_text_is_refused(text: str, says: str) -> None:
    with pytest.raises(WireError, match=says):
        reply_from_json(text)


def test_too_large_a_text_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flora.wire.MOST_REPLY", 100)
    monkeypatch.setattr("flora.wire.load_json", lambda text: pytest.fail("read"))
    with pytest.raises(WireError, match="flora-reply: must be text of at most 100 characters, got 101"):
        reply_from_json(" " * 101)


def test_the_limit_of_a_model_is_that_of_its_bytes() -> None:
    most = REPLY["model"].most
    assert len(base64.b64encode(bytes(3 * 1000))) == 4 * 1000
    assert most - 2 >= 4 * -(-256 * 2**20 // 3)
    assert most - 2 < 4 * -(-(256 * 2**20 + 3) // 3)


def test_a_reader_caught_unawares_still_names_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REPLY, "rows", replace(REPLY["rows"], read=lambda value: {"a": 1}["x"]))
    with pytest.raises(WireError, match=r"^rows: cannot be read \(KeyError: 'x'\)$"):
        reply_from_json(MODEL)


def test_what_cannot_be_read_is_not_sent() -> None:
    for reply in (replace(REPLIES[5], rows=-1), replace(REPLIES[5], notes=("a\nb",)), replace(REPLIES[2], party="b")):
        with pytest.raises(WireError):
            reply_to_json(reply)
    with pytest.raises(WireError, match="a step: has no form in JSON"):
        step_to_json(Step("train", {**STEPS[5].payload, "config": {"C": float("nan")}}))
    with pytest.raises(WireError, match="payload lacks the field 'choose'"):
        step_to_json(Step("train", {"config": CONFIG}))


finite = st.floats(allow_nan=False, allow_infinity=False)
configs = st.fixed_dictionaries({"C": st.floats(0.01, 1000), "gamma": st.floats(1e-5, 10), "tol": st.floats(1e-5, 0.1)})
counts = st.none() | st.integers(1, 2**53)
tried = st.builds(Trial, configs, finite, st.none() | st.floats(0, 1e300), counts, counts)
names = st.text(st.characters(categories=("L", "N", "S")), min_size=1, max_size=20)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    party = draw(names)
    found = draw(st.lists(tried, min_size=1, max_size=4))
    sizes = sorted(draw(st.sets(st.integers(1, 2**53), min_size=1, max_size=4)))
    points = tuple(CurvePoint(size, draw(finite), draw(st.floats(0, 1e300))) for size in sizes)
    columns = tuple(Column(name, "categorical", ("x", name)) for name in draw(st.sets(names)) if name != "x")
    lines = tuple(tuple(sorted(draw(st.lists(finite, min_size=4, max_size=4)))) for _ in range(1))
    return Reply(
        party,
        draw(st.integers(0, 2**53)),
        schema=draw(st.none() | st.just(Schema("", "regression", columns))),
        trials=draw(st.none() | st.just(PartyTrials(party, draw(counts), SVM_SPACE, draw(names), tuple(found)))),
        confirmations=tuple(Confirmation(trial, draw(finite), draw(st.floats(0, 1e300))) for trial in found),
        sketch=draw(st.none() | st.just(Sketch(party, 40, 1, draw(st.integers(0, 2**53)), lines))),
        curves=draw(st.just(()) | st.just((LearningCurve(party, draw(configs), points),))),
        model=draw(st.binary()),
        notes=tuple(draw(st.lists(names))),
    )


@STEADY
@given(replies())
def test_any_reply_comes_back_as_it_was(reply: Reply) -> None:
    assert reply_from_json(reply_to_json(reply)) == reply


texts = st.text(st.characters(), max_size=8)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
WHOLE = json.loads(reply_to_json(replace(REPLIES[2], schema=SCHEMA, sketch=SKETCH, notes=("n",), model=b"m")))
WHOLE["confirmations"], WHOLE["curves"] = json.loads(CONFIRMED)["confirmations"], json.loads(CERTIFIED)["curves"]


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [path, *(place for key, part in list(inside)[:12] for place in places(part, (*path, key)))]


def with_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = with_value(document[path[0]], path[1:], value)
    return copy


def refuses_or_reads(read: Callable[[str], object], text: str) -> None:
    try:
        read(text)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017


@settings(STEADY, max_examples=300)
@given(st.sampled_from(places(WHOLE)), anything)
def test_a_reply_with_anything_in_it_is_read_or_refused(path: tuple[Any, ...], value: Any) -> None:
    refuses_or_reads(reply_from_json, json.dumps(with_value(WHOLE, path, value)))


STEP_PLACES = [(text, path) for text in (SEARCH, CONFIRM, TRAIN) for path in places(json.loads(text))]


@settings(STEADY, max_examples=300)
@given(st.sampled_from(STEP_PLACES), anything)
def test_a_step_with_anything_in_it_is_read_or_refused(place: tuple[str, tuple[Any, ...]], value: Any) -> None:
    text, path = place
    refuses_or_reads(step_from_json, json.dumps(with_value(json.loads(text), path, value)))


@STEADY
@given(anything)
def test_any_json_is_read_or_refused(document: Any) -> None:
    refuses_or_reads(reply_from_json, json.dumps(document))
    refuses_or_reads(step_from_json, json.dumps(document))


@STEADY
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    refuses_or_reads(reply_from_json, text)
    refuses_or_reads(step_from_json, text)
