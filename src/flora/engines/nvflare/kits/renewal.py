"""Certificates for years: a key that is made where it is used, a request for a certificate, the authority's answer.

Only the request and the certificate travel. NVFlare's own ``nvflare cert`` makes kits of its own kind from them; here
the kit stays as it is, and its certificate and key are replaced.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flora.core.codec import read
from flora.core.documents import MIB, contents, object_in
from flora.core.files import write_whole
from flora.core.rules import one_line
from flora.engines.nvflare.consortium import AUTHORITY, USER, Consortium, Kit
from flora.engines.nvflare.kits.certificates import LEAST_BITS, file_of, loaded
from flora.errors import InputError

if TYPE_CHECKING:
    from cryptography import x509

NEW_KEY = "new.key"
MOST_REQUEST = 64 * 2**10


def request_certificate(kit: Kit) -> bytes:
    """Make a new private key, which waits in the kit's state, and return the request for its certificate."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.x509.oid import NameOID
    from nvflare.lighter.utils import generate_keys, serialize_pri_key

    kit.state.mkdir(mode=0o700, exist_ok=True)
    waiting = kit.state / NEW_KEY
    if waiting.exists():  # asked for again: the same key, so that any of the answers fits
        key: Any = serialization.load_pem_private_key(waiting.read_bytes(), password=None)
    else:
        key, _ = generate_keys()
        write_whole(waiting, serialize_pri_key(key), mode=0o600)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, kit.name)])
    request = x509.CertificateSigningRequestBuilder(subject).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


@dataclass(frozen=True)
class Signed:
    """A certificate that the authority has made."""

    name: str
    until: datetime
    data: bytes


def sign_request(folder: Path, data: bytes) -> Signed:
    """Return the certificate for a request; what it may do is decided by the name alone, not by the request."""
    from cryptography.hazmat.primitives import serialization
    from nvflare.lighter.utils import Identity, generate_cert, serialize_cert

    from flora.engines.nvflare.kits.authority import DAYS

    request, name = request_in(data)
    authority = folder / AUTHORITY
    file = authority / "consortium.json"
    consortium = read(Consortium, object_in(contents(file, MIB), str(file)))
    stored = _root_in(authority)
    root = loaded_root(stored)
    now = datetime.now(UTC)
    organisation, role, host = _who(name, consortium)
    certificate = generate_cert(
        subject=Identity(name, organisation, role),
        issuer=Identity(_common_name(root.subject)),
        signing_pri_key=serialization.load_pem_private_key(stored["root_pri_key"].encode(), password=None),
        subject_pub_key=request.public_key(),
        server_default_host=host,
        not_valid_before=now,
        not_valid_after=min(now + timedelta(days=DAYS), root.not_valid_after_utc),
    )
    return Signed(name, certificate.not_valid_after_utc, serialize_cert(certificate))


def install_certificate(kit: Kit, data: bytes) -> datetime:
    """Put a new certificate and the key that waits for it in the place of the old ones; return until when it holds."""
    from cryptography.hazmat.primitives import serialization

    certificate = loaded(data, "the new certificate")
    waiting = kit.state / NEW_KEY
    if not waiting.is_file():
        raise InputError(f"{kit.path}: has asked for no certificate; do: flora certificate request {kit.path}")
    key = waiting.read_bytes()
    own = serialization.load_pem_private_key(key, password=None).public_key()
    if _common_name(certificate.subject) != kit.name:
        raise InputError(f"this certificate is not of {kit.name!r}")
    if certificate.public_key() != own:
        raise InputError("this certificate is for another key than the one that waits in this kit")
    root = loaded((kit.path / "startup" / "rootCA.pem").read_bytes(), "rootCA.pem")
    try:
        certificate.verify_directly_issued_by(root)
    except Exception as error:  # of another issuer, or signed with another key
        raise InputError("this certificate is not of this consortium's authority") from error
    write_whole(file_of(kit, "key"), key, mode=0o600)
    write_whole(file_of(kit, "crt"), data)
    waiting.unlink()
    return certificate.not_valid_after_utc


def request_in(data: bytes) -> "tuple[x509.CertificateSigningRequest, str]":
    """Return a request that somebody else made, and whose it is."""
    from cryptography import x509

    try:
        if len(data) > MOST_REQUEST:
            raise ValueError(f"it has more than {MOST_REQUEST} bytes")
        request = x509.load_pem_x509_csr(data)
        if not request.is_signature_valid:
            raise ValueError("whoever sent it does not have its key")
        _check_key(request.public_key())
        return request, _common_name(request.subject)
    except Exception as error:  # a damaged request fails in many ways
        raise InputError(one_line(f"not a request for a certificate that can be read ({error!s:.100})")) from error


def _check_key(key: object) -> None:
    """Raise where a key is none that ``flora certificate request`` makes: signatures of sums hang on its strength."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    if not isinstance(key, RSAPublicKey) or key.key_size < LEAST_BITS:
        raise ValueError(f"its key must be RSA of {LEAST_BITS} bits or more")


def _who(name: str, consortium: Consortium) -> tuple[str, str | None, str | None]:
    """Return a member's organisation, role and host, as in its first certificate."""
    from flora.engines.nvflare.kits.provision import organisation

    if name in consortium.parties:
        return organisation(name), None, None
    if name == consortium.aggregator:
        return "aggregator", None, name
    if name == USER:
        return "aggregator", "lead", None
    raise InputError(f"{name!r:.80} is not in this consortium; its parties are {', '.join(consortium.parties)}")


def _root_in(authority: Path) -> dict[str, Any]:
    for state in authority.rglob("cert.json"):
        stored: dict[str, Any] = json.loads(state.read_bytes())
        return stored
    raise InputError(f"{authority}: has no root key; certificates are signed where flora project was run")


def loaded_root(stored: dict[str, Any]) -> "x509.Certificate":
    """Return the root's certificate, which must still hold."""
    root = loaded(stored["root_cert"].encode(), "the root")
    if root.not_valid_after_utc <= datetime.now(UTC):
        raise InputError(f"the root ended on {root.not_valid_after_utc:%Y-%m-%d}: the consortium needs new kits")
    return root


def _common_name(name: "x509.Name") -> str:
    from cryptography.x509.oid import NameOID

    (found,) = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found.value)
