"""Faults drawn by a seed, one or two at a time, in runs on loopback: the undisturbed bytes come out, and nothing stays.

The short form is a few faults. ``make chaos`` is the long one: ``FLORA_CHAOS`` faults in all, several in each run,
``FLORA_CHAOS_SEED`` chooses others. Each fault is a line of the file ``FLORA_CHAOS_LOG``, and so is how its run ended.
"""

import logging
import os
import random
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

import psutil
import pytest

from flora.party.audit import verify
from tests.network.conftest import Command, Network, Open, answer_of, bytes_of
from tests.network.link import Link, for_seconds
from tests.network.machine import environment_of, fill, jump, moving_clock, read_only
from tests.network.test_faults import counts_said

pytestmark = pytest.mark.network

FAULTS = int(os.environ.get("FLORA_CHAOS", "2"))
SEED = int(os.environ.get("FLORA_CHAOS_SEED", "0"))
JOURNAL = os.environ.get("FLORA_CHAOS_LOG", "")
AT_A_RUN = 2 if FAULTS <= 2 else 4  # faults, two after two: of a short series none stays undone
OPTIONS = ["--model", "hgb", "--trials", "3", "--cv", "2", "--seed", "5"]
SIZES = {"north": 80, "south": 60}
CLEAR = re.compile(r"part(y|ies) '\w+'|the aggregator|stopped")  # what a run says that ends without a result
LOG = logging.getLogger("chaos")
HANDS = ThreadPoolExecutor(2)  # for good: what a thread has started ends with it (die_with_parent)
MOMENTS = ("describe: asking", "search: asking", "confirm: asking", "train: asking")


LONG_PAUSE, SHORT_PAUSE = 10.0, 3.0  # seconds: more than the silence after which a party is lost, and less
HOUR = 3600


@dataclass(frozen=True)
class Fault:
    """What happens to whom, and when."""

    kind: str
    who: str
    moment: str  # the aggregator says so
    later: float  # seconds after that


@dataclass
class World:
    """A consortium, each party's link to the aggregator, and the clocks that can jump in this run."""

    network: Network
    links: Mapping[str, Link]
    clocks: Mapping[str, Path]
    library: Path | None  # that makes a clock jump
    place: int  # of the run in the series

    def note(self, text: str) -> None:
        """Write down what happens: a worker of pytest-xdist has no terminal."""
        LOG.warning(text)
        if JOURNAL:
            with Path(JOURNAL).open("a", encoding="utf-8") as journal:
                journal.write(f"{datetime.now():%H:%M:%S} run {self.place}: {text}\n")

    def start(self, who: str) -> Command:
        """Start a member, or the client, again."""
        if who == "tune":
            return self.network.tune("out", *OPTIONS)
        environment = environment_of(self.library, self.clocks[who]) if self.library and who in self.clocks else {}
        if who == "aggregator":
            return self.network.aggregator(environment)
        return self.network.party(who, environment={**self.links[who].environment, **environment})

    def command(self, who: str) -> Command:
        """Return what runs as a member now."""
        return self.network.commands[who]


def drawn(rng: random.Random) -> Fault:
    """Draw a fault."""
    kind = rng.choice(list(KINDS))
    return Fault(kind, rng.choice(VICTIMS.get(kind, [*SIZES])), rng.choice(MOMENTS), round(rng.uniform(0, 4), 2))


def all_drawn(rng: random.Random) -> list[list[Fault]]:
    """Draw the faults of a run, in order: those of one list happen at once."""
    faults = sorted((drawn(rng) for _ in range(AT_A_RUN)), key=lambda fault: MOMENTS.index(fault.moment))
    found = []
    for first, second in batched_by_two(faults):
        if rng.random() < 0.5 and first.who != second.who:
            found.append([first, replace(second, moment=first.moment)])
        else:
            found += [[first], [second]]
    return found


def batched_by_two(faults: list[Fault]) -> Iterator[tuple[Fault, Fault]]:
    """Yield the first two faults, then the next two."""
    return zip(faults[::2], faults[1::2], strict=True)


def kill(world: World, who: str) -> None:
    """All of its processes end at once; somebody starts it again."""
    world.command(who).kill()
    world.start(who)


def pause(world: World, who: str, seconds: float = LONG_PAUSE) -> None:
    """It stands still, for longer than the silence after which a party counts as lost, and goes on."""
    world.command(who).send(signal.SIGSTOP)
    time.sleep(seconds)
    world.command(who).send(signal.SIGCONT)


def kill_run(world: World, who: str) -> None:
    """The process that works for the run ends, as by a lack of memory; its parent stays."""
    for process in world.command(who).family()[2:]:
        process.kill()
    time.sleep(2)
    world.start(who)


def tear(world: World, who: str) -> None:
    """It is killed while it writes: the last line of its audit log is torn, and drafts of files lie about."""
    world.command(who).kill()
    state = world.network.kits / who / "state"
    with (state / "audit.jsonl").open("ab") as log:
        log.write(b'{"time": "2026-')
    (state / "studies" / ".x.db.1-1.draft").parent.mkdir(exist_ok=True)
    (state / "studies" / ".x.db.1-1.draft").write_bytes(b"half")
    world.start(who)


def fill_disk(world: World, who: str) -> None:
    """None of its files grows for a while: its disk is full. Then there is room again, and it is started again."""
    processes = world.command(who).family()[1:]  # not the command that prints: a terminal is not on the disk
    fill(processes, full=True)
    time.sleep(LONG_PAUSE)
    fill(processes, full=False)
    world.command(who).kill()
    world.start(who)


def make_read_only(world: World, who: str) -> None:
    """It is killed, and finds its disk read-only: it says so, and ends. Then it is started again."""
    world.command(who).kill()
    with read_only(world.network.kits / who / "state") as done:
        if done:
            started = world.start(who)
            assert started.wait() == 2, started.text
            assert "cannot be written" in started.text
        else:
            world.note("NOT DONE: a disk cannot be made read-only here")
    world.start(who)


def jump_clock(world: World, who: str) -> None:
    """Its clock jumps an hour ahead, and back after a while."""
    if world.library is None:
        world.note("NOT DONE: a clock cannot be made to jump here, there is no C compiler")
    jump(world.clocks[who], HOUR)
    time.sleep(LONG_PAUSE)
    jump(world.clocks[who], 0)


def damage_link(world: World, who: str) -> None:
    """A bit of what passes is changed: TLS ends the line."""
    world.links[who].damage()


KINDS: dict[str, Callable[[World, str], None]] = {
    "kill": kill,
    "pause": pause,
    "kill the run's process of": kill_run,
    "hold up": lambda world, who: pause(world, who, SHORT_PAUSE),
    "tear the files of": tear,
    "lose the link of": lambda world, who: for_seconds(world.links[who].while_lost, LONG_PAUSE),
    "break the link of": lambda world, who: world.links[who].cut(),
    "hold the link of": lambda world, who: for_seconds(world.links[who].while_held, LONG_PAUSE),
    "slow the link of": lambda world, who: for_seconds(world.links[who].while_slow, LONG_PAUSE),
    "damage the link of": damage_link,
    "fill the disk of": fill_disk,
    "make read-only the disk of": make_read_only,
    "let jump the clock of": jump_clock,
}
MEMBERS = [*SIZES, "aggregator"]
VICTIMS = {  # the others happen to parties
    "kill": [*MEMBERS, "tune"],
    "pause": [*MEMBERS, "tune"],
    "fill the disk of": MEMBERS,
    "make read-only the disk of": MEMBERS,
    "let jump the clock of": MEMBERS,
}


def suffer(world: World, fault: Fault) -> None:
    """Wait for a fault's moment, and let it happen; where the run is over by then, it happens to who is at rest."""
    began = time.monotonic()
    while fault.moment not in world.command("aggregator").text and time.monotonic() - began < 120:
        if not world.command("tune").alive:
            break
        time.sleep(0.05)
    time.sleep(fault.later)
    at_rest = "" if world.command("tune").alive else ", at rest"
    if world.command(fault.who).alive:
        world.note(f"fault: {fault.kind} {fault.who} {fault.later} s after {fault.moment!r}{at_rest}")
        KINDS[fault.kind](world, fault.who)
    else:
        world.note(f"NOT DONE: {fault.kind} {fault.who}, which has ended")


def left_of(network: Network) -> list[str]:
    """Return what a run must not leave: processes of a run, and drafts of files that are no test's own."""
    seen = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
    at_work = [" ".join(line) for line in seen if str(network.home) in " ".join(line) and "run" in line]
    drafts = list(Path(network.folder).rglob("*.draft"))
    return [*at_work, *map(str, drafts)]


def ask_again(world: World) -> None:
    """Start a run that has ended without its result again; it must have said why."""
    run = world.command("tune")
    if run.running.poll() in (None, 0):
        return
    last = run.text.strip().splitlines()[-5:]
    assert run.running.returncode < 0 or CLEAR.search("\n".join(last)), run.text
    world.note(f"a clear end: {last[-1:]}")
    world.start("tune")


def ended_well(world: World) -> None:
    """See that the run ends: with its result, or with a clear word, and then with its result when asked again."""
    for _ in range(AT_A_RUN + 1):
        world.command("tune").wait()
        ask_again(world)
    run = world.command("tune")
    assert run.running.returncode == 0, run.text
    for name, command in world.network.commands.items():
        assert "Traceback" not in command.text, f"{name}: {command.text[-3000:]}"


@pytest.fixture(scope="module")
def links() -> Iterator[Mapping[str, Link]]:
    """Each party's link to the aggregator."""
    made = {party: Link().start() for party in SIZES}
    yield made
    for link in made.values():
        link.close()


@pytest.mark.parametrize("place", range(-(-FAULTS // AT_A_RUN)))
def test_a_run_survives_what_happens_to_it(opened: Open, links: Mapping[str, Link], tmp_path: Path, place: int) -> None:
    times = all_drawn(random.Random(f"{SEED}-{place}"))
    faults = [fault for at_once in times for fault in at_once]
    network = opened(SIZES)
    clocks = {fault.who: tmp_path / f"{fault.who}.clock" for fault in faults if fault.kind == "let jump the clock of"}
    for clock in clocks.values():
        jump(clock, 0)
    world = World(network, links, clocks, moving_clock(tmp_path) if clocks else None, place)
    for member in ("aggregator", *SIZES, "tune"):
        world.start(member)
    for at_once in times:
        ask_again(world)
        list(HANDS.map(partial(suffer, world), at_once))
    alone = network.in_process("alone", *OPTIONS, parties=list(SIZES))
    ended_well(world)
    assert all(link.opened for link in links.values())  # or the faults of links have happened to nobody
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
    world.note("the undisturbed bytes, and nothing left")
