"""Files written whole or not at all; what a kill does to them is tested where they are used (audit, journal)."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier, Event, Thread

import pytest

from flora.core.files import append_durably, locked, write_whole


def fail(file: int) -> None:
    raise OSError("the disk is gone")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    write_whole(path, b"old")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="the disk is gone"):
            write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as threads:
        received = threads.submit(pipe.read_bytes)
        write_whole(pipe, b"new")
        assert received.result() == b"new"
    assert pipe.is_fifo()


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        write_whole(tmp_path / "a.json", b"new")
    assert not list(tmp_path.iterdir())


def test_writers_of_one_file_do_not_take_each_others_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, both_have_drafts, sync = tmp_path / "a.json", Barrier(2, timeout=30), os.fsync

    def meet(file: int) -> None:
        if not stat.S_ISDIR(os.fstat(file).st_mode):
            both_have_drafts.wait()
        sync(file)

    monkeypatch.setattr(os, "fsync", meet)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(partial(write_whole, path), [b"one", b"two"]))
    assert path.read_bytes() in (b"one", b"two")
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_private_from_its_first_byte(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.json", b"mine", mode=0o600)
    assert (tmp_path / "a.json").stat().st_mode & 0o077 == 0


def test_what_is_appended_follows_what_is_there(tmp_path: Path) -> None:
    for data in (b"one", b"", b"two"):
        append_durably(tmp_path / "log", data)
    assert (tmp_path / "log").read_bytes() == b"onetwo"


def test_a_lock_keeps_another_thread_waiting(tmp_path: Path) -> None:
    order, waiting = [], Event()

    def other() -> None:
        waiting.set()
        with locked(tmp_path / "log"):
            order.append("other")

    thread = Thread(target=other)
    with locked(tmp_path / "log"):
        thread.start()
        waiting.wait()
        thread.join(0.1)  # time enough to break in, were there no lock
        order.append("first")
    thread.join()
    assert order == ["first", "other"]
