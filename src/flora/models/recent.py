"""What this process computed lately, by what it hangs on: a search asks for the same folds again and again.

It never changes a result. A worker process keeps its own, and so does each family.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Generic, TypeVar

import numpy as np

from flora.models.rows import Rows

V = TypeVar("V")
FOLDS = 32  # of a search, and some more


class Recent(Generic[V]):
    """The last few values.

    Args:
        most: The largest number of values.
    """

    def __init__(self, most: int = FOLDS) -> None:
        self._most = most
        self._values: dict[bytes, V] = {}

    def recall(self, key: bytes, make: Callable[[], V]) -> V:
        """Return the value of ``key``, which is the same object if it was asked for lately."""
        found = self._values.pop(key, None)
        if found is None:
            found = make()
        self._values[key] = found  # the last is the latest
        if len(self._values) > self._most:
            self._values.pop(next(iter(self._values)), None)
        return found


def digest_of(train: Rows, test: Rows, *more: object) -> bytes:
    """Return what a fold hangs on: its rows, its columns, and what else is named."""
    found = blake2b(repr((train.schema, train.X.shape, *more)).encode())
    for values in (train.X, train.y, train.weights, test.X, test.y, test.weights):
        found.update(b"" if values is None else np.ascontiguousarray(values).tobytes())
    return found.digest()
