"""A public authority of the machine's, and whoever has a certificate of it, is nobody here."""

import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from nvflare.fuel.f3.drivers import net_utils

from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.guard.roots import trusting_own_root_alone
from flora.engines.nvflare.kits.provision import make_kits


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("kits") / "kits"
    make_kits(Consortium("hearts", "localhost", ("north",)), out)
    return out


@pytest.fixture
def public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A certificate of an authority that this machine trusts, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(1), now + timedelta(9))
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (tmp_path / "public.crt").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    (tmp_path / "public.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "public.crt"))
    return tmp_path / "public.crt", tmp_path / "public.key"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


def settings(kit: Path) -> dict[str, str]:
    files = {"ca_cert": "rootCA.pem", "client_cert": "client.crt", "client_key": "client.key"}
    return {"scheme": "stcp", **{key: str(kit / "startup" / file) for key, file in files.items()}}


def dial(kit: Path, listener: socket.socket, certificate: Path, key: Path) -> str:
    """Dial as NVFlare's drivers do, and return what the other end says that shows this certificate."""

    def answer() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        line, _ = listener.accept()
        try:
            with context.wrap_socket(line, server_side=True) as heard:
                heard.sendall(b"an order")
        except OSError:
            line.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(answer)
        context = net_utils.get_ssl_context(settings(kit), ssl_server=False)
        with context.wrap_socket(socket.create_connection(listener.getsockname())) as line:
            return str(line.recv(100), "ascii")


def test_nvflare_by_itself_would_take_any_public_authoritys(
    made: Path, public: tuple[Path, Path], listener: socket.socket
) -> None:
    """The hole is a real one: this is what the tests below would see without the seam."""
    assert dial(made / "north", listener, *public) == "an order"


def test_a_public_authoritys_certificate_is_no_aggregators(
    made: Path, public: tuple[Path, Path], listener: socket.socket
) -> None:
    with trusting_own_root_alone(Kit.open(made / "north", "party")), pytest.raises(ssl.SSLCertVerificationError):
        dial(made / "north", listener, *public)


@pytest.mark.usefixtures("public")
def test_the_aggregators_own_is_taken(made: Path, listener: socket.socket) -> None:
    startup = made / "aggregator" / "startup"
    with trusting_own_root_alone(Kit.open(made / "north", "party")):
        assert dial(made / "north", listener, startup / "server.crt", startup / "server.key") == "an order"
