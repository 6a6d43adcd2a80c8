"""What a party allows: no step can widen it, and what it cuts stays valid."""

import json
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.engines.threads import in_process
from flora.errors import ConsentError, FloraError, InputError, WireError
from flora.party.consent import LEAVES, SCORINGS, Consent, DataSource
from flora.party.party import Party
from flora.party.sketch import sketch_of
from flora.problem.learning_curve import CurvePoint, LearningCurve
from flora.problem.messages import Confirmation, Reply, Step, StepName
from flora.problem.plan import SearchPlan
from flora.problem.trials import PartyTrials, Trial
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import single_shot
from flora.program.wire import reply_from_json, reply_to_json
from tests.conftest import SVM_SPACE, two_moons

PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=100)
CONFIG = {"C": 1.23456789, "gamma": 1 / 3, "tol": 1e-3}


def asked(name: Any = "search", configs: int = 1, **plan: Any) -> Step:
    payload: dict[str, Any] = {"plan": {**PLAN.to_json(), **plan}, "schema": None}
    extra = {"confirm": {"configs": [CONFIG] * configs}, "certify": {"configs": [CONFIG] * configs}}
    return Step(
        name, payload | extra.get(name, {"config": CONFIG, "held": 0.0, "choose": False} if name == "train" else {})
    )


def written(path: Path, **document: Any) -> Path:
    file = path / "flora.json"
    file.write_text(json.dumps(document))
    return file


def test_no_file_means_the_documented_defaults(tmp_path: Path) -> None:
    consent = Consent.read(tmp_path / "flora.json")
    assert consent == Consent() == Consent.read(written(tmp_path))
    assert consent.families == ("hgb", "svm", "mlp")
    assert (consent.most_trials, consent.most_seconds, consent.fewest_rows) == (100, 86_400, 40)
    assert (consent.certificate, consent.digits, consent.best, consent.data) == (False, None, None, None)


def test_the_security_page_has_every_key_and_its_default() -> None:
    page = (Path(__file__).parent.parent / "docs" / "security.md").read_text("utf-8")
    defaults = {key: f"`{json.dumps(value)}`" for key, value in Consent().to_json().items()} | {"data": "none"}
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
        "data": {"path": "/data/rows.csv", "target": "kind", "drop": ["id"]},
    }
    consent = Consent.read(written(tmp_path, **document))
    expected = Consent(
        ("svm", "sklearn.linear_model:Ridge"),
        ("r2",),
        20,
        0.5,
        7,
        True,
        3,
        10,
        DataSource("/data/rows.csv", "kind", ("id",)),
    )
    assert consent == expected
    assert consent.to_json() == document
    assert Consent.from_json(Consent().to_json()) == Consent()
    assert Consent().to_json()["pairs"] == "as-is"


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"trials": 5}, r"the file has the unknown key 'trials', it may have \['certificate', 'data', 'families'"),
        ({"families": "hgb"}, "families must be a list of texts, got 'hgb'"),
        ({"families": [1]}, r"families must be a list of texts, got \[1\]"),
        ({"scorings": None}, "scorings must be a list of texts, got None"),
        ({"most_trials": 0}, "most_trials must be a whole number from 1"),
        ({"most_trials": True}, "most_trials must be a whole number from 1 to .*, got True"),
        ({"most_trials": 1.5}, "most_trials must be a whole number"),
        ({"most_seconds": 0}, "most_seconds must be a number above 0, got 0"),
        ({"most_seconds": "60"}, "most_seconds must be a number above 0, got '60'"),
        ({"fewest_rows": -1}, "fewest_rows must be a whole number"),
        ({"certificate": "yes"}, "certificate must be true or false, got 'yes'"),
        ({"certificate": 1}, "certificate must be true or false, got 1"),
        ({"pairs": "rounded"}, r"pairs \(which is \"as-is\", or an object\) must be a JSON object, got 'rounded'"),
        ({"pairs": {}}, 'pairs must be "as-is", or say "rounded": DIGITS or "best": COUNT'),
        ({"pairs": {"digits": 3}}, "has the unknown key 'digits', it may have .'best', 'rounded'."),
        ({"pairs": {"rounded": 0}}, "pairs.rounded must be a whole number from 1 to 17, got 0"),
        ({"pairs": {"best": 10**9}}, "pairs.best must be a whole number from 1 to 10000"),
        ({"data": {"path": "a.csv"}}, "data.target must be text, got None"),
        ({"data": {"path": "a.csv", "target": "y", "password": 1}}, "data has the unknown key 'password'"),
        ({"data": {"path": "a.csv", "target": "y", "drop": "id"}}, "data.drop must be a list of texts"),
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
        (Consent(), asked(family="sklearn.svm:SVC"), r"\(hgb, svm, mlp\), and 'sklearn.svm:SVC' is asked for"),
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


@pytest.mark.parametrize("name", ["search", "confirm", "train"])
def test_what_is_allowed_passes(name: Any) -> None:
    Consent().check(asked(name))
    Consent().check(Step("describe", {"schema": None, "task": None}))
    Consent(certificate=True).check(asked("certify"))


@pytest.mark.parametrize(
    "step",
    [
        Step("shell", {"plan": PLAN.to_json(), "schema": None}),  # type: ignore[arg-type]
        Step("search", {"schema": None}),
        Step("search", {"plan": PLAN.to_json(), "schema": None, "consent": {"certificate": True}}),
        Step("search", {"plan": {**PLAN.to_json(), "most_trials": 10_000}, "schema": None}),
    ],
)
def test_a_step_cannot_bring_its_own_consent(step: Step) -> None:
    with pytest.raises(WireError):
        Consent().check(step)


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


def test_as_they_are_means_untouched() -> None:
    reply = Reply("a", 60, trials=found(0.123456, 0.2), notes=("n",))
    assert Consent().apply(asked(), reply) == reply


def test_rounding_reaches_every_loss_and_no_config() -> None:
    sketch = sketch_of(np.random.default_rng(0).normal(size=(60, 2)), party="a", seed=0)
    curves = (LearningCurve("a", CONFIG, (CurvePoint(9, 0.98765, 0.012345),)),)
    confirmations = (Confirmation(Trial(CONFIG, 0.123456, 0.0123456), -0.0123456, 1.23456e-5),)
    consent, reply = Consent(digits=2), Reply("a", 60, trials=found(0.123456, 123456.0))
    left = consent.apply(asked(), reply)
    assert left.trials is not None
    assert reply.trials is not None
    assert [(trial.loss, trial.error) for trial in left.trials.trials] == [(0.12, 0.012), (120000.0, 0.012)]
    assert [trial.config for trial in left.trials.trials] == [trial.config for trial in reply.trials.trials]
    assert left.trials.space == SVM_SPACE
    assert left.notes == ("it rounds losses to 2 digits",)
    left = consent.apply(asked("confirm"), Reply("a", 60, confirmations=confirmations))
    assert left.confirmations == (Confirmation(Trial(CONFIG, 0.12, 0.012), -0.012, 1.2e-5),)
    left = consent.apply(asked("certify"), Reply("a", 60, curves=curves, sketch=sketch))
    assert left.curves == (LearningCurve("a", CONFIG, (CurvePoint(9, 0.99, 0.012),)),)
    assert left.sketch == sketch


def test_a_reply_holds_what_its_step_is_about_and_nothing_else() -> None:
    listed = [name for names in LEAVES.values() for name in names]
    assert sorted(["party", "rows", "notes", *listed]) == sorted(field.name for field in fields(Reply))
    assert list(LEAVES) == list(get_args(StepName))
    for step, reply in ((asked(), Reply("a", 1, model=b"m")), (asked("train"), Reply("a", 1, trials=found(0.5)))):
        with pytest.raises(
            ConsentError, match=r"a reply to '(search|train)' holds no '(model|trials)', and this one did"
        ):
            Consent().apply(step, reply)


def test_only_the_best_pairs_leave_and_the_aggregator_is_told() -> None:
    left = Consent(best=2).apply(asked(), Reply("a", 60, trials=found(0.3, 0.1, 0.2)))
    assert left.trials is not None
    assert [trial.loss for trial in left.trials.trials] == [0.1, 0.2]
    assert left.notes == ("it lets only its best 2 pairs leave",)
    few = Reply("a", 60, trials=found(0.3, 0.1))
    assert Consent(best=2).apply(asked(), few) == few


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5),
    st.floats(0, allow_infinity=False),
    st.integers(1, 17),
)
def test_what_is_rounded_is_still_valid_and_near(losses: list[float], error: float, digits: int) -> None:
    trials = replace(found(0.5), trials=tuple(Trial(CONFIG, loss, error) for loss in losses))
    left = reply_from_json(reply_to_json(Consent(digits=digits).apply(asked(), Reply("a", 60, trials=trials)))).trials
    assert left is not None
    for trial, loss in zip(left.trials, losses, strict=True):
        assert math.isclose(trial.loss, loss, rel_tol=10 ** (1 - digits), abs_tol=5e-324)
        assert trial.error is not None
        assert trial.error >= 0
    again = Consent(digits=digits).apply(asked(), Reply("a", 60, trials=left))
    assert again.trials == left


def test_a_whole_run_goes_through_where_parties_round_and_cut() -> None:
    parties = [Party(name, two_moons(rows, rows), "kind") for name, rows in (("a", 60), ("b", 50))]
    consents = {"a": Consent(digits=2), "b": Consent(best=2)}
    ask = in_process(parties)

    def allowed(step: Step) -> list[Reply]:
        for consent in consents.values():
            consent.check(step)
        return [consents[reply.party].apply(step, reply) for reply in ask(step)]

    outcome = drive(single_shot(Request(family="svm", trials=4, folds=2)), allowed)
    assert [len(party.trials) for party in outcome.found.trials] == [4, 2]
    assert all(f"{trial.loss:.2g}" == f"{trial.loss:g}" for trial in outcome.found.trials[0].trials)
    assert outcome.notes == ("a: it rounds losses to 2 digits", "b: it lets only its best 2 pairs leave")


def test_the_description_says_what_holds() -> None:
    text = Consent().describe()
    assert "Models that may be trained: hgb, svm, mlp." in text
    assert "All pairs of a config and its loss leave as they are." in text
    assert "Sketches of the rows and learning curves do not leave." in text
    other = Consent((), (), 7, 60, 99, True, 3, 20).describe()
    for words in ("trained: none.", "at most 7 trials", "60 seconds", "fewer than 99 rows", "The best 20 pairs leave"):
        assert words in other
    assert "with losses rounded to 3 digits" in other
    assert "learning curves leave if a certificate is asked for" in other
