"""Certificates in real life: a stolen kit is shut out at once, in a run, and a key of one's own gets back in."""

import time

import pytest

from tests.network.conftest import Network, Open, answer_of, bytes_of

pytestmark = pytest.mark.network

SEARCH = ["--model", "mlp", "--trials", "8", "--cv", "3", "--seed", "3", "--trainings", "1"]


def certificate(network: Network, *arguments: object) -> None:
    command = network.run("certificate", ["certificate", *map(str, arguments)])
    assert command.wait() == 0, command.text


def test_a_revoked_kit_is_out_of_a_run_and_a_new_key_is_in_again(opened: Open) -> None:
    network = opened(fresh=True).start()
    run = network.tune("out", *SEARCH)
    network.commands["south"].until("search: 2 of 8")
    certificate(network, "revoke", network.kits / "aggregator", "south")
    network.commands["aggregator"].until("the certificates of south from before", seconds=60)
    run.until("south gives no sign of life", "party 'south' was lost")
    said = len(network.commands["aggregator"].text)
    network.commands["south"].kill()
    network.party("south")  # the thief tries again
    network.commands["south"].until("this kit's certificate is revoked at the aggregator", seconds=120)
    time.sleep(15)
    assert "south has connected" not in network.commands["aggregator"].text[said:]
    assert "connected to the aggregator" not in network.commands["south"].text.split("dialling")[-1]
    network.commands["south"].kill()
    request, signed = network.folder / "south.csr", network.folder / "south.crt"
    certificate(network, "request", network.kits / "south", "--out", request)
    certificate(network, "sign", network.kits, request, "--out", signed)
    certificate(network, "install", network.kits / "south", signed)
    network.party("south")
    alone = network.in_process("alone", *SEARCH)
    assert run.wait() == 0, run.text
    assert bytes_of(network.folder / "out") == bytes_of(alone)
    assert answer_of(network.folder / "out") == answer_of(alone)
