"""One or several scorings, of which one is what the search goes by."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.metrics import check_scoring

from flora.errors import InputError
from flora.sklearn.samples import Samples

ONE = "score"  # what scikit-learn calls the only scoring in cv_results_


@dataclass(frozen=True)
class Scoring:
    """A scikit-learn scorer, or several of them."""

    scorer: Any  # returns a number, or a mapping of names to numbers
    searched: str  # the one that the search goes by
    names: tuple[str, ...]

    @property
    def scorers(self) -> Any:
        """The scorer, or each of several by its name: scikit-learn's ``scorer_``."""
        return dict(getattr(self.scorer, "_scorers", {})) or self.scorer

    def __call__(self, fitted: Any, samples: Samples) -> dict[str, float]:
        """Return each score of a fitted estimator."""
        found = self.scorer(fitted, samples.X, samples.y, **samples.score_params)
        if not isinstance(found, Mapping):
            return {ONE: float(found)}
        if self.searched not in found:
            raise InputError(f"refit must name one of the scorings {sorted(found)}, got {self.searched!r}")
        return {name: float(value) for name, value in found.items()}


def scoring_of(estimator: Any, scoring: Any, refit: Any) -> Scoring:
    """Return the scorings that are asked for; of several, ``refit`` names the one that the search goes by."""
    scorer = check_scoring(estimator, scoring)
    named = isinstance(scoring, list | tuple | set | Mapping)
    if not named:
        by_dict = callable(scoring) and isinstance(refit, str)  # it may return several scores by name
        return Scoring(scorer, refit if by_dict else ONE, (ONE,))
    names = tuple(scoring) if not isinstance(scoring, set) else tuple(sorted(scoring))
    if isinstance(refit, str) and refit not in names:
        raise InputError(f"refit must name one of the scorings {list(names)}, got {refit!r}")
    if refit is True:
        raise InputError(f"with several scorings refit must name the one to search by, of {list(names)}, got True")
    return Scoring(scorer, refit if isinstance(refit, str) else names[0], names)


def accepts_weights(scorer: Any) -> bool:
    """Whether a scorer, or one of several, takes ``sample_weight``, as scikit-learn's own say it."""
    said = getattr(scorer, "_accept_sample_weight", None)
    return bool(said()) if said else False


def scoring_name(scoring: Any, searched: str) -> str:
    """Return the name of what the search goes by; ``neg_`` ones of scikit-learn's have losses of their own."""
    chosen = scoring.get(searched, searched) if isinstance(scoring, Mapping) else searched
    if isinstance(scoring, str):
        chosen = scoring
    if isinstance(chosen, str) and chosen != ONE:
        return chosen
    return str(getattr(scoring, "__name__", searched))
