"""Arrays and documents as bytes: the same numbers give the same bytes, and nothing is pickled."""

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.errors import InputError

Floats = NDArray[np.float64]


def floats_to_bytes(values: Floats) -> bytes:
    """Return ``values`` as a file of NumPy's ``.npy`` format."""
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(values, dtype="<f8"), allow_pickle=False)
    return file.getvalue()


def floats_of(files: Mapping[str, bytes], name: str, shape: tuple[int, ...]) -> Floats:
    """Return the array that :func:`floats_to_bytes` wrote; it must be finite and have the shape."""
    try:
        values = np.load(io.BytesIO(_file(files, name)), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{name}: not a file of numbers ({error})") from error
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.shape != shape:
        found = f"{values.dtype} {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
        raise InputError(f"{name}: must hold float64 of shape {shape}, got {found}")
    if not np.isfinite(values).all():
        raise InputError(f"{name}: every number must be finite")
    return values


def document_to_bytes(document: Mapping[str, Any]) -> bytes:
    """Return a JSON document as bytes; floats come back exactly."""
    return json.dumps(document, allow_nan=False, sort_keys=True).encode()


def document_of(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """Return the document that :func:`document_to_bytes` wrote."""
    try:
        document = json.loads(_file(files, name))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not a JSON document ({error})") from error
    if not isinstance(document, dict):
        raise InputError(f"{name}: must be a JSON object, got {type(document).__name__}")
    return document


def _file(files: Mapping[str, bytes], name: str) -> bytes:
    if name not in files:
        raise InputError(f"the model has no file {name!r}, only {sorted(files)}")
    return files[name]
