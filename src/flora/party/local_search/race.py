"""A race of folds: a config that is behind the best one with confidence is not finished.

All configs of a search meet the same folds in the same order. Those that were measured on all folds tell which folds
are hard for everybody, and the one of them with the lowest loss is the leader. After each fold the differences to what
the leader would have there decide whether the other folds are worth it. No clock decides, and no number of jobs.

The same holds on a fit's own way: one that passes through numbers of trees is left where it has turned, or where it
would not come near the leader even if its loss fell on as fast as before. Its later stops then have no loss.

A config that was not finished still has a loss that can be compared: the leader's, plus the mean difference to it on
the folds that it has. Its error is that of so few folds.

Where a few folds hold rows enough, all configs race on these alone, and more sharply: who is left behind there is not
lost, for in the end the best one by what was seen gets fold after fold, until the best one has them all (finals.py).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BEHIND = 1.0  # standard errors of the mean difference, at least
KNOWN_BEFORE = 4  # folds that the leader's own spread counts for: a few differences say little of theirs
ENOUGH_ROWS = 1_000  # to be tested on, for a race on a few folds
FEWEST_FOLDS = 3  # of such a race


@dataclass(frozen=True)
class Rules:
    """How much doubt a config is given."""

    far_behind: (
        float  # so many more standard errors after one fold, a quarter of it after two, a ninth after three, ...
    )
    fewest_stops: int  # of a path, before it is judged by its beginning
    faster: float  # than before a loss may fall, and does not
    lately: bool  # before: on average over two steps or more up to now, and not in any one step
    doubt: float  # finished configs whose folds count as equally hard: one config's luck is no difficulty


# Who is left behind by the first is not looked at again.
FINAL = Rules(far_behind=3.0, fewest_stops=4, faster=1.5, lately=False, doubt=2)
SHARP = Rules(far_behind=0.0, fewest_stops=3, faster=1.0, lately=True, doubt=0.5)


def race_folds(sizes: Sequence[int]) -> int:
    """Return on how many of the folds configs race, given how many rows each tests on: the few that are enough, or all.

    >>> race_folds([500] * 10), race_folds([150] * 10), race_folds([50] * 10)
    (3, 7, 10)
    """
    enough = int(np.searchsorted(np.cumsum(sizes), ENOUGH_ROWS)) + 1
    return min(max(enough, FEWEST_FOLDS), len(sizes))


@dataclass(frozen=True)
class Goal:
    """What the fits of a path must come near on one fold: one that is lost on its way is not finished."""

    name: str  # of the HP that a fit passes through
    loss: float  # the leader's
    spread: float
    rules: Rules = FINAL

    def is_lost(self, stops: Sequence[int], losses: Sequence[float], last: int) -> bool:
        """Whether a fit has turned, or would not get there by its last stop if it fell on as fast as before."""
        if len(stops) < self.rules.fewest_stops:
            return False
        turned = min(losses[-2:]) > min(losses) + self.spread
        known, places = np.asarray(losses), np.log(stops)
        if self.rules.lately:
            slopes = (known[:-2] - known[-1]) / (places[-1] - places[:-2])
        else:
            slopes = -np.diff(known) / np.diff(places)
        at_end = losses[-1] - self.rules.faster * max(float(slopes.max()), 0.0) * math.log(last / stops[-1])
        return bool(turned or at_end > self.loss + (BEHIND + self.rules.far_behind) * self.spread)


@dataclass(frozen=True)
class Leader:
    """The lowest loss so far."""

    expected: tuple[float, ...]  # on each fold: its mean loss, and how much harder the fold is than others
    spread: float  # of its own losses over the folds
    rules: Rules = FINAL

    @classmethod
    def of(cls, finished: Sequence[Sequence[float]], rules: Rules = FINAL) -> Self:
        """Return the first of the best among configs with a loss on each fold: (configs, folds)."""
        losses = np.asarray(finished, dtype=np.float64)
        means = losses.mean(axis=1)
        best = int(np.argmin(means))
        harder = (losses - means[:, None]).sum(axis=0) / (len(losses) + rules.doubt)
        return cls(tuple((means[best] + harder).tolist()), float(np.std(losses[best], ddof=1)), rules)

    def leaves_behind(self, losses: Sequence[Sequence[float]]) -> bool:
        """Whether a config is behind for good: its losses on the first folds, at each stop of its path: (folds, stops).

        It is as good as its best stop.
        """
        seen = np.asarray(losses, dtype=np.float64)
        count = len(seen)
        if count >= len(self.expected):
            return False
        differences = seen[:, np.argmin(seen.mean(axis=0))] - self.expected[:count]
        least = BEHIND + self.rules.far_behind / count**2
        open_share = 1 - count / len(self.expected)  # only the folds to come can change the mean over all
        return bool(np.mean(differences) > least * self._error(differences) * math.sqrt(open_share))

    def goal(self, name: str, fold: int) -> Goal:
        """Return what fits must come near on a fold."""
        return Goal(name, self.expected[fold], self.spread, self.rules)

    def loss_and_error(self, losses: Sequence[float]) -> tuple[float, float]:
        """Return the loss on all folds of a config that was measured on the first ones, and its standard error."""
        shift = np.mean(self.expected) - np.mean(self.expected[: len(losses)])
        return float(np.mean(losses) + shift), self._error(np.asarray(losses, dtype=np.float64))

    def _error(self, values: Floats) -> float:
        """Return the standard error of a mean over few folds."""
        squares = KNOWN_BEFORE * self.spread**2 + float(np.sum((values - values.mean()) ** 2))
        return math.sqrt(squares / (KNOWN_BEFORE + len(values) - 1) / len(values))
