"""The published box and the wide one."""

import numpy as np
import pytest

from flora.aggregator.inside import Inside
from flora.problem.space import Config, Points
from flora.problem.trials import PartyTrials, Trial
from flora_lab.paper.boxes import WIDE, box_of, recommended


@pytest.mark.parametrize("family", WIDE)
def test_the_wide_box_holds_the_published_one_and_has_its_default(family: str) -> None:
    published, wide = box_of(family, "published"), box_of(family, "wide")
    assert wide.names == published.names
    assert wide.default == published.default
    for corner in (np.zeros((1, published.width)), np.ones((1, published.width))):
        wide.check(published.decode(corner)[0])
    assert wide.to_json() != published.to_json()


def test_the_ends_are_the_papers() -> None:
    ranges = {name: hp["range"] for name, hp in box_of("hgb", "wide").to_json().items()}
    assert ranges == {
        "max_iter": [10, 500],
        "learning_rate": [1e-4, 10],
        "min_samples_leaf": [1, 100],
        "l2_regularization": [1e-8, 10],
    }
    assert box_of("svm", "wide").to_json()["tol"]["range"] == [1e-5, 1e-1]
    assert box_of("mlp", "wide").to_json()["alpha"]["range"] == [1e-7, 10]


class Gammas:
    """A surface that tells which gamma it was asked about."""

    def __call__(self, points: Points) -> Points:
        return np.array([np.log10(float(config["gamma"])) for config in box_of("svm", "wide").decode(points)])

    error = __call__


def test_a_point_of_the_box_is_the_same_config_in_the_wide_space() -> None:
    inside = Inside(Gammas(), box_of("svm", "wide"), box_of("svm", "published"))
    ends = np.array([[0.5, 0.0, 0.5], [0.5, 1.0, 0.5]])
    assert inside(ends) == pytest.approx([-5, 1])
    assert inside.error(ends) == pytest.approx([-5, 1])


def bowl(box: str, middle: float) -> PartyTrials:
    """Return trials whose loss rises with the distance of gamma from ``middle``, in decades."""
    space, rng = box_of("svm", box), np.random.default_rng(0)
    configs: list[Config] = space.decode(space.sample(rng, 60))
    tried = [Trial(c, 0.05 * abs(np.log10(float(c["gamma"])) - middle), 0.01, 5, 50) for c in configs]
    return PartyTrials("a", 50, space, "balanced_accuracy", tuple(tried), (), "svm", "classification")


def test_a_minimum_outside_the_published_box_is_sought_at_its_edge() -> None:
    assert float(recommended([bowl("wide", 2.0)], "svm", "sgm", 1)["gamma"]) > 2
    assert 0.003 < float(recommended([bowl("wide", -2.0)], "svm", "sgm", 1)["gamma"]) < 0.03
    assert 0.003 < float(recommended([bowl("published", -2.0)], "svm", "sgm", 1)["gamma"]) < 0.03
