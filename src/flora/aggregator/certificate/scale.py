"""How low and how high a loss can be: no gap is wider than that."""

import math
from dataclasses import dataclass

# scikit-learn's scorers whose scores are from 0 to 1, by how their names begin: the loss is 1 - score
UNIT = (
    *("accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision", "roc_auc"),
    *("f1", "jaccard", "precision", "recall"),
)
AT_MOST_ONE = ("r2", "d2_", "explained_variance")  # and below 0 without end


@dataclass(frozen=True)
class Scale:
    """The lowest and the highest loss of a scoring, as far as they are known."""

    floor: float = -math.inf
    ceiling: float = math.inf

    @property
    def range(self) -> float:
        """How far two losses can lie apart."""
        return self.ceiling - self.floor


def scale_of(scoring: str) -> Scale:
    """Return the scale of a scoring's losses; of a scorer that is not scikit-learn's nothing is known.

    >>> scale_of("balanced_accuracy"), scale_of("neg_log_loss"), scale_of("r2").range, scale_of("mine")
    (Scale(floor=0.0, ceiling=1.0), Scale(floor=0.0, ceiling=inf), inf, Scale(floor=-inf, ceiling=inf))
    """
    if scoring.startswith(UNIT):
        return Scale(0.0, 1.0)
    if scoring == "matthews_corrcoef":
        return Scale(0.0, 2.0)
    return Scale(0.0) if scoring.startswith(("neg_", *AT_MOST_ONE)) else Scale()
