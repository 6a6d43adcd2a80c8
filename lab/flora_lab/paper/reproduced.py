"""Which published numbers reproduce: each beside the lowest and the highest of our splits and draws.

A baseline knows no chance, and is the printed one or is not. All else hangs on searches and forests whose seeds nobody
knows. So a published number reproduces as far as it lies where ours do, and one split alone cannot say so.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flora_lab.paper.as_published import SPLIT
from flora_lab.paper.compare import published_row
from flora_lab.paper.ours import Row, regrets_of
from flora_lab.paper.published import SURFACES
from flora_lab.tables import markdown

CHANCE = ("worst_party", "best_party", "gamma", *SURFACES)  # the best is one search, the same for all splits
HEADS = ("baseline", "best", "PMin", "PMax", "gamma_p", *(name.upper() for name in SURFACES))
PLACES = {"gamma": 2, **dict.fromkeys(SURFACES, 2)}  # digits that the paper prints; of accuracies one is enough here
OUTSIDE = "*"


def reproduced(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table of a family's datasets, and how many published numbers lie where ours do."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["split"] == SPLIT and published_row(row):
            groups.setdefault(f"{row['family']} {row['dataset']}", []).append(row)
    several = {name: group for name, group in groups.items() if len(group) > 1}
    if not several:
        return
    yield f"Published, and our lowest to highest over splits and draws; {OUTSIDE} marks what does not lie there."
    cells = {name: _cells(group) for name, group in several.items()}
    yield markdown(["", *HEADS], [[name, *found] for name, found in cells.items()])
    marks = [sum(not cell.endswith(OUTSIDE) for cell in column) for column in zip(*cells.values(), strict=True)]
    counts = [f"{head} {count}" for head, count in zip(HEADS, marks, strict=True) if head != "best"]
    yield f"Not marked, of {len(several)} datasets: {', '.join(counts)}."


def _cells(group: Sequence[Row]) -> list[str]:
    theirs = published_row(group[0])
    baseline, best = 100 * group[0]["baseline"], 100 * group[0]["best"]
    mark = "" if round(baseline, 2) == theirs["baseline"] else f" ({baseline:.2f}) {OUTSIDE}"
    shown = [f"{theirs['baseline']:.2f}{mark}", f"{theirs['best']:.2f} ({best:.2f})"]
    return [*shown, *(_beside(name, group, theirs) for name in CHANCE)]


def _beside(name: str, group: Sequence[Row], theirs: Mapping[str, Any]) -> str:
    """Return a published number with the range of ours; rounded as it is printed, it lies in it or not."""
    if name in SURFACES:
        published, ours = theirs["regret"][name], [regret for row in group for regret in regrets_of(row, name)]
    else:
        times = 1 if name == "gamma" else 100
        published, ours = theirs[name], [times * row[name] for row in group]
    digits = PLACES.get(name, 1)
    low, high, own = (round(value, digits) for value in (min(ours), max(ours), published))
    mark = "" if low <= own <= high else f" {OUTSIDE}"
    return f"{own:.{digits}f} ({low:.{digits}f}–{high:.{digits}f}){mark}"
