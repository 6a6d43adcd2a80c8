"""A kind of model, as far as it concerns those who see no rows: its HPs, and what is known of them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from flora.errors import InputError
from flora.problem.schema import Task
from flora.problem.space import Config, SearchSpace

# The names of a family's spaces: its own, the one that the paper publishes, and its own with the aggregator's HPs.
OWN, PAPER, FEDERATED = "own", "paper", "federated"


class Family(Protocol):
    """A kind of model. A family is a value without state."""

    @property
    def name(self) -> str:
        """The name on the command line."""
        ...

    @property
    def tasks(self) -> frozenset[Task]:
        """The tasks that it can do."""
        ...

    @property
    def note(self) -> str:
        """How the parties train it together, in a sentence for the user."""
        ...

    @property
    def passes_through(self) -> frozenset[str]:
        """The whole-number HPs, as the number of trees, whose every smaller value a fit passes through on its way."""
        ...

    @property
    def grows(self) -> frozenset[str]:
        """The other HPs whose best values rise with the number of rows, as that of a penalty on errors does."""
        ...

    def spaces(self, task: Task) -> Mapping[str, SearchSpace]:
        """Return the family's spaces by name, with its default config; the first is the usual one."""
        ...

    def defaults(self, names: Sequence[str], task: Task) -> Config:
        """Return the defaults of a user's own choice of HPs, where there are any; refuse HPs that it does not have."""
        ...


def space_of(family: Family, task: Task, name: str = OWN) -> SearchSpace:
    """Return one of a family's spaces."""
    spaces = family.spaces(task)
    if name == PAPER and PAPER not in spaces:  # it is the family's own
        name = OWN
    if name in spaces:
        return spaces[name]
    if name == FEDERATED:
        raise InputError(f"the model {family.name} has no HPs of the aggregator; mlp has")
    raise InputError(f"{family.name}: this model needs a search space (--space FILE)")
