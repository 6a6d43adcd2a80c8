from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from flora.core.collective import Alone, Collective, Floats, Reduction
from flora.core.threads import in_step
from flora.models.hgb.family import GradientBoosting
from flora.models.hgb.stand_ins import with_stand_ins
from flora.models.rows import Rows
from flora.problem.space import Config
from tests.test_hgb import KINDS, Watched, skewed, table, text

HGB = GradientBoosting()
CUTS = {2: [500], 3: [550, 895], 5: [100, 300, 550, 895]}


class Distant(Watched):
    """A party's end that says it is far."""

    @property
    def far(self) -> bool:
        return True


Wrap = Callable[[Collective, int], Watched]


def train(parts: Sequence[Rows], config: Config, wrap: Wrap) -> tuple[set[str], list[Watched]]:
    """Return the texts of the parties' models, and their ends of the exchange."""

    def share(rank: int) -> Callable[[Collective], tuple[str, Watched]]:
        def run(collective: Collective) -> tuple[str, Watched]:
            end = wrap(collective, rank)
            return text(HGB.train(config, parts[rank], end, 0).model), end

        return run

    found = in_step([share(rank) for rank in range(len(parts))])
    return {model for model, _ in found}, [end for _, end in found]


CONFIGS: dict[str, Config] = {
    "plain": {},
    "sampled": {"bagging_fraction": 0.5, "bagging_freq": 1, "feature_fraction": 0.6, "max_features": 0.7},
    "random": {"extra_trees": True, "path_smooth": 1.0, "min_samples_leaf": 1},
    "small": {"max_leaf_nodes": 2, "l2_regularization": 1.0},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "parties"), [("plain", 2), ("plain", 5), ("sampled", 3), ("random", 3), ("small", 3)])
def test_the_trees_are_the_same_bytes_and_splits_are_not_asked_for(kind: str, name: str, parties: int) -> None:
    parts = skewed(table(kind), CUTS[parties])
    config = {"max_iter": 6, **CONFIGS[name]}
    (exchanged,), plain = train(parts, config, lambda collective, _: Watched(collective))
    (found_here,), ends = train(parts, config, lambda collective, _: Distant(collective))
    assert found_here == exchanged
    for before, after in zip(plain, ends, strict=True):
        assert after.shapes == before.shapes
        assert len(after.sizes) < len(before.sizes) - 5
        assert max(after.sizes, default=0) <= 24  # three numbers for each tree; a split candidate is longer


@pytest.mark.parametrize("at", [1, 20, 60, 75, 120])
def test_a_party_that_fails_ends_the_training_for_all(at: int) -> None:
    parts = skewed(table("binary", 300), [100, 250])
    with pytest.raises(ZeroDivisionError, match="a fault at one party"):
        train(parts, {"max_iter": 50}, lambda c, rank: Distant(c, breaks_at=at if rank == 1 else None))


def test_who_is_near_stands_alone() -> None:
    def own(collective: Collective) -> Mapping[str, object]:
        return {"collective": collective}

    alone = Alone()
    assert with_stand_ins(alone, own, own)["collective"] is alone


def test_a_stand_in_hears_what_the_party_is_told_and_says_nothing_outside() -> None:
    @dataclass(frozen=True)
    class Outside:
        rank: int = 1
        size: int = 3
        far: bool = True

        def allreduce(self, values: Floats, reduction: Reduction = "sum") -> Floats:  # noqa: ARG002
            return values + 100

        def allgather(self, data: bytes) -> Sequence[bytes]:
            return [b"first", data, b"last"]

    heard: dict[int, list[object]] = {}

    def seat(said: bytes) -> Callable[[Collective], None]:
        def run(collective: Collective) -> None:
            rank = collective.rank
            parts = collective.allgather(said)
            total = collective.allreduce(np.array([float(len(said))])).tolist()
            found = collective.allgather(b"found by %d" % rank)
            heard[rank] = [parts, total, found, collective.allgather(said), collective.size]

        return run

    with_stand_ins(Outside(), seat(b"own"), seat(b"another"))
    parts, found = [b"first", b"own", b"last"], [b"found by 0", b"found by 1", b"found by 2"]
    assert heard == {rank: [parts, [103.0], found, parts, 3] for rank in range(3)}
