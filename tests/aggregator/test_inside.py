"""A recommendation in a box, from trials of a wider space."""

import numpy as np
import pytest

from flora.aggregator.aggregation import aggregate
from flora.aggregator.inside import check_inside, recommended_inside
from flora.aggregator.surface import SurfaceChoice
from flora.errors import SpaceError
from flora.problem.space import Categorical, Integer, Real, SearchSpace
from flora.problem.trials import PartyTrials, Trial

WIDE = SearchSpace((Real("C", 0.01, 100.0, "log"),), {"C": 50.0})


def party(name: str, best: float) -> PartyTrials:
    tried = np.geomspace(0.01, 100, 40)
    trials = [Trial({"C": float(c)}, float(np.log(c / best) ** 2 / 100)) for c in tried]
    return PartyTrials(name, 50, WIDE, "score", tuple(trials))


def test_the_minimum_is_the_boxs_and_the_surface_all_trials() -> None:
    whole = aggregate([party("a", 0.1), party("b", 0.2)], SurfaceChoice(), 0)
    assert 0.05 < float(whole.recommendation.config["C"]) < 0.4
    box = SearchSpace((Real("C", 1.0, 10.0, "log"),))
    inside = recommended_inside(whole, box, 0)
    assert 1.0 <= float(inside.recommendation.config["C"]) < 2.0  # the box's end next to the minimum
    assert inside.surface is whole.surface
    assert inside.recommendation.loss > whole.recommendation.loss
    assert inside.verdict is not None
    assert whole.verdict is not None
    assert inside.verdict.gain.estimate < whole.verdict.gain.estimate


def test_the_whole_space_is_a_box_too() -> None:
    whole = aggregate([party("a", 3.0)], SurfaceChoice(), 0)
    assert recommended_inside(whole, WIDE, 0).recommendation == whole.recommendation


@pytest.mark.parametrize(
    ("box", "words"),
    [
        (SearchSpace((Real("C", 0.001, 1.0),)), "C: 0.001 of the box"),
        (SearchSpace((Real("D", 0.1, 1.0),)), r"must have the HPs \['C'\]"),
        (SearchSpace((Categorical("C", ("a", "b")),)), "C: 'a' of the box"),
    ],
)
def test_a_box_that_sticks_out_is_refused(box: SearchSpace, words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        check_inside(box, WIDE)


def test_categories_may_be_fewer() -> None:
    wide = SearchSpace((Categorical("k", ("a", "b", "c")), Integer("n", 1, 9)))
    check_inside(SearchSpace((Categorical("k", ("a", "c")), Integer("n", 2, 3))), wide)
