"""Who is there: when each party was last heard of, and how far its search is."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any

QUIET = 4.0  # seconds after which who follows the run is told; it may only be slow
SILENCE = 8.0  # seconds after which a party counts as lost; it beats every second
FOR_EACH = 0.1  # seconds of silence for each party, where they are so many that the aggregator hears them late
START = 120.0  # seconds that a party has for its first sign


def patience_with(parties: int) -> float:
    """Return the seconds of silence after which one of so many parties counts as lost.

    >>> patience_with(3), patience_with(200)
    (8.0, 20.0)
    """
    return max(SILENCE, FOR_EACH * parties)


@dataclass
class Heartbeats:
    """The parties' signs of life."""

    began: float = field(default_factory=monotonic)
    patience: float = SILENCE
    _listens: float = 0.0
    _seen: dict[str, float] = field(default_factory=dict)
    _counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def listen(self) -> None:
        """Count silence from now on: while the aggregator was at work, or stood still, it heard nobody."""
        with self._lock:
            self._listens = monotonic()

    def heard(self, party: str, counts: tuple[int, int] | None = None) -> None:
        """Note a sign of life, and the counts that it may bring."""
        with self._lock:
            self._seen[party] = monotonic()
            if counts is not None:
                self._counts[party] = counts

    def forget_counts(self) -> None:
        """Begin a step: what parties said of the one before says nothing of it."""
        with self._lock:
            self._counts.clear()

    def counts(self, party: str) -> tuple[int, int]:
        """Return the trials, or configs, done and asked for, as the party last said of this step."""
        with self._lock:
            return self._counts.get(party, (0, 0))

    def silence(self, party: str) -> float:
        """Return the seconds since a party was last heard of, as far as somebody listened."""
        with self._lock:
            return monotonic() - max(self._seen.get(party, self.began), self._listens)

    def lost(self, parties: Iterable[str]) -> list[str]:
        """Return those who have been silent for too long."""
        return [p for p in parties if self.silence(p) > (self.patience if self._has_begun(p) else START)]

    def quiet(self, parties: Iterable[str]) -> list[str]:
        """Return those who had begun, and have been silent for a while."""
        return [p for p in parties if self._has_begun(p) and self.silence(p) > QUIET]

    def _has_begun(self, party: str) -> bool:
        with self._lock:
            return party in self._seen
