"""One table dealt out to several parties, for simulations."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from flora.errors import DataError
from flora.models.rows import not_in_table
from flora.randomness import derived_seed, stream

Places = NDArray[np.intp]
BINS = 10  # a quantity is cut into this many classes where a split needs classes
TRIES = 200


def split(table: pd.DataFrame, target: str, parties: int | None, how: str, seed: int) -> Mapping[str, pd.DataFrame]:
    """Return each party's rows. ``how`` is ``iid``, ``dirichlet:ALPHA`` or ``column:NAME``."""
    if target not in table.columns:
        raise not_in_table("target", target, table.columns)
    table = table[table[target].notna()]
    kind, _, detail = how.partition(":")
    if kind == "column":
        return _by_column(table, target, detail, parties)
    if parties is None or not 1 <= parties <= len(table) // 2:
        raise DataError(f"--parties must be from 1 to half the rows ({len(table) // 2}), got {parties}")
    if kind == "iid" and not detail:
        deals = _stratified(_strata(table[target]), parties, seed)
    elif kind == "dirichlet":
        deals = _dirichlet(_strata(table[target]), parties, _alpha(detail), seed)
    else:
        raise DataError(f"the split must be iid, dirichlet:ALPHA or column:NAME, got {how!r}")
    width = len(str(parties))
    return {f"party-{k:0{width}d}": table.iloc[places] for k, places in enumerate(deals, 1)}


def _strata(values: "pd.Series[Any]") -> Places:
    numeric = pd.api.types.is_numeric_dtype(values) and values.nunique() > 2 * BINS
    if numeric:
        return np.asarray(pd.qcut(values.rank(method="first"), BINS, labels=False), dtype=np.intp)
    return np.asarray(pd.factorize(values, sort=True)[0], dtype=np.intp)


def _stratified(strata: Places, parties: int, seed: int) -> list[Places]:
    """Deal as the paper does: party i gets the i-th fold of a stratified K-fold."""
    from sklearn.model_selection import StratifiedKFold

    if parties == 1:
        return [np.arange(len(strata))]
    if np.bincount(strata).max() < parties:  # no class can be dealt out
        strata = np.zeros_like(strata)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than parties: not every party gets one
        folds = StratifiedKFold(parties, shuffle=True, random_state=derived_seed(seed, "split"))
        return [np.sort(test) for _, test in folds.split(strata, strata)]


def _dirichlet(strata: Places, parties: int, alpha: float, seed: int) -> list[Places]:
    """Deal each class by shares drawn from Dirichlet(alpha); draw again until every party can cross-validate."""
    rng = stream(seed, "split", "dirichlet")
    for _ in range(TRIES):
        owner = np.empty(len(strata), dtype=np.intp)
        for stratum in np.unique(strata):
            places = rng.permutation(np.flatnonzero(strata == stratum))
            cuts = np.round(np.cumsum(rng.dirichlet([alpha] * parties))[:-1] * len(places)).astype(int)
            for party, share in enumerate(np.split(places, cuts)):
                owner[share] = party
        _no_lone_rows(strata, owner, parties)
        deals = [np.flatnonzero(owner == party) for party in range(parties)]
        if all(len(np.unique(strata[places])) >= 2 for places in deals):
            return deals
    raise DataError(
        f"dirichlet:{alpha:g} leaves a party of {parties} with fewer than 2 classes in each of {TRIES} draws; "
        "take a larger ALPHA or fewer parties"
    )


def _no_lone_rows(strata: Places, owner: Places, parties: int) -> None:
    """Give a party's only row of a class to the party with most of it: one row cannot be cross-validated."""
    for stratum in np.unique(strata):
        counts = np.bincount(owner[strata == stratum], minlength=parties)
        for party in np.flatnonzero(counts == 1):
            owner[(strata == stratum) & (owner == party)] = np.argmax(counts)


def _alpha(text: str) -> float:
    try:
        alpha = float(text)
    except ValueError:
        alpha = -1.0
    if not 0 < alpha < np.inf:
        raise DataError(f"dirichlet:ALPHA needs a number above 0, got {text!r}")
    return alpha


def _by_column(table: pd.DataFrame, target: str, name: str, parties: int | None) -> Mapping[str, pd.DataFrame]:
    if name not in table.columns or name == target:
        raise DataError(f"column:{name}: no such column besides the target, columns are {list(table.columns)[:12]}")
    values = table[name]
    if parties is None:  # the column names the party, so it is no feature
        groups = {f"{name}={value}": rows.drop(columns=name) for value, rows in table.groupby(values, sort=True)}
        if not 1 <= len(groups) <= 1000:
            raise DataError(f"column:{name} has {len(groups)} values, a party each; say --parties N for quantiles")
        return groups
    if not pd.api.types.is_numeric_dtype(values):
        got = f"got {values.iloc[0]!r}; leave --parties out for a party of each value"
        raise DataError(f"column:{name} with --parties cuts a number into quantiles, {got}")
    cuts = pd.qcut(values.rank(method="first"), parties, labels=False)
    width = len(str(parties))
    return {f"party-{k + 1:0{width}d}": table[cuts == k] for k in range(parties)}
