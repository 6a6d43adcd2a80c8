"""Which scores a scorer can give: what is outside is a mistake, and most often one of sign or of percent."""

import math

UNIT = ("accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision")
UNIT_KINDS = ("f1", "precision", "recall", "jaccard", "roc_auc")  # each with its averages: f1_macro, roc_auc_ovr
BELOW_ONE = ("r2", "explained_variance")
SLACK = 1e-9  # of rounding


def range_of(scoring: str) -> tuple[float, float]:
    """Return the lowest and highest score that a scikit-learn scorer gives; of one that is not known, any.

    >>> range_of("balanced_accuracy"), range_of("r2"), range_of("neg_log_loss")
    ((0.0, 1.0), (-inf, 1.0), (-inf, 0.0))
    """
    if scoring in UNIT or scoring.startswith(UNIT_KINDS):
        return 0.0, 1.0
    if scoring == "matthews_corrcoef":
        return -1.0, 1.0
    if scoring.startswith("neg_"):
        return -math.inf, 0.0
    return (-math.inf, 1.0) if scoring in BELOW_ONE or scoring.startswith("d2_") else (-math.inf, math.inf)


def loss_range(scoring: str) -> tuple[float, float]:
    """Return the lowest and the highest loss of a scorer, as far as they are known.

    >>> loss_range("balanced_accuracy"), loss_range("neg_log_loss"), loss_range("mine")
    ((0.0, 1.0), (0.0, inf), (-inf, inf))
    """
    low, high = range_of(scoring)
    return (0.0 - high, 0.0 - low) if scoring.startswith("neg_") else (1.0 - high, 1.0 - low)


def guessed_loss(scoring: str, classes: int) -> float | None:
    """Return a loss that the best prediction which looks at no column has at most, whatever the rows are.

    Of an accuracy and a log loss it is that of classes with equally many rows; the others are exact. None where the
    rows alone tell, as of an F1.

    >>> guessed_loss("balanced_accuracy", 4), guessed_loss("roc_auc", 2), guessed_loss("r2", 0), guessed_loss("f1", 2)
    (0.75, 0.5, 1.0, None)
    """
    if scoring in ("accuracy", "balanced_accuracy"):
        return 1 - 1 / classes if classes else None
    if scoring == "neg_log_loss":
        return math.log(classes) if classes else None
    if scoring.startswith("roc_auc"):
        return 0.5
    return 1.0 if scoring == "matthews_corrcoef" or scoring in BELOW_ONE or scoring.startswith("d2_") else None


def possible_loss(scoring: str, loss: float) -> float:
    """Return the loss that a scorer can give and that is nearest: an estimate may lie outside.

    >>> possible_loss("f1", 1.007), possible_loss("f1", 0.4), possible_loss("neg_log_loss", -0.1)
    (1.0, 0.4, 0.0)
    """
    lowest, highest = loss_range(scoring)
    return min(max(loss, lowest), highest)


def fault_of_loss(scoring: str, loss: float) -> str | None:
    """Return why a loss cannot be one of a scorer's, with the likely cause; None where it can.

    >>> fault_of_loss("accuracy", 0.2), fault_of_loss("accuracy", 1 - 87.5)
    (None, 'accuracy is a score from 0 to 1, got 87.5; is it in percent? Divide it by 100')
    """
    score = -loss if scoring.startswith("neg_") else 1 - loss
    low, high = range_of(scoring)
    if low - SLACK <= score <= high + SLACK:
        return None
    span = f"from {low:g} to {high:g}" if math.isfinite(low) else f"of at most {high:g}"
    return f"{scoring} is a score {span}, got {score:g}; {_cause(score, low, high)}"


def _cause(score: float, low: float, high: float) -> str:
    if high == 0:
        return "is it an error with the other sign? Say --negate"
    if low <= -score <= high and math.isfinite(low):
        return "is its sign turned? Say --negate"
    if low <= score - 1 <= high and math.isfinite(low):  # a loss of -0.9
        return "is the loss a score with the other sign? Name its column with --score-column, and say --negate"
    if 1 < abs(score) <= 101:
        return "is it in percent? Divide it by 100"
    return "is it another score, or a loss? Say --scoring, --loss-column or --score-column"
