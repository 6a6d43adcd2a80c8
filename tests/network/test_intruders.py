"""Intruders with good certificates, who write to others what NVFlare would obey: a peer, the scientist and the
aggregator, each without a guard of its own."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from nvflare.fuel.flare_api.api_spec import InvalidJobDefinition

from flora.engines.nvflare.consortium import AGGREGATOR, Kit
from flora.engines.nvflare.run.job import Run, write_job
from flora.engines.nvflare.run.service import end_tree
from flora.engines.nvflare.run.session import session
from flora.party.audit import verify
from flora.program.request import Request
from tests.engines.nvflare.guard import nvflare_topics as topics
from tests.network.conftest import QUICK, HeldSearch, Network, Open, first_on_path

pytestmark = pytest.mark.network

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


def test_a_scientist_submits_a_run_and_nothing_else(opened: Open, tmp_path: Path) -> None:
    """A name of its own would be a folder of the aggregator's kit, and no command could stop what is called so."""
    network = opened({"north": 60, "south": 60}, fresh=True)
    network.aggregator().until("ready for the parties")
    before = contents(network.kits / "aggregator")
    job = write_job(tmp_path, Run("moons", ("north", "south"), Request()))
    meta = json.loads((job / "meta.json").read_bytes())
    with session(Kit.open(network.kits / "aggregator", AGGREGATOR).scientist, 60.0) as line:
        (job / "meta.json").write_text(json.dumps({**meta, "job_id": "local"}))
        with pytest.raises(InvalidJobDefinition, match="settings are not those of a run"):
            line.api.submit_job(str(job))
        (job / "meta.json").write_text(json.dumps(meta))
        (job / "app" / "config" / "more.py").write_text("")
        with pytest.raises(InvalidJobDefinition, match="it brings the file"):
            line.api.submit_job(str(job))
        assert line.running() == []
    assert contents(network.kits / "aggregator") == before
    assert {note.partition(": ")[2].split(" ")[0] for note in refusals(network.kits / "aggregator")} == {"its", "it"}


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


def test_the_aggregator_gets_nothing_from_a_scientist(opened: Open, intruders: Any) -> None:
    network = opened({"south": 60}, fresh=True)
    hostile = _hostile(network, intruders)
    kit = Kit.open(network.kits / "aggregator", AGGREGATOR).scientist
    before = contents(kit.path)
    with session(kit, 60.0) as line:
        cell = line.api.api.cell.get_fqcn()
        answers = hostile.attack(cell, table=network.data("south"), claims=("south", "server", cell))
    allowed = {("hci_channel", "SESSION_EXPIRED"), ("cellnet.channel", "bye")}
    assert {(answer["channel"], answer["topic"]) for answer in answers} <= allowed
    assert contents(kit.path) == before
    assert refusals(kit.path)


def _hostile(network: Network, intruders: Any) -> Intruder:
    """Start NVFlare's server with the aggregator's kit, as FLoRA would, but without the guard."""
    from flora.engines.nvflare.foreground import Foreground
    from flora.engines.nvflare.kits.provision import place_state

    kit = Kit.open(network.kits / "aggregator", AGGREGATOR)
    kit.state.mkdir(exist_ok=True)
    Foreground(kit.state).folder.mkdir(exist_ok=True)
    place_state(kit)
    found: Intruder = intruders("aggregator", kit.path)
    return found


def test_the_aggregator_and_a_peer_get_nothing_during_a_run(
    opened: Open, intruders: Any, held_search: HeldSearch
) -> None:
    """The hostile aggregator writes to a party's process for a run, also in the names of others, while it searches."""
    network = opened({"north": 60, "south": 60}, fresh=True)
    hostile = _hostile(network, intruders)
    network.party("north").until("connected to the aggregator")
    network.party("south", environment=held_search.environment).until("connected to the aggregator")
    before = contents(network.kits / "south")
    run = network.tune("out", *QUICK)
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


def test_a_peer_in_a_run_gets_nothing_and_the_run_ends_well(
    opened: Open, intruders: Any, held_search: HeldSearch
) -> None:
    """North takes part with a client of its own, which attacks south and the aggregator while both search."""
    network = opened({"north": 60, "south": 60}, fresh=True)
    network.aggregator().until("ready for the parties")
    network.party("north").until("connected to the aggregator")  # it leaves its settings in the kit
    network.commands["north"].end()
    network.party("south", environment=held_search.environment).until("connected to the aggregator")
    peer = intruders("peer", network.kits / "north")
    before = contents(network.kits / "south")
    run = network.tune("out", *QUICK)
    network.commands["south"].until("search: begins")
    job = next(p.name for p in (network.kits / "south").iterdir() if re.fullmatch(r"[0-9a-f]{8}-[-0-9a-f]{27}", p.name))
    targets = ("south", f"south.{job}", f"server.{job}")
    answers = peer.attack(*targets, table=network.data("south"), claims=("server", f"server.{job}", f"south.{job}"))
    assert answers == []
    assert refusals(network.kits / "aggregator")
    after = {name: digest for name, digest in contents(network.kits / "south").items() if name in before}
    assert after == before
    held_search.let_go()
    assert run.wait() == 0, run.text


def test_members_that_take_anothers_name_are_kept_out_and_the_run_ends_well(
    opened: Open, intruders: Any, held_search: HeldSearch
) -> None:
    """Three cells with north's kit call themselves by names that are not north's, while south searches."""
    network = opened({"north": 60, "south": 60}, fresh=True)
    network.aggregator().until("ready for the parties")
    network.party("north").until("connected to the aggregator")
    network.party("south", environment=held_search.environment).until("connected to the aggregator")
    before = contents(network.kits / "south")
    run = network.tune("out", *QUICK)
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
    held_search.let_go()
    assert run.wait() == 0, run.text
