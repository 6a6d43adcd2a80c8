"""What the aggregator believes: one loss surface, learnt from all parties' (HP, loss) pairs. A file for each kind.

Points are those of the search space's unit cube. Nothing here depends on the order in which parties arrive.
"""

from flora.aggregator.surfaces.kinds import SurfaceKind
from flora.core.registry import find

SURFACES = {  # a new surface is a file in here, and a line
    "sgm": "flora.aggregator.surfaces.global_model:GlobalModel",
    "sgm+u": "flora.aggregator.surfaces.global_model_with_uncertainty:GlobalModelWithUncertainty",
    "mplm": "flora.aggregator.surfaces.max_of_parties:MaxOfParties",
    "aplm": "flora.aggregator.surfaces.average_of_parties:AverageOfParties",
    "median": "flora.aggregator.surfaces.median_of_parties:MedianOfParties",
}


def surface_kind(name: str) -> type[SurfaceKind]:
    """Return the kind of surface called ``name``."""
    kind: type[SurfaceKind] = find("surface", SURFACES, name)
    return kind
