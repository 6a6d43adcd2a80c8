"""Real processes on loopback with real certificates.

To start a federation takes longer than most tests, so a test leaves it to the next one: as good as new, or not at all
(:class:`Federations`). Each worker of pytest-xdist has a federation of its own, with its own port and folders.
"""

import hashlib
import io
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from flora.cli.main import main
from flora.engines.nvflare.consortium import Consortium
from flora.engines.nvflare.kits.provision import make_kits
from flora.engines.nvflare.run.service import die_with_parent, end_tree
from tests.conftest import two_moons

# What a script starts in the background ignores Ctrl-C, and so do its children: here it is heard again.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from flora.cli.main import main
sys.exit(main())
"""
# A party's search that has begun and stands still while a file is there: nobody need compute until a test has done.
HELD = """
import pathlib, time
import flora.engines.nvflare.foreground as module
say = module.Foreground.say

def held(self, text):
    say(self, text)
    while text == "search: begins" and pathlib.Path({mark!r}).exists():
        time.sleep(0.1)


module.Foreground.say = held
"""
SIZES = {"north": 150, "south": 90, "west": 120}
QUICK = ["--model", "svm", "--trials", "3", "--cv", "2"]  # a run, where it does not matter which
ALONE: dict[tuple[Any, ...], Path] = {}  # the runs in process, by the parties' rows and what was asked
LONG = 900.0  # seconds for anything to happen; a loaded machine is slow


@dataclass
class Command:
    """One of our commands in a process of its own."""

    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    typed: str = ""
    process: "subprocess.Popen[bytes] | None" = None
    mark: int = 0  # where in the log the earlier tests end

    def start(self) -> "Command":
        path = [known["PYTHONPATH"] for known in (self.environment, os.environ) if "PYTHONPATH" in known]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error::ResourceWarning", "-c", PROGRAM, *self.arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment, "PYTHONPATH": os.pathsep.join(path), "COLUMNS": "200"},
                start_new_session=True,
                preexec_fn=partial(die_with_parent, signal.SIGTERM),  # noqa: PLW1509  (no thread of ours takes a lock)
            )
        assert self.process.stdin is not None
        with self.process.stdin as keyboard:
            keyboard.write(self.typed.encode())
        return self

    @property
    def running(self) -> "subprocess.Popen[bytes]":
        assert self.process is not None
        return self.process

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def text(self) -> str:
        """All that was said under this name in this test."""
        return self.log.read_bytes()[self.mark :].decode(errors="replace") if self.log.exists() else ""

    def family(self) -> list[psutil.Process]:
        """The process and all that it has started, the oldest first."""
        try:
            root = psutil.Process(self.running.pid)
            return [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def kill(self) -> None:
        """SIGKILL for all of it, as when a machine is lost."""
        family = self.family()
        for process in family:
            process.kill()
        psutil.wait_procs(family, timeout=10)
        self.running.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all of it."""
        for process in self.family():
            process.send_signal(number)

    def wait(self, seconds: float = LONG) -> int:
        try:
            return self.running.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{self.arguments[0]} did not end in {seconds} s:\n{self.text[-3000:]}")

    def until(self, *texts: str, seconds: float = LONG, start: int = 0) -> float:
        """Wait until the log has one of the texts after ``start``; return how long that took."""
        began = time.monotonic()
        while not any(text in self.text[start:] for text in texts):
            if time.monotonic() - began > seconds:
                pytest.fail(f"{self.arguments[0]} did not say {texts} in {seconds} s:\n{self.text[-3000:]}")
            time.sleep(0.1)
        return time.monotonic() - began

    def end(self) -> None:
        if self.process is not None and self.alive:  # who has ended has left its number to others
            self.send(signal.SIGCONT)
            end_tree(self.process.pid)
            self.process.wait()


@dataclass
class Network:
    """A consortium on loopback, for one test after the other."""

    home: Path  # of what its tests have in common: kits, tables and logs
    consortium: Consortium
    folder: Path  # of the test that has it now
    commands: dict[str, Command] = field(default_factory=dict)
    earlier: set[str] = field(default_factory=set)  # the commands that were started for an earlier test
    sizes: Mapping[str, int] = field(default_factory=dict)
    kits_were: str = ""

    @property
    def kits(self) -> Path:
        return self.home / "kits"

    def data(self, party: str) -> Path:
        return self.home / f"{party}.csv"

    def allow(self, party: str, **consent: Any) -> None:
        """Write what a party allows."""
        (self.kits / party / "local" / "flora.json").write_text(json.dumps(consent))

    def aggregator(self, environment: Mapping[str, str] | None = None) -> Command:
        return self.run("aggregator", ["aggregator", str(self.kits / "aggregator")], environment)

    def party(self, name: str, *more: str, environment: Mapping[str, str] | None = None, typed: str = "") -> Command:
        arguments = ["party", str(self.kits / name), "--data", str(self.data(name)), "--target", "kind", *more]
        before = self.commands.get(name) if name in self.earlier else None
        command = self.run(name, arguments, environment, typed)
        if before is not None and command is not before:  # until then the aggregator would begin a run with that one
            command.until("connected to the aggregator")
        return command

    def start(self) -> "Network":
        self.aggregator()
        for party in self.consortium.parties:
            self.party(party)
        return self

    def tune(self, out: str, *options: str, name: str = "tune") -> Command:
        project = ["--project", str(self.kits / "aggregator"), "--out", str(self.folder / out)]
        return self.run(name, ["tune", *project, *options])

    def in_process(self, out: str, *options: str, parties: Sequence[str] = tuple(SIZES)) -> Path:
        """Run the same without a network, where no earlier test has on the same tables, and return its folder."""
        asked = (*self.sizes.items(), *parties, *options)
        if asked not in ALONE:
            tables, said = [str(self.data(party)) for party in parties], io.StringIO()
            with redirect_stdout(said), redirect_stderr(said):
                code = main(["tune", *tables, "--target", "kind", *options, "--out", str(self.folder / out)])
            assert code == 0, said.getvalue()
            ALONE[asked] = self.folder / out
        return ALONE[asked]

    def run(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None, typed: str = ""
    ) -> Command:
        """Start a command under a name, in place of an earlier one. One that an earlier test started so is kept."""
        known = self.commands.get(name)
        if known is not None:
            started = (known.arguments, known.environment, known.typed)
            if name in self.earlier and known.alive and started == (arguments, environment or {}, typed):
                self.earlier.discard(name)
                return known
            known.end()
        self.earlier.discard(name)
        log, mark = self.home / f"{name}.log", 0 if known is None else known.mark
        self.commands[name] = Command(arguments, log, environment or {}, typed, mark=mark).start()
        return self.commands[name]

    @property
    def is_whole(self) -> bool:
        """Whether another test may have it: nobody but the federation runs, and no kit was changed."""
        members = {"aggregator", *self.consortium.parties}
        others = [command for name, command in self.commands.items() if name not in members and command.alive]
        return not others and self._digest_of_kits() == self.kits_were

    def _digest_of_kits(self) -> str:
        folders = [self.kits / "aggregator" / "startup"]
        folders += [self.kits / party / part for party in self.consortium.parties for part in ("startup", "local")]
        files = sorted(file for folder in folders for file in folder.iterdir() if file.name != "flora.json")
        return hashlib.sha256(b"".join(str(file).encode() + file.read_bytes() for file in files)).hexdigest()

    def as_new(self, folder: Path) -> "Network":
        """Return it for another test: who is connected stays so, and nothing is known of any run."""
        self.folder, self.earlier, self.kits_were = folder, set(self.commands), self._digest_of_kits()
        for kit in self.kits.iterdir():
            for kept in ("runs", "studies"):
                shutil.rmtree(kit / "state" / kept, ignore_errors=True)
            (kit / "state" / "audit.jsonl").unlink(missing_ok=True)
            (kit / "local" / "flora.json").unlink(missing_ok=True)
        for command in self.commands.values():
            command.mark = command.log.stat().st_size
        return self

    def close(self) -> None:
        """Stop all, and see that nothing of it is left."""
        for command in self.commands.values():
            command.end()
        left = [p for p in psutil.process_iter(["cmdline"]) if str(self.home) in " ".join(p.info["cmdline"] or [])]
        for process in left:
            process.kill()
        assert left == []


@dataclass
class Federations:
    """The federation of one size that is there now: processes take memory, so there is one at a time."""

    session: pytest.Session
    new_folder: Callable[[str], Path]
    network: Network | None = None
    failed: int = 0  # tests before it was given away

    def give(self, sizes: Mapping[str, int], folder: Path, *, fresh: bool = False) -> Network:
        """Return a federation that is as good as new: the last test's, unless that failed or has changed it."""
        if self.network is not None and (fresh or not self._is_good(self.network, sizes)):
            self.close()
        if self.network is None:
            self.network = make_network(self.new_folder("federation"), sizes)
        self.failed = self.session.testsfailed
        return self.network.as_new(folder)

    def _is_good(self, network: Network, sizes: Mapping[str, int]) -> bool:
        return network.sizes == sizes and self.session.testsfailed == self.failed and network.is_whole

    def close(self) -> None:
        """Stop it, if there is one."""
        network, self.network = self.network, None
        if network is not None:
            network.close()


Open = Callable[..., Network]


@pytest.fixture(scope="session")
def federations(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federations]:
    """The federations of this worker, one at a time."""
    made = Federations(request.session, tmp_path_factory.mktemp)
    yield made
    made.close()


@pytest.fixture
def opened(federations: Federations, tmp_path: Path) -> Open:
    """Return a consortium with tables of unequal size, which differ between the parties.

    Members that an earlier test has started may be connected already, so a test starts all that it needs; with
    ``fresh=True`` nobody is there who was not started by this test.
    """

    def give(sizes: Mapping[str, int] = SIZES, *, fresh: bool = False) -> Network:
        return federations.give(sizes, tmp_path, fresh=fresh)

    return give


@pytest.fixture(scope="module")
def shared(federations: Federations, tmp_path_factory: pytest.TempPathFactory) -> Network:
    """A consortium that runs as long as the module's tests, which see its lines from their first byte on."""
    return federations.give(SIZES, tmp_path_factory.mktemp("network"), fresh=True).start()


def make_network(home: Path, sizes: Mapping[str, int]) -> Network:
    consortium = Consortium("moons", "localhost", tuple(sizes), port_of_its_own())
    make_kits(consortium, home / "kits")
    network = Network(home, consortium, home, sizes=dict(sizes))
    for place, (party, rows) in enumerate(sizes.items()):
        two_moons(rows, rows, shift=0.2 * place).to_csv(network.data(party), index=False)
    return network


def first_on_path(folder: Path) -> dict[str, str]:
    """Let a folder's sitecustomize run in a command and in all that it starts."""
    return {"PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


@dataclass(frozen=True)
class HeldSearch:
    """Holds the search of who is started with its environment, until it is let go."""

    folder: Path

    def __post_init__(self) -> None:
        self._mark.touch()
        (self.folder / "sitecustomize.py").write_text(HELD.format(mark=str(self._mark)))

    @property
    def _mark(self) -> Path:
        return self.folder / "held"

    @property
    def environment(self) -> dict[str, str]:
        return first_on_path(self.folder)

    def let_go(self) -> None:
        """Let the search go on."""
        self._mark.unlink()


@pytest.fixture
def held_search(tmp_path_factory: pytest.TempPathFactory) -> HeldSearch:
    """A search that lasts as long as the test wants it to."""
    return HeldSearch(tmp_path_factory.mktemp("held"))


def port_of_its_own() -> int:
    """Return a free port that no line gets by chance: the kernel gives callers ports from 32768 on."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def answer_of(folder: Path) -> dict[str, Any]:
    """Return a run's result without what may differ between two runs of the same: times and the command."""
    document: dict[str, Any] = json.loads((folder / "result.json").read_bytes())
    return {key: value for key, value in document.items() if key not in ("seconds", "command")}


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return the trials and the model of a run."""
    files = [*sorted((folder / "trials").iterdir()), folder / "model.flora"]
    return {file.name: file.read_bytes() for file in files}
