"""A recommendation inside of a box, where the parties have searched a wider space."""

from dataclasses import dataclass, replace

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.effort import effort_for, starts_of
from flora.aggregator.recommend import recommend, recommendation_at
from flora.aggregator.surface import LossSurface
from flora.aggregator.verdict import predicted_verdict, tried_configs
from flora.errors import SpaceError
from flora.problem.space import Categorical, Points, SearchSpace
from flora.surrogate.regressors import Losses


@dataclass(frozen=True)
class Inside:
    """A surface over the cube of the space that was searched, as one over the cube of a box inside it."""

    surface: LossSurface
    searched: SearchSpace
    box: SearchSpace

    def __call__(self, points: Points) -> Losses:
        """Return the predicted loss at points of the box: (n, d) -> (n,)."""
        return self.surface(self._outer(points))

    def error(self, points: Points) -> Losses:
        """Return the standard deviation of that belief: (n, d) -> (n,)."""
        return self.surface.error(self._outer(points))

    def _outer(self, points: Points) -> Points:
        return self.searched.encode(self.box.decode(points))


def recommended_inside(found: Aggregation, box: SearchSpace, seed: int) -> Aggregation:
    """Return the same aggregation with the minimum over the box; the surface is learnt from all trials."""
    searched = found.space
    check_inside(box, searched)
    start, size = starts_of(found.trials, seed), effort_for(len(found.trials)).size
    config = recommend(Inside(found.surface, searched, box), box, seed, start=start, size=size).config
    tried = tried_configs(found.trials)
    verdict = predicted_verdict(found.surface, searched, config, tried) if searched.default else None
    return replace(found, recommendation=recommendation_at(found.surface, searched, config), verdict=verdict)


def check_inside(box: SearchSpace, searched: SearchSpace) -> None:
    """Raise unless each config of the box is one of the space that was searched."""
    if set(box.names) != set(searched.names):
        raise SpaceError(f"the box must have the HPs {sorted(searched.names)}, got {sorted(box.names)}")
    outer = {parameter.name: parameter for parameter in searched.parameters}
    for inner in box.parameters:
        ends = inner.values if isinstance(inner, Categorical) else (inner.low, inner.high)
        for value in ends:
            if not outer[inner.name].contains(value):
                raise SpaceError(f"{inner.name}: {value!r:.80} of the box is not in the space that was searched")
