"""A kit looked at before it runs: each thing that may be wrong with it or its machine, in one sentence."""

import os
import shutil
import ssl
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from stat import S_IMODE

from flora.engines.nvflare.consortium import AGGREGATOR, Kit
from flora.engines.nvflare.kits import certificates
from flora.engines.nvflare.kits.reach import busy_port, obstacle
from flora.errors import FloraError, InputError

GOOD, WARNING, BAD = "good", "warning", "bad"
LEAST_DISK = 2**30  # bytes
ODD = "'\"\\#"  # in a path, besides spaces: NVFlare starts a run by a command that it puts together without quotes
NVFLARE = "2.9."


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: str  # GOOD, WARNING or BAD
    sentence: str


def checks(kit: Kit, table: Callable[[], str] | None = None, *, is_running: bool = False) -> list[Check]:
    """Look at everything that a kit needs; nothing is changed but a file that comes and goes in its state.

    Args:
        kit: a party's kit, or the aggregator's.
        table: reads the party's table as the run would, and returns a sentence on it; it may raise FloraError.
        is_running: whether this kit is running now, so that its port is taken by itself.
    """
    found = [_versions(), _permissions(kit), _dates(kit), _clock(kit), _disk(kit), _state(kit)]
    if kit.role == AGGREGATOR:
        found += [_port(kit, is_running)]
    else:
        found += [_line(kit)]
        found += [] if table is None else [_table(table)]
    return found


def is_bad(found: list[Check]) -> bool:
    """Return whether anything is in the way."""
    return any(check.state == BAD for check in found)


def _versions() -> Check:
    names = ("flora-hpo", "nvflare", "grpcio")
    try:
        known = {name: version(name) for name in names}
    except PackageNotFoundError as error:
        return Check("versions", BAD, f"{error.name} is not installed: pip install 'flora-hpo[nvflare]'")
    words = ", ".join(f"{name} {number}" for name, number in known.items())
    words += f", Python {'.'.join(map(str, sys.version_info[:3]))}, {ssl.OPENSSL_VERSION}"
    if not known["nvflare"].startswith(NVFLARE):
        return Check("versions", BAD, f"{words}: the guard is made for NVFlare {NVFLARE}x")
    return Check("versions", GOOD, f"{words}; all of a consortium need the same FLoRA")


def _permissions(kit: Kit) -> Check:
    try:
        certificates.check_key(kit)
    except FloraError as error:
        return Check("permissions", BAD, str(error))
    mode = S_IMODE(kit.path.stat().st_mode)
    if mode & 0o077:
        return Check(
            "permissions", WARNING, f"{kit.path}: others may look in (mode {mode:04o}); do: chmod 700 {kit.path}"
        )
    return Check("permissions", GOOD, "the key and the kit are yours alone")


def _dates(kit: Kit) -> Check:
    try:
        certificates.check_certificate(kit)
        warning = certificates.ending(kit)
    except (FloraError, OSError, ValueError) as error:
        return Check("certificate", BAD, str(error))
    return (
        Check("certificate", WARNING, warning) if warning else Check("certificate", GOOD, certificates.holds_until(kit))
    )


def _clock(kit: Kit) -> Check:
    """A clock can only be seen to be wrong against something: here the youngest file that came with the kit."""
    newest = max((path.stat().st_mtime for path in (kit.path / "startup").iterdir()), default=0.0)
    now = datetime.now(UTC)
    if now.timestamp() < newest - 60:
        return Check(
            "clock", BAD, f"the clock says {now:%Y-%m-%d %H:%M} UTC, which is before the kit was made; use NTP"
        )
    return Check("clock", GOOD, f"{now:%Y-%m-%d %H:%M} UTC; it is not compared with the aggregator's")


def _disk(kit: Kit) -> Check:
    free = shutil.disk_usage(kit.path).free
    words = f"{free / 2**30:.1f} GB are free at {kit.path}"
    return Check("disk", GOOD if free >= LEAST_DISK else WARNING, words)


def _state(kit: Kit) -> Check:
    try:
        check_place(kit)
    except FloraError as error:
        return Check("state", BAD, str(error))
    probe = kit.state / f".probe-{os.getpid()}"
    try:
        kit.state.mkdir(mode=0o700, exist_ok=True)
        probe.write_bytes(b"x" * 4096)
        probe.unlink()
    except OSError as error:
        return Check("state", BAD, f"{kit.state}: cannot be written ({error.strerror or error})")
    return Check("state", GOOD, f"{kit.state} can be written")


def check_place(kit: Kit) -> None:
    """Raise where NVFlare cannot start a run."""
    odd = next((letter for letter in str(kit.path) if letter.isspace() or letter in ODD), None)
    if odd is not None:
        raise InputError(f"{kit.path}: NVFlare cannot work in a folder with {odd!r} in its path")


def _port(kit: Kit, is_running: bool) -> Check:
    port = kit.consortium.port
    if is_running:
        return Check("port", GOOD, f"port {port} is in use by this aggregator, which is running")
    why = busy_port(kit)
    return Check("port", BAD, why) if why else Check("port", GOOD, f"port {port} is free")


def _line(kit: Kit) -> Check:
    why = obstacle(kit)
    where = f"{kit.consortium.aggregator} port {kit.consortium.port}"
    return (
        Check("aggregator", BAD, why)
        if why
        else Check("aggregator", GOOD, f"{where} takes this kit's certificate, unless it is revoked there")
    )


def _table(table: Callable[[], str]) -> Check:
    try:
        return Check("table", GOOD, table())
    except (FloraError, OSError) as error:
        return Check("table", BAD, str(error))


def lines(found: list[Check]) -> Iterator[str]:
    """Return the checks as a table of text."""
    wide = max(len(check.name) for check in found)
    for check in found:
        yield f"{check.state:8} {check.name:{wide}}  {check.sentence}"
