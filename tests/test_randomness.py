import pytest

from flora.randomness import derived_seed, stream


def test_same_name_same_stream() -> None:
    assert stream(1, "a", 2).random(5).tolist() == stream(1, "a", 2).random(5).tolist()
    assert derived_seed(1, "a", 2) == derived_seed(1, "a", 2)


def test_streams_are_the_same_on_every_machine() -> None:
    assert stream(5489, "party", 3).integers(1000, size=4).tolist() == [701, 160, 934, 911]
    assert derived_seed(5489, "party", 3) == 1577754541


NAMES = [(), ("a",), ("b",), ("a", "b"), ("b", "a"), ("ab",), ("a", 1), ("a", 2), ("", "a")]


def test_every_name_and_every_seed_has_a_stream_of_its_own() -> None:
    drawn = {stream(seed, *name).integers(2**60) for seed in (0, 1, 2**40) for name in NAMES}
    assert len(drawn) == 3 * len(NAMES)
    assert len({derived_seed(seed, *name) for seed in (0, 1) for name in NAMES}) == 2 * len(NAMES)


@pytest.mark.parametrize("seed", range(50))
def test_derived_seeds_fit_every_library(seed: int) -> None:
    assert 0 <= derived_seed(seed, "x") < 2**31
