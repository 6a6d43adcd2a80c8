"""A page that is served while a run goes on: on this machine alone, unless somebody says otherwise."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any, Protocol

from flora.errors import FloraError, InputError
from flora.outcome.folder import read_run, safe_name
from flora.outcome.forming import Forming, forming, party_trials
from flora.outcome.live import FILE, Live
from flora.outcome.report import live as pages
from flora.problem.trials import PartyTrials

HOST, PORT = "127.0.0.1", 8766
PAUSE = 1.0  # seconds between two looks at the run
SURFACE = 5.0  # between two surfaces, at least; and not more than a fifth of the time goes into them
NICENESS = 5  # the run itself goes first


def add_address(parser: Any) -> None:
    """Add where the page is served."""
    parser.add_argument(
        "--host", default=HOST, metavar="NAME", help="where the page is served: this machine (%(default)s)"
    )
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help="of the page; 0 for any (%(default)s)")


class WatchedRun(Protocol):
    """A run that may go on."""

    @property
    def name(self) -> str:
        """What the page calls it."""
        ...

    def live(self) -> Live | None:
        """Return how far it is; None where nothing goes on."""
        ...

    def trials(self, live: Live) -> list[PartyTrials]:
        """Return what the parties have tried so far."""
        ...

    def report(self) -> str | None:
        """Return the finished run's page."""
        ...


@dataclass(frozen=True)
class WatchedFolder:
    """The folder of a run on this machine, whose parties search here."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.resolve().name

    def live(self) -> Live | None:
        """Return what the run writes there."""
        return Live.read(self.path)

    def trials(self, live: Live) -> list[PartyTrials]:
        """Return what the searches hold; one that cannot be read in this moment is left out."""
        from sqlalchemy.exc import SQLAlchemyError

        from flora.party.local_search.study import stored_trials

        found = []
        for party in live.parties if live.plan else ():
            file = self.path / "studies" / f"{safe_name(party.name)}.db"
            with suppress(SQLAlchemyError, KeyError, FloraError):
                tried = stored_trials(file, live.plan, party.name) if live.plan and file.is_file() else []
                found.append(party_trials(live.plan, party.name, tried) if live.plan else None)
        return [party for party in found if party]

    def report(self) -> str | None:
        """Return the page of a run that has ended."""
        from flora.outcome.report import page

        if (self.path / FILE).exists() or not (self.path / "result.json").exists():
            return None
        with suppress(InputError):
            return page(*read_run(self.path))
        return None


@dataclass
class Watch:
    """Looks at a run again and again, and keeps what a page shows of it."""

    run: WatchedRun
    now: dict[str, Any] = field(default_factory=lambda: {"line": pages.WAITING, "steps": "", "surface": ""})
    page: str | None = None  # of the finished run
    _forming: Forming | None = None
    _learnt: tuple[int, float] = (0, 0.0)  # from how many pairs, and when the next surface may be learnt

    def look(self) -> None:
        """See how far the run is now."""
        live = self.run.live()
        if live is None:
            self.page = self.page or self.run.report()
            self.now = {"line": pages.WAITING, "steps": "", "surface": "", "finished": self.page is not None}
            return
        self.page = None
        trials = self.run.trials(live)
        self._learn(live, trials)
        self.now = {
            "line": pages.line(live),
            "steps": pages.steps(live, trials),
            "surface": pages.surface(self._forming),
            "finished": False,
        }

    def _learn(self, live: Live, trials: list[PartyTrials]) -> None:
        """Learn the surface again where there is more to learn it from."""
        count, began = sum(len(party.trials) for party in trials), monotonic()
        if count == self._learnt[0] or began < self._learnt[1]:
            return
        with suppress(FloraError):
            self._forming = forming(live, trials)
        taken = monotonic() - began
        self._learnt = (count, began + taken + max(SURFACE, 4 * taken))

    def keep_looking(self, over: Event) -> None:
        """Look until it is over."""
        while not over.wait(PAUSE):
            with suppress(FloraError):
                self.look()

    @cached_property
    def empty(self) -> str:
        """The page that asks how far the run is."""
        return pages.live_page(self.run.name)


def handler_of(watch: Watch, known: Callable[[str], bool]) -> type[BaseHTTPRequestHandler]:
    """Return what answers a browser: two addresses, to who names this server as it is called."""

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "flora", ""

        def do_GET(self) -> None:
            """Answer."""
            if not known(self.headers.get("Host", "")):  # another name for this address: a page of somebody else's
                self._send(403, "text/plain", "this server has another name\n")
            elif self.path == "/":
                self._send(200, "text/html", watch.page or watch.empty)
            elif self.path == "/now":
                self._send(200, "application/json", json.dumps(watch.now))
            else:
                self._send(404, "text/plain", "there is nothing here\n")

        def _send(self, status: int, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("X-Frame-Options", "DENY")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing: the page asks every second."""

    return Handler


@contextmanager
def served(run: WatchedRun, host: str = HOST, port: int = PORT) -> Iterator[str]:
    """Serve a run's page until the block ends; gives its address."""
    watch, over = Watch(run), Event()
    names = {"localhost", "127.0.0.1", "[::1]", host}
    anyone = _is_everywhere(host)  # then nobody can know under which name it is reached

    def known(stated: str) -> bool:
        return anyone or stated.rpartition(":")[0] in names or stated in names

    try:
        server = ThreadingHTTPServer((host, port), handler_of(watch, known))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{host} port {port} cannot be served ({reason}); name another --port") from None
    server.daemon_threads = True
    threads = [
        Thread(target=server.serve_forever, daemon=True),
        Thread(target=watch.keep_looking, args=[over], daemon=True),
    ]
    watch.look()
    for thread in threads:
        thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}/"
    finally:
        over.set()
        server.shutdown()
        server.server_close()


def _is_everywhere(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def watch_until_stopped(run: WatchedRun, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve a run's page until Ctrl-C."""
    os.nice(NICENESS)
    with served(run, host, port) as address:
        say(f"Watching {run.name} at {address} (Ctrl-C ends it)")
        with suppress(KeyboardInterrupt):
            Event().wait()
