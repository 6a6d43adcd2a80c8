"""Commands as processes: started, ended and told from each other by the lines that they print."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Thread
from typing import IO, Any

from flora.cli.plain import print_line
from flora.engines.nvflare.kits.health import Check, is_bad, lines
from flora.engines.nvflare.run.service import die_with_parent, end_tree
from flora.errors import FloraError, InputError

Say = Callable[[str], None]


PROGRAM = "import sys; from flora.cli.main import main; sys.exit(main())"


def free_port() -> int:
    """Return a port of this machine that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def child(name: str, arguments: list[str], say: Say, program: str = PROGRAM) -> Iterator["subprocess.Popen[str]"]:
    """Run one of our own commands in a process of its own, and pass its lines on, until the block ends."""
    process = subprocess.Popen(  # noqa: S603  (our own command)
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=partial(die_with_parent, signal.SIGTERM),  # noqa: PLW1509  (no thread of ours takes a lock)
    )
    Thread(target=_pass_on, args=(process.stdout, name, say), name="flora-lines", daemon=True).start()
    try:
        yield process
    finally:
        end_tree(process.pid)
        process.wait()


def _pass_on(lines: IO[str], name: str, say: Say) -> None:
    for line in lines:
        if line.strip():
            say(line.rstrip() if f" {name}: " in line else f"{name}: {line.rstrip()}")


def apart(work: Callable[[], str]) -> str:
    """Return the text that ``work`` returns, from a copy of this process: what it loads and reads ends with it.

    A process that goes on for weeks need not keep what it needs once. To be called before there are threads.
    """
    ours, theirs = os.pipe()
    copy = os.fork()
    if copy == 0:
        os._exit(_told(work, theirs))
    os.close(theirs)
    with os.fdopen(ours, "rb") as answer:
        text = answer.read()
    _, status = os.waitpid(copy, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise FloraError("a process that was started for it has ended without an answer")
    document = json.loads(text)
    if "error" in document:
        raise (InputError if document["input"] else FloraError)(document["error"])
    return str(document["words"])


def _told(work: Callable[[], str], pipe: int) -> int:
    """Write what came of the work into a pipe; return the code to end with."""
    try:
        document: dict[str, Any] = {"words": work()}
    except FloraError as error:
        document = {"error": str(error), "input": isinstance(error, InputError)}
    except BaseException:  # whatever it is, this copy must not go on as if it were the command
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    with os.fdopen(pipe, "wb") as answer:
        answer.write(json.dumps(document).encode())
    return 0


def show_checks(found: list[Check]) -> None:
    """Print what was looked at; raise where something is not as it must be."""
    for line in lines(found):
        print_line(line)
    if is_bad(found):
        raise InputError("this kit cannot run as it is")


def line_of(name: str) -> Say:
    """Return how a command that runs for long prints a line: with the time, and whose it is."""

    def say(text: str) -> None:
        print_line(f"{time.strftime('%H:%M:%S')} {name}: {text}")

    return say


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a service manager's stop be a Ctrl-C, so that nothing is left behind."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def ended_cleanly(say: Say) -> Iterator[None]:
    """Let a command that runs until it is stopped end well when it is."""
    try:
        with stoppable():
            yield
    except KeyboardInterrupt:
        say("stopped; started again, it goes on from here")
