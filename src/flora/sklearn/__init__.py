"""FLoRA behind scikit-learn's interface: parties are groups of rows, and the answer is a fitted estimator."""

from flora.sklearn.search import FloraSearchCV as FloraSearchCV

__all__ = ["FloraSearchCV"]
