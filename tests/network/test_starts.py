"""What an administrator sees where a start cannot go well: real processes on loopback."""

import re
import shutil
import signal
import socket
import time
from pathlib import Path

import pytest

from flora.engines.nvflare.consortium import Consortium
from flora.engines.nvflare.kits.provision import make_kits
from tests.network.conftest import Open

pytestmark = pytest.mark.network

SOON = 120.0  # seconds; a loaded machine is slow
# Python's own import, stopped while it reads a file: the tests ask for the warning, and only they see it.
IMPORTED = re.compile(r"Exception ignored in: [^\n]*\n(?:[^\n]*\n){1,4}?ResourceWarning: unclosed file [^\n]*\.pyc'>\n")


def test_a_taken_port_ends_the_aggregator_before_it_claims_to_be_ready(opened: Open) -> None:
    network = opened({"north": 60}, fresh=True)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as gRPC does, to let a second one in
        other.bind(("127.0.0.1", network.consortium.port))
        other.listen()
        command = network.aggregator()
        assert command.wait(SOON) == 2
    assert f"port {network.consortium.port} cannot be used" in command.text
    assert "ready for the parties" not in command.text


def test_of_two_aggregators_on_one_port_one_runs(opened: Open) -> None:
    network = opened({"north": 60}, fresh=True)
    shutil.copytree(network.kits / "aggregator", network.folder / "second")
    network.aggregator()
    second = network.run("second", ["aggregator", str(network.folder / "second")])
    commands = [network.commands["aggregator"], second]
    while not any("ready for the parties" in command.text for command in commands):
        assert all(command.running.poll() in (None, 2) for command in commands)
    other = commands[0] if "ready for the parties" in second.text else second
    assert other.wait(SOON) == 2
    assert "cannot be used" in other.text
    assert "ready for the parties" not in other.text


def test_a_party_says_that_nobody_listens_and_goes_on_when_somebody_does(opened: Open) -> None:
    network = opened({"north": 60}, fresh=True)
    party = network.party("north")
    took = party.until("nobody listens at localhost", seconds=SOON)
    assert party.text.count("nobody listens") == 1
    network.aggregator()
    party.until("connected to the aggregator", seconds=SOON)
    lost = len(party.text)
    network.commands["aggregator"].kill()
    party.until("nobody listens at localhost", seconds=SOON, start=lost)
    network.aggregator()
    party.until("connected to the aggregator again", seconds=SOON, start=lost)
    assert took < SOON


def test_a_party_says_that_its_aggregator_is_another(opened: Open, tmp_path: Path) -> None:
    network = opened({"north": 60}, fresh=True)
    make_kits(Consortium("moons", "localhost", ("north",), network.consortium.port), tmp_path / "other")
    network.aggregator().until("ready for the parties", seconds=SOON)
    shutil.rmtree(network.kits / "north" / "startup")
    shutil.copytree(tmp_path / "other" / "north" / "startup", network.kits / "north" / "startup")
    network.party("north").until("shows a certificate that is not the aggregator's", seconds=SOON)


def test_a_kit_started_in_two_places_is_connected_once_all_are_told_and_it_moves_from_a_frozen_place(
    opened: Open,
) -> None:
    network = opened({"north": 60}, fresh=True)
    shutil.copytree(network.kits / "north", network.folder / "twin")
    network.aggregator().until("ready for the parties", seconds=SOON)
    north = network.party("north")
    north.until("connected to the aggregator", seconds=SOON)
    kit = str(network.folder / "twin")
    twin = network.run("twin", ["party", kit, "--data", str(network.data("north")), "--target", "kind"])
    twin.until("another process with this kit is connected", seconds=SOON)
    north.until("somebody else has tried to connect with this kit", seconds=SOON)
    network.commands["aggregator"].until("refused a second north", seconds=SOON)
    assert "north: connected to the aggregator" not in twin.text
    north.send(signal.SIGSTOP)  # its lines are open, and nobody answers on them
    twin.until("north: connected to the aggregator", seconds=SOON)
    said = len(north.text)
    north.send(signal.SIGCONT)
    north.until("another process with this kit is connected", seconds=SOON, start=said)


@pytest.mark.parametrize("moment", ["as it dials", "as it waits"])
def test_ctrl_c_ends_a_client_that_has_found_no_aggregator(opened: Open, moment: str) -> None:
    network = opened({"north": 60}, fresh=True)
    run = network.tune("out", "--trials", "3")
    if moment == "as it waits":
        run.until("does not answer")
    while "cygrpc" not in Path(f"/proc/{run.running.pid}/maps").read_text("utf-8"):  # its engine is loaded then
        time.sleep(0.02)
    run.running.send_signal(signal.SIGINT)
    assert run.wait(SOON) == 1
    assert run.text.splitlines()[-1] == "flora: stopped; what is done is kept, the same command goes on from here"
    assert "Traceback" not in IMPORTED.sub("", run.text)
