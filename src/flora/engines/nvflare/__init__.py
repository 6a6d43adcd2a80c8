"""The same run across machines, on NVFlare: parties only dial out, one port, a certificate for each.

NVFlare's words (site, job, task, executor) stay in this package.
"""

from importlib.util import find_spec

from flora.errors import FloraError


def require_nvflare() -> None:
    """Raise where the optional package is not there."""
    if find_spec("nvflare") is None:
        raise FloraError("this engine needs NVFlare: pip install 'flora-hpo[nvflare]'")
