"""What can go wrong with a machine: its disk is full or read-only, its clock jumps."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

SOURCE = Path(__file__).with_name("clock.c")


def fill(processes: list[psutil.Process], *, full: bool) -> None:
    """Let no file of these processes grow any more, as on a full disk; or let them grow again."""
    most = 0 if full else resource.RLIM_INFINITY
    for process in processes:
        with suppress(ProcessLookupError):
            _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (min(most, hard) if hard >= 0 else most, hard))


@contextmanager
def read_only(folder: Path) -> Iterator[bool]:
    """Let nothing be written in a folder inside the block, if that can be done here: say whether."""
    if os.geteuid():
        mode = folder.stat().st_mode
        folder.chmod(0o500)
        yield True
        folder.chmod(mode)
        return
    bound = _done("mount", "--bind", str(folder), str(folder))
    try:
        yield bound and _done("mount", "-o", "remount,ro,bind", str(folder))
    finally:
        if bound:
            subprocess.run(["umount", str(folder)], check=True)


def _done(*command: str) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def moving_clock(folder: Path) -> Path | None:
    """Return a library that gives a process a clock of its own; None where there is no compiler to make it."""
    library = folder / "clock.so"
    made = shutil.which("cc") and _done("cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl")
    return library if made else None


def environment_of(library: Path, clock: Path) -> Mapping[str, str]:
    """Return what lets a process read its clock through a file, which :func:`jump` changes."""
    return {"LD_PRELOAD": str(library), "FLORA_TEST_CLOCK": str(clock)}


def jump(clock: Path, seconds: int) -> None:
    """Let the clock be so many seconds ahead of the true one, or behind it; processes have the file open."""
    with clock.open("r+b" if clock.exists() else "wb", buffering=0) as file:
        file.write(seconds.to_bytes(8, sys.byteorder, signed=True))
