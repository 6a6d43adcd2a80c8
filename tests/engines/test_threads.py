import pandas as pd
import pytest

from flora.engines.threads import in_process
from flora.errors import DataError
from flora.problem.messages import Describe
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import single_shot
from tests.conftest import gate, two_moons

TABLE = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "b", "a", "b"]})


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_party_is_asked_in_the_order_of_names(jobs: int) -> None:
    ask = in_process([gate(name, TABLE, "y") for name in ("c", "a", "b")], jobs=jobs)
    replies = list(ask(Describe()))
    assert [(reply.party, reply.rows) for reply in replies] == [("a", 4), ("b", 4), ("c", 4)]


def test_two_parties_of_one_name_are_refused() -> None:
    with pytest.raises(DataError, match="'a' comes twice"):
        in_process([gate("a", TABLE, "y"), gate("a", TABLE, "y")])


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_first_error_in_a_search_ends_the_others(jobs: int) -> None:
    """The party that fails at once is the one that is named; the others stop after the trial they are at."""
    seen: list[int] = []

    def watch(_party: str, done: int, _total: int) -> None:
        seen.append(done)

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a fault at one party")

    request = Request(family="svm", trials=1000, folds=2)
    good = gate("good", two_moons(60, 1), progress=watch)
    bad = gate("bad", two_moons(60, 2), progress=fail)
    with pytest.raises(ZeroDivisionError):
        drive(single_shot(request), in_process([good, bad], jobs=jobs))
    assert len(seen) < 1000
