"""What a verdict rests on: stored without it, and asked again."""

import json

import pytest

from flora.aggregator.comparison import Comparison
from flora.core.codec import read, to_document
from flora.errors import InputError
from flora.problem.trials import Gain
from flora_lab.evidence import RunEvidence

FOLDS = Comparison((0.3, 0.31, 0.29), (0.2, 0.22, 0.18))


def test_comes_back_as_it_was() -> None:
    for evidence in (RunEvidence(FOLDS, Gain(0.1, 0.02, 3.5), 8), RunEvidence(None, Gain(0.1, 0.0), 8)):
        assert read(RunEvidence, json.loads(json.dumps(to_document(evidence)))) == evidence
    with pytest.raises(InputError):
        read(RunEvidence, {"trained": None})


def test_trainings_decide_where_there_were_any() -> None:
    evidence = RunEvidence(FOLDS, Gain(-0.1, 0.02, 3.5), 8)
    assert (evidence.verdict(3).basis, evidence.verdict(3).decision) == ("trained", "use")
    assert (evidence.without_trainings.basis, evidence.without_trainings.decision) == ("measured", "keep-defaults")
    nothing_else = RunEvidence(Comparison((0.3, 0.3), ()), Gain(-0.1, 0.02, 3.5), 8)  # the default was recommended
    assert nothing_else.verdict(3) == nothing_else.without_trainings
