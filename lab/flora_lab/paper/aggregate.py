"""The paper's aggregate table: every statistic, beside the one that the paper prints."""

from collections.abc import Mapping, Sequence
from typing import Any

from flora_lab.paper.published import AGGREGATE, COMPARISON, SURFACES
from flora_lab.paper.statistics import summary


def published_regrets(group: str, surface: str) -> list[float]:
    """Return the paper's own cells of one family, or of all (``"overall"``)."""
    families = COMPARISON if group == "overall" else {group: COMPARISON[group]}
    return [row.regrets[SURFACES.index(surface)] for rows in families.values() for row in rows.values()]


def from_published_cells() -> list[dict[str, Any]]:
    """Return each statistic computed from the paper's cells, and as the paper prints it."""
    return [
        {
            "group": group,
            "surface": surface,
            "computed": summary(published_regrets(group, surface))._asdict(),
            "printed": AGGREGATE[group][surface]._asdict(),
        }
        for group in AGGREGATE
        for surface in SURFACES
    ]


def from_cells(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each statistic over our own rows (datasets and splits), and as the paper prints it for its one split."""
    families = sorted({row["family"] for row in rows})
    groups = {**{family: [row for row in rows if row["family"] == family] for family in families}, "overall": rows}
    return [
        {
            "group": group,
            "surface": surface,
            "computed": summary(_regrets(members, surface))._asdict(),
            "printed": AGGREGATE[group][surface]._asdict(),
        }
        for group, members in groups.items()
        for surface in SURFACES
        if _regrets(members, surface)
    ]


def _regrets(rows: Sequence[Mapping[str, Any]], surface: str) -> list[float]:
    found = [row["surfaces"][surface]["regret"] for row in rows]
    return [regret for regret in found if regret is not None]
