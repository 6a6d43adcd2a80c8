"""A run over the network gives the same bytes as the run in process, for every family."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.network.capture import Capture, is_of_others
from tests.network.conftest import Network, answer_of, bytes_of

pytestmark = pytest.mark.network

TREE = "sklearn.tree:DecisionTreeClassifier"
TREE_SPACE = {
    "max_depth": {"type": "int", "range": [1, 8], "default": 3},
    "min_samples_leaf": {"type": "int", "range": [1, 9], "default": 1},
}

# Of the messages: what a reply, a trial and a step are called, and the names of a column and a class.
TELLING = [b"flora-reply", b"flora-trials", b"flora-step"]
TELLING += [quote + word + quote for word in (b"loss", b"kind", b"upper") for quote in (b'"', b'\\"')]


@pytest.fixture(scope="module", autouse=True)
def capture() -> Iterator[Capture | None]:
    """Listen to loopback while the module's runs go on; None where that is not allowed."""
    found = Capture(TELLING)
    try:
        found.start()
    except PermissionError:
        yield None
        return
    yield found
    found.stop()


def both_runs(network: Network, model: str) -> tuple[Path, Path]:
    """Return the folders of a run across the network and of the same in process; asked again, of the same two."""
    space, name = network.folder / "space.json", model.split(":", maxsplit=1)[0]
    space.write_text(json.dumps(TREE_SPACE))
    options = ["--model", model, "--trials", "3", "--cv", "3", "--seed", "11"]
    options += ["--space", str(space)] if model == TREE else []
    if model == "svm":
        options += ["--certificate"]  # one more step that adds up
    if model == "mlp":
        options += ["--trainings", "5"]  # models that are compared; this family's sums are the smallest
    afar = network.folder / f"net-{name}"
    if not (afar / "result.json").exists():
        for party in network.consortium.parties:
            network.allow(party, families=["svm", "hgb", "mlp", TREE], certificate=True)
        run = network.tune(f"net-{name}", *options)
        network.in_process(f"alone-{name}", *options)
        assert run.wait() == 0, run.text
    return afar, network.in_process(f"alone-{name}", *options)


@pytest.mark.parametrize("model", ["svm", "hgb", "mlp", TREE])
def test_the_same_bytes_as_in_process(shared: Network, model: str) -> None:
    afar, alone = both_runs(shared, model)
    assert bytes_of(afar) == bytes_of(alone)
    assert answer_of(afar) == answer_of(alone)
    assert (afar / "report.html").is_file()


def test_status_names_who_is_connected(shared: Network) -> None:
    both_runs(shared, "svm")  # so all have connected
    command = shared.run("status", ["status", str(shared.kits / "aggregator"), "--json"])
    assert command.wait() == 0, command.text
    document = json.loads(command.text.splitlines()[-1])
    assert [(entry["name"], entry["connected"]) for entry in document["parties"]] == [
        ("north", True),
        ("south", True),
        ("west", True),
    ]


def test_what_left_is_in_the_audit_log(shared: Network) -> None:
    from flora.party.audit import verify

    both_runs(shared, "svm")  # all of the steps
    entries = verify(shared.kits / "north" / "state" / "audit.jsonl")
    steps = {entry.what.split(":")[0] for entry in entries}
    assert {"describe", "search", "confirm", "certify", "train"} <= steps
    begun = [entry.note for entry in entries if entry.what == "train: sums begin"]
    assert set(begun) == {"3 parties, masked, with south, west"}


def test_the_guard_refuses_a_scientist_nothing_in_a_good_run(shared: Network) -> None:
    both_runs(shared, "svm")
    assert not (shared.kits / "aggregator" / "scientist" / "state" / "audit.jsonl").exists()


def test_nothing_travels_in_the_clear(shared: Network, capture: Capture | None) -> None:
    """All of the runs above: between the machines' processes and within a machine."""
    if capture is None:
        pytest.skip("a raw socket needs CAP_NET_RAW")
    both_runs(shared, "svm")
    port = shared.consortium.port
    inward = [line for line in capture.bytes_of if line[1] == port]
    assert sum(capture.bytes_of[line] for line in inward) > 100_000
    assert {capture.opening[line][:2] for line in inward} == {b"\x16\x03"}  # every line begins with a TLS hello
    assert not any(map(is_of_others, inward))  # or what went by on them would not count
    assert capture.seen == set()

    with socket.create_server(("127.0.0.1", 0)) as server:  # what does travel so is seen
        with socket.create_connection(server.getsockname()) as line:
            line.sendall(b"{" + TELLING[0])
            time.sleep(1.0)
        assert (TELLING[0], server.getsockname()[1]) in {(word, ports[1]) for word, ports in capture.seen}
