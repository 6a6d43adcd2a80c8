"""Where joblib runs the pieces: processes of this machine, or the workers of a dask cluster."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from flora.errors import InputError

BACKENDS = ("loky", "dask")
ADDRESS = "DASK_SCHEDULER_ADDRESS"  # dask's own name for it
SECONDS = 10  # to reach the scheduler


@contextmanager
def backend(name: str) -> Iterator[None]:
    """Let joblib run what follows on the backend: loky is its own, unless ``joblib.parallel_config`` says another."""
    if name == "loky":
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("--backend dask needs the package distributed: pip install distributed") from error
    from joblib import parallel_config

    address = os.environ.get(ADDRESS)
    if not address:
        raise InputError(f"--backend dask needs the address of your scheduler in ${ADDRESS}, such as tcp://HOST:8786")
    try:
        client = Client(address, timeout=SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--backend dask: no scheduler answers at {address} (${ADDRESS})") from error
    with client, parallel_config(backend="dask", client=client):
        yield
