"""The two boxes of the paper: the published search space, and the wider one in which much of it was searched.

The tables for 25 parties and more, and all of SVM and MLP, come from searches in the wide box, whose surface was then
minimised in the published one. The centralised search stays in the published box: there the best config is sought.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flora.aggregator.aggregation import aggregate
from flora.aggregator.inside import Inside
from flora.aggregator.recommend import recommend
from flora.aggregator.surface import SurfaceChoice
from flora.models import family_of
from flora.problem.family import PAPER, space_of
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import PartyTrials

BOXES = ("published", "wide")

WIDE: Mapping[str, Mapping[str, Mapping[str, float]]] = {  # the ends that differ from the published ones
    "hgb": {
        "max_iter": {"high": 500},
        "learning_rate": {"low": 1e-4, "high": 10},
        "min_samples_leaf": {"high": 100},
        "l2_regularization": {"low": 1e-8, "high": 10},
    },
    "svm": {"C": {"low": 1e-3, "high": 1e4}, "gamma": {"low": 1e-6, "high": 100}},
    "mlp": {"hidden_layer_sizes": {"high": 1000}, "alpha": {"low": 1e-7}, "learning_rate_init": {"high": 0.5}},
}


def box_of(family: str, box: str) -> SearchSpace:
    """Return the space of a family that the parties search."""
    published = space_of(family_of(family), "classification", PAPER)
    if box == "published":
        return published
    wider = [replace(p, **WIDE[family].get(p.name, {})) for p in published.parameters]  # type: ignore[arg-type]
    return SearchSpace(tuple(wider), published.default)


def recommended(parties: Sequence[PartyTrials], family: str, surface: str, seed: int) -> Config:
    """Return what a surface recommends in the published box, whichever box the parties searched."""
    learnt = aggregate(parties, SurfaceChoice(surface), seed)
    searched, box = parties[0].space, box_of(family, "published")
    if searched.digest == box.digest:
        return learnt.recommendation.config
    tried = [trial.config for party in parties for trial in party.trials]
    return recommend(Inside(learnt.surface, searched, box), box, seed, start=tried).config
