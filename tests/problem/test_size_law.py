"""How much more all parties' rows take."""

import pytest

from flora.problem.size_law import further, times_more


def test_all_parties_rows_get_further_than_those_of_one() -> None:
    assert [further(parties) for parties in (1, 3, 32)] == pytest.approx([1.0, 3**0.4, 4.0])
    assert further(10_000) == 10.0


def test_what_few_parties_measured_stands_for_itself() -> None:
    assert [times_more(parties) for parties in (1, 4, 5, 32)] == pytest.approx([1.0, 1.0, 5**0.4, 4.0])
