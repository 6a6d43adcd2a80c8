"""NVFlare's own process for a kit, started, watched and stopped by a command in the foreground."""

import contextlib
import ctypes
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import IO

from flora.core.files import write_whole
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import AGGREGATOR, Kit
from flora.engines.nvflare.foreground import Foreground
from flora.engines.nvflare.kits import certificates
from flora.engines.nvflare.kits.health import check_place
from flora.engines.nvflare.kits.provision import organisation, place_state
from flora.engines.nvflare.kits.reach import Reach, busy_port, obstacle
from flora.errors import FloraError, InputError

Say = Callable[[str], None]
LOG = "nvflare.log"
MOST_LOG = 20 * 2**20
RESTARTS, SOON = 3, 20.0  # so many ends within so many seconds each are no accident
PR_SET_PDEATHSIG = 1
# A run's outcome is there before its processes end; NVFlare would wait 900 s for a party that was cut off just then.
ENVIRONMENT = {"PYTHONSAFEPATH": "1", "MALLOC_ARENA_MAX": "4", "NVFLARE_CLIENT_OUTCOME_WAIT_TIMEOUT": "5"}
CONNECTED, READY = "connected to the aggregator", "ready for the parties"
LOST = re.compile(r"cannot send to 'server': target_unreachable")
CALM = 8.0  # seconds without such a line after which the aggregator is there again; a party calls every three
# What NVFlare's log says, in our words. Nothing else of it is shown.
SIGNS = (
    (re.compile(r"Successfully registered client"), CONNECTED),
    (re.compile(r"Client: New client (?P<name>[\w-]+)@"), "{name} has connected"),
    (re.compile(r"Re-activate the client:? ?(?P<name>[\w-]+)"), "{name} has connected again"),
    (re.compile(r"Server started"), READY),
    (re.compile(r"could not register to server"), "the aggregator did not let this party in; trying again"),
)


@dataclass
class Service:
    """A running kit."""

    kit: Kit
    say: Say
    _process: "subprocess.Popen[bytes] | None" = None
    _read: int = 0
    _said: int = 0
    _ends: list[float] = field(default_factory=list)
    _connected: bool = False
    _missed: float | None = None  # when the aggregator was last not there, once it had been
    _reach: Reach = field(init=False)

    def __post_init__(self) -> None:
        self._reach = Reach(partial(obstacle, self.kit), self.say)

    @property
    def foreground(self) -> Foreground:
        """Where the run's own process leaves its lines and questions."""
        return Foreground(self.kit.state)

    @property
    def log(self) -> Path:
        """NVFlare's own log."""
        return self.kit.state / LOG

    def start(self) -> None:
        """Start NVFlare's process; it dies with this one, whatever happens."""
        if self.kit.role == AGGREGATOR and (why := busy_port(self.kit)):
            raise InputError(why)
        try:
            self.foreground.open()
            if self.log.exists() and self.log.stat().st_size > MOST_LOG:
                self.log.replace(self.log.with_suffix(".old"))
            if self.kit.role == AGGREGATOR:
                place_state(self.kit)
            self._launch()
        except OSError as error:
            raise InputError(f"{self.kit.path}: cannot be written ({error.strerror or error})") from error

    def _launch(self) -> None:
        with self.log.open("ab") as log:
            self._read = log.tell()
            self._process = subprocess.Popen(  # noqa: S603  (our own command)
                _command(self.kit),
                cwd=self.kit.path,
                env={**os.environ, **ENVIRONMENT},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is ours alone
                preexec_fn=partial(die_with_parent, signal.SIGKILL),  # noqa: PLW1509  (no thread of ours takes a lock)
            )

    def step(self) -> None:
        """Show what is new, and start NVFlare again if it has ended. To be called often."""
        for line in self._signs():
            if line == READY:
                self._check_listening()
            self._connected = self._connected or line == CONNECTED
            self.say(line)
        if self.kit.role == "party":
            self._look_around()
        lines, self._said = self.foreground.lines(self._said)
        for line in lines:
            self.say(line)
        if self._process is not None and self._process.poll() is not None:
            self._again(self._process.returncode)

    def _look_around(self) -> None:
        """While there is no aggregator, say what is in the way; and when it is back."""
        if self._missed is not None and time.monotonic() - self._missed > CALM and self._connected:
            self._missed = None
            self.say("connected to the aggregator again")
        self._reach.step(connected=self._connected and self._missed is None)

    def _check_listening(self) -> None:
        """Raise where NVFlare says that it is ready and does not listen: somebody else has the port."""
        import psutil

        pid, port = self._process.pid if self._process else None, self.kit.consortium.port
        for _ in range(50):
            with contextlib.suppress(psutil.Error):
                lines = psutil.Process(pid).net_connections("inet")
                if any(line.status == psutil.CONN_LISTEN and line.laddr.port == port for line in lines):
                    return
            time.sleep(0.1)
        raise InputError(f"port {port} cannot be used: the aggregator does not listen there, another program may")

    def _again(self, code: int) -> None:
        now = time.monotonic()
        self._ends = [end for end in self._ends if now - end < SOON * RESTARTS] + [now]
        if len(self._ends) >= RESTARTS:
            raise FloraError(f"NVFlare's process ended {RESTARTS} times (code {code}); see {self.log}")
        self.say(f"NVFlare's process ended (code {code}); starting it again")
        time.sleep(1.0)
        self._launch()

    def _signs(self) -> Iterator[str]:
        with self.log.open("rb") as log:
            log.seek(self._read)
            data = log.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            if self._connected and LOST.search(line):
                self._missed = time.monotonic()
            for pattern, words in SIGNS:
                if found := pattern.search(line):
                    yield words.format(**found.groupdict())

    def stop(self) -> None:
        """End NVFlare's process and all that it has started."""
        if self._process is not None:
            end_tree(self._process.pid)
            self._process.wait()
            self._process = None


@contextmanager
def running(kit: Kit, say: Say) -> Iterator[Service]:
    """Run a kit until the block ends. A kit runs once at a time."""
    require_nvflare()
    check_place(kit)
    certificates.check_key(kit)
    certificates.check_certificate(kit)
    with _lock(kit) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{kit.path}: this kit is running already") from None
        if warning := certificates.ending(kit):
            say(warning)
        service = Service(kit, say)
        try:
            yield service
        finally:
            service.stop()


def _lock(kit: Kit) -> IO[str]:
    """Return the open file that a running kit holds; it is also the proof that the kit's state can be written."""
    try:
        kit.state.mkdir(mode=0o700, exist_ok=True)
        write_whole(kit.state / ".written", b"x" * 4096, mode=0o600)
        return (kit.state / "lock").open("w")
    except OSError as error:
        raise InputError(
            f"{kit.state}: cannot be written ({error.strerror or error}); a kit keeps its state there"
        ) from error


def end_tree(pid: int, patience: float = 3.0) -> None:
    """End a process and its descendants: asked first, killed after a while."""
    import psutil

    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(family, timeout=patience)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=patience)


def _command(kit: Kit) -> list[str]:
    start = [sys.executable, "-u", "-m"]
    common = ["-m", str(kit.path), "--set", "secure_train=true", "config_folder=config"]
    if kit.role == AGGREGATOR:
        return [
            *start,
            "flora.engines.nvflare.guard.aggregator_main",
            "-s",
            "fed_server.json",
            *common,
            "org=aggregator",
        ]
    own = [f"uid={kit.name}", f"org={organisation(kit.name)}", "heart_beat_interval=3"]
    return [*start, "flora.engines.nvflare.guard.party_main", "-s", "fed_client.json", *common, *own]


def die_with_parent(how: signal.Signals) -> None:
    """Let the kernel end this process when the one that started it ends, however that happens."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, how)


def watch_parent() -> None:
    """End this process when its parent has ended: from a thread, for a process that NVFlare started."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)

    Thread(target=watch, name="flora-parent", daemon=True).start()
