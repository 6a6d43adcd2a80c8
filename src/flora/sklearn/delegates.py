"""What the refitted estimator can do, the search can do too."""

from collections.abc import Callable
from typing import Any

from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from flora.errors import InputError


def _best_has(name: str) -> Callable[[Any], bool]:
    def check(search: Any) -> bool:
        if not search.refit:
            raise AttributeError(f"{name} needs a refitted estimator, and refit is False; best_params_ has the params")
        getattr(search.best_estimator_ if hasattr(search, "best_estimator_") else search.estimator, name)
        return True

    return check


class Delegates:
    """The methods and attributes of a fitted search that are its best estimator's."""

    @available_if(_best_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Return the best estimator's predictions."""
        return self._best().predict(X)

    @available_if(_best_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the best estimator's probabilities."""
        return self._best().predict_proba(X)

    @available_if(_best_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the best estimator's probabilities."""
        return self._best().predict_log_proba(X)

    @available_if(_best_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the best estimator's decision values."""
        return self._best().decision_function(X)

    @available_if(_best_has("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: Any) -> Any:
        """Return what the best estimator makes of the rows."""
        return self._best().transform(X)

    @available_if(_best_has("inverse_transform"))  # type: ignore[untyped-decorator]
    def inverse_transform(self, X: Any) -> Any:
        """Return the rows that the best estimator makes such things of."""
        return self._best().inverse_transform(X)

    def score(self, X: Any, y: Any, **params: Any) -> float:
        """Return the best estimator's score by ``scoring``: of several, by the one that ``refit`` names."""
        search: Any = self
        _best_has("score")(self)
        routed = search._routed("score", params)
        found = search._family().scoring.scorer(self._best(), X, y, **routed.scorer.score)
        if not isinstance(found, dict):
            return float(found)
        if not isinstance(search.refit, str):
            raise InputError(f"refit must name the scoring of {sorted(found)} to score by, got {search.refit!r:.80}")
        return float(found[search.refit])

    def _best(self) -> Any:
        search: Any = self
        check_is_fitted(search)
        return search.best_estimator_

    @property
    def classes_(self) -> Any:
        """The classes that the best estimator knows."""
        _best_has("classes_")(self)
        return self._best().classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features that the best estimator was fitted on."""
        try:
            best = self._best()
        except Exception as error:  # scikit-learn wants an AttributeError from an unfitted estimator
            raise AttributeError(f"{type(self).__name__} is not fitted") from error
        return int(best.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """The names of the features that the best estimator was fitted on."""
        return self._best().feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        inner = clone(self.estimator).__sklearn_tags__()  # type: ignore[attr-defined]
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags = inner.input_tags
        if tags.classifier_tags is not None:  # stratified folds need one class for each row
            tags.classifier_tags.multi_label = tags.target_tags.multi_output = False
        return tags
