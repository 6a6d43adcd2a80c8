"""What is stored of a cell of the judge: enough to score any rule without a single fit."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from flora.aggregator.choose import same_config
from flora.core.codec import read, to_document
from flora.errors import FloraError, InputError
from flora.models import family_of
from flora.problem.messages import Confirmation
from flora.problem.path import Path, family_path
from flora.problem.space import Config
from flora.problem.trials import Gain, PartyTrials
from flora_lab.cells import Cell, Protocol

FORMAT = {"format": "flora-recommend-cell", "version": 1}
KEYS = ("dataset", "family", "parties", "split", "seed", "liar")  # of a cell, in a record
FoldLosses = tuple[float, ...]  # one a fold


@dataclass(frozen=True)
class Pick:
    """What a rule recommends: a config, with its own place on the path or one that the training chooses."""

    config: Config
    in_training: bool = False  # by held-out rows, where a training passes through an HP
    in_range: bool = False  # and no further than parties search


@dataclass(frozen=True)
class Truth:
    """Losses of one config on all rows, on the folds that all configs of the cell share.

    Where a fit passes through an HP, ``config`` is without it, and there are losses at each of the stops.
    """

    config: Config
    losses: tuple[FoldLosses, ...]  # of each stop; a single one where there is no path
    stops: tuple[int, ...] = ()  # ascending
    chosen: tuple[int, ...] = ()  # in each fold, by rows held out of its training rows, as far as the product trains
    chosen_in_range: tuple[int, ...] = ()  # the same, no further than parties search; older cells have it in chosen

    def at(self, stop: int) -> FoldLosses:
        """Return the losses at a stop; between two of them they are interpolated, on a log scale."""
        if not self.stops[0] <= stop <= self.stops[-1]:
            raise FloraError(f"the truth is known from {self.stops[0]} to {self.stops[-1]}, a rule picked {stop}")
        place, known = np.log(stop), np.log(self.stops)
        return tuple(float(np.interp(place, known, fold)) for fold in np.transpose(self.losses))

    def as_chosen(self, *, in_range: bool = False) -> FoldLosses:
        """Return each fold's loss at the stop that was chosen in its training."""
        chosen = self.chosen_in_range if in_range and self.chosen_in_range else self.chosen
        if not chosen:
            raise FloraError(
                f"{dict(self.config)} was not trained as a candidate is: it is known at its own place alone"
            )
        return tuple(self.losses[self.stops.index(stop)][fold] for fold, stop in enumerate(chosen))


@dataclass(frozen=True)
class Record:
    """A cell with what its parties said, and the truth."""

    cell: Cell
    protocol: Protocol
    trials: tuple[PartyTrials, ...]
    confirmed: Mapping[str, tuple[Confirmation, ...]]  # by party
    minima: Mapping[str, Config]  # of the plain surfaces, by name
    predicted: Gain  # of APLM's minimum over the default, as APLM believes it
    best: Config  # of a search on all rows
    truths: tuple[Truth, ...]
    versions: Mapping[str, str]

    @property
    def default(self) -> Config:
        """The default config."""
        return self.trials[0].space.default

    @cached_property
    def path(self) -> Path | None:
        """What a fit passes through."""
        return family_path(self.trials[0].space, family_of(self.cell.family))

    @property
    def grows(self) -> frozenset[str]:
        """What else grows with the number of rows."""
        return family_of(self.cell.family).grows

    @property
    def rows(self) -> dict[str, int]:
        """Each party's number of rows."""
        return {party.party: party.rows or 0 for party in self.trials}

    def losses(self, pick: Pick) -> FoldLosses:
        """Return the true losses of what a rule picked."""
        path = self.path
        rest = {name: v for name, v in pick.config.items() if path is None or name != path.name}
        truth = next((truth for truth in self.truths if same_config(truth.config, rest)), None)
        if truth is None:
            raise FloraError(f"{self.cell.name}: has no truth of {dict(pick.config)}; a rule picks what was measured")
        if path is None:
            return truth.losses[0]
        if not pick.in_training:
            return truth.at(int(pick.config[path.name]))
        return truth.as_chosen(in_range=pick.in_range)

    def to_document(self) -> dict[str, Any]:
        """Return what is stored, as JSON's types."""
        cell = {key: getattr(self.cell, key) for key in KEYS}
        return {**FORMAT, **to_document(self), "cell": cell, "protocol": self.protocol.numbers}

    @classmethod
    def from_document(cls, document: Any, source: str) -> Self:
        """Read what :meth:`to_document` made; ``source`` names it in errors."""
        try:
            if {key: document[key] for key in FORMAT} != FORMAT:
                raise InputError(f"expected {FORMAT}")
            return read(cls, {key: value for key, value in document.items() if key not in FORMAT})
        except (InputError, KeyError, TypeError) as error:
            raise InputError(f"{source}: not a cell that can be read ({error!r:.200})") from error
