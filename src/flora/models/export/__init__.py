"""A federated model in the formats of other libraries: each is a file that needs no FLoRA to be used."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from flora.core.registry import find
from flora.errors import InputError
from flora.models.model_file import StoredModel

M = TypeVar("M")
FORMATS = {
    "onnx": "flora.models.export.onnx_file:to_onnx",
    "sklearn": "flora.models.export.sklearn_file:to_skops",
}


def exported(stored: StoredModel, kind: str) -> bytes:
    """Return the model's file in another library's format, or say why there is none."""
    convert: Callable[[StoredModel], bytes] = find("format", FORMATS, kind)
    return convert(stored)


def made_by(makers: Mapping[type[Any], M], stored: StoredModel) -> M:
    """Return what a format makes of a kind of model, or say that it makes nothing of it."""
    if type(stored.model) not in makers:
        raise InputError(f"models of {stored.family} cannot be exported; flora.load reads them")
    return makers[type(stored.model)]
