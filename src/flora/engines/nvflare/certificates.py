"""A look at a kit's own certificate before it is shown to anybody: what is wrong with it is better said at home."""

from datetime import UTC, datetime

from flora.engines.nvflare.consortium import AGGREGATOR, Kit
from flora.errors import InputError


def check_certificate(kit: Kit) -> None:
    """Raise where the kit's certificate is somebody else's, or of another time."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    path = kit.path / "startup" / ("server.crt" if kit.role == AGGREGATOR else "client.crt")
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a certificate that can be read ({error!s:.100})") from error
    now = datetime.now(UTC)
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now < first:
        raise InputError(
            f"{path}: is valid from {first:%Y-%m-%d %H:%M} UTC on, and the clock says {now:%Y-%m-%d %H:%M}"
        )
    if now > last:
        raise InputError(f"{path}: was valid until {last:%Y-%m-%d %H:%M} UTC; the consortium needs new kits")
    names = [str(name.value) for name in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if names != [kit.name]:
        raise InputError(f"{path}: is the certificate of {' '.join(names) or 'nobody'!r}, the kit is of {kit.name!r}")
