"""Which scorings go with which target: what cannot be scored is refused before anything runs."""

from flora.core.naming import nearest
from flora.errors import InputError
from flora.problem.schema import Label, Schema, Task

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
OF_TWO_CLASSES = frozenset(  # they ask how well one of two classes is found
    {
        "f1", "jaccard", "neg_negative_likelihood_ratio", "positive_likelihood_ratio", "precision", "recall",
    }
)  # fmt: skip
OF_ONE_CLASS = OF_TWO_CLASSES | {"average_precision"}  # of several classes that is their mean
WITHOUT_WEIGHTS = frozenset(  # a test holds it to scikit-learn's
    {"max_error", "neg_max_error", "neg_negative_likelihood_ratio", "positive_likelihood_ratio"}
)


def check_scoring(scoring: str, schema: Schema | None = None) -> None:
    """Raise unless scikit-learn knows the scoring and, where the target is known, it goes with that."""
    from sklearn.metrics import get_scorer_names

    known = get_scorer_names()
    if scoring not in known:
        close = nearest(scoring, known, likeness=0)
        raise InputError(f"scoring must be one of scikit-learn's scorers, such as {close}, got {scoring!r}")
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


def positive_class(asked: Label | None, scoring: str, schema: Schema) -> Label | None:
    """Return the class that a scoring asks for, as the schema writes it; None where that is the last by order anyway.

    A schema that the consortium gives may list its classes in another order: then its last is meant.
    """
    classes, one = schema.classes, asked_class(scoring, schema) is not None
    if asked is None:
        return classes[-1] if one and classes != tuple(sorted(classes)) else None
    if not one:
        has = f"{schema.target!r} has {len(classes)}" if classes else f"{schema.target!r} is a number"
        two = f"{scoring!r} asks for none" if len(classes) == 2 else has
        raise InputError(f"a positive class (--positive) goes with two classes and a scoring such as f1, and {two}")
    found = [label for label in classes if str(label) == str(asked)]
    if not found:
        raise InputError(f"the positive class must be one of {list(classes)}, got {asked!r:.80}")
    return found[0]


def may_be_quantity(schema: Schema | None) -> bool:
    """Return whether the classes are whole numbers, more than two: grades, or counts."""
    labels = schema.classes if schema else ()
    return len(labels) > 2 and all(type(label) is int for label in labels)


def target_notes(schema: Schema, task: Task | None) -> tuple[str, ...]:
    """Return what the user should know of a target whose ``task`` nobody has named."""
    if task is not None or not may_be_quantity(schema):
        return ()
    count = len(schema.classes)
    return (
        f"{schema.target!r}: its {count} whole numbers are taken for classes; --task regression predicts a quantity",
    )


def scoring_notes(scoring: str, schema: Schema, *, chosen: bool = False) -> tuple[str, ...]:
    """Return what is to be said of a scoring: by what rows count, and which class it asks for."""
    notes = () if schema.weight is None else (f"rows count by {schema.weight!r}, in trainings and in scores",)
    positive = asked_class(scoring, schema)
    if positive is None:
        return notes
    why = "as was asked for" if chosen else "the last by order; --positive names another"
    return (*notes, f"{scoring} asks how well the class {positive!r} is found, {why}")


def scoring_words(scoring: str, positive: Label | None) -> str:
    """Return a scoring as a person reads it.

    >>> scoring_words("f1", "ill"), scoring_words("accuracy", None)
    ("f1 of 'ill'", 'accuracy')
    """
    return scoring if positive is None else f"{scoring} of {positive!r}"


def asked_class(scoring: str, schema: Schema) -> Label | None:
    """Return the class that a scoring asks for, the last of two; None where it asks for none."""
    return schema.classes[-1] if scoring in OF_ONE_CLASS and len(schema.classes) == 2 else None
