import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from flora.engines.nvflare.consortium import AGGREGATOR, Consortium, Kit
from flora.engines.nvflare.kits.certificates import check_certificate, ending
from flora.engines.nvflare.kits.provision import make_kits
from flora.errors import InputError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kits of a consortium of one."""
    out = tmp_path_factory.mktemp("kits") / "kits"
    make_kits(Consortium("hearts", "localhost", ("north",)), out)
    return out


def written(path: Path, name: str, first: datetime, last: datetime) -> None:
    """Write a certificate of our own."""
    key = rsa.generate_private_key(65537, 2048)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, first, last)
    path.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


def test_a_new_kit_is_good(made: Path) -> None:
    check_certificate(Kit.open(made / "north", "party"))
    check_certificate(Kit.open(made / "aggregator", AGGREGATOR))


@pytest.mark.parametrize(
    ("name", "days", "message"),
    [
        ("north", (-9, -2), "was valid until .* UTC; do: flora certificate request"),
        ("north", (2, 9), "is valid from .* UTC on, and the clock says"),
        ("south", (-9, 9), "is the certificate of 'south', the kit is of 'north'"),
    ],
)
def test_another_time_or_name_is_said_at_home(
    made: Path, tmp_path: Path, name: str, days: tuple[int, int], message: str
) -> None:
    shutil.copytree(made / "north", tmp_path / "north")
    now = datetime.now(UTC)
    certificate = tmp_path / "north" / "startup" / "client.crt"
    written(certificate, name, *(now + timedelta(days=day) for day in days))
    with pytest.raises(InputError, match=message):
        check_certificate(Kit.open(tmp_path / "north", "party"))
    certificate.write_text("none")
    with pytest.raises(InputError, match="not a certificate that can be read"):
        check_certificate(Kit.open(tmp_path / "north", "party"))


@pytest.mark.parametrize(
    ("days", "said"), [(200, ""), (61.5, ""), (59, "client.crt ends in 58 days"), (1.5, "in 1 days")]
)
def test_the_end_is_said_sixty_days_before(made: Path, tmp_path: Path, days: float, said: str) -> None:
    shutil.copytree(made / "north", tmp_path / "north")
    now = datetime.now(UTC)
    certificate = tmp_path / "north" / "startup" / "client.crt"
    written(certificate, "north", now - timedelta(days=9), now + timedelta(days=days))
    warning = ending(Kit.open(tmp_path / "north", "party"))
    assert said in warning
    assert ("flora certificate request" in warning) == bool(said)
    assert bool(said) == bool(warning)


def test_the_roots_end_is_said_too_and_needs_more(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "north", tmp_path / "north")
    now = datetime.now(UTC)
    written(tmp_path / "north" / "startup" / "rootCA.pem", "hearts", now - timedelta(9), now + timedelta(days=30.5))
    warning = ending(Kit.open(tmp_path / "north", "party"))
    assert "rootCA.pem ends in 30 days" in warning
    assert "the consortium needs new kits" in warning
