"""What a run came to, as a record and as ``result.json``."""

import json
from dataclasses import replace

import pytest

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.recommend import Recommendation
from flora.aggregator.surface import fit_surface
from flora.aggregator.verdict import Verdict
from flora.engines.threads import in_process
from flora.errors import InputError
from flora.problem.trials import Gain, PartyTrials, Trial
from flora.program.drive import drive, timed
from flora.program.request import Request
from flora.program.result import Result, result_of
from flora.program.single_shot import Outcome, single_shot
from tests.conftest import SVM_SPACE, gate, two_moons

CONFIG = {"C": 2.0, "gamma": 0.1, "tol": 1e-3}


def trials(party: str, *losses: float) -> PartyTrials:
    configs = SVM_SPACE.decode(SVM_SPACE.encode([SVM_SPACE.default]).repeat(len(losses), axis=0))
    return PartyTrials(party, 50, SVM_SPACE, "accuracy", tuple(map(Trial, configs, losses)))


def aggregation(*parties: PartyTrials, recommendation: Recommendation, verdict: Verdict | None) -> Aggregation:
    ordered = tuple(sorted(parties, key=lambda party: party.party))
    surface = fit_surface("aplm", ordered, SVM_SPACE, 0)
    return Aggregation(ordered, surface, recommendation, verdict)


def result(seed: int = 7) -> Result:
    verdict = Verdict(Gain(0.05, 0.01), "predicted")
    recommendation = Recommendation(CONFIG, CONFIG, 0.1, 0.02)
    found = aggregation(trials("b", 0.2), trials("a", 0.3, 0.25), recommendation=recommendation, verdict=verdict)
    return result_of(Outcome(found), Request(seed=seed), {})


def test_a_result_is_json_and_its_parties_are_sorted() -> None:
    document = result().to_document()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [(p["name"], p["trials"], p["best_loss"]) for p in document["parties"]] == [("a", 2, 0.25), ("b", 1, 0.2)]
    assert document["expected_gain"]["low"] == pytest.approx(0.05 - 1.645 * 0.01, abs=1e-5)
    assert (document["verdict"], document["seed"], document["model"]) == ("use", 7, None)
    assert document["gamma_p"] == pytest.approx(0.8 / 0.75)
    assert {"flora", "python", "scikit-learn"} <= set(document["versions"])
    assert "gain" not in document["parties"][0]  # nothing was measured


@pytest.fixture(scope="module")
def whole() -> Result:
    """The result of a run that does all that there is."""
    request = Request(family="svm", trials=3, folds=2, confirm=2, trainings=5, certificate=True)
    seconds: dict[str, float] = {}
    gates = [gate(name, two_moons(60, k)) for k, name in enumerate("ab")]
    outcome = drive(single_shot(request), timed(in_process(gates), seconds))
    return result_of(outcome, request, seconds)


def test_a_whole_runs_result_comes_back_from_its_text(whole: Result) -> None:
    found = whole
    again = Result.from_text(found.to_text(), "result.json")
    assert again.to_text() == found.to_text()
    assert again.parties == found.parties
    assert again.measured
    assert [party.measured is not None for party in again.parties] == [True, True]
    assert sorted(found.seconds) == ["certify", "confirm", "describe", "search", "train"]
    assert found.certificate is not None
    assert (found.certificate.config, again.certificate) == (found.trained_config, found.certificate)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 1}, "certificate: must be a certificate of version 2"),
        ({"measured": [{"basis": "guessed"}]}, r"certificate.*measured\[0\]"),
        ({"contributions": {}}, "certificate: contributions must be of the terms"),
        ({"contributions": {"luck": 1.0}}, "certificate: contributions must be of the terms"),
        ({"bound": {"value": 1.0, "status": "hoped"}}, r"certificate.*bound.*status must be one of"),
        ({"luck": 1.0}, "certificate.*unknown field 'luck'"),
    ],
)
def test_a_certificate_that_is_none_is_refused(whole: Result, change: dict[str, object], words: str) -> None:
    document = json.loads(whole.to_text())
    document["certificate"] |= change
    with pytest.raises(InputError, match=words):
        Result.from_text(json.dumps(document), "result.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "flora-trials"}, "expected 'flora-result' version 1, got"),
        ({"parties": [{}]}, r"parties\[0\] lacks the field 'name'"),
        ({"verdict": "perhaps"}, "verdict must be one of"),
        ({"secret": 1}, "unknown field 'secret'"),
        ({"seed": "0"}, "seed must be a whole number, got '0'"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(change: dict[str, object], words: str) -> None:
    text = json.dumps({**result().to_document(), **change})
    with pytest.raises(InputError, match=f"^result.json: .*{words}"):
        Result.from_text(text, "result.json")


def test_a_result_says_whether_its_recommendation_is_the_measured_config() -> None:
    found = result()
    assert found.measured_config == found.config
    assert replace(found, candidates=()).measured_config == found.config
