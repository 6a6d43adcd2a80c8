"""Who is not let in: wrong, expired and borrowed certificates, plaintext, a party that sends what it must not, and
intruders with good certificates, who write to others what NVFlare would obey."""

import hashlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from flora.engines.nvflare.consortium import Consortium
from flora.engines.nvflare.kits.provision import make_kits
from flora.engines.nvflare.run.service import end_tree
from flora.party.audit import verify
from tests.engines.nvflare.guard import nvflare_topics as topics
from tests.network.conftest import Network, Open, make_network

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


def first_on_path(folder: Path) -> dict[str, str]:
    """Let a folder's sitecustomize run in a command and in all that it starts."""
    return {"PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


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
    run = network.tune("out", "--model", "svm", "--trials", "2", "--cv", "2")
    assert run.wait() == 1

    assert re.search(said, run.text.replace("\n", " ")), run.text
    assert not (network.folder / "out" / "result.json").exists()


# -- intruders with good certificates: a peer, the scientist and the aggregator, each without a guard of its own

ROOT = Path(__file__).parents[2]
UNGUARDED = """
import sys
if any("nvflare" in word for word in sys.orig_argv):
    import flora.engines.nvflare.guard.seams as seams
    seams.watch_cells = seams.watch_orders = seams.watch_commands = lambda *_: None
"""
CHANGES = ("log", "foreground", "audit", "worker.json", "lock", "party.json", "rc", "pool_stats")  # what a run writes


@dataclass
class Intruder:
    """NVFlare's own program with a good kit, in a process of its own."""

    role: str
    kit: Path
    folder: Path
    claim: tuple[str, ...] = ()  # the name that an impostor calls itself by
    attacks: int = 0

    def start(self) -> "Intruder":
        self.folder.mkdir()
        command = [sys.executable, "-m", "tests.network.attacker", self.role, str(self.kit), str(self.folder)]
        command += self.claim
        path = f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stdout=log, stderr=subprocess.STDOUT
            )
        self._until(self.folder / "ready")
        return self

    def _until(self, file: Path, seconds: float = 300.0) -> None:
        began = time.monotonic()
        while not file.exists():
            assert self.process.poll() is None, (self.folder / "log").read_text(errors="replace")[-3000:]
            assert time.monotonic() - began < seconds, (self.folder / "log").read_text(errors="replace")[-3000:]
            time.sleep(0.2)

    def attack(self, *targets: str, table: Path, claims: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        """Attack, and return all that came back."""
        draft = self.folder / "asked"
        asked = {"targets": targets, "table": str(table), "claims": claims, "known": everything()}
        draft.write_text(json.dumps(asked))
        draft.replace(self.folder / f"attack-{self.attacks}.json")
        answers = self.folder / f"answers-{self.attacks}.json"
        self.attacks += 1
        self._until(answers)
        found: list[dict[str, Any]] = json.loads(answers.read_bytes())
        return found

    def end(self) -> None:
        end_tree(self.process.pid)
        self.process.wait()


@cache
def everything() -> dict[str, Any]:
    """Return all that the installed NVFlare listens to, from its source."""
    found = topics.listeners()
    stars = {one.channel for one in found if one.topic == "*" and one.channel} - {"admin"}
    pairs = {(one.channel, one.topic) for one in found if one.channel and one.topic not in (None, "*")}
    pairs |= {(channel, word) for channel in stars for word in topics.words()}
    return {"orders": topics.orders(), "pairs": sorted(pairs)}


@pytest.fixture
def intruders(tmp_path: Path) -> Iterator[Any]:
    started: list[Intruder] = []

    def start(role: str, kit: Path, *claim: str) -> Intruder:
        started.append(Intruder(role, kit, tmp_path / f"intruder-{len(started)}", claim))
        return started[-1].start()

    yield start
    for intruder in started:
        intruder.end()


def contents(kit: Path) -> dict[str, str]:
    """Return a digest of every file of a kit that a party itself does not write while it runs."""
    files = {str(p.relative_to(kit)): p for p in kit.rglob("*") if p.is_file()}
    kept = {name: p for name, p in files.items() if not any(word in name for word in CHANGES)}
    return {name: hashlib.sha256(p.read_bytes()).hexdigest() for name, p in kept.items()}


def refusals(kit: Path) -> list[str]:
    """Return what a kit's audit log says of refusals; the log must be whole."""
    return [entry.note for entry in verify(kit / "state" / "audit.jsonl") if entry.what == "refused"]


def kept_out(network: Network, victim: str, before: dict[str, str]) -> None:
    """See that a victim is as it was, runs, and tells of it."""
    kit = network.kits / victim
    assert contents(kit) == before
    assert network.commands[victim].running.poll() is None
    assert refusals(kit)
    assert len(refusals(kit)) < 60
    network.commands[victim].until("refused ", seconds=10)


def secrets(network: Network, victim: str) -> list[str]:
    key = (network.kits / victim / "startup" / "client.key").read_text().splitlines()[1]
    return [key, network.data(victim).read_text().splitlines()[-1], "PRIVATE KEY", "flora-kit.json"]


def two(opened: Open, environment: dict[str, str] | None = None) -> Network:
    """An aggregator and south; north is left to the intruder."""
    network = opened({"north": 60, "south": 60}, fresh=True)
    network.run("aggregator", ["aggregator", str(network.kits / "aggregator")], environment)
    network.commands["aggregator"].until("ready for the parties", seconds=200)
    network.party("south", environment=environment).until("connected to the aggregator", seconds=200)
    (network.kits / "south" / "state" / "studies").mkdir()
    (network.kits / "south" / "state" / "studies" / "a.db").write_text("a search")
    return network


def test_without_the_guard_a_peer_reads_and_deletes(opened: Open, intruders: Any, tmp_path: Path) -> None:
    """The attack is a real one: this is what the tests below would see if the guard were not there."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "sitecustomize.py").write_text(UNGUARDED)
    network = two(opened, first_on_path(tmp_path / "open"))
    key, row = secrets(network, "south")[:2]
    before = contents(network.kits / "south")
    answers = json.dumps(intruders("peer", network.kits / "north").attack("south", table=network.data("south")))
    assert key in answers
    assert row in answers
    assert before.keys() - contents(network.kits / "south").keys()


def test_a_peer_gets_nothing_from_another_party(opened: Open, intruders: Any) -> None:
    network = two(opened)
    before = contents(network.kits / "south")
    peer = intruders("peer", network.kits / "north")
    answers = peer.attack("south", table=network.data("south"), claims=("server", "south", "_admin_x"))
    assert answers == []
    assert refusals(network.kits / "aggregator")  # it did not even get through
    assert contents(network.kits / "south") == before
    assert network.commands["south"].running.poll() is None


def test_a_peer_gets_nothing_even_where_the_aggregator_lets_it_through(
    opened: Open, intruders: Any, tmp_path: Path
) -> None:
    network = opened({"north": 60, "south": 60}, fresh=True)
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "sitecustomize.py").write_text(UNGUARDED)
    command = ["aggregator", str(network.kits / "aggregator")]
    network.run("aggregator", command, first_on_path(tmp_path / "open"))
    network.commands["aggregator"].until("ready for the parties")
    network.party("south").until("connected to the aggregator")
    before = contents(network.kits / "south")
    assert intruders("peer", network.kits / "north").attack("south", table=network.data("south")) == []
    kept_out(network, "south", before)
    assert any("from north" in note for note in refusals(network.kits / "south"))


def test_a_peer_gets_nothing_from_the_aggregator(opened: Open, intruders: Any) -> None:
    network = two(opened)
    peer = intruders("peer", network.kits / "north")
    before = contents(network.kits / "aggregator")
    answers = peer.attack("server", table=network.data("south"), claims=("server", "south", "server.x"))
    allowed = {"challenge", "register", "heart_beat", "quit", "report_job_failure", "bye"}
    assert {answer.get("topic") for answer in answers} <= allowed
    assert {answer.get("channel") for answer in answers} <= {"task", "cellnet.channel"}
    after = contents(network.kits / "aggregator")
    assert after == before
    assert network.commands["aggregator"].running.poll() is None


def test_the_scientist_gets_nothing_but_what_a_scientist_needs(opened: Open, intruders: Any) -> None:
    network = two(opened)
    before = {name: contents(network.kits / name) for name in ("south", "aggregator")}
    kit = network.kits / "aggregator" / "scientist"
    answers = intruders("scientist", kit).attack("south", "server", table=network.data("south"))
    assert [answer for answer in answers if answer.get("target") == "south"] == []
    text = json.dumps(answers)
    assert not [secret for secret in secrets(network, "south") if secret in text]
    assert "server.key" not in re.sub(r"cat server startup/server.key", "", text)
    assert {name: contents(network.kits / name) for name in before} == before
    assert refusals(network.kits / "aggregator")
    for name in before:
        assert network.commands[name].running.poll() is None


def test_the_aggregator_gets_nothing_from_a_party_at_rest(opened: Open, intruders: Any) -> None:
    network = opened({"south": 60}, fresh=True)
    hostile = _hostile(network, intruders)
    network.party("south").until("connected to the aggregator")
    before = contents(network.kits / "south")
    claims = ("north", "south.5bad8af9-c4b2-4c94-99cd-b8ccacca2c0c", "server.5bad8af9-c4b2-4c94-99cd-b8ccacca2c0c")
    answers = hostile.attack("south", table=network.data("south"), claims=claims)
    assert {answer["body"] for answer in answers if answer["channel"] == "admin"} <= {"'refused'"}
    assert {(answer["channel"], answer["topic"]) for answer in answers} <= {
        ("admin", "admin"),
        ("cellnet.channel", "bye"),
    }
    kept_out(network, "south", before)


def _hostile(network: Network, intruders: Any) -> Intruder:
    """Start NVFlare's server with the aggregator's kit, as FLoRA would, but without the guard."""
    from flora.engines.nvflare.consortium import AGGREGATOR, Kit
    from flora.engines.nvflare.foreground import Foreground
    from flora.engines.nvflare.kits.provision import place_state

    kit = Kit.open(network.kits / "aggregator", AGGREGATOR)
    kit.state.mkdir(exist_ok=True)
    Foreground(kit.state).folder.mkdir(exist_ok=True)
    place_state(kit)
    found: Intruder = intruders("aggregator", kit.path)
    return found


def test_the_aggregator_and_a_peer_get_nothing_during_a_run(opened: Open, intruders: Any) -> None:
    """The hostile aggregator writes to a party's process for a run, also in the names of others, while it searches."""
    network = opened({"north": 60, "south": 4000}, fresh=True)
    hostile = _hostile(network, intruders)
    network.party("north").until("connected to the aggregator")
    network.party("south").until("connected to the aggregator")
    before = contents(network.kits / "south")
    run = network.tune("out", "--model", "hgb", "--trials", "100", "--cv", "10", "--no-race")
    network.commands["south"].until("search: begins")
    job = next(p.name for p in (network.kits / "south").iterdir() if re.fullmatch(r"[0-9a-f]{8}-[-0-9a-f]{27}", p.name))
    claims = (f"north.{job}", "north", f"south.{job}", "south")
    answers = hostile.attack(f"south.{job}", table=network.data("south"), claims=claims)
    assert "search: done" not in network.commands["south"].text  # it was under way all the time
    answers += hostile.attack("south", table=network.data("south"), claims=claims)
    text = json.dumps(answers)
    assert not [secret for secret in secrets(network, "south") if secret in text]
    ours = {("admin", "admin"), ("cellnet.channel", "bye"), ("aux_communication", "__end_run__")}
    assert {(answer["channel"], answer["topic"]) for answer in answers} <= ours
    assert {answer["body"] for answer in answers if answer["channel"] == "admin"} <= {"'refused'"}
    after = {name: digest for name, digest in contents(network.kits / "south").items() if name in before}
    assert after == before
    assert refusals(network.kits / "south")
    assert network.commands["south"].running.poll() is None
    run.end()


def test_a_peer_in_a_run_gets_nothing_and_the_run_ends_well(opened: Open, intruders: Any) -> None:
    """North takes part with a client of its own, which attacks south and the aggregator while both search."""
    network = opened({"north": 60, "south": 1500}, fresh=True)
    network.aggregator().until("ready for the parties")
    network.party("north").until("connected to the aggregator")  # it leaves its settings in the kit
    network.commands["north"].end()
    network.party("south").until("connected to the aggregator")
    peer = intruders("peer", network.kits / "north")
    before = contents(network.kits / "south")
    run = network.tune("out", "--model", "hgb", "--trials", "40", "--cv", "5")
    network.commands["south"].until("search: begins")
    job = next(p.name for p in (network.kits / "south").iterdir() if re.fullmatch(r"[0-9a-f]{8}-[-0-9a-f]{27}", p.name))
    targets = ("south", f"south.{job}", f"server.{job}")
    answers = peer.attack(*targets, table=network.data("south"), claims=("server", f"server.{job}", f"south.{job}"))
    assert answers == []
    assert refusals(network.kits / "aggregator")
    after = {name: digest for name, digest in contents(network.kits / "south").items() if name in before}
    assert after == before
    assert run.wait() == 0, run.text


def test_members_that_take_anothers_name_are_kept_out_and_the_run_ends_well(opened: Open, intruders: Any) -> None:
    """Three cells with north's kit call themselves by names that are not north's, while north and south search."""
    network = opened({"north": 60, "south": 4000}, fresh=True)
    network.aggregator().until("ready for the parties")
    network.party("north").until("connected to the aggregator")
    network.party("south").until("connected to the aggregator")
    before = contents(network.kits / "south")
    run = network.tune("out", "--model", "hgb", "--trials", "30", "--cv", "5", "--no-race")
    network.commands["south"].until("search: begins")
    job = next(p.name for p in (network.kits / "south").iterdir() if re.fullmatch(r"[0-9a-f]{8}-[-0-9a-f]{27}", p.name))
    names = ("south", f"south.{job}", f"_admin_{job}")
    impostors = [intruders("impostor", network.kits / "north", name) for name in names]
    assert "search: done" not in network.commands["south"].text  # it is under way
    for impostor in impostors:
        answers = impostor.attack("server", "north", table=network.data("south"), claims=("south", "server"))
        assert answers == []
    refused = " ".join(refusals(network.kits / "aggregator"))
    for name in names:
        assert f"the certificate of 'north' is not that of '{name}'" in refused
    after = {name: digest for name, digest in contents(network.kits / "south").items() if name in before}
    assert after == before
    assert run.wait() == 0, run.text
