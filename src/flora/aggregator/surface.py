"""From the parties' trials to one loss surface: line 6 of the paper's algorithm."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flora.aggregator.surfaces import SURFACES, surface_kind
from flora.aggregator.surfaces.kinds import Learning, LossSurface, SurfaceKind
from flora.errors import InputError, TrialsError
from flora.problem.space import SearchSpace
from flora.problem.trials import PartyTrials, check_party_names
from flora.surrogate.regressors import REGRESSORS

__all__ = ["SURFACES", "LossSurface", "SurfaceChoice", "SurfaceKind", "check_compatible", "fit_surface", "learnt"]

WEIGHTS = ("equal", "rows")


@dataclass(frozen=True)
class SurfaceChoice:
    """Which surface, and how it is learnt. Weights by rows let a party count by its size; SGM+U reads ``alpha``."""

    name: str = "aplm"
    regressor: str = Learning.regressor
    alpha: float = Learning.alpha
    weights: str = Learning.weights

    def __post_init__(self) -> None:
        kind = surface_kind(self.name)
        _check_choice("regressor", self.regressor, REGRESSORS)
        _check_choice("weights", self.weights, WEIGHTS)
        if not (math.isfinite(self.alpha) and self.alpha > 0):
            raise InputError(f"alpha must be a finite number > 0, got {self.alpha}")
        if self.weights != "equal" and not kind.weighted:
            raise InputError(f"surface {self.name!r} has no weights, got weights {self.weights!r}")
        if self.weights != "equal" and kind.merged and self.regressor == "gp":
            raise InputError("regressor 'gp' cannot weigh merged trials: use regressor 'forest' or weights 'equal'")

    @property
    def learning(self) -> Learning:
        """How the surface is learnt, whichever it is."""
        return Learning(self.regressor, self.alpha, self.weights)


def fit_surface(
    name: str,
    trials: Sequence[PartyTrials],
    space: SearchSpace,
    seed: int,
    *,
    regressor: str = SurfaceChoice.regressor,
    alpha: float = SurfaceChoice.alpha,
    weights: str = SurfaceChoice.weights,
) -> SurfaceKind:
    """Learn the surface called ``name`` from the parties' trials over ``space``.

    Args:
        name: One of ``SURFACES``.
        trials: What each party tried; they must belong together.
        space: The space that was searched; the surface is over its unit cube.
        seed: All randomness comes from it.
        regressor: One of ``REGRESSORS``.
        alpha: How much SGM+U adds of the uncertainty.
        weights: ``"equal"``, or ``"rows"`` to let each party count by its number of rows (not for MPLM and the median).
    """
    return learnt(SurfaceChoice(name, regressor, alpha, weights), trials, space, seed)


def learnt(choice: SurfaceChoice, trials: Sequence[PartyTrials], space: SearchSpace, seed: int) -> SurfaceKind:
    """Learn the surface that was chosen, as :func:`fit_surface` does."""
    check_compatible(trials)
    ordered = sorted(trials, key=lambda party: party.party)
    if set(ordered[0].space.parameters) != set(space.parameters):
        raise TrialsError(f"the surface's space is not the one that party {ordered[0].party!r} searched")
    return surface_kind(choice.name).fit(ordered, space, seed, choice.learning)


def check_compatible(trials: Sequence[PartyTrials]) -> None:
    """Raise :class:`TrialsError` unless the trials belong together and each party has a successful one."""
    if not trials:
        raise TrialsError("need the trials of at least one party, got none")
    ordered = sorted(trials, key=lambda party: party.party)
    check_party_names(party.party for party in ordered)
    for party in ordered:
        if not party.trials:
            raise TrialsError(
                f"party {party.party!r}: need at least one successful trial, all {len(party.failed)} failed"
            )
    for party in ordered[1:]:
        _check_same_space(ordered[0], party)
    for field in ("scoring", "family", "task"):
        stated = [party for party in ordered if getattr(party, field) is not None]
        for party in stated[1:]:
            _check_same(f"the {field}", stated[0], getattr(stated[0], field), party, getattr(party, field))
    for party in ordered[1:]:
        _check_same("the positive class (--positive)", ordered[0], ordered[0].positive, party, party.positive)


def _check_same_space(one: PartyTrials, other: PartyTrials) -> None:
    if one.space.digest == other.space.digest:
        return
    ours, theirs = one.space.to_json(), other.space.to_json()
    for name in sorted({*ours, *theirs}):  # says more than the digests do
        _check_same(f"HP {name!r} of the space", one, ours.get(name), other, theirs.get(name))
    _check_same("the digest of the space", one, one.space.digest, other, other.space.digest)


def _check_same(what: str, one: PartyTrials, mine: Any, other: PartyTrials, yours: Any) -> None:
    if mine != yours:
        raise TrialsError(
            f"{what} must be the same at all parties, got {mine!r:.200} at {one.party!r}, {yours!r:.200} at "
            f"{other.party!r}"
        )


def _check_choice(what: str, choice: str, choices: Any) -> None:
    if choice not in choices:
        raise InputError(f"the {what} must be one of {list(choices)}, got {choice!r}")
