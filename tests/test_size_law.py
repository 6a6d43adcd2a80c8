"""How much more all parties' rows take."""

import pytest

from flora.size_law import further


def test_all_parties_rows_get_further_than_those_of_one() -> None:
    assert [further(parties) for parties in (1, 3, 32)] == pytest.approx([1.0, 3**0.4, 4.0])
    assert further(10_000) == 10.0
