"""A look at a kit's own certificate before it is shown to anybody: what is wrong with it is better said at home."""

from datetime import UTC, datetime
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING

from flora.core.rules import one_line
from flora.engines.nvflare.consortium import AGGREGATOR, Kit
from flora.errors import InputError

if TYPE_CHECKING:
    from cryptography import x509

WARN_DAYS = 60
LEAST_BITS = 2048  # of an RSA key
ROOT = "rootCA.pem"


def check_certificate(kit: Kit) -> None:
    """Raise where the kit's certificate is somebody else's, or of another time."""
    from cryptography.x509.oid import NameOID

    path = file_of(kit, "crt")
    certificate = _loaded(path)
    now = datetime.now(UTC)
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now < first:
        raise InputError(
            f"{path}: is valid from {first:%Y-%m-%d %H:%M} UTC on, and the clock says {now:%Y-%m-%d %H:%M}"
        )
    if now > last:
        raise InputError(f"{path}: was valid until {last:%Y-%m-%d %H:%M} UTC; do: flora certificate request {kit.path}")
    names = [str(name.value) for name in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if names != [kit.name]:
        whose = f"{' '.join(names) or 'nobody'!r:.80}"
        raise InputError(f"{path}: is the certificate of {whose}, the kit is of {kit.name!r}")


def _loaded(path: Path) -> "x509.Certificate":
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: a kit needs its certificate ({error.strerror})") from error
    return loaded(data, str(path))


def loaded(data: bytes, source: str) -> "x509.Certificate":
    """Return a certificate that somebody else may have written, with dates and a subject that can be read."""
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(data)
        _ = certificate.subject, certificate.not_valid_before_utc, certificate.not_valid_after_utc  # read late
    except Exception as error:  # a damaged certificate fails in many ways
        raise InputError(one_line(f"{source}: not a certificate that can be read ({error!s:.100})")) from error
    return certificate


def file_of(kit: Kit, suffix: str) -> Path:
    """Return the kit's own certificate, or its key."""
    return kit.path / "startup" / f"{'server' if kit.role == AGGREGATOR else 'client'}.{suffix}"


def check_key(kit: Kit) -> None:
    """Raise where the kit's private key is not there, or is there for everybody."""
    path = file_of(kit, "key")
    try:
        mode = S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise InputError(
            f"{path}: a kit needs its private key ({error.strerror}); do: flora certificate request {kit.path}"
        ) from error
    if mode & 0o077:
        raise InputError(f"{path}: others can read this private key (mode {mode:04o}); do: chmod 600 {path}")


def ending(kit: Kit) -> str:
    """Return a warning where the kit's certificate, or the root that it hangs on, ends soon; else nothing."""
    ends = []
    for path in (file_of(kit, "crt"), kit.path / "startup" / ROOT):
        ends.append((_loaded(path).not_valid_after_utc, path.name))
    last, name = min(ends)
    days = (last - datetime.now(UTC)).days
    if days > WARN_DAYS:
        return ""
    what = "the consortium needs new kits" if name == ROOT else f"flora certificate request {kit.path}"
    return f"warning: {name} ends in {days} days, on {last:%Y-%m-%d}; before that: {what}"


def holds_until(kit: Kit) -> str:
    """Return until when the kit's certificate is valid, in words."""
    certificate = _loaded(file_of(kit, "crt"))
    return f"of {kit.name}, valid until {certificate.not_valid_after_utc:%Y-%m-%d}"
