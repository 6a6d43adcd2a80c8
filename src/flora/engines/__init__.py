"""How a step travels to the parties and their replies come back. What leaves has passed the party's gate before."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from flora.core.registry import find

if TYPE_CHECKING:
    from flora.party.gate import Gate
    from flora.program.drive import Ask

ENGINES = {  # of the parties of one machine; a new one is a file or folder in here, and a line
    "threads": "flora.engines.threads:in_process",
}


class Engine(Protocol):
    """A way to ask the parties behind some gates."""

    def __call__(self, gates: "Sequence[Gate]", *, jobs: int = 1) -> "Ask":
        """Return what carries a step to all of them; ``jobs`` may work at the same time."""
        ...


def engine_of(name: str) -> Engine:
    """Return the engine called ``name``."""
    engine: Engine = find("engine", ENGINES, name)
    return engine
