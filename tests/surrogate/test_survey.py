"""Where a private search looks: the same points wherever the rule runs, and ever nearer to the lowest."""

import numpy as np

from flora.problem.space import Points, SearchSpace
from flora.surrogate.regressors import Losses
from flora.surrogate.survey import FIRST, ROUNDS, WATCHED, surveyed, watched

SPACE = SearchSpace.from_json(
    {
        "x": {"type": "real", "range": [0.0, 1.0], "default": 0.25},
        "y": {"type": "real", "range": [0.0, 1.0], "default": 0.5},
        "kind": {"type": "cat", "values": ["a", "b"], "default": "b"},
    }
)


def bowl(points: Points) -> Losses:
    return (points[:, 0] - 0.7) ** 2 + (points[:, 1] - 0.3) ** 2 + 0.1 * points[:, 2]


def test_whoever_follows_the_rule_looks_at_the_same_points() -> None:
    asked: list[Points] = []

    def mean(points: Points) -> Losses:
        asked.append(points)
        return bowl(points)

    points, losses = surveyed(SPACE, 3, mean)
    assert [len(part) for part in asked] == [1 + FIRST, *(count for count, _ in ROUNDS)]
    assert np.array_equal(np.vstack(asked), points)
    told = iter(np.split(losses, np.cumsum([len(part) for part in asked])[:-1]))
    again, _ = surveyed(SPACE, 3, lambda _: next(told))
    assert np.array_equal(points, again)
    assert not np.array_equal(points, surveyed(SPACE, 4, bowl)[0])


def test_the_default_comes_first_and_the_rounds_come_nearer() -> None:
    points, losses = surveyed(SPACE, 3, bowl)
    assert SPACE.decode(points[:1]) == [SPACE.default]
    ends = np.cumsum([1 + FIRST, *(count for count, _ in ROUNDS)])
    first, _, last = (losses[:end].min() for end in ends)
    assert last < first / 4


def test_the_spread_is_asked_for_at_few_points() -> None:
    few = watched(np.array([3.0] * 100 + [1.0] + [2.0] * 9))
    assert few == [*range(WATCHED + 1), 100]
