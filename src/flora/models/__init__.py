"""Families of models: how one is scored on a party's rows, trained by all parties together, and stored."""

from typing import TYPE_CHECKING

from flora.core.registry import find
from flora.errors import InputError

if TYPE_CHECKING:
    from flora.models.family import ModelFamily

FAMILIES = {  # a new family is a file or a folder in here, and a line
    "hgb": "flora.models.hgb.family:GradientBoosting",
    "svm": "flora.models.svm:SupportVectors",
    "mlp": "flora.models.mlp.family:Perceptron",
}


def family_of(name: str) -> "ModelFamily":
    """Return the family called ``name``, or that of any estimator, by its ``package.module:Estimator``."""
    if name in FAMILIES:
        family: ModelFamily = find("model", FAMILIES, name)()
        return family
    if ":" in name:
        from flora.models.estimator.family import AnyEstimator

        return AnyEstimator.named(name)
    raise InputError(f"the model must be {', '.join(FAMILIES)} or package.module:Estimator, got {name!r}")
