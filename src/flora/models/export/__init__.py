"""A federated model in the formats of other libraries: each is a file that needs no FLoRA to be used."""

from collections.abc import Callable

from flora.core.registry import find
from flora.errors import InputError
from flora.models.model_file import StoredModel

EXPORTED = ("hgb", "svm", "mlp")
FORMATS = {
    "onnx": "flora.models.export.onnx_file:to_onnx",
    "sklearn": "flora.models.export.sklearn_file:to_skops",
}


def exported(stored: StoredModel, kind: str) -> bytes:
    """Return the model's file in another library's format, or say why there is none."""
    if stored.family not in EXPORTED:
        raise InputError(
            f"models of {', '.join(EXPORTED)} can be exported, this one is of {stored.family}: "
            "the parties' own models, which vote; flora.load reads it"
        )
    convert: Callable[[StoredModel], bytes] = find("format", FORMATS, kind)
    return convert(stored)
