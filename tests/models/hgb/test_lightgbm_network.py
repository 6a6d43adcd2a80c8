import ctypes as c
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from flora.core.collective import Alone, Collective, Floats, Reduction
from flora.core.threads import in_step
from flora.errors import CollectiveError
from flora.models.hgb.lightgbm_network import Network, connected
from tests.conftest import PassesOn

PARAMS: dict[str, Any] = {
    "objective": "regression",
    "num_threads": 1,
    "verbosity": -1,
    "tree_learner": "data",
    "pre_partition": True,
    "num_machines": 2,
    "min_data_in_leaf": 5,
}


class CableCutError(Exception):
    pass


@dataclass
class Cut(PassesOn):
    """A collective that fails at one call, and counts the calls."""

    inner: Collective
    at: int
    calls: int = field(default=0)

    def allreduce(self, values: Floats, reduction: Reduction = "sum") -> Floats:
        self._count()
        return self.inner.allreduce(values, reduction)

    def allgather(self, data: bytes) -> Sequence[bytes]:
        self._count()
        return self.inner.allgather(data)

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            raise CableCutError


def ints(*values: int) -> Any:
    return (c.c_int * len(values))(*values)


def reduce_scatter(network: Network, own: Floats, lengths: Sequence[int], type_size: int = 8) -> Floats:
    source, target = own.copy(), np.full(len(own), 9.0)
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    network.reduce_scatter(
        source.ctypes.data, source.nbytes, type_size, ints(*starts), ints(*lengths), 2, target.ctypes.data,
        target.nbytes, 0,
    )  # fmt: skip
    return target


def allgather(network: Network, own: bytes, lengths: Sequence[int]) -> bytes:
    source = c.create_string_buffer(own, len(own))
    target = c.create_string_buffer(b"?" * sum(lengths), sum(lengths))
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    network.allgather(
        c.addressof(source), len(own), ints(*starts), ints(*lengths), len(lengths),
        c.addressof(target), sum(lengths),
    )  # fmt: skip
    return target.raw


def test_reduce_scatter_hands_out_each_partys_block_of_the_sum() -> None:
    def share(own: list[float]) -> Callable[[Collective], list[float]]:
        return lambda collective: reduce_scatter(Network(collective), np.array(own, dtype=float), [8, 16]).tolist()

    assert in_step([share([1, 2, 3]), share([10, 20, 30])]) == [[11, 9, 9], [22, 33, 9]]


def test_allgather_puts_all_bytes_in_the_order_of_the_ranks() -> None:
    def share(own: bytes) -> Callable[[Collective], bytes]:
        return lambda collective: allgather(Network(collective), own, [2, 3])

    assert in_step([share(b"ab"), share(b"cde")]) == [b"abcde", b"abcde"]


def test_what_is_not_of_8_bytes_is_refused_and_nothing_more_is_exchanged() -> None:
    line = Cut(Alone(), at=99)
    network = Network(line)
    assert reduce_scatter(network, np.ones(2), [16], type_size=4).tolist() == [0, 0]
    assert allgather(network, b"ab", [2]) == b"\0\0"
    assert line.calls == 0
    with pytest.raises(CollectiveError, match="8 bytes here, got 4"):
        network.check()


def test_parties_of_different_lengths_are_out_of_step() -> None:
    network = Network(Alone())
    assert allgather(network, b"abc", [2]) == b"\0\0"
    with pytest.raises(CollectiveError, match=r"\[3\] bytes, not \[2\]"):
        network.check()


def boost(collective: Collective, params: dict[str, Any]) -> int:
    """Return the number of trees that two parties grow together."""
    X = np.random.default_rng(0).normal(size=(60, 4))
    dataset = lgb.Dataset(X, X[:, 0] + X[:, 1] ** 2 + collective.rank, params=params).construct()
    with connected(collective) as network:
        booster = lgb.Booster(params, dataset)
        network.check()
        for _ in range(3):
            booster.update()
            network.check()
    return int(booster.num_trees())


@pytest.mark.parametrize("at", [1, 2, 3, 4, 9, 40])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_failed_exchange_ends_the_training_at_all_parties(at: int, rank: int) -> None:
    seen: list[BaseException] = []

    def share(own_rank: int) -> Callable[[Collective], int]:
        def run(collective: Collective) -> int:
            try:
                return boost(Cut(collective, at) if own_rank == rank else collective, PARAMS)
            except Exception as error:
                seen.append(error)
                raise

        return run

    with pytest.raises(CableCutError):
        in_step([share(0), share(1)])
    assert sorted(isinstance(error, CollectiveError) for error in seen) == [False, True]
    assert in_step([lambda collective: boost(collective, PARAMS)] * 2) == [3, 3]


def test_the_network_is_gone_after_the_training() -> None:
    def run(collective: Collective) -> tuple[int, int]:
        line = Cut(collective, at=10**9)
        boost(line, PARAMS)
        before = line.calls
        X = np.random.default_rng(1).normal(size=(60, 4))
        lgb.train({**PARAMS, "num_machines": 1}, lgb.Dataset(X, X[:, 0]), 2)
        return before, line.calls

    for before, after in in_step([run, run]):
        assert before == after > 0


def test_integer_histograms_are_refused() -> None:
    with pytest.raises(CollectiveError, match="numbers of 8 bytes"):
        in_step([lambda collective: boost(collective, {**PARAMS, "use_quantized_grad": True})] * 2)


def test_one_party_alone_needs_no_network() -> None:
    assert boost(Alone(), {**PARAMS, "num_machines": 1}) == 3
