"""What a run leaves behind, and the folder it does not take from another."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flora.aggregation import Aggregation
from flora.errors import InputError
from flora.recommendation import Recommendation
from flora.result import RunFolder, aggregate_document, safe_name
from flora.surface import SurfaceChoice, fit_surface
from flora.trials import PartyTrials, Trial
from flora.verdict import Gain, Verdict
from tests.conftest import SVM_SPACE


def trials(party: str, *losses: float) -> PartyTrials:
    configs = SVM_SPACE.decode(SVM_SPACE.encode([SVM_SPACE.default]).repeat(len(losses), axis=0))
    return PartyTrials(party, 50, SVM_SPACE, "accuracy", tuple(map(Trial, configs, losses)))


def aggregation(*parties: PartyTrials, recommendation: Recommendation, verdict: Verdict | None) -> Aggregation:
    ordered = tuple(sorted(parties, key=lambda party: party.party))
    surface = fit_surface("aplm", ordered, SVM_SPACE, 0)
    return Aggregation(ordered, surface, recommendation, verdict)


def test_a_document_is_json_and_its_parties_are_sorted() -> None:
    recommendation = Recommendation({"C": 2.0, "gamma": 0.1, "tol": 1e-3}, 0.1, 0.02)
    verdict = Verdict(Gain(0.05, 0.01), "predicted")
    found = aggregation(trials("b", 0.2), trials("a", 0.3, 0.25), recommendation=recommendation, verdict=verdict)
    document = aggregate_document(found, SurfaceChoice(), "mean", 7)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [(p["name"], p["trials"], p["best_loss"]) for p in document["parties"]] == [("a", 2, 0.25), ("b", 1, 0.2)]
    assert document["expected_gain"]["low"] == pytest.approx(0.04)
    assert (document["verdict"], document["seed"], document["model"]) == ("use", 7, None)
    assert document["gamma_p"] == pytest.approx(0.8 / 0.75)
    assert {"flora", "python", "lightgbm", "scikit-learn"} <= set(document["versions"])


@given(st.text(min_size=1, max_size=60))
def test_any_party_has_a_file_of_its_own_inside_the_folder(name: str) -> None:
    path = Path("runs") / "trials" / f"{safe_name(name)}.json"
    assert path.parent.resolve() == (Path("runs") / "trials").resolve()
    assert path.resolve().parent == (Path("runs") / "trials").resolve()
    assert not safe_name(name).startswith(".")


def test_names_that_differ_have_files_that_differ() -> None:
    names = ["a/b", "a%2Fb", "a b", "a.b", ".a", "..", "<script>", "Ä"]
    assert len({safe_name(name) for name in names}) == len(names)


def test_a_folder_is_continued_by_its_own_run_only(tmp_path: Path) -> None:
    RunFolder(tmp_path / "run", {"seed": 0, "trials": 5}).begin()
    RunFolder(tmp_path / "run", {"seed": 0, "trials": 5})
    with pytest.raises(InputError, match="holds another run: its seed is 0, now 1"):
        RunFolder(tmp_path / "run", {"seed": 1, "trials": 5})
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(InputError, match="is not a folder of this run"):
        RunFolder(tmp_path / "run", {"seed": 0})
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError, match="is not a folder of this run"):
        RunFolder(tmp_path / "file", {"seed": 0})
