"""A fitted scikit-learn model as a skops archive: no pickle, the same bytes each time, loaded with care."""

import hashlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import PurePath
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.core.archive import archive_of, members_of
from flora.core.rules import one_line
from flora.errors import InputError
from flora.models.estimator.tree_check import check_trees

# numpy parses an array's header as Python, and CPython 3.11 cannot do so in two threads at once
# (https://github.com/python/cpython/issues/106905); parties may be threads.
_ONE_READER = Lock()
MOST_ARRAYS = 1_000_000  # of one party's model: skops keeps every number of a boosted tree in a file of its own


def store(model: Any) -> bytes:
    """Return a model as a skops archive in which nothing hangs on the place or time of its making.

    skops names objects by their addresses; arrays are named by their contents instead.
    """
    from skops.io import dumps

    members = members_of(dumps(model), MOST_ARRAYS)
    document = json.loads(members.pop("schema.json"))
    contents = {name: _without_gaps(name, content) for name, content in members.items()}
    renamed = {n: hashlib.sha256(content).hexdigest() + PurePath(n).suffix for n, content in contents.items()}
    for node, _ in _nodes(document):
        node.pop("__id__", None)
        if "file" in node:
            node["file"] = renamed[node["file"]]
    files = {renamed[name]: content for name, content in contents.items()}
    return archive_of({**files, "schema.json": json.dumps(document).encode()})


def _array(content: bytes) -> NDArray[Any]:
    with _ONE_READER:
        return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))


def _without_gaps(name: str, content: bytes) -> bytes:
    """Return an array's file with zeros between the fields of its records, where there was unused memory."""
    array = _array(content) if name.endswith(".npy") else None
    if array is None or array.dtype.names is None:
        return content
    clean = np.zeros(array.shape, array.dtype)
    for field in array.dtype.names:
        clean[field] = array[field]
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, np.lib.format.header_data_from_array_1_0(clean))
    return buffer.getvalue() + clean.tobytes()  # np.save copies field by field, into memory with gaps of its own


def _nodes(state: Any, path: str = "") -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the nodes of a skops document, each with the attributes and places that lead to it."""
    if isinstance(state, list):
        for k, part in enumerate(state):
            yield from _nodes(part, f"{path}[{k}]")
    elif isinstance(state, dict):
        is_node = isinstance(state.get("__loader__"), str)
        if is_node:
            yield state, path
        for key, part in state.items():
            yield from _nodes(part, path if is_node or key == "args" else f"{path}.{key}".lstrip("."))


def arrays_of(data: bytes) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays, lists and dictionaries of a stored model, each with its place; a sparse one as zeros."""
    from scipy.sparse import load_npz

    members = members_of(data, MOST_ARRAYS)
    for node, path in _nodes(json.loads(members["schema.json"])):
        content = members.get(node.get("file", ""), b"")
        if node["__loader__"] == "SparseMatrixNode":
            with _ONE_READER:
                shape = load_npz(io.BytesIO(content)).shape
            yield path, np.broadcast_to(0.0, shape)
        elif "file" in node:
            is_array = node["file"].endswith(".npy")
            yield path, _array(content) if is_array else np.frombuffer(content, np.uint8)
        elif node["__loader__"] in ("ListNode", "TupleNode", "SetNode", "DictNode", "NdArrayNode"):
            parts = list(node["content"].values()) if isinstance(node["content"], dict) else node["content"]
            yield path, _numbers(parts)


def _numbers(parts: list[dict[str, Any]]) -> NDArray[Any]:
    """Return the numbers of a list that skops wrote one by one; of other parts only how many they are."""
    values = [json.loads(part["content"]) if part["__loader__"] == "JsonNode" else None for part in parts]
    plain = all(isinstance(value, int | float) for value in values)
    return np.array(values, dtype=np.float64 if plain else object)


def read_stored(name: str, data: bytes, kind: type[Any]) -> Any:
    """Return the model in a skops archive; it must be of the class ``kind``.

    Trusted are skops' own list of data types, and classes (no functions) of scikit-learn and of the package that
    ``kind`` is from: never what only the file names.
    """
    from skops.io import get_untrusted_types, loads

    members_of(data, MOST_ARRAYS)
    packages = {"sklearn", kind.__module__.split(".")[0]}
    try:
        types = get_untrusted_types(data=data)
        for path in types:
            if path != "collections.OrderedDict" and not _is_class_of(path, packages):
                raise InputError(f"{name}: may hold data and classes of {sorted(packages)}, got {one_line(path[:80])}")
        with _ONE_READER:
            model = loads(data, trusted=types)
    except InputError:
        raise
    except Exception as error:  # whatever is wrong with the file, it is not a model
        raise InputError(one_line(f"{name}: not a model that skops can read ({error!s:.200})")) from error
    if type(model) is not kind:
        raise InputError(f"{name}: must hold a {kind.__name__}, got a {type(model).__name__}")
    check_trees(name, model)
    return model


def _is_class_of(path: str, packages: set[str]) -> bool:
    """Whether ``path`` is a class that one of the packages defines, in a module that is imported already."""
    module, _, attribute = path.rpartition(".")
    found = getattr(sys.modules.get(module), attribute, None)
    return isinstance(found, type) and {module.split(".")[0], found.__module__.split(".")[0]} <= packages
