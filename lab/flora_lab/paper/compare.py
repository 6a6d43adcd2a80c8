"""A table of ours beside the paper's: medians and quartiles over splits, next to the one number that was published."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from flora_lab.paper.datasets import DATASETS
from flora_lab.paper.published import COMMUNICATION, COMPARISON, PARTIES, ROUNDS, SURFACES, TESTBED, Row

SMALL_GAP = 0.015  # best minus baseline: below this, a regret is noise
KEYS = ("family", "dataset", "parties", "split", "box", "trials", "send")  # what decides an entry: a cell but its seed
FEW = 30  # rows of a class: below this, a score on them is rough
PERCENT = ("baseline", "best", "fresh_baseline", "fresh_best", "worst_party", "best_party")


def compare(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry for each row of the paper's table, over all its splits."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in KEYS), []).append(row)
    return [_entry(group) for group in groups.values()]


def _entry(group: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = group[0]
    published = published_row(first)
    return {
        **{key: first[key] for key in KEYS},
        "splits": len(group),
        "seeds": sorted(row["seed"] for row in group),
        **{key: _spread([100 * row[key] for row in group]) for key in PERCENT},
        "gamma": _spread([row["gamma"] for row in group]),
        "regret": {name: _spread([row["surfaces"][name]["regret"] for row in group]) for name in SURFACES},
        "trainings": {name: _spread([row["surfaces"][name]["trainings"] for row in group]) for name in SURFACES},
        "published": published,
        "remark": _remark(group),
    }


def published_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the paper's own numbers of a row, as far as it prints them."""
    family, dataset = row["family"], row["dataset"]
    table: Row | None = None
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


def _spread(values: Sequence[float | None]) -> dict[str, float] | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    low, middle, high = (float(q) for q in np.quantile(known, [0.25, 0.5, 0.75]))
    return {"median": middle, "low": low, "high": high}


def _remark(group: Sequence[Mapping[str, Any]]) -> str:
    remarks = [DATASETS[group[0]["dataset"]].remark]
    if np.median([row["best"] - row["baseline"] for row in group]) < SMALL_GAP:
        remarks.append(f"the gap is under {100 * SMALL_GAP:g} points: regrets are noise")
    return "; ".join(filter(None, remarks))


def compare_beds(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry for each row of the testbed table, over all its splits."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["dataset"], row["box"]), []).append(row)
    return [_bed_entry(group) for group in groups.values()]


def _bed_entry(group: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first, printed = group[0], TESTBED[group[0]["dataset"]]
    positives = first["held_out_classes"][1]
    return {
        **{key: first[key] for key in ("family", "dataset", "parties", "rows", "held_out", "box")},
        "splits": len(group),
        "seeds": sorted(row["seed"] for row in group),
        "baseline": _spread([100 * row["baseline"] for row in group]),
        "score": {name: _spread([100 * row["surfaces"][name]["score"] for row in group]) for name in SURFACES},
        "published": {"baseline": printed.baseline, "score": dict(zip(SURFACES, printed.scores, strict=True))},
        "remark": f"only {positives} of the held-out rows are of class 1" if positives < FEW else "",
    }


def to_csv(tables: Sequence[Mapping[str, Any]]) -> str:
    """Return tables as CSV, a line for each entry: a column for each number, and the published ones."""
    lines = [
        {"table": table["table"], "protocol": table.get("protocol", ""), **dict(_flat(entry))}
        for table in tables
        for entry in table["rows"]
    ]
    header = dict.fromkeys(name for line in lines for name in line)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(header))
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Name every number by the way to it: ``regret aplm median``."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name} {key}".strip())
    elif isinstance(value, list | tuple):
        yield name, "/".join(map(str, value))
    else:
        yield name, value


def median(spread: Mapping[str, float] | None) -> float | None:
    """Return the middle of a spread, where there is one."""
    return None if spread is None else spread["median"]
