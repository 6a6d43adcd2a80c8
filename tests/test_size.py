"""One config at the size of a party and of all, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flora.models import family_of
from flora.size import AS_IT_IS, GROWTH, Size, rows_of_all
from flora.space import Config

HGB = family_of("hgb")
SMALL = Size.of(1 / 32, HGB.grows)  # 32 ** -0.4 is 1/4


def test_what_counts_trees_or_rows_is_smaller_at_a_party() -> None:
    config = {"max_iter": 200, "learning_rate": 0.3, "min_samples_leaf": 20, "l2_regularization": 0.8}
    expected = {"max_iter": 50, "learning_rate": 0.3, "min_samples_leaf": 5, "l2_regularization": pytest.approx(0.2)}
    assert SMALL.at_party(config) == expected


def test_a_count_stays_a_whole_number_of_at_least_one() -> None:
    found = SMALL.at_party({"max_iter": 10, "min_samples_leaf": 1})
    assert found == {"max_iter": 2, "min_samples_leaf": 1}
    assert all(type(value) is int for value in found.values())


def test_what_is_no_number_above_zero_stays() -> None:
    size = Size.of(0.01, {"warm", "depth", "kind", "l2"})
    config: Config = {"warm": True, "depth": -1, "kind": "a", "l2": 0.0}
    assert size.at_party(config) == config


@given(st.integers(1, 200), st.floats(0.001, 1))
def test_a_party_of_all_rows_changes_nothing(trees: int, share: float) -> None:
    config: Config = {"max_iter": trees, "l2_regularization": 0.5}
    assert Size.of(1.0, HGB.grows).at_party(config) == config == AS_IT_IS.at_party(config)
    assert 1 <= int(Size.of(share, HGB.grows).at_party(config)["max_iter"]) <= trees
    assert Size.of(share, HGB.grows).factor == share**GROWTH


def test_the_rows_of_all_matter_from_five_parties_on_if_all_are_known() -> None:
    assert rows_of_all({f"p{k}": 10 for k in range(5)}) == 50
    assert rows_of_all({f"p{k}": 10 for k in range(4)}) is None
    assert rows_of_all({f"p{k}": 10 for k in range(5)} | {"p5": None}) is None


def test_one_that_states_a_billion_rows_moves_nothing() -> None:
    honest = {"a": 10, "b": 20, "c": 30, "d": 40}
    assert rows_of_all({**honest, "e": 10**9}) == rows_of_all({**honest, "e": 40}) == 140
    assert rows_of_all({**honest, "e": 1}) == 10 + 20 + 30 + 30 + 1


@pytest.mark.parametrize("name", ["svm", "mlp"])
def test_families_that_count_nothing_do_not_change(name: str) -> None:
    family = family_of(name)
    default = family.space("classification").default
    assert Size.of(0.01, family.grows).at_party(default) == default
