"""What a party's processes leave out: packages that others load because they are there, and that nothing here uses.

They hold a tenth of a party's memory. An import of one that is left out fails, as where it is not installed.
"""

import sys

HTTP = "aiohttp"  # NVFlare's driver for HTTP; a consortium of ours has gRPC or plain TLS
UNUSED = (
    HTTP,
    "charset_normalizer",  # NumPy's reader of Fortran, which SciPy loads in passing
    "rich",  # scikit-learn's progress bars
    "pygments",  # colours of Mako's errors; Alembic brings Mako, and Optuna's storage Alembic
)
modules: dict[str, object] = sys.modules  # type: ignore[assignment]  # None: this module may not be imported


def do_without() -> None:
    """Leave these packages out, for as long as this process lives."""
    for name in UNUSED:
        modules.setdefault(name, None)


def do_with(name: str) -> None:
    """Let a package that was left out be loaded after all."""
    if name in modules and modules[name] is None:
        del modules[name]


def load_pandas() -> None:
    """Load pandas without pyarrow, in which it would keep texts; a table in Parquet can still be read with it."""
    if "pyarrow" in modules:
        return
    modules["pyarrow"] = None
    try:
        import pandas  # noqa: F401
    finally:
        del modules["pyarrow"]
