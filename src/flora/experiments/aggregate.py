"""The paper's aggregate table: every statistic, beside the one that the paper prints."""

from typing import Any

from flora.experiments.published import AGGREGATE, COMPARISON, SURFACES
from flora.experiments.statistics import summary


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
