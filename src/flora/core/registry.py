"""Names and what they stand for, loaded when it is first asked for: an addition is a line, and costs nothing else."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from flora.errors import InputError


def find(what: str, registry: Mapping[str, str], name: str) -> Any:
    """Return what ``registry`` has under ``name``, written as ``"package.module:attribute"``."""
    if name not in registry:
        raise InputError(f"the {what} must be one of {list(registry)}, got {name!r:.80}")
    module, _, attribute = registry[name].partition(":")
    return getattr(import_module(module), attribute)
