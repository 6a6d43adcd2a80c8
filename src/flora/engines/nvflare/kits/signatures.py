"""A party's signature with the key of its kit's certificate, and a look at others': the aggregator can make none."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from flora.core.codec import read, to_document
from flora.core.documents import parse
from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.guard.revocation import FILE, Revoked
from flora.engines.nvflare.kits.certificates import LEAST_BITS
from flora.errors import InputError

PADDING = PSS(MGF1(SHA256()), PSS.DIGEST_LENGTH)
PARTY_ROLES = {"client"}  # or none: NVFlare writes a role into the certificates of users, and by request into all


@dataclass(frozen=True)
class CertifiedSignature:
    """A signature, and the certificate of whose it is."""

    certificate: bytes
    signature: bytes


@dataclass(frozen=True)
class KitSigner:
    """Signs with a party's kit. Another's certificate must be of the same root, of that name, and of a party.

    The aggregator's list of who is revoked is none for a party: with a stolen kit it could sit in between itself. So a
    party has a list of its own, which its administrator writes.
    """

    kit: Kit

    def sign(self, data: bytes) -> bytes:
        """Return this party's signature and certificate."""
        startup = self.kit.path / "startup"
        key = load_pem_private_key((startup / "client.key").read_bytes(), None)
        if not isinstance(key, RSAPrivateKey):
            raise InputError(f"{startup / 'client.key'}: must be an RSA key, as flora project makes it")
        signature = key.sign(data, PADDING, SHA256())
        made = CertifiedSignature((startup / "client.crt").read_bytes(), signature)
        return json.dumps(to_document(made)).encode()

    def fault(self, party: str, data: bytes, signature: bytes) -> str | None:
        """Return why it is not that party's signature, or None."""
        root = x509.load_pem_x509_certificate((self.kit.path / "startup" / "rootCA.pem").read_bytes())
        try:
            found = read(CertifiedSignature, parse(signature))
            certificate = x509.load_pem_x509_certificate(found.certificate)
            certificate.verify_directly_issued_by(root)
        except Exception:  # somebody else has written it, and a damaged certificate fails in many ways
            return "its certificate is not of this consortium"
        if not certificate.not_valid_before_utc <= datetime.now(UTC) <= certificate.not_valid_after_utc:
            return f"its certificate is valid until {certificate.not_valid_after_utc:%Y-%m-%d}"
        names = [str(name.value) for name in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        if names != [party]:
            return f"the certificate is that of {' '.join(names)!r:.80}"
        revoked = Revoked(self.kit.path / "local" / FILE)
        revoked.changed()
        if why := revoked.refusal(party, certificate.not_valid_before_utc):
            return why
        roles = {str(role.value) for role in certificate.subject.get_attributes_for_oid(NameOID.UNSTRUCTURED_NAME)}
        if roles - PARTY_ROLES or party.lower() == self.kit.consortium.aggregator.lower():
            # with a member of its own the aggregator could subtract that share, and be left with one party's
            return "its certificate is not that of a party"
        return _fault_of_signature(certificate.public_key(), found.signature, data)


def _fault_of_signature(key: object, signature: bytes, data: bytes) -> str | None:
    try:
        if not isinstance(key, RSAPublicKey) or key.key_size < LEAST_BITS:
            return "its key is none of flora project's"
        key.verify(signature, data, PADDING, SHA256())
    except InvalidSignature:
        return "it has signed something else"
    return None
