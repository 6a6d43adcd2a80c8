"""A table of ours beside the paper's: medians and quartiles over splits and draws, next to the one published number."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from flora_lab.datasets import declared
from flora_lab.paper.ours import COLUMNS, Row, regrets_of, verdicts
from flora_lab.paper.published import COMMUNICATION, COMPARISON, PARTIES, ROUNDS, SURFACES, TESTBED, Printed
from flora_lab.statistics import spread

Entry = dict[str, Any]  # of a table: rows of several splits, and what the paper prints

SMALL_GAP = 0.015  # best minus baseline: below this, a regret is noise
KEYS = ("family", "dataset", "parties", "split", "box", "trials", "send")  # what decides an entry: a cell but its seed
FEW = 30  # rows of a class: below this, a score on them is rough
PERCENT = ("baseline", "best", "fresh_baseline", "fresh_best", "worst_party", "best_party")


def entries_of(table: str, rows: Sequence[Row]) -> list[Entry]:
    """Return the entries of a table, over all splits of its rows."""
    if table == "testbed":
        return [_trained(group) for group in _groups(rows, ("dataset", "box"))]
    return [_emulated(group) for group in _groups(rows, KEYS)]


def _groups(rows: Sequence[Row], keys: Sequence[str]) -> Iterable[list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups.values()


def _emulated(group: Sequence[Row]) -> Entry:
    first = group[0]
    return {
        **{key: first[key] for key in KEYS},
        "splits": len(group),
        "seeds": sorted(row["seed"] for row in group),
        **{key: spread([100 * row[key] for row in group]) for key in PERCENT},
        "gamma": spread([row["gamma"] for row in group]),
        "regret": {name: spread([r for row in group for r in regrets_of(row, name)]) for name in COLUMNS},
        "verdicts": verdicts(group),
        "trainings": {
            name: spread([d["trainings"] for row in group for d in row["surfaces"][name]]) for name in SURFACES
        },
        "published": published_row(first),
        "remark": _remark(group),
    }


def published_row(row: Row) -> dict[str, Any]:
    """Return the paper's own numbers of a row, as far as it prints them."""
    family, dataset = row["family"], row["dataset"]
    table: Printed | None = None
    if row["trials"]:
        table = ROUNDS.get((family, dataset, row["trials"]))
    elif row["send"]:
        table = COMMUNICATION.get((family, dataset, row["send"]))
    elif family == "hgb" and row["parties"] != 3:
        table = PARTIES.get((dataset, row["parties"]))
    elif dataset in COMPARISON.get(family, {}):
        cell = COMPARISON[family][dataset]
        named = {"baseline": cell.baseline, "best": cell.best}
        named |= {"worst_party": cell.worst_party, "best_party": cell.best_party, "gamma": cell.gamma}
        return {**named, "regret": dict(zip(SURFACES, cell.regrets, strict=True))}
    return {"gamma": table[0], "regret": dict(zip(SURFACES, table[1], strict=True))} if table else {}


def _remark(group: Sequence[Row]) -> str:
    remarks = [declared(group[0]["dataset"]).remark]
    if np.median([row["best"] - row["baseline"] for row in group]) < SMALL_GAP:
        remarks.append(f"the gap is under {100 * SMALL_GAP:g} points: regrets are noise")
    return "; ".join(filter(None, remarks))


def _trained(group: Sequence[Row]) -> Entry:
    first, printed = group[0], TESTBED[group[0]["dataset"]]
    positives = first["held_out_classes"][1]
    return {
        **{key: first[key] for key in ("family", "dataset", "parties", "rows", "held_out", "box")},
        "splits": len(group),
        "seeds": sorted(row["seed"] for row in group),
        "baseline": spread([100 * row["baseline"] for row in group]),
        "score": {name: spread([100 * row["surfaces"][name]["score"] for row in group]) for name in SURFACES},
        "published": {"baseline": printed.baseline, "score": dict(zip(SURFACES, printed.scores, strict=True))},
        "remark": f"only {positives} of the held-out rows are of class 1" if positives < FEW else "",
    }
