"""Arrays and documents as bytes: the same numbers give the same bytes, and nothing is pickled."""

import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.core.documents import parse
from flora.core.rules import one_line
from flora.errors import InputError

Floats = NDArray[np.float64]


def floats_to_bytes(values: Floats) -> bytes:
    """Return ``values`` as a file of NumPy's ``.npy`` format."""
    return array_to_bytes(np.asarray(values, dtype="<f8"))


def floats_of(files: Mapping[str, bytes], name: str, shape: tuple[int, ...]) -> Floats:
    """Return the array that :func:`floats_to_bytes` wrote; it must be finite and have the shape."""
    values = array_of(files, name, np.dtype("<f8"))
    if values.shape != shape:
        raise InputError(f"{name}: must hold float64 of shape {shape}, got {values.dtype} {values.shape}")
    if not np.isfinite(values).all():
        raise InputError(f"{name}: every number must be finite")
    return values


def array_to_bytes(values: NDArray[Any]) -> bytes:
    """Return an array of numbers, or of records of numbers, as a file of NumPy's ``.npy`` format."""
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(values), allow_pickle=False)
    return file.getvalue()


def array_of(files: Mapping[str, bytes], name: str, dtype: "np.dtype[Any]") -> NDArray[Any]:
    """Return the array that :func:`array_to_bytes` wrote; the file must have as many bytes as its shape says."""
    file = io.BytesIO(_file(files, name))
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("its version is not 1.0")
        shape, by_columns, found = np.lib.format.read_array_header_1_0(file)
        if found.hasobject or by_columns:
            raise ValueError("it holds objects, or goes by columns")
    except Exception as error:  # a header is a Python expression: a hostile one fails in many ways
        raise InputError(one_line(f"{name}: not a file of numbers ({error!s:.200})")) from error
    data = file.read()
    if found != dtype:
        raise InputError(f"{name}: must hold {dtype}, got {found} {shape}")
    if math.prod(shape) * dtype.itemsize != len(data) or min(shape, default=0) < 0:
        raise InputError(f"{name}: not a file of numbers (the shape {shape} does not fit its {len(data)} bytes)")
    return np.frombuffer(data, dtype=dtype).reshape(shape).copy()


def document_to_bytes(document: Mapping[str, Any]) -> bytes:
    """Return a JSON document as bytes; floats come back exactly."""
    return json.dumps(document, allow_nan=False, sort_keys=True).encode()


def document_of(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """Return the document that :func:`document_to_bytes` wrote."""
    try:
        document = parse(_file(files, name))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not a JSON document ({error})") from error
    if not isinstance(document, dict):
        raise InputError(f"{name}: must be a JSON object, got {type(document).__name__}")
    return document


def _file(files: Mapping[str, bytes], name: str) -> bytes:
    if name not in files:
        raise InputError(f"the model has no file {name!r}, only {sorted(files)}")
    return files[name]
