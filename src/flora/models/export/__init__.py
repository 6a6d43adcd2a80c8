"""A federated model in the formats of other libraries: each is a file that needs no FLoRA to be used."""

from collections.abc import Callable

from flora.core.registry import find
from flora.errors import InputError
from flora.models.model_file import StoredModel

FORMATS = {
    "onnx": "flora.models.export.onnx_file:to_onnx",
    "sklearn": "flora.models.export.sklearn_file:to_skops",
}


def exported(stored: StoredModel, kind: str) -> bytes:
    """Return the model's file in another library's format, or say why there is none."""
    from flora.models.hgb.model import BoostedTrees

    if not isinstance(stored.model, BoostedTrees):
        raise InputError(f"only a model of hgb can be exported, this one is of {stored.family}; flora.load reads it")
    convert: Callable[[StoredModel], bytes] = find("format", FORMATS, kind)
    return convert(stored)
