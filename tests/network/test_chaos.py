"""Faults drawn by a seed, one or two at a time, in runs on loopback: the undisturbed bytes come out, and nothing stays.

The short form is a few faults. ``make chaos`` is the long one: ``FLORA_CHAOS`` faults in all, ``FLORA_CHAOS_SEED``
chooses others. What was done when is a line for each fault in the test's output.
"""

import logging
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from flora.party.audit import verify
from tests.network.conftest import Command, Network, Open, answer_of, bytes_of
from tests.network.test_faults import counts_said

pytestmark = pytest.mark.network

FAULTS = int(os.environ.get("FLORA_CHAOS", "2"))
SEED = int(os.environ.get("FLORA_CHAOS_SEED", "0"))
AT_A_RUN = 2  # faults
OPTIONS = ["--model", "hgb", "--trials", "3", "--cv", "2", "--seed", "5"]
SIZES = {"north": 80, "south": 60}
MOMENTS = ("describe: asking", "search: asking", "confirm: asking", "train: asking")


@dataclass(frozen=True)
class Fault:
    """What happens to whom, and when."""

    kind: str
    who: str
    moment: str  # the aggregator says so
    later: float  # seconds after that


def drawn(rng: random.Random) -> Fault:
    """Draw a fault."""
    kind = rng.choice(list(KINDS))
    who = rng.choice([*SIZES, "aggregator", "tune"]) if kind in ("kill", "pause") else rng.choice([*SIZES])
    return Fault(kind, who, rng.choice(MOMENTS), round(rng.uniform(0, 4), 2))


def kill(network: Network, command: Command, who: str) -> None:
    """All of its processes end at once; somebody starts it again."""
    command.kill()
    restart(network, who)


def pause(network: Network, command: Command, who: str) -> None:
    """It stands still, for longer than the silence after which a party counts as lost, and goes on."""
    command.send(signal.SIGSTOP)
    time.sleep(10)
    command.send(signal.SIGCONT)


def kill_run(network: Network, command: Command, who: str) -> None:
    """The process that works for the run ends, as by a lack of memory; its parent stays."""
    for process in command.family()[2:]:
        process.kill()
    time.sleep(2)
    restart(network, who)


def blink(network: Network, command: Command, who: str) -> None:
    """It stands still for a moment."""
    command.send(signal.SIGSTOP)
    time.sleep(3)
    command.send(signal.SIGCONT)


def tear(network: Network, command: Command, who: str) -> None:
    """It is killed while it writes: the last line of its audit log is torn, and drafts of files lie about."""
    command.kill()
    state = network.kits / who / "state"
    with (state / "audit.jsonl").open("ab") as log:
        log.write(b'{"time": "2026-')
    (state / "studies" / ".x.db.1-1.draft").parent.mkdir(exist_ok=True)
    (state / "studies" / ".x.db.1-1.draft").write_bytes(b"half")
    restart(network, who)


KINDS: dict[str, Callable[[Network, Command, str], None]] = {
    "kill": kill,
    "pause": pause,
    "kill the run's process of": kill_run,
    "hold up": blink,
    "tear the files of": tear,
}


def restart(network: Network, who: str) -> None:
    if who == "aggregator":
        network.aggregator()
    elif who == "tune":
        network.tune("out", *OPTIONS)
    else:
        network.party(who)


def suffer(network: Network, fault: Fault) -> None:
    """Wait for a fault's moment, and let it happen; where the run is over by then, it happens to who is at rest."""
    aggregator, began = network.commands["aggregator"], time.monotonic()
    while fault.moment not in aggregator.text and network.commands["tune"].alive and time.monotonic() - began < 120:
        time.sleep(0.05)
    time.sleep(fault.later)
    command = network.commands[fault.who]
    if command.alive:
        logging.getLogger("chaos").warning(f"{fault.kind} {fault.who} {fault.later} s after {fault.moment!r}")
        KINDS[fault.kind](network, command, fault.who)


def left_of(network: Network) -> list[str]:
    """Return what a run must not leave: processes of a run, and drafts of files that are no test's own."""
    seen = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
    at_work = [" ".join(line) for line in seen if str(network.home) in " ".join(line) and "run" in line]
    drafts = list(Path(network.folder).rglob("*.draft"))
    return [*at_work, *map(str, drafts)]


@pytest.mark.parametrize("place", range(-(-FAULTS // AT_A_RUN)))
def test_a_run_survives_what_happens_to_it(opened: Open, place: int) -> None:
    rng = random.Random(f"{SEED}-{place}")
    network = opened(SIZES).start()
    network.tune("out", *OPTIONS)
    for fault in sorted((drawn(rng) for _ in range(AT_A_RUN)), key=lambda f: MOMENTS.index(f.moment)):
        suffer(network, fault)
    alone = network.in_process("alone", *OPTIONS, parties=list(SIZES))
    run = network.commands["tune"]
    if run.wait() != 0:  # a client that was killed when all was done begins anew, and asks for nothing twice
        run = network.tune("out", *OPTIONS)
        assert run.wait() == 0, run.text
    assert bytes_of(network.folder / "out") == bytes_of(alone)
    assert answer_of(network.folder / "out") == answer_of(alone)
    for party in SIZES:
        said = counts_said(network.commands[party].text)
        assert said.count(3) <= 2, f"{party} searched again: {said}"
        verify(network.kits / party / "state" / "audit.jsonl")
    deadline = time.monotonic() + 60
    while left_of(network) and time.monotonic() < deadline:
        time.sleep(1)
    assert left_of(network) == []
