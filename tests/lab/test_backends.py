"""Pieces that are computed by the workers of a cluster."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster
from joblib import parallel_config
from joblib.parallel import get_active_backend

from flora.errors import InputError
from flora_lab import datasets
from flora_lab.backends import ADDRESS, backend
from flora_lab.main import main
from flora_lab.store import Store
from tests.lab.conftest import SMALL_SIZES, shrink_the_paper

SMALL = ["--trials", "3", "--cv", "2", "--central", "3", "--random", "2", "--splits", "1"]


@pytest.fixture
def client(small_data: Path) -> Iterator[Any]:
    """A scheduler and one worker: a process of its own, which has to be told of the small tables too.

    It has two threads: with one in the whole cluster, joblib would rather compute here.
    """
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=":0") as cluster,
        cluster.get_client() as client,
    ):
        client.run(shrink_the_paper, SMALL_SIZES)
        yield client


def pieces(results: Path) -> dict[str, Any]:
    return {name: store.read(name) for store in Store.all(results, "paper") for name in store.names()}


@pytest.mark.slow
def test_a_dask_worker_computes_the_same_results(
    client: Any, small_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = small_data / "here", small_data / "there"
    common = ["paper", "svm", "--dataset", "sonar", *SMALL, "--data", str(small_data)]
    assert main([*common, "--results", str(here)]) == 0
    monkeypatch.setenv(ADDRESS, client.scheduler.address)
    assert main([*common, "--results", str(there), "--backend", "dask"]) == 0
    assert len(pieces(here)) == 7  # three parties' searches, two on all rows, the row, FLoRA's answer
    assert pieces(there) == pieces(here)
    [tables] = client.run(tables_read).values()
    assert tables == 1  # it was the worker that read the data


def tables_read() -> int:
    return datasets._checked.cache_info().currsize


def test_what_is_missing_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESS, raising=False)
    with pytest.raises(InputError, match=r"address of your scheduler in \$DASK_SCHEDULER_ADDRESS"), backend("dask"):
        pass
    monkeypatch.setenv(ADDRESS, "nonsense://")
    with pytest.raises(InputError, match="no scheduler answers at nonsense://"), backend("dask"):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="pip install distributed"), backend("dask"):
        pass


def test_loky_leaves_joblibs_own_choice() -> None:
    with parallel_config(backend="threading"), backend("loky"):
        assert type(get_active_backend()[0]).__name__ == "ThreadingBackend"
