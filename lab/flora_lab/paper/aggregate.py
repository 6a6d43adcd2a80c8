"""The paper's aggregate statistics: over datasets, once for each replication of the experiment.

A replication is one way to deal the rows out and one draw of the surfaces' forests, as the paper has. Splits and draws
of one dataset are not independent, so they are never counted as more datasets: each replication has a test of its own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from flora_lab.paper.as_published import SEED
from flora_lab.paper.compare import SMALL_GAP, Entry
from flora_lab.paper.ours import COLUMNS, Row, regrets_of
from flora_lab.paper.published import AGGREGATE, COMPARISON, SURFACES
from flora_lab.statistics import Summary, Versus, summary, versus

APLM = "aplm"
Range = dict[str, float]  # the median over replications, the lowest and the highest


def aggregated(rows: Sequence[Row] | None = None, columns: Sequence[str] = COLUMNS) -> list[Entry]:
    """Return each statistic over our rows, and as the paper prints it for its one replication.

    Without rows, over the paper's own cells. A column that not all cells have is not there.
    """
    if rows is None:
        return [_entry(group, name, [published_regrets(group, name)]) for group in AGGREGATE for name in SURFACES]
    families = sorted({row["family"] for row in rows})
    groups = {**{family: [row for row in rows if row["family"] == family] for family in families}, "overall": rows}
    found = ((group, name, replications(members, name)) for group, members in groups.items() for name in columns)
    return [_entry(group, name, regrets) for group, name, regrets in found if regrets]


def replications(rows: Sequence[Row], column: str) -> list[list[float]]:
    """Return the regrets of a column over datasets, for each split that has all that the paper's own has, and draw."""
    splits: dict[int, dict[tuple[str, str], list[float]]] = {}
    for row in rows:
        found = regrets_of(row, column)
        if found:
            splits.setdefault(row["seed"], {})[row["family"], row["dataset"]] = found
    whole = {(row["family"], row["dataset"]) for row in rows if row["seed"] == SEED and row["best"] > row["baseline"]}
    return [
        [draws[k] for draws in cells.values()]
        for _, cells in sorted(splits.items())
        if whole and whole <= set(cells)
        for k in range(min(map(len, cells.values())))
    ]


def against_aplm(rows: Sequence[Row]) -> dict[str, Versus]:
    """Return each column's regrets minus APLM's: a family's dataset counts once, with the median over its splits.

    Only rows count whose best and baseline differ by more than noise. Columns that not all of these have are left out.
    """
    counted = [row for row in rows if row["best"] - row["baseline"] >= SMALL_GAP]
    names = [f"{row['family']} {row['dataset']}" for row in counted]
    found = {}
    for column in COLUMNS:
        pairs = [(regrets_of(row, column), regrets_of(row, APLM)) for row in counted]
        if column != APLM and pairs and all(ours for ours, _ in pairs):
            ours, theirs = ([float(np.median(pair[k])) for pair in pairs] for k in (0, 1))
            found[column] = versus(names, ours, theirs, SEED)
    return found


def published_regrets(group: str, surface: str) -> list[float]:
    """Return the paper's own cells of one family, or of all (``"overall"``)."""
    families = COMPARISON if group == "overall" else {group: COMPARISON[group]}
    return [row.regrets[SURFACES.index(surface)] for rows in families.values() for row in rows.values()]


def _entry(group: str, column: str, regrets: Sequence[Sequence[float]]) -> Entry:
    return {
        "group": group,
        "surface": column,
        "cells": len(regrets[0]),
        "replications": len(regrets),
        "computed": _ranges([summary(each) for each in regrets]),
        "printed": _ranges([AGGREGATE[group][column]]) if column in AGGREGATE[group] else None,
    }


def _ranges(found: Sequence[Summary]) -> dict[str, Any]:
    return {
        "mean": _range([each.mean for each in found]),
        "deviation": _range([each.deviation for each in found]),
        "quartiles": [_range([each.quartiles[k] for each in found]) for k in range(3)],
        "wins": [_range([each.wins[k] for each in found]) for k in range(3)],
        "statistic": _range([each.test[0] for each in found]),
        "p": _range([each.test[1] for each in found]),
    }


def _range(values: Sequence[float]) -> Range:
    return {"median": float(np.median(values)), "low": float(min(values)), "high": float(max(values))}
