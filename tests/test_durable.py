"""Files written whole or not at all; what a kill does to them is tested where they are used (audit, journal)."""

import os
from pathlib import Path
from threading import Event, Thread

import pytest

from flora.durable import append_durably, locked, write_whole


def test_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    write_whole(path, b"old")

    def fail(file: int) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="the disk is gone"):
            write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


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
