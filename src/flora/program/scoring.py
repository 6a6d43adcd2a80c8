"""Which scorings go with which target: what cannot be scored is refused before anything runs."""

from flora.errors import InputError
from flora.problem.schema import Schema

OF_CLUSTERS = frozenset(
    {
        "adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score", "fowlkes_mallows_score",
        "homogeneity_score", "mutual_info_score", "normalized_mutual_info_score", "rand_score", "v_measure_score",
    }
)  # fmt: skip
OF_NUMBERS = frozenset(
    {
        "d2_absolute_error_score", "explained_variance", "max_error", "neg_max_error", "neg_mean_absolute_error",
        "neg_mean_absolute_percentage_error", "neg_mean_gamma_deviance", "neg_mean_poisson_deviance",
        "neg_mean_squared_error", "neg_mean_squared_log_error", "neg_median_absolute_error",
        "neg_root_mean_squared_error", "neg_root_mean_squared_log_error", "r2",
    }
)  # fmt: skip
OF_TWO_CLASSES = frozenset(  # they ask how well one of two classes is found: the last, by order
    {
        "f1", "jaccard", "neg_negative_likelihood_ratio", "positive_likelihood_ratio", "precision", "recall",
    }
)  # fmt: skip
WITHOUT_WEIGHTS = frozenset(  # a test holds it to scikit-learn's
    {"max_error", "neg_max_error", "neg_negative_likelihood_ratio", "positive_likelihood_ratio"}
)


def check_scoring(scoring: str, schema: Schema | None = None) -> None:
    """Raise unless scikit-learn knows the scoring and, where the target is known, it goes with that."""
    from sklearn.metrics import get_scorer_names

    known = get_scorer_names()
    if scoring not in known:
        close = [name for name in known if scoring.split("_", maxsplit=1)[0] in name][:5]
        raise InputError(f"scoring must be one of scikit-learn's scorers (such as {close}), got {scoring!r}")
    if scoring in OF_CLUSTERS:
        raise InputError(f"scoring {scoring!r} is of clusters, and here a target is predicted")
    if schema is not None and (scoring in OF_NUMBERS) != (schema.task == "regression"):
        fit = "r2 or neg_mean_absolute_error" if schema.task == "regression" else "balanced_accuracy or roc_auc"
        raise InputError(f"scoring {scoring!r} does not go with a {schema.task}; take one such as {fit}")
    if schema is not None and schema.weight is not None and scoring in WITHOUT_WEIGHTS:
        raise InputError(f"scoring {scoring!r} knows no weights, and rows count by {schema.weight!r}; take another")
    if schema is not None and scoring in OF_TWO_CLASSES and len(schema.classes) > 2:
        raise InputError(
            f"scoring {scoring!r} is of two classes, and {schema.target!r} has {len(schema.classes)}; "
            "take one such as f1_macro or balanced_accuracy"
        )


def scoring_notes(scoring: str, schema: Schema) -> tuple[str, ...]:
    """Return what is to be said of a scoring: by what rows count, and which class it asks for."""
    notes = () if schema.weight is None else (f"rows count by {schema.weight!r}, in trainings and in scores",)
    if scoring not in OF_TWO_CLASSES or len(schema.classes) != 2:
        return notes
    return (*notes, f"{scoring} asks how well the class {schema.classes[1]!r} is found, the last by order")
