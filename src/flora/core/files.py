"""Files that outlive a kill and a power cut: written whole, forced to the disk, one writer at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident


def write_whole(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file so that it is on the disk as a whole or not at all, whatever happens meanwhile.

    What is no file, as ``/dev/stdout`` or a pipe, is written to and not replaced. Each writer has a draft of its own:
    of several that write the same file at once, the last one's stays. An error names the file, not the draft.
    """
    try:
        _write_whole(path, data, mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _write_whole(path: Path, data: bytes, mode: int) -> None:
    if path.parent == Path("/dev") or path.is_fifo():
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}.draft")
    draft.unlink(missing_ok=True)  # an earlier process of that number may have been killed
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def append_durably(path: Path, data: bytes) -> None:
    """Append to a file in one write, and force it to the disk."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        written = os.write(file, data)
        if written < len(data):
            raise OSError(f"only {written} of {len(data)} bytes were written")
        os.fsync(file)
    finally:
        os.close(file)


def sync_folder(path: Path) -> None:
    """Force a folder's list of files to the disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the others and keep them out: threads and processes. The lock goes with the process, even by a kill."""
    with path.with_name(path.name + ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
