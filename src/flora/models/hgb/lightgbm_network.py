"""LightGBM's own data-parallel trainer, carried by our collective.

LightGBM asks for two functions, a reduce-scatter (the histograms of a leaf) and an allgather (everything small), and
calls them from C++. Its network is a thread's own: connect, train and leave in one thread.
"""

import ctypes as c
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from lightgbm.basic import _LIB, LightGBMError, _safe_call

from flora.core.collective import Collective
from flora.errors import CollectiveError

_SIZES = c.POINTER(c.c_int)
_REDUCE_SCATTER = c.CFUNCTYPE(
    None, c.c_void_p, c.c_int, c.c_int, _SIZES, _SIZES, c.c_int, c.c_void_p, c.c_int, c.c_void_p
)
_ALLGATHER = c.CFUNCTYPE(None, c.c_void_p, c.c_int, _SIZES, _SIZES, c.c_int, c.c_void_p, c.c_int)


@dataclass
class Network:
    """One party's end of LightGBM's network, and the first error that it met.

    An exception cannot pass through C++: ctypes prints it and LightGBM goes on with what is in the buffer. So it is
    kept here, the output becomes zeros, and nothing more is exchanged until :meth:`check` raises it.
    """

    collective: Collective
    error: BaseException | None = None

    def check(self) -> None:
        """Raise the error that an exchange met, if one did. To be called after each step of the training."""
        if self.error is not None:
            raise self.error

    def reduce_scatter(
        self,
        source: int,
        size: int,
        type_size: int,
        starts: Any,
        lengths: Any,
        _n: int,
        target: int,
        room: int,
        _f: int,
    ) -> None:
        """Write this party's block of the parties' summed histograms to ``target``."""

        def exchange() -> None:
            if type_size != c.sizeof(c.c_double):
                raise CollectiveError(f"LightGBM may only add numbers of 8 bytes here, got {type_size}")
            own = np.frombuffer(c.string_at(source, size), dtype=np.float64)
            start, length = starts[self.collective.rank], lengths[self.collective.rank]
            total = self.collective.allreduce(own)
            c.memmove(target, total[start // 8 : (start + length) // 8].tobytes(), length)

        self._guard(exchange, target, room)

    def allgather(self, source: int, size: int, starts: Any, lengths: Any, blocks: int, target: int, room: int) -> None:
        """Write every party's bytes to ``target``, in the order of the ranks."""

        def exchange() -> None:
            parts = self.collective.allgather(c.string_at(source, size))
            sizes = [len(part) for part in parts]
            if sizes != lengths[:blocks]:
                raise CollectiveError(f"parties are out of step: {sizes} bytes, not {lengths[:blocks]}")
            for start, part in zip(starts[:blocks], parts, strict=True):
                c.memmove(target + start, part, len(part))

        self._guard(exchange, target, room)

    def _guard(self, exchange: Callable[[], None], target: int, room: int) -> None:
        if self.error is None:
            try:
                exchange()
            except BaseException as error:  # an interrupt too: check() raises it
                self.error = error
        if self.error is not None:
            c.memset(target, 0, room)  # a split without gain: LightGBM ends the tree


@contextmanager
def connected(collective: Collective) -> Iterator[Network]:
    """Connect this thread's LightGBM to the other parties until the block ends."""
    network = Network(collective)
    reduce_scatter, allgather = _REDUCE_SCATTER(network.reduce_scatter), _ALLGATHER(network.allgather)
    functions = [c.cast(function, c.c_void_p) for function in (reduce_scatter, allgather)]
    _safe_call(_LIB.LGBM_NetworkInitWithFunctions(collective.size, collective.rank, *functions))
    try:
        yield network
    except LightGBMError:
        network.check()  # LightGBM only stumbled over the zeros
        raise
    finally:
        _safe_call(_LIB.LGBM_NetworkFree())
    network.check()
