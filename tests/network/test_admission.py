"""Who is not let in, and what is not taken: wrong, expired and borrowed certificates, plaintext, a message that is none
of its step."""

import json
import re
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from flora.engines.nvflare.consortium import Consortium
from flora.engines.nvflare.kits.provision import make_kits
from tests.network.conftest import QUICK, Network, Open, first_on_path, make_network

pytestmark = pytest.mark.network

PATIENCE = 20.0  # seconds in which an intruder must not get in; a good party needs a few


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """An aggregator with one good party, which shows that others could connect."""
    network = make_network(tmp_path_factory.mktemp("serving"), {"north": 60, "south": 60})
    try:
        network.aggregator().until("ready for the parties")
        network.party("north").until("connected to the aggregator")
        yield network
    finally:
        network.close()


def intrude(network: Network, name: str, folder: Path) -> None:
    """Start a party whose program does not look at its own certificate."""
    text = "import flora.engines.nvflare.kits.certificates as module\nmodule.check_certificate = lambda kit: None\n"
    (folder / "blind").mkdir()
    (folder / "blind" / "sitecustomize.py").write_text(text)
    network.party(name, environment=first_on_path(folder / "blind"))


def stays_out(network: Network, name: str) -> None:
    """See that the party does not get in, while the good one is there."""
    command = network.commands[name]
    log = network.kits / name / "state" / "nvflare.log"
    began = time.monotonic()
    while not log.exists() or "registered aux handler" not in log.read_text(errors="replace"):  # it is about to dial
        assert time.monotonic() - began < 200, command.text
        time.sleep(0.2)
    with pytest.raises(pytest.fail.Exception):
        command.until("connected to the aggregator", seconds=PATIENCE)
    command.end()
    status = network.run("status", ["status", str(network.kits / "aggregator"), "--json"])
    assert status.wait() == 0, status.text
    entries = json.loads(status.text.splitlines()[-1])["parties"]
    assert [entry["name"] for entry in entries if entry["connected"]] == ["north"]


@pytest.fixture
def south(serving: Network) -> Iterator[Path]:
    """The kit of the second party, put right again afterwards."""
    kit, kept = serving.kits / "south", serving.folder / "kept"
    shutil.copytree(kit / "startup", kept)
    yield kit / "startup"
    shutil.rmtree(kit / "startup")
    kept.replace(kit / "startup")
    (serving.folder / "south.log").unlink(missing_ok=True)
    (serving.kits / "south" / "state" / "nvflare.log").unlink(missing_ok=True)
    (serving.folder / "status.log").unlink(missing_ok=True)


def test_a_certificate_of_another_authority(serving: Network, south: Path, tmp_path: Path) -> None:
    other = Consortium("moons", "localhost", ("north", "south"), serving.consortium.port)
    make_kits(other, tmp_path / "other")
    shutil.rmtree(south)
    shutil.copytree(tmp_path / "other" / "south" / "startup", south)
    intrude(serving, "south", tmp_path)
    stays_out(serving, "south")


def test_an_unknown_party(serving: Network, south: Path, tmp_path: Path) -> None:
    """Its certificate is of an authority of its own, but it trusts the aggregator."""
    stranger = Consortium("moons", "localhost", ("stranger",), serving.consortium.port)
    make_kits(stranger, tmp_path / "other")
    shutil.copy(south / "rootCA.pem", tmp_path / "other" / "stranger" / "startup" / "rootCA.pem")
    shutil.move(tmp_path / "other" / "stranger", serving.kits / "stranger")
    shutil.copy(serving.data("south"), serving.data("stranger"))
    intrude(serving, "stranger", tmp_path)
    stays_out(serving, "stranger")


def test_another_partys_certificate(serving: Network, south: Path, tmp_path: Path) -> None:
    """South takes north's key and certificate, and calls itself south."""
    for name in ("client.crt", "client.key"):
        shutil.copy(serving.kits / "north" / "startup" / name, south / name)
    command = serving.party("south")
    assert command.wait() == 2
    assert "client.crt: is the certificate of 'north', the kit is of 'south'" in command.text
    intrude(serving, "south", tmp_path)
    serving.commands["aggregator"].until("the certificate of 'north' is not that of 'south'")
    stays_out(serving, "south")


def test_an_expired_certificate(serving: Network, south: Path, tmp_path: Path) -> None:
    expire(serving, south)
    command = serving.party("south")
    assert command.wait() == 2
    assert "was valid until" in command.text
    assert "flora certificate request" in command.text
    intrude(serving, "south", tmp_path)
    stays_out(serving, "south")


def expire(network: Network, startup: Path) -> None:
    """Sign the party's own certificate anew with the authority's key, for a time that is over."""
    state = json.loads(next((network.kits / "authority").rglob("cert.json")).read_bytes())
    key = serialization.load_pem_private_key(state["root_pri_key"].encode(), password=None)
    old = x509.load_pem_x509_certificate((startup / "client.crt").read_bytes())
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(old.subject)
        .issuer_name(old.issuer)
        .public_key(old.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=20))
        .not_valid_after(now - timedelta(days=10))
    )
    for extension in old.extensions:
        made = made.add_extension(extension.value, extension.critical)
    signed = made.sign(key, hashes.SHA256())  # type: ignore[arg-type]
    (startup / "client.crt").write_bytes(signed.public_bytes(serialization.Encoding.PEM))


def received(network: Network, context: ssl.SSLContext | None) -> bytes:
    """Return what the aggregator says to somebody who opens HTTP/2; empty where it only closes."""
    hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    try:
        with socket.create_connection(("localhost", network.consortium.port), timeout=10) as line:
            if context is None:
                line.sendall(hello)
                return line.recv(100)
            with context.wrap_socket(line, server_hostname="localhost") as secured:
                secured.sendall(hello)
                return secured.recv(100)
    except (ssl.SSLError, ConnectionError, TimeoutError):
        return b""


def trusting(network: Network) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(network.kits / "north" / "startup" / "rootCA.pem"))
    context.set_alpn_protocols(["h2"])
    return context


def unnamed(network: Network) -> ssl.SSLContext:
    """A context for a listener whose certificate is a party's, and not a host's."""
    context = trusting(network)
    context.check_hostname = False
    return context


def test_plaintext_and_no_certificate_get_no_byte(serving: Network, south: Path) -> None:
    assert received(serving, None) == b""
    assert received(serving, trusting(serving)) == b""
    known = trusting(serving)
    known.load_cert_chain(south / "client.crt", south / "client.key")
    assert received(serving, known) != b""  # so the two above were refused, and not the question
    expire(serving, south)
    expired = trusting(serving)
    expired.load_cert_chain(south / "client.crt", south / "client.key")
    assert received(serving, expired) == b""


def test_a_party_listens_to_nobody_but_itself_and_not_in_the_clear(serving: Network, south: Path) -> None:
    """NVFlare's own processes meet on loopback: with TLS, and only for who has the kit's certificate."""
    ports = []
    for process in serving.commands["north"].family():
        for socket_ in process.net_connections("inet"):
            if socket_.status == "LISTEN":
                assert socket_.laddr.ip in ("127.0.0.1", "::1", "::ffff:127.0.0.1")
                ports.append(socket_.laddr.port)
    assert len(ports) == 1
    assert handshake(ports[0], unnamed(serving)) == "refused"
    known = unnamed(serving)
    known.load_cert_chain(south / "client.crt", south / "client.key")
    assert handshake(ports[0], known) == "accepted"
    with socket.create_connection(("127.0.0.1", ports[0]), timeout=10) as plain, suppress(ConnectionError):
        plain.sendall(b"x" * 1000)
        assert plain.recv(100)[:1] in (b"", b"\x15")  # closed, or a TLS alert


def handshake(port: int, context: ssl.SSLContext) -> str:
    """Return whether a listener takes a caller with these certificates."""
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as line,
            context.wrap_socket(line) as secured,
        ):
            secured.settimeout(3)
            secured.sendall(b"x")
            secured.recv(1)  # with TLS 1.3 a refusal comes here
    except TimeoutError:
        return "accepted"  # it waits for the rest of our message
    except (ssl.SSLError, ConnectionError):
        return "refused"
    return "closed"


ROGUE = """
import flora.engines.nvflare.run.collective as module

def wrong(self, kind, shape, data):
    from flora.engines.nvflare.run.hub import Call
    number = self.calls
    self.calls += 1
    call = Call(self.step + {step}, number, kind, shape)
    return self._answered(call, data + bytes({more} * (kind == "add")))


module.CellCollective._call = wrong
"""


@pytest.mark.parametrize(
    ("step", "more", "said"),
    [
        (1, 0, "party 'south' sent a message of step 5, this is step 4"),
        (0, 300 * 2**20, "party 'south' sent a message of 314[0-9]* bytes, where 268435456 are allowed"),
        (0, 8, "party 'south' sent [0-9]+ bytes for a sum of shape"),
    ],
)
def test_a_message_of_another_step_or_size_ends_the_training_and_names_the_party(
    opened: Open, tmp_path: Path, step: int, more: int, said: str
) -> None:
    network = opened({"north": 60, "south": 60}, fresh=True)
    (tmp_path / "rogue").mkdir()
    (tmp_path / "rogue" / "sitecustomize.py").write_text(ROGUE.format(step=step, more=more))
    network.aggregator()
    network.party("north")
    network.party("south", environment=first_on_path(tmp_path / "rogue"))
    run = network.tune("out", *QUICK)
    assert run.wait() == 1

    assert re.search(said, run.text.replace("\n", " ")), run.text
    assert not (network.folder / "out" / "result.json").exists()
