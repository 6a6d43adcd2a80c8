"""A key that never travels: request, sign, install; and what is not signed, or not taken."""

from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from flora.engines.nvflare.consortium import AGGREGATOR, Consortium, Kit
from flora.engines.nvflare.kits.certificates import check_certificate, check_key
from flora.engines.nvflare.kits.provision import make_kits
from flora.engines.nvflare.kits.renewal import (
    NEW_KEY,
    install_certificate,
    request_certificate,
    request_in,
    sign_request,
)
from flora.errors import InputError

CONSORTIUM = Consortium("hearts", "localhost", ("north", "south"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("renewal") / "hearts"
    make_kits(CONSORTIUM, out)
    return out


def key_of(kit: Kit, name: str = "client.key") -> bytes:
    return (kit.path / "startup" / name).read_bytes()


def test_a_party_makes_its_own_key_and_the_authority_never_sees_it(made: Path) -> None:
    kit = Kit.open(made / "north", "party")
    before = key_of(kit)
    request = request_certificate(kit)
    assert request_certificate(kit) != b""  # asked for twice, it is the same key
    waiting = kit.state / NEW_KEY
    assert waiting.stat().st_mode & 0o777 == 0o600
    signed = sign_request(made, request)
    assert signed.name == "north"
    assert key_of(kit) == before
    until = install_certificate(kit, signed.data)
    assert until == signed.until
    assert key_of(kit) != before
    assert not waiting.exists()
    check_key(kit)
    check_certificate(kit)
    certificate = x509.load_pem_x509_certificate((kit.path / "startup" / "client.crt").read_bytes())
    assert certificate.public_key() == load_pem_private_key(key_of(kit), None).public_key()


def test_a_new_certificate_says_what_the_first_said(made: Path) -> None:
    """Names, roles and hosts are the authority's to give: the request has none of them."""
    kits = [Kit.open(made / "south", "party"), Kit.open(made / "aggregator", AGGREGATOR)]
    kits.append(kits[1].scientist)
    for kit, name in zip(kits, ("client.crt", "server.crt", "client.crt"), strict=True):
        file = kit.path / "startup" / name
        first = x509.load_pem_x509_certificate(file.read_bytes())
        install_certificate(kit, sign_request(made, request_certificate(kit)).data)
        second = x509.load_pem_x509_certificate(file.read_bytes())
        assert (second.subject, second.issuer) == (first.subject, first.issuer)
        assert [extension.value for extension in second.extensions if extension.oid.dotted_string == "2.5.29.17"] == [
            extension.value for extension in first.extensions if extension.oid.dotted_string == "2.5.29.17"
        ]
        assert second.serial_number != first.serial_number


def test_a_kit_without_a_key_says_how_to_make_one(tmp_path: Path) -> None:
    out = tmp_path / "hearts"
    make_kits(CONSORTIUM, out, own_keys=True)
    kit = Kit.open(out / "north", "party")
    with pytest.raises(InputError, match=r"client\.key: a kit needs its private key .* flora certificate request"):
        check_key(kit)
    install_certificate(kit, sign_request(out, request_certificate(kit)).data)
    check_key(kit)
    check_certificate(kit)
    first = key_of(kit)
    make_kits(Consortium("hearts", "localhost", ("north", "south", "west")), out, own_keys=True)
    assert key_of(kit) == first  # who has one keeps it


def test_a_strangers_request_is_not_signed(made: Path, tmp_path: Path) -> None:
    stranger = Kit(tmp_path, "party", "east", CONSORTIUM)
    with pytest.raises(InputError, match="'east' is not in this consortium; its parties are north, south"):
        sign_request(made, request_certificate(stranger))
    for data in (b"", b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n", b"x" * 70_000):
        with pytest.raises(InputError, match="not a request for a certificate"):
            sign_request(made, data)
    with pytest.raises(InputError, match="no such file"):
        sign_request(tmp_path, request_certificate(Kit.open(made / "north", "party")))


def test_a_certificate_that_does_not_fit_is_not_taken(made: Path, tmp_path: Path) -> None:
    north, south = Kit.open(made / "north", "party"), Kit.open(made / "south", "party")
    before = key_of(south)
    request_certificate(south)
    with pytest.raises(InputError, match="not of 'south'"):
        install_certificate(south, sign_request(made, request_certificate(north)).data)
    other = tmp_path / "other"
    make_kits(CONSORTIUM, other)
    with pytest.raises(InputError, match="not of this consortium's authority"):
        install_certificate(south, sign_request(other, request_certificate(south)).data)
    with pytest.raises(InputError, match="another key"):
        install_certificate(south, sign_request(made, _request_of("south")).data)
    (south.state / NEW_KEY).unlink()
    with pytest.raises(InputError, match="has asked for no certificate"):
        install_certificate(south, sign_request(made, _request_of("south")).data)
    assert key_of(south) == before


def test_a_key_that_can_be_broken_gets_no_certificate() -> None:
    weak = rsa.generate_private_key(65537, 1024)  # noqa: S505  (that is the point)
    curve = ec.generate_private_key(ec.SECP256R1())
    for key in (weak, curve):
        with pytest.raises(InputError, match="its key must be RSA of 2048 bits or more"):
            request_in(_request_of("north", key))
    assert request_in(_request_of("north"))[1] == "north"


def _request_of(name: str, key: Any = None) -> bytes:
    from cryptography.hazmat.primitives import hashes, serialization

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    key = key or rsa.generate_private_key(65537, 2048)
    request = x509.CertificateSigningRequestBuilder(subject).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)
