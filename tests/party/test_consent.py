"""What a party allows: no step can widen it, and what it cuts stays valid."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.core.codec import to_document
from flora.engines.threads import in_process
from flora.errors import ConsentError, FloraError, InputError, WireError
from flora.models import FAMILIES
from flora.party.consent import SCORINGS, Consent, DataSource, Pairs
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.sketch import sketch_of
from flora.party.tables.format import TableFormat
from flora.party.tables.table import Table
from flora.problem.learning_curve import CurvePoint, LearningCurve
from flora.problem.messages import (
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
from flora.problem.plan import SearchPlan
from flora.problem.private_messages import ConfirmPrivately, SearchPrivately, Survey, SurveyReply
from flora.problem.schema import Column, Schema
from flora.problem.trials import PartyTrials, Trial
from flora.problem.wire import read_reply, read_step, reply_text, step_text
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import single_shot
from tests.conftest import SVM_SPACE, two_moons

PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=100)
CONFIG = {"C": 1.23456789, "gamma": 1 / 3, "tol": 1e-3}


SCHEMA = Schema("kind", "classification", (Column("x", "numeric"),), ("a", "b"))


def asked(name: str = "search", configs: int = 1, **changes: Any) -> Step:
    plan, many = replace(PLAN, **changes), (CONFIG,) * configs
    made: dict[str, Step] = {
        "describe": Describe(),
        "search": Search(plan),
        "confirm": Confirm(plan, None, many),
        "certify": Certify(plan, SCHEMA, many),
        "train": Train(plan, SCHEMA, CONFIG),
    }
    return made[name]


def written(path: Path, **document: Any) -> Path:
    file = path / "flora.json"
    file.write_text(json.dumps(document))
    return file


def test_no_file_means_the_documented_defaults(tmp_path: Path) -> None:
    consent = Consent.read(tmp_path / "flora.json")
    assert consent == Consent() == Consent.read(written(tmp_path))
    assert consent.families == tuple(FAMILIES)
    assert (consent.most_trials, consent.most_seconds, consent.fewest_rows) == (100, 86_400, 40)
    assert (consent.certificate, consent.pairs, consent.data) == (False, Pairs(None, None), None)
    assert (consent.fewest_parties, consent.unmasked_sums) == (2, False)


def test_the_security_page_has_every_key_and_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
    defaults = {key: f"`{json.dumps(value)}`" for key, value in Consent().to_json().items()}
    defaults |= {"data": "none", "epsilon": "none"}
    for key, default in defaults.items():
        (line,) = (line for line in page.splitlines() if line.startswith(f"| `{key}` |"))
        assert line.endswith(f"| {default} |")


def test_the_default_scorings_are_scikit_learns() -> None:
    from sklearn.metrics import get_scorer_names

    assert set(SCORINGS) <= set(get_scorer_names())


def test_a_file_is_read_and_written(tmp_path: Path) -> None:
    document = {
        "families": ["svm", "sklearn.linear_model:Ridge"],
        "scorings": ["r2"],
        "most_trials": 20,
        "most_seconds": 0.5,
        "fewest_rows": 7,
        "certificate": True,
        "pairs": {"rounded": 3, "best": 10},
        "data": {"path": "/data/rows.csv", "target": "kind", "drop": ["id"], "sep": ";", "dates": "parts"},
        "fewest_parties": 5,
        "unmasked_sums": True,
    }
    consent = Consent.read(written(tmp_path, **document))
    expected = Consent(
        ("svm", "sklearn.linear_model:Ridge"),
        ("r2",),
        20,
        0.5,
        7,
        True,
        Pairs(3, 10),
        DataSource("/data/rows.csv", "kind", ("id",), TableFormat(";", dates="parts")),
        5,
        True,
    )
    assert consent == expected
    data = {"decimal": None, "encoding": None, "missing": [], "auto": False, **to_document(consent)["data"]}
    assert consent.to_json() == {**document, "data": data}
    assert (data["sep"], data["dates"]) == (";", "parts")
    assert Consent.from_json(consent.to_json()) == consent
    assert Consent.from_json(Consent().to_json()) == Consent()
    assert Consent().to_json()["pairs"] == "as-is"


@pytest.mark.parametrize(
    ("document", "pairs"),
    [
        ("as-is", Pairs()),
        ({"rounded": 17}, Pairs(rounded=17)),
        ({"best": 10_000}, Pairs(best=10_000)),
        ({"best": 1, "rounded": 1}, Pairs(1, 1)),
    ],
)
def test_the_forms_of_pairs(document: Any, pairs: Pairs) -> None:
    consent = Consent.from_json({"pairs": document})
    assert consent == Consent(pairs=pairs)
    assert consent.to_json()["pairs"] == document


def test_all_is_allowed_to_a_program_and_not_by_a_file() -> None:
    everything = Consent.of_everything()
    everything.check(asked("certify", 1000, family="x.y:Z", scoring="max_error", trials=10_000))
    everything.check_rows(0)
    everything.check_seconds(1e300)
    assert everything.pairs == Pairs()
    with pytest.raises(InputError, match="families must be a list, got None"):
        Consent.from_json(everything.to_json())


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"trials": 5}, r"it has the unknown field 'trials', it has \['certificate', 'data', 'epsilon', 'families'"),
        ({"families": "hgb"}, "families must be a list of at most 100000, got 'hgb'"),
        ({"families": [1]}, r"families\[0\] must be text, got 1"),
        ({"families": ["h\ngb"]}, r"families\[0\] must be at most 1000 printable characters"),
        ({"families": None}, "families must be a list, got None"),
        ({"scorings": None}, "scorings must be a list, got None"),
        ({"most_trials": 0}, "most_trials must be a whole number from 1 to 2.53, got 0"),
        ({"most_trials": True}, "most_trials must be a whole number, got True"),
        ({"most_trials": 1.5}, "most_trials must be a whole number, got 1.5"),
        ({"most_trials": None}, "most_trials must be a whole number, got None"),
        ({"most_seconds": 0}, "most_seconds must be a number above 0, got 0"),
        ({"most_seconds": "60"}, "most_seconds must be a finite number, got '60'"),
        ({"most_seconds": 10**400}, "numbers must be finite, got 1000"),
        ({"fewest_rows": -1}, "fewest_rows must be a whole number from 0"),
        ({"certificate": "yes"}, "certificate must be true or false, got 'yes'"),
        ({"certificate": 1}, "certificate must be true or false, got 1"),
        (
            {"pairs": "rounded"},
            'it is "as-is", "never", or an object with "rounded": DIGITS or "best": COUNT or both',
        ),
        ({"pairs": {}}, 'pairs: it is "as-is", "never", or an object'),
        ({"pairs": None}, 'pairs: it is "as-is", "never", or an object'),
        ({"pairs": {"digits": 3}}, r"pairs: it has the unknown field 'digits', it has \['best', 'never', 'rounded'\]"),
        ({"pairs": {"rounded": 0}}, "pairs: rounded must be a whole number from 1 to 17, got 0"),
        ({"pairs": {"best": 10**9}}, "pairs: best must be a whole number from 1 to 10000"),
        ({"data": {"path": "a.csv"}}, "data lacks the field 'target'"),
        ({"data": {"path": "a.csv", "target": ""}}, "data: target must be text, got none"),
        ({"data": {"path": "a.csv", "target": "y", "password": 1}}, "data has the unknown field 'password'"),
        ({"data": {"path": "a.csv", "target": "y", "drop": "id"}}, r"data\.drop must be a list of at most"),
    ],
)
def test_a_bad_file_is_refused_and_the_key_named(tmp_path: Path, document: dict[str, Any], says: str) -> None:
    file = written(tmp_path, **document)
    with pytest.raises(InputError, match=says) as caught:
        Consent.read(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"most_trials": 5, "most_trials": 9}', '{"most_seconds": NaN}', " " * 2**21]
)
def test_what_is_no_consent_never_means_the_defaults(tmp_path: Path, text: str) -> None:
    (tmp_path / "flora.json").write_text(text)
    with pytest.raises(InputError, match=r"flora\.json: "):
        Consent.read(tmp_path / "flora.json")
    with pytest.raises(InputError):
        Consent.read(tmp_path)  # a folder


@pytest.mark.parametrize(
    ("consent", "step", "says"),
    [
        (Consent(), asked(family="sklearn.svm:SVC"), r"\(hgb, .*\), and 'sklearn.svm:SVC' is asked for"),
        (Consent(families=()), asked(), r"one that this party allows \(none\), and 'svm' is asked for"),
        (Consent(), asked(scoring="max_error"), "the scoring must be .* and 'max_error' is asked for"),
        (Consent(), asked(trials=101), "allows at most 100 trials, and 101 are asked for"),
        (Consent(most_trials=9), asked("train", trials=10), "allows at most 9 trials, and 10 are asked for"),
        (Consent(), asked("confirm", 101), "at most 100 configs to be measured, and 101 are asked for"),
        (Consent(), asked("confirm", family="x:Y"), "'x:Y' is asked for"),
        (Consent(), asked("certify"), "sends no sketch of its rows, and the certificate asks for one"),
        (Consent(certificate=True, families=("hgb",)), asked("certify"), "'svm' is asked for"),
    ],
)
def test_more_than_is_allowed_is_refused_in_one_sentence(consent: Consent, step: Step, says: str) -> None:
    with pytest.raises(ConsentError, match=says) as caught:
        consent.check(step)
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, InputError)
    assert isinstance(caught.value, FloraError)


@pytest.mark.parametrize("name", ["describe", "search", "confirm", "train"])
def test_what_is_allowed_passes(name: str) -> None:
    Consent().check(asked(name))
    Consent(certificate=True).check(asked("certify"))


@pytest.mark.parametrize(
    "change",
    [
        lambda step: step.update(consent={"certificate": True}),
        lambda step: step.update(most_trials=10_000),
        lambda step: step["plan"].update(most_trials=10_000),
        lambda step: step["plan"].update(families=["x:Y"]),
    ],
)
def test_a_step_cannot_bring_its_own_consent(change: Any) -> None:
    document = json.loads(step_text(asked()))
    change(document)
    with pytest.raises(WireError, match="has the unknown field"):
        read_step(json.dumps(document))


def test_rows_and_seconds() -> None:
    consent = Consent(fewest_rows=40, most_seconds=60)
    consent.check_rows(40)
    consent.check_seconds(60)
    with pytest.raises(ConsentError, match="takes part with at least 40 rows, and it has fewer") as caught:
        consent.check_rows(39)
    assert "39" not in str(caught.value)
    with pytest.raises(ConsentError, match="computes for at most 60 seconds a step, and they are over"):
        consent.check_seconds(60.1)


def found(*losses: float) -> PartyTrials:
    trials = tuple(Trial({**CONFIG, "C": k + 1.123456}, loss, 0.0123456, 5, 60) for k, loss in enumerate(losses))
    return PartyTrials("a", 60, SVM_SPACE, "r2", trials)


def searched(*losses: float, notes: tuple[str, ...] = ()) -> SearchReply:
    return SearchReply("a", 60, found(*losses), notes)


def left_of(consent: Consent, reply: SearchReply) -> SearchReply:
    left = consent.apply(asked(), reply)
    assert isinstance(left, SearchReply)
    return left


SKETCH = sketch_of(np.random.default_rng(0).normal(size=(60, 2)), party="a", seed=0)
REPLIES: dict[str, Reply] = {
    "describe": DescribeReply("a", 60, SCHEMA),
    "search": searched(0.123456, 123456.0),
    "confirm": ConfirmReply("a", 60, (Confirmation(Trial(CONFIG, 0.123456, 0.0123456), -0.0123456, 1.23456e-5),)),
    "certify": CertifyReply("a", 60, SKETCH, (LearningCurve("a", CONFIG, (CurvePoint(9, 0.98765, 0.012345),)),)),
    "train": TrainReply("a", 60, b"m", CONFIG, 0.98765, 0.54321),
}


@pytest.mark.parametrize("name", REPLIES)
def test_as_they_are_means_untouched(name: str) -> None:
    assert Consent().apply(asked(name), REPLIES[name]) == REPLIES[name]


def test_rounding_reaches_every_loss_and_no_config() -> None:
    left = {name: Consent(pairs=Pairs(rounded=2)).apply(asked(name), reply) for name, reply in REPLIES.items()}
    assert left["describe"] == REPLIES["describe"]
    pairs = left["search"]
    assert isinstance(pairs, SearchReply)
    assert pairs.trials is not None
    assert [(trial.loss, trial.error) for trial in pairs.trials.trials] == [(0.12, 0.012), (120000.0, 0.012)]
    assert [trial.config for trial in pairs.trials.trials] == [trial.config for trial in found(0, 0).trials]
    assert (pairs.trials.space, pairs.trials.rows) == (SVM_SPACE, 60)
    assert pairs.notes == ("it rounds losses to 2 digits",)
    assert left["confirm"] == ConfirmReply("a", 60, (Confirmation(Trial(CONFIG, 0.12, 0.012), -0.012, 1.2e-5),))
    curves = (LearningCurve("a", CONFIG, (CurvePoint(9, 0.99, 0.012),)),)
    assert left["certify"] == CertifyReply("a", 60, SKETCH, curves)
    assert left["train"] == TrainReply("a", 60, b"m", CONFIG, 0.99, 0.54)


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_is_of_the_kind_that_its_step_asks_for(name: str) -> None:
    for other, reply in REPLIES.items():
        if other != name:
            with pytest.raises(ConsentError, match=f"a {type(reply).__name__} is no reply to '{name}'"):
                Consent.of_everything().apply(asked(name), reply)


def test_only_the_best_pairs_leave_and_the_aggregator_is_told() -> None:
    two = Consent(pairs=Pairs(best=2))
    left = left_of(two, searched(0.3, 0.1, 0.2, notes=("n",)))
    assert left.trials is not None
    assert [trial.loss for trial in left.trials.trials] == [0.1, 0.2]
    assert left.notes == ("n", "it lets only its best 2 pairs leave")
    few = searched(0.3, 0.1)
    assert two.apply(asked(), few) == few
    none = SearchReply("a", 60, None, ("has one class only",))
    assert two.apply(asked(), none) == none


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=5),
    st.floats(0, 1e100),
    st.integers(1, 17),
)
def test_what_is_rounded_is_still_valid_and_near(losses: list[float], error: float, digits: int) -> None:
    consent = Consent(pairs=Pairs(rounded=digits))
    trials = replace(found(0.5), scoring="max_error", trials=tuple(Trial(CONFIG, loss, error) for loss in losses))
    left = left_of(consent, SearchReply("a", 60, trials))
    assert left.trials is not None
    assert read_reply(reply_text(left, asked()), asked()) == left
    for trial, loss in zip(left.trials.trials, losses, strict=True):
        assert math.isclose(trial.loss, loss, rel_tol=10 ** (1 - digits), abs_tol=5e-324)
        assert trial.error is not None
        assert trial.error >= 0
    assert left_of(consent, left).trials == left.trials


def test_a_whole_run_goes_through_where_parties_round_and_cut() -> None:
    consents = {"a": Consent(pairs=Pairs(rounded=2)), "b": Consent(pairs=Pairs(best=2))}
    gates = [
        Gate(Party(name, Table(two_moons(rows, rows), "kind")), consents[name]) for name, rows in (("a", 60), ("b", 50))
    ]
    outcome = drive(single_shot(Request(family="svm", trials=4, folds=2)), in_process(gates))
    assert [len(party.trials) for party in outcome.found.trials] == [4, 2]
    assert all(f"{trial.loss:.2g}" == f"{trial.loss:g}" for trial in outcome.found.trials[0].trials)
    assert outcome.notes == ("a: it rounds losses to 2 digits", "b: it lets only its best 2 pairs leave")


def test_the_description_says_what_holds() -> None:
    text = Consent().describe()
    assert f"Models that may be trained: {', '.join(FAMILIES)}." in text
    assert "All pairs of a config and its loss leave as they are." in text
    assert "Sketches of the rows and learning curves do not leave." in text
    assert "Sums are made with at least 2 parties and leave under masks alone." in text
    other = Consent((), (), 7, 60, 99, True, Pairs(3, 20)).describe()
    for words in ("trained: none.", "at most 7 trials", "60 seconds", "fewer than 99 rows", "The best 20 pairs leave"):
        assert words in other
    assert "with losses rounded to 3 digits" in other
    assert "learning curves leave if a certificate is asked for" in other
    assert "Models that may be trained: any." in Consent.of_everything().describe()
    assert "Sums are made with at least 0 parties, with masks or without." in Consent.of_everything().describe()


@pytest.mark.parametrize(
    ("consent", "parties", "masked", "words"),
    [
        (Consent(), 3, False, "this party's sums leave under masks alone, and they are asked for without"),
        (Consent(), 2, False, "under masks alone"),
        (Consent(), 1, True, "this party adds up with at least 2 parties, and 1 are to take part"),
        (Consent(fewest_parties=4), 3, True, "at least 4 parties, and 3 are to take part"),
    ],
)
def test_sums_without_masks_or_with_few_are_refused(consent: Consent, parties: int, masked: bool, words: str) -> None:
    with pytest.raises(ConsentError, match=words):
        consent.check_sums(parties, masked=masked)


def test_masked_sums_are_allowed_and_others_where_a_party_says_so() -> None:
    Consent().check_sums(2, masked=True)
    Consent(unmasked_sums=True).check_sums(2, masked=False)
    Consent.of_everything().check_sums(1, masked=False)


@pytest.mark.parametrize("name", ["search", "confirm", "certify"])
def test_a_party_whose_pairs_never_leave_answers_only_what_adds_up(name: str, tmp_path: Path) -> None:
    consent = Consent.read(written(tmp_path, pairs="never", certificate=True))
    assert consent.pairs == Pairs(never=True)
    assert Consent.from_json(consent.to_json()) == consent
    assert "No pair of a config and its loss leaves; in a private search sums over parties do." in consent.describe()
    step = asked(name)
    with pytest.raises(ConsentError, match="no pair of this party leaves it, and this step asks for losses of its own"):
        consent.check(step)
    assert not isinstance(step, Describe)
    for private in (SearchPrivately(step.plan), Survey(step.plan, None, "forest"), asked("train")):
        consent.check(private)


def test_a_private_step_is_held_to_the_same_limits() -> None:
    plan = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", 101)
    with pytest.raises(ConsentError, match="at most 100 trials, and 101 are asked for"):
        Consent().check(SearchPrivately(plan))
    step = ConfirmPrivately(replace(plan, trials=5), None, (SVM_SPACE.default,) * 6)
    with pytest.raises(ConsentError, match="at most 5 configs to be measured, and 6 are asked for"):
        Consent(most_trials=5).check(step)


def test_sums_are_not_rounded_for_they_are_everybodys() -> None:
    step = Survey(SearchPlan("svm", "classification", SVM_SPACE, "r2"), None, "forest")
    reply = SurveyReply("a", 60, 3, (1 / 3,), (1 / 7,))
    assert Consent(pairs=Pairs(rounded=2)).apply(step, reply) == reply


def test_a_party_with_an_epsilon_answers_searches_under_noise_alone(tmp_path: Path) -> None:
    consent = Consent.read(written(tmp_path, epsilon=3.0))
    assert Consent.from_json(consent.to_json()) == consent
    assert "Sums of searches have noise: an epsilon of 3 in all." in consent.describe()
    survey = Survey(PLAN, None, "forest")
    consent.check(replace(survey, epsilon=3.0))
    for step in (survey, ConfirmPrivately(PLAN, None, (PLAN.space.default,))):
        with pytest.raises(ConsentError, match="leaves under noise alone: say --epsilon, at most 3"):
            consent.check(step)
    with pytest.raises(ConsentError, match="no pair of this party leaves it"):
        consent.check(asked("search"))
    with pytest.raises(InputError, match="epsilon must be a number above 0"):
        Consent.read(written(tmp_path, epsilon=0))
