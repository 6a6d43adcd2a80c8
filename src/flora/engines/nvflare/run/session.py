"""The scientist's line to the aggregator: who is there, submit a run, follow it, fetch what came of it."""

import contextlib
import io
import logging
import shutil
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import current_thread
from typing import Any, TextIO

from flora.core.codec import read
from flora.core.rules import one_line
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.run.ending import FILE
from flora.engines.nvflare.run.job import CLASSES, RESULT, STATUS, Run, write_job
from flora.errors import FloraError, InputError
from flora.program.status import RunStatus

CALLS = 4.0  # a party that is connected calls every 3 seconds
OURS = "flora"  # how the names of our own threads begin


class NoAggregatorError(FloraError):
    """The aggregator does not answer."""


@dataclass
class Session:
    """An open line."""

    kit: Kit
    api: Any
    seen: dict[str, tuple[str, int]] = field(default_factory=dict)  # party -> its last call, and how many were new
    changed: dict[str, float] = field(default_factory=dict)  # party -> when its call was last a new one

    def connected(self, again: Collection[str] = ()) -> list[str]:
        """Return the parties that are connected now; those in ``again`` must have shown a new sign of life."""
        self._look()
        return sorted(p for p, (_, looks) in self.seen.items() if looks > 1 or p not in again)

    def back(self, silent: Mapping[str, float]) -> list[str]:
        """Return those who are silent in a run and yet have called since: their machine is there again."""
        if not silent:
            return []
        self._look()
        return sorted(p for p, since in silent.items() if p in self.seen and self.changed.get(p, 0.0) > since + CALLS)

    def _look(self) -> None:
        """Note who is listed and whose last call is a new one; only our own clock is read."""
        info = self._call(self.api.get_system_info)
        listed = {c.name: str(c.last_connect_time) for c in info.client_info if c.name in self.kit.consortium.parties}
        for party, call in listed.items():
            before, looks = self.seen.get(party, ("", 0))
            if call != before:
                self.changed[party] = time.monotonic()
                looks += 1
            listed_now = (call, looks)
            self.seen[party] = listed_now
        for party in set(self.seen) - set(listed):
            del self.seen[party]

    def running(self) -> list[str]:
        """Return the names of the runs that are under way."""
        return [job.job_id for job in self._call(self.api.get_system_info).job_info]

    def under_way(self, run: Run) -> str | None:
        """Return the name of this very run where it is under way, submitted by somebody who has left since."""
        for job in self.running():
            if self._call(lambda job=job: self.api.get_job_meta(job)).get("name") == run.name:
                return job
        return None

    def submit(self, run: Run, classes: tuple[str, str] = CLASSES) -> str:
        """Submit a run and return its name."""
        with TemporaryDirectory() as folder:
            job = str(write_job(Path(folder), run, classes))
            return str(self._call(lambda: self.api.submit_job(job)))

    def ended(self, job: str) -> str | None:
        """Return how a run ended, in NVFlare's words, or None while it has not."""
        status = str(self._call(lambda: self.api.get_job_meta(job)).get("status", ""))
        return status if status.startswith(("FINISHED", "FAILED")) else None

    def status(self, job: str) -> RunStatus | None:
        """Return how far a run is; None before it has begun and after its end."""
        from nvflare.fuel.flare_api.api_spec import AuthorizationError, InternalError, JobNotRunning, NoReply

        def ask() -> Any:
            try:
                return self.api.do_app_command(job, STATUS, {})
            except (
                InternalError,
                JobNotRunning,
                NoReply,
                RuntimeError,
                AuthorizationError,
            ):  # the last in stock NVFlare
                return None

        found = self._call(ask)
        return None if found is None else read_status(found)

    def abort(self, job: str) -> None:
        """Stop a run."""
        with contextlib.suppress(Exception):
            self._call(lambda: self.api.abort_job(job))

    @contextmanager
    def result(self, job: str) -> Iterator[Path | None]:
        """Fetch what a run left; the folder is there until the block ends, None where the run left nothing."""
        from flora.engines.nvflare.guard.downloads import fetched

        location = self._call(lambda: fetched(self.api, job))
        found = sorted(location.rglob(f"{RESULT}/{FILE}"))
        try:
            yield found[0].parent if found else None
        finally:
            shutil.rmtree(location, ignore_errors=True)

    def _call(self, command: Any) -> Any:
        """Give a command. Whatever NVFlare raises on a slow or broken line, it is no answer; a refusal is one."""
        from nvflare.fuel.flare_api.api_spec import AuthorizationError, InvalidJobDefinition

        try:
            with _quiet():
                return command()
        except FloraError:
            raise
        except (AuthorizationError, InvalidJobDefinition) as error:
            raise FloraError(f"the aggregator refused: {error!s:.300}") from error
        except Exception as error:
            raise NoAggregatorError(f"the aggregator does not answer ({_words(error)})") from error


@contextmanager
def session(kit: Kit, seconds: float = 10.0) -> Iterator[Session]:
    """Open a line to the aggregator."""
    require_nvflare()
    from nvflare.fuel.flare_api.api_spec import AuthenticationError
    from nvflare.fuel.flare_api.flare_api import new_secure_session

    from flora.engines.nvflare.guard.scientist import guarded

    scientist = kit.scientist
    logging.getLogger("nvflare").setLevel(logging.CRITICAL)
    with guarded(scientist), _no_cell_left():
        try:
            with _quiet():
                api = new_secure_session(scientist.name, str(scientist.path), timeout=seconds, auto_login_max_tries=1)
        except AuthenticationError as error:
            raise FloraError(f"the aggregator does not accept this kit ({error!s:.200})") from error
        except Exception as error:  # NVFlare has a kind of its own for every way not to reach it
            where = f"{kit.consortium.aggregator} port {kit.consortium.port}"
            raise NoAggregatorError(f"the aggregator at {where} does not answer ({_words(error)})") from error
        try:
            yield Session(scientist, api)
        finally:
            with contextlib.suppress(Exception), _quiet():
                api.close()


@contextmanager
def _no_cell_left() -> Iterator[None]:
    """Stop the cells that NVFlare has made inside the block, however it ends.

    Where a login fails, or Ctrl-C comes in it, NVFlare leaves one that tries to connect for good, and its thread would
    keep this process alive.
    """
    from nvflare.fuel.f3.cellnet.core_cell import CoreCell

    before = set(CoreCell.ALL_CELLS)
    try:
        yield
    finally:
        for name in set(CoreCell.ALL_CELLS) - before:
            with contextlib.suppress(Exception), _quiet():
                CoreCell.ALL_CELLS[name].stop()


def read_status(found: Any) -> RunStatus:
    """Return what the aggregator says of a run that is under way."""
    try:
        return read(RunStatus, found)
    except InputError as error:
        raise FloraError(one_line(f"the aggregator's word on the run cannot be read: {error}")) from error


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error!s:.200}" if str(error) else type(error).__name__


class _OnlyOurs(io.TextIOBase):
    """Lets through what our own threads print in the meantime; what NVFlare prints goes nowhere."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write what comes from a thread of ours."""
        return self.stream.write(text) if current_thread().name.startswith(OURS) else len(text)

    def flush(self) -> None:
        """Flush the stream behind."""
        self.stream.flush()


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep NVFlare's own lines from the user's screen."""
    with redirect_stdout(_OnlyOurs(sys.stdout)), redirect_stderr(_OnlyOurs(sys.stderr)):
        yield
