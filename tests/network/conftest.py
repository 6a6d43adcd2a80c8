"""Real processes on loopback with real certificates. Every test starts and stops its own, also when it fails."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from flora.cli.network_commands import free_port

from flora.engines.nvflare.consortium import Consortium
from flora.engines.nvflare.kits import make_kits
from flora.engines.nvflare.service import end_tree
from tests.conftest import two_moons

# What a script starts in the background ignores Ctrl-C, and so do its children: here it is heard again.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from flora.cli.main import main
sys.exit(main())
"""
SIZES = {"north": 150, "south": 90, "west": 120}
LONG = 900.0  # seconds for anything to happen; a loaded machine is slow


@dataclass
class Command:
    """One of our commands in a process of its own."""

    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    typed: str = ""
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> "Command":
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error::ResourceWarning", "-c", PROGRAM, *self.arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment, "COLUMNS": "200"},
                start_new_session=True,
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
    def text(self) -> str:
        return self.log.read_text("utf-8", errors="replace") if self.log.exists() else ""

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
        if self.process is not None:
            self.send(signal.SIGCONT)
            end_tree(self.process.pid)
            self.process.wait()


@dataclass
class Network:
    """A consortium on loopback."""

    folder: Path
    consortium: Consortium
    commands: dict[str, Command] = field(default_factory=dict)

    @property
    def kits(self) -> Path:
        return self.folder / "kits"

    def data(self, party: str) -> Path:
        return self.folder / f"{party}.csv"

    def allow(self, party: str, **consent: Any) -> None:
        """Write what a party allows."""
        (self.kits / party / "local" / "flora.json").write_text(json.dumps(consent))

    def aggregator(self) -> Command:
        return self.run("aggregator", ["aggregator", str(self.kits / "aggregator")])

    def party(self, name: str, *more: str, environment: Mapping[str, str] | None = None, typed: str = "") -> Command:
        arguments = ["party", str(self.kits / name), "--data", str(self.data(name)), "--target", "kind", *more]
        return self.run(name, arguments, environment, typed)

    def start(self) -> "Network":
        self.aggregator()
        for party in self.consortium.parties:
            self.party(party)
        return self

    def tune(self, out: str, *options: str, name: str = "tune") -> Command:
        project = ["--project", str(self.kits / "aggregator"), "--out", str(self.folder / out)]
        return self.run(name, ["tune", *project, *options])

    def in_process(self, out: str, *options: str, parties: Sequence[str] = tuple(SIZES)) -> Path:
        """Run the same without a network, and return its folder."""
        tables = [str(self.data(party)) for party in parties]
        command = self.run("alone", ["tune", *tables, "--target", "kind", "--out", str(self.folder / out), *options])
        assert command.wait() == 0, command.text
        return self.folder / out

    def run(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None, typed: str = ""
    ) -> Command:
        """Start a command under a name, in place of an earlier one."""
        known = self.commands.get(name)
        if known is not None:
            known.end()
        self.commands[name] = Command(arguments, self.folder / f"{name}.log", environment or {}, typed).start()
        return self.commands[name]

    def close(self) -> None:
        """Stop all, and see that nothing of it is left."""
        for command in self.commands.values():
            command.end()
        left = [p for p in psutil.process_iter(["cmdline"]) if str(self.folder) in " ".join(p.info["cmdline"] or [])]
        for process in left:
            process.kill()
        assert left == []


Open = Callable[..., Network]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Make a consortium with tables of unequal size, which differ between the parties."""
    networks: list[Network] = []

    def make(sizes: Mapping[str, int] = SIZES) -> Network:
        networks.append(make_network(tmp_path, sizes))
        return networks[-1]

    yield make
    for network in networks:
        network.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """A consortium that runs as long as the module's tests."""
    network = make_network(tmp_path_factory.mktemp("network"), SIZES)
    try:
        yield network.start()
    finally:
        network.close()


def make_network(folder: Path, sizes: Mapping[str, int]) -> Network:
    consortium = Consortium("moons", "localhost", tuple(sizes), free_port())
    make_kits(consortium, folder / "kits")
    network = Network(folder, consortium)
    for place, (party, rows) in enumerate(sizes.items()):
        two_moons(rows, rows, shift=0.2 * place).to_csv(network.data(party), index=False)
    return network


def answer_of(folder: Path) -> dict[str, Any]:
    """Return a run's result without what may differ between two runs of the same: times and the command."""
    document: dict[str, Any] = json.loads((folder / "result.json").read_bytes())
    return {key: value for key, value in document.items() if key not in ("seconds", "command")}


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return the trials and the model of a run."""
    files = [*sorted((folder / "trials").iterdir()), folder / "model.flora"]
    return {file.name: file.read_bytes() for file in files}
