"""A party counts itself what it has spent of epsilon, in the log that is written before anything leaves."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from flora.core.collective import Alone, Integers
from flora.errors import ConsentError
from flora.party.account import SPENT, Payment, check_payment, paid_in
from flora.party.audit import AuditLog, verify
from flora.party.consent import Consent
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.tables.table import Table
from flora.problem.plan import SearchPlan
from flora.problem.privacy import epsilon_of, rho_of
from flora.problem.private_messages import Survey
from tests.conftest import SVM_SPACE, two_moons

PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", 2, 2)
OTHER = replace(PLAN, seed=1)
OPEN = Consent(unmasked_sums=True)


@dataclass(frozen=True)
class Twenty(Alone):
    """A sum of twenty parties, of which the others add nothing."""

    size: int = 20

    def add_integers(self, values: Integers) -> Integers:
        """Return the party's own."""
        return np.array(values)


def survey(plan: SearchPlan = PLAN, epsilon: float = 1.0) -> Survey:
    return Survey(plan, None, "forest", epsilon=epsilon)


def gate(folder: Path, consent: Consent = OPEN) -> Gate:
    """Return a gate as each step of a run across machines makes it anew."""
    return Gate(Party("north", Table(two_moons(60, 1), "kind")), consent, AuditLog(folder / "audit.jsonl"))


def test_a_search_has_one_sum_also_after_a_restart(tmp_path: Path) -> None:
    gate(tmp_path).letter(survey(), Twenty())
    with pytest.raises(ConsentError, match="asks for more than the epsilon agreed: this search has had its one sum"):
        gate(tmp_path).letter(survey(), Twenty())
    with pytest.raises(ConsentError, match="asks for more than the epsilon agreed"):
        gate(tmp_path).letter(survey(epsilon=50.0), Twenty())
    gate(tmp_path).letter(survey(OTHER), Twenty())
    assert [paid.epsilon for paid in paid_in(AuditLog(tmp_path / "audit.jsonl"))] == [1.0, 1.0]


def test_it_is_written_down_before_the_sum_leaves(tmp_path: Path) -> None:
    class Lost(Twenty):
        def add_integers(self, values: Integers) -> Integers:
            raise ConsentError("the line is cut")

    with pytest.raises(ConsentError, match="the line is cut"):
        gate(tmp_path).letter(survey(), Lost())
    kinds = [entry.what for entry in verify(tmp_path / "audit.jsonl")]
    assert kinds == ["survey: sums begin", SPENT, "survey: sums"]
    with pytest.raises(ConsentError, match="this search has had its one sum"):
        gate(tmp_path).letter(survey(), Twenty())


def test_costs_of_searches_add_up_to_what_a_party_allows(tmp_path: Path) -> None:
    both = epsilon_of(2 * rho_of(1.0))
    assert both == pytest.approx(1.4591, abs=1e-3)  # less than 2: rho adds up, not epsilon
    consent = replace(OPEN, epsilon=1.5)
    gate(tmp_path, consent).letter(survey(), Twenty())
    gate(tmp_path, consent).letter(survey(OTHER), Twenty())
    with pytest.raises(ConsentError, match=r"this party allows 1\.5 in all, and with this step it would be 1\.8"):
        gate(tmp_path, consent).letter(survey(replace(PLAN, seed=2)), Twenty())


def test_the_simulated_parties_of_one_process_count_too() -> None:
    simulated = Gate(Party("north", Table(two_moons(60, 1), "kind")))
    simulated.answer(survey(), Twenty())
    with pytest.raises(ConsentError, match="this search has had its one sum"):
        simulated.answer(survey(), Twenty())


def test_exactly_what_is_allowed_may_be_spent() -> None:
    check_payment([], Payment.of(survey(), 2.0), 2.0)
    with pytest.raises(ConsentError, match=r"allows 2 in all, and with this step it would be 2\.1"):
        check_payment([], Payment.of(survey(), 2.1), 2.0)
