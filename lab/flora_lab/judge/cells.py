"""A cell of the judge, and what is stored of it: enough to score any rule without a single fit."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path as FilePath
from typing import Any, Self

import numpy as np

from flora.aggregator.aggregation import grows_of_trials, path_of_trials
from flora.aggregator.choose import Confirmed, same_config
from flora.engines.exchange import confirmation_from_json, confirmation_to_json
from flora.errors import FloraError, InputError
from flora.problem.path import Path
from flora.problem.plan import at_least
from flora.problem.size_law import MANY
from flora.problem.space import Config
from flora.problem.trials import Gain, PartyTrials
from flora_lab.judge.datasets import declared

FORMAT, VERSION = "flora-recommend-cell", 1
Losses = tuple[float, ...]  # one a fold


@dataclass(frozen=True)
class Protocol:
    """How thorough a cell is."""

    trials: int = 20  # at each party
    folds: int = 5
    central: int = 40  # trials of the search on all rows, that "best" comes from
    candidates: int = 8

    @property
    def name(self) -> str:
        """The folder of its cells."""
        return f"T{self.trials}-k{self.folds}-c{self.central}-n{self.candidates}"


@dataclass(frozen=True)
class Cell:
    """Everything that decides a cell, and nothing else."""

    dataset: str
    family: str
    parties: int = 3
    split: str = "iid"
    seed: int = 0
    liar: bool = False  # the first party says 1 - loss wherever it should say its loss

    def __post_init__(self) -> None:
        declared(self.dataset)
        at_least("parties", self.parties, 1)
        if self.liar and self.parties < MANY:
            raise InputError(f"a liar is one of at least {MANY} parties, got {self.parties}")

    @property
    def searches(self) -> str:
        """The name of its parties' searches; a lie comes after them."""
        return f"{self.family}-{self.dataset}-p{self.parties}-{self.split.replace(':', '')}-s{self.seed}"

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.searches + ("-liar" if self.liar else "")


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
    losses: tuple[Losses, ...]  # of each stop; a single one where there is no path
    stops: tuple[int, ...] = ()  # ascending
    chosen: tuple[int, ...] = ()  # in each fold, by rows held out of its training rows, as far as the product trains
    chosen_in_range: tuple[int, ...] = ()  # the same, no further than parties search

    def at(self, stop: int) -> Losses:
        """Return the losses at a stop; between two of them they are interpolated, on a log scale."""
        if not self.stops[0] <= stop <= self.stops[-1]:
            raise FloraError(f"the truth is known from {self.stops[0]} to {self.stops[-1]}, a rule picked {stop}")
        place, known = np.log(stop), np.log(self.stops)
        return tuple(float(np.interp(place, known, fold)) for fold in np.transpose(self.losses))

    def as_chosen(self, *, in_range: bool = False) -> Losses:
        """Return each fold's loss at the stop that was chosen in its training."""
        chosen = self.chosen_in_range if in_range else self.chosen
        if not chosen:
            raise FloraError(
                f"{dict(self.config)} was not trained as a candidate is: it is known at its own place alone"
            )
        return tuple(self.losses[self.stops.index(stop)][fold] for fold, stop in enumerate(chosen))

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Self:
        """Read a truth of a cell's file."""
        chosen = entry["chosen"]
        in_range = entry.get("chosen_in_range", chosen)  # older cells of a few parties lack it: there it is the same
        losses = tuple(map(tuple, entry["losses"]))
        return cls(entry["config"], losses, tuple(entry["stops"]), tuple(chosen), tuple(in_range))


@dataclass(frozen=True)
class Record:
    """A cell with what its parties said, and the truth."""

    cell: Cell
    protocol: Protocol
    trials: tuple[PartyTrials, ...]
    confirmed: Confirmed
    minima: Mapping[str, Config]  # of the plain surfaces, by name
    predicted: Gain  # of APLM's minimum over the default, as APLM believes it
    best: Config  # of a search on all rows
    truths: tuple[Truth, ...]
    versions: Mapping[str, str]

    @property
    def default(self) -> Config:
        """The default config."""
        return self.trials[0].space.default

    @property
    def path(self) -> Path | None:
        """What a fit passes through."""
        return path_of_trials(self.trials)

    @property
    def grows(self) -> frozenset[str]:
        """What else grows with the number of rows."""
        return grows_of_trials(self.trials)

    @property
    def rows(self) -> dict[str, int]:
        """Each party's number of rows."""
        return {party.party: party.rows or 0 for party in self.trials}

    def losses(self, pick: Pick) -> Losses:
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

    def to_json(self) -> str:
        """Return the cell's file."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "cell": asdict(self.cell),
            "protocol": asdict(self.protocol),
            "trials": [json.loads(party.to_json()) for party in self.trials],
            "confirmed": {party: [confirmation_to_json(c) for c in found] for party, found in self.confirmed.items()},
            "minima": {name: dict(config) for name, config in self.minima.items()},
            "predicted": asdict(self.predicted),
            "best": dict(self.best),
            "truths": [{**vars(truth), "config": dict(truth.config)} for truth in self.truths],
            "versions": dict(self.versions),
        }
        return json.dumps(document, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: FilePath) -> Self:
        """Read what :meth:`to_json` wrote."""
        try:
            document = json.loads(path.read_bytes())
            if (document["format"], document["version"]) != (FORMAT, VERSION):
                raise InputError(f"expected {FORMAT!r} version {VERSION}")
            return cls._from_document(document)
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: not a cell that can be read ({error!r:.200})") from error

    @classmethod
    def _from_document(cls, document: Mapping[str, Any]) -> Self:
        confirmed = {
            party: tuple(confirmation_from_json(k, entry) for k, entry in enumerate(found))
            for party, found in document["confirmed"].items()
        }
        return cls(
            Cell(**document["cell"]),
            Protocol(**document["protocol"]),
            tuple(PartyTrials.from_json(json.dumps(party)) for party in document["trials"]),
            confirmed,
            document["minima"],
            Gain(**document["predicted"]),
            document["best"],
            tuple(map(Truth.from_json, document["truths"])),
            document["versions"],
        )
