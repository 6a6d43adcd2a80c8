"""What each part of FLoRA's answer is worth, in points: from the paper's rule to ours, a part more in each column."""

from collections.abc import Iterator, Sequence

import numpy as np

from flora_lab.paper.as_published import SPLIT
from flora_lab.paper.ours import MEASURED, PARTS, Row, in_words, scores_of, verdicts
from flora_lab.tables import markdown, number

HEADS = ("APLM", *PARTS[1:])


def parts_of(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table of those rows that have an answer, if any have, and its last line: the mean over the datasets."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("answer") is not None and row["split"] == SPLIT:
            name = f"{row['family']} {row['dataset']}" + (f" p={row['parties']}" if row["parties"] != 3 else "")
            groups.setdefault(name, []).append(row)
    if not groups:
        return
    yield "Worth of each part: gain over the default in points, the mean over splits and draws."
    gains = {name: [gain_of(group, column) for column in PARTS] for name, group in sorted(groups.items())}
    lines = [[name, *_shown(found), *_verdicts(groups[name])] for name, found in gains.items()]
    means = [None if None in column else float(np.mean(column)) for column in zip(*gains.values(), strict=True)]
    yield markdown(["", *HEADS, "verdict of one training", "verdict"], [*lines, ["mean", *_shown(means), "", ""]])


def gain_of(rows: Sequence[Row], column: str) -> float | None:
    """Return how much higher a column's score is than the default's, in points: the mean over splits and draws."""
    found = [np.mean(scores_of(row, column)) - row["baseline"] for row in rows if scores_of(row, column)]
    return 100 * float(np.mean(found)) if found else None


def _shown(gains: Sequence[float | None]) -> list[str]:
    return [number(None if gain is None else gain, 1) for gain in gains]


def _verdicts(rows: Sequence[Row]) -> list[str]:
    return [in_words(verdicts(rows, MEASURED)), in_words(verdicts(rows))]
