"""How work is shared out, and how threads of BLAS and OpenMP are held to one."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import scipy.linalg  # noqa: F401  (a library must be loaded to be found)
from threadpoolctl import threadpool_info

from flora.core.workers import at_once, one_by_one, one_thread, workers


def square(number: int) -> int:
    return number * number


def threads_of(user_api: str) -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == user_api}


def test_results_come_in_the_items_order() -> None:
    assert one_by_one(square, [3, 1, 2]) == [9, 1, 4]
    with workers(1) as spread:
        assert spread is one_by_one
    with workers(2) as spread:
        assert spread(square, list(range(50))) == [k * k for k in range(50)]


def test_several_threads_may_share_the_workers() -> None:
    with workers(2) as spread, ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda start: spread(square, [start, start + 1]), [1, 10, 20]))
    assert found == [[1, 4], [100, 121], [400, 441]]


def test_one_thread_holds_in_the_threads_that_are_started_under_it() -> None:
    def share(_: int) -> set[int]:
        with one_thread():
            together.wait()
        return threads_of("blas")  # the others, and who started them, still work

    outside, together = threads_of("blas"), Barrier(2)
    with one_thread(), ThreadPoolExecutor(2) as threads:
        assert list(threads.map(share, range(2))) == [{1}, {1}]
    assert threads_of("blas") == outside


def test_one_thread_of_openmp() -> None:
    with one_thread():
        assert threads_of("openmp") == {1}


def test_how_many_work_at_the_same_time() -> None:
    with workers(1) as alone, workers(2) as two:
        assert (at_once(alone), at_once(two)) == (1, 2)
