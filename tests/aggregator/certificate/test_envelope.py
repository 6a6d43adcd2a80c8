"""What a party's trials leave possible between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flora.aggregator.certificate.envelope import Envelope
from tests.aggregator.certificate.cases import LINE, Floats, column


def envelope(x: list[float], losses: list[float]) -> Envelope:
    return Envelope.of(LINE, [{"x": each} for each in x], losses)


def ends(found: Envelope, *x: float) -> tuple[Floats, Floats]:
    above, below = found.above(column(*x)), found.below(column(*x))
    return above.trial + above.rough, below.trial - below.rough


def test_by_hand() -> None:
    """Losses 0.3, 0.2, 0.4 at 0, 1/2, 1 move by 0.2 in half of the range, and never more: omega(t) = min(0.4 t, 0.2).

    At 1/4: above, 0.2 + 0.1 from 1/2; below, 0.3 - 0.1 from 0 (0.2 - 0.1 from 1/2, 0.4 - 0.2 from 1 are no higher).
    """
    found = envelope([0.0, 0.5, 1.0], [0.3, 0.2, 0.4])
    high, low = ends(found, 0.25, 0.5)
    assert high == pytest.approx([0.3, 0.2])
    assert low == pytest.approx([0.2, 0.2])
    assert found.above(column(0.25)).distance == pytest.approx([0.25])


def test_seen_from_a_config_its_neighbours_are_near() -> None:
    """At 1/4 the loss is 0.3 at most; at 3/8 it is then at most 0.05 less, where the trials alone allow 0.1 less."""
    found = envelope([0.0, 0.5, 1.0], [0.3, 0.2, 0.4])
    alone, seen = ends(found, 0.375)[1], ends(found.from_above(column(0.25)), 0.375)[1]
    assert [*alone, *seen] == pytest.approx([0.2, 0.25])


def test_one_config_tried_twice_is_known_to_within_the_difference() -> None:
    high, low = ends(envelope([0.5, 0.5, 1.0], [0.2, 0.3, 0.3]), 0.5)
    assert [*high, *low] == pytest.approx([0.3, 0.2])


@given(st.floats(0, 3), st.floats(0, 1), st.lists(st.floats(0, 1), min_size=2, max_size=6, unique=True))
def test_a_loss_with_the_modulus_that_was_seen_lies_in_between(slope: float, centre: float, x: list[float]) -> None:
    """The trials at both ends show all of the slope that the loss has."""

    def loss(at: Floats) -> Floats:
        return slope * np.abs(at - centre)

    tried = np.array([0.0, centre, 1.0, *x])
    found = envelope(tried.tolist(), loss(tried).tolist())
    at = np.linspace(0, 1, 41)
    high, low = ends(found, *at)
    assert (low <= loss(at) + 1e-9).all()
    assert (loss(at) <= high + 1e-9).all()
