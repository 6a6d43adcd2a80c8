"""How far a training on all rows goes: past the range that a party searches, and no further than is due."""

import pytest

from flora.errors import SpaceError
from flora.growth import check_trainable, counts_by_held_rows, family_path, furthest
from flora.models import family_of
from flora.path import Path
from flora.space import Integer, Real, SearchSpace

HGB = family_of("hgb")
OWN = HGB.space("classification")
NARROW = SearchSpace((Integer("max_iter", 10, 50), Real("learning_rate", 0.01, 1.0, "log")))
OPEN = Path("max_iter", (10, 200), open=True)


def test_rows_are_enough_to_count_by_from_five_thousand_on() -> None:
    assert (counts_by_held_rows(4999), counts_by_held_rows(5000)) == (False, True)


class TestPath:
    def test_is_open_where_the_range_is_the_familys_own(self) -> None:
        path = family_path(OWN, HGB)
        assert path is not None
        assert path.open
        assert [furthest(path, parties) for parties in (1, 3, 32, 50)] == [200, 310, 800, 956]

    def test_is_not_where_the_range_is_a_users(self) -> None:
        path = family_path(NARROW, HGB)
        assert path is not None
        assert not path.open
        assert furthest(path, 50) == 50

    def test_is_none_where_a_family_passes_through_nothing(self) -> None:
        svm = family_of("svm")
        assert family_path(svm.space("classification"), svm) is None
        own = family_of("sklearn.neighbors:KNeighborsClassifier")  # it has no space of its own to compare with
        assert family_path(SearchSpace((Integer("n_neighbors", 1, 9),)), own) is None


class TestCheckTrainable:
    def test_an_open_path_has_an_end_too(self) -> None:
        check_trainable({**OWN.default, "max_iter": 2000}, OWN, OPEN)
        with pytest.raises(SpaceError, match="max_iter: a training goes to 2000 at most, got 2001"):
            check_trainable({**OWN.default, "max_iter": 2001}, OWN, OPEN)

    def test_a_users_own_range_holds(self) -> None:
        with pytest.raises(SpaceError, match="max_iter: 51 is not in"):
            check_trainable({"max_iter": 51, "learning_rate": 0.1}, NARROW, family_path(NARROW, HGB))

    @pytest.mark.parametrize(
        ("name", "value"), [("max_iter", 9), ("max_iter", "800"), ("max_iter", 10.5), ("learning_rate", 1.1)]
    )
    def test_all_else_must_be_in_the_space(self, name: str, value: object) -> None:
        with pytest.raises(SpaceError, match=name):
            check_trainable({**OWN.default, name: value}, OWN, OPEN)  # type: ignore[dict-item]

    def test_a_default_past_the_range_is_the_default(self) -> None:
        space = SearchSpace(NARROW.parameters, {"max_iter": 100, "learning_rate": 0.1})
        check_trainable(space.default, space, Path("max_iter", (10, 50)))

    def test_without_a_path_nothing_may_leave_the_space(self) -> None:
        with pytest.raises(SpaceError, match="max_iter"):
            check_trainable({**OWN.default, "max_iter": 201}, OWN, None)
