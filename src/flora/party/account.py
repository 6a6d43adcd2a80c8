"""What a party has spent of epsilon: it counts itself, whatever the aggregator says.

The account is the party's audit log: a line for each sum under noise, on the disk before the sum leaves.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

from flora.errors import ConsentError
from flora.party.audit import AuditLog, verify
from flora.party.party import memory_key
from flora.problem.privacy import epsilon_of, rho_of
from flora.problem.private_messages import Survey

SPENT = "epsilon"  # what such a line is called
SLACK = 1e-9  # of rounding


@dataclass(frozen=True)
class Payment:
    """What one sum under noise cost, and of which search it was."""

    search: str
    epsilon: float

    @classmethod
    def of(cls, step: Survey, epsilon: float) -> Self:
        """Return what a step costs."""
        return cls(hashlib.sha256(memory_key(step.plan).encode()).hexdigest()[:20], epsilon)

    @property
    def note(self) -> str:
        """The text of its line."""
        return json.dumps(asdict(self))


def paid_in(log: AuditLog) -> list[Payment]:
    """Return what has been spent, as a party's log has it."""
    return [Payment(**json.loads(entry.note)) for entry in verify(log.path) if entry.what == SPENT]


def check_payment(paid: Sequence[Payment], due: Payment, most: float | None) -> None:
    """Raise where a search asks a second time, or all searches together for more than the party allows."""
    if any(each.search == due.search for each in paid):
        raise ConsentError(
            "the step asks for more than the epsilon agreed: this search has had its one sum, and one with another "
            "seed costs anew"
        )
    total = epsilon_of(math.fsum(rho_of(each.epsilon) for each in (*paid, due)))
    if most is not None and total > most * (1 + SLACK):
        raise ConsentError(
            f"the step asks for more than the epsilon agreed: this party allows {most:g} in all, "
            f"and with this step it would be {total:.3g}"
        )
