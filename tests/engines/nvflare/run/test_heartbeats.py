import pytest

from flora.engines.nvflare.run import heartbeats as module
from flora.engines.nvflare.run.heartbeats import QUIET, SILENCE, START, Heartbeats, patience_with


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of all that is asked here."""
    made = Clock()
    monkeypatch.setattr(module, "monotonic", made)
    return made


def test_a_party_is_lost_after_its_silence(clock: Clock) -> None:
    presence = Heartbeats(began=clock.now)
    presence.heard("a")
    clock.now += SILENCE
    presence.heard("b")
    assert presence.lost(["a", "b"]) == []
    clock.now += 0.1
    assert presence.lost(["a", "b"]) == ["a"]
    presence.heard("a")
    assert presence.lost(["a", "b"]) == []


def test_a_party_has_longer_for_its_first_sign(clock: Clock) -> None:
    presence = Heartbeats(began=clock.now)
    clock.now += SILENCE + 1
    assert presence.lost(["a"]) == []
    clock.now += START
    assert presence.lost(["a"]) == ["a"]


def test_silence_counts_from_when_somebody_listens_again(clock: Clock) -> None:
    presence = Heartbeats(began=clock.now)
    presence.heard("a")
    clock.now += SILENCE + 1
    assert presence.lost(["a"]) == ["a"]
    presence.listen()
    assert presence.lost(["a"]) == presence.quiet(["a"]) == []
    clock.now += SILENCE + 1
    assert presence.lost(["a"]) == ["a"]


def test_of_many_parties_each_may_be_silent_for_longer(clock: Clock) -> None:
    presence = Heartbeats(began=clock.now, patience=patience_with(200))
    presence.heard("a")
    clock.now += 2 * SILENCE
    assert presence.lost(["a"]) == []
    clock.now += SILENCE
    assert presence.lost(["a"]) == ["a"]
    assert patience_with(80) == SILENCE


def test_counts_stay_until_new_ones_come(clock: Clock) -> None:
    presence = Heartbeats(began=clock.now)
    assert presence.counts("a") == (0, 0)
    presence.heard("a", (3, 9))
    presence.heard("a")
    assert presence.counts("a") == (3, 9)


def test_a_party_that_had_begun_is_quiet_before_it_is_lost(clock: Clock) -> None:
    presence = Heartbeats()
    presence.heard("a")
    clock.now += QUIET + 1
    assert presence.quiet(["a", "b"]) == ["a"]
    assert presence.lost(["a", "b"]) == []
    presence.heard("a")
    assert presence.quiet(["a", "b"]) == []


def test_a_lost_party_is_named_within_ten_seconds() -> None:
    assert SILENCE + 1.5 < 10  # it beats every second, and is looked for ten times a second
