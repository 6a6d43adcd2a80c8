"""Randomness is an argument: a stream belongs to a name, so a new party moves no other's."""

import zlib

import numpy as np


def stream(seed: int, *name: str | int) -> np.random.Generator:
    """Return the generator that ``seed`` gives to ``name``."""
    return np.random.default_rng(_sequence(seed, *name))


def derived_seed(seed: int, *name: str | int) -> int:
    """Return the 31-bit seed that ``seed`` gives to ``name``, for libraries that take integers."""
    return int(_sequence(seed, *name).generate_state(1)[0] & 0x7FFFFFFF)


def _sequence(seed: int, *name: str | int) -> np.random.SeedSequence:
    key = tuple(zlib.crc32(str(part).encode()) for part in name)
    return np.random.SeedSequence(seed, spawn_key=key)
