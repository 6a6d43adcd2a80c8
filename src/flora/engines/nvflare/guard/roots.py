"""Whom TLS trusts: the consortium's own root, and none of the authorities that the machine knows.

NVFlare's drivers begin with Python's usual settings for who dials, and these trust every public authority. They do not
compare names either (but gRPC, which makes its own settings): anybody on the way with a certificate of such an
authority would be taken for the aggregator.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from nvflare.fuel.f3.drivers import net_utils

from flora.engines.nvflare.consortium import Kit


class OneRoot:
    """Python's ``ssl`` as NVFlare's drivers see it: its settings trust one root."""

    def __init__(self, root: Path) -> None:
        self.create_default_context = partial(ssl.create_default_context, cafile=str(root))

    def __getattr__(self, name: str) -> Any:
        return getattr(ssl, name)


def trust_own_root_alone(kit: Kit) -> None:
    """Let this process's lines end where the other end shows a certificate of another root."""
    net_utils.ssl = OneRoot(kit.path / "startup" / "rootCA.pem")


@contextmanager
def trusting_own_root_alone(kit: Kit) -> Iterator[None]:
    """Do so for what is inside."""
    before = net_utils.ssl
    trust_own_root_alone(kit)
    try:
        yield
    finally:
        net_utils.ssl = before
