"""What decides a number: a cell, and how thoroughly it is computed."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd

from flora.errors import InputError
from flora.party.split import split
from flora.problem.plan import at_least
from flora.problem.size_law import MANY
from flora_lab.datasets import TARGET, declared, load

LETTERS = {"trials": "T", "folds": "k", "central": "c", "random": "r", "candidates": "n", "raced": "x"}
LEAST = {"trials": 1, "folds": 2, "central": 1, "random": 1, "candidates": 1, "raced": 1}


@dataclass(frozen=True)
class Protocol:
    """How thorough a run is; its results have a file of its name."""

    trials: int  # T, at each party
    folds: int
    central: int | None = None  # trials of the search on all rows that "best" comes from
    random: int | None = None  # random trainings on all rows, for the count of those that multi-shot search needs
    candidates: int | None = None  # configs that all parties confirm
    raced: int | None = None  # 1: the parties' searches race, as the product's do; else every config has all folds

    def __post_init__(self) -> None:
        for name, value in self.numbers.items():
            at_least("--cv" if name == "folds" else f"--{name}", value, LEAST[name])

    @property
    def numbers(self) -> dict[str, int]:
        """Those that it has."""
        found = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def name(self) -> str:
        """The name of its results."""
        return "-".join(f"{LETTERS[name]}{value}" for name, value in self.numbers.items())


@dataclass(frozen=True)
class Cell:
    """One number of a table: everything that decides it, besides the protocol, and nothing else."""

    family: str
    dataset: str
    parties: int = 3
    split: str = "iid"
    seed: int = 0
    trials: int | None = None  # a smaller T than the protocol's
    send: int | None = None  # the paper's T'
    box: str = "published"  # what the parties search
    liar: bool = False  # the first party says 1 - loss wherever it should say its loss

    def __post_init__(self) -> None:
        declared(self.dataset)
        at_least("parties", self.parties, 1)
        if self.liar and self.parties < MANY:
            raise InputError(f"a liar is one of at least {MANY} parties, got {self.parties}")

    @property
    def searches(self) -> str:
        """The name of the parties' searches, which cells of different T and T' share; a lie comes after them."""
        name = f"{self.family}-{self.dataset}-p{self.parties}-{self.split.replace(':', '')}-s{self.seed}"
        return name if self.box == "published" else f"{name}-{self.box}"

    @property
    def name(self) -> str:
        """The name of the cell's own result."""
        cut = (f"-T{self.trials}" if self.trials else "") + (f"-send{self.send}" if self.send else "")
        return self.searches + cut + ("-liar" if self.liar else "")

    def tables(self, data: Path | None) -> Mapping[str, pd.DataFrame]:
        """Return each party's rows."""
        return split(load(self.dataset, data), TARGET, self.parties, self.split, self.seed)
