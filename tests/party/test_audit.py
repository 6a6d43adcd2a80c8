"""What left: a chain that tells where it was broken, and that outlives a kill in the middle of a write."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from flora.errors import FloraError, InputError
from flora.party.audit import FIRST, REPAIR, AuditLog, Entry, verify

NOON = datetime(2026, 3, 1, 13, 0, 0, 5000, timezone(timedelta(hours=1)))


def log_of(path: Path, count: int) -> AuditLog:
    log = AuditLog(path, lambda: NOON)
    for number in range(count):
        log.record(f"reply {number}", "aggregator", b"x" * number, "a note")
    return log


def test_a_line_says_what_left_when_to_whom_and_follows_the_line_before(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, lambda: NOON)
    one = log.record("search: reply", "Zürich", b"data")
    two = log.record("train: sums", "Zürich", b"", "41 messages")
    assert (one.time, one.what, one.to) == ("2026-03-01T12:00:00.005+00:00", "search: reply", "Zürich")
    assert (one.sha256, one.size) == (hashlib.sha256(b"data").hexdigest(), 4)
    assert (one.previous, two.previous, two.note) == (FIRST, one.hash, "41 messages")
    assert verify(path) == (one, two)
    assert [json.loads(line)["what"] for line in path.read_text().splitlines()] == ["search: reply", "train: sums"]
    assert path.stat().st_mode & 0o077 == 0


def test_the_chain_goes_on_in_another_process_and_the_clock_is_utc(tmp_path: Path) -> None:
    path = tmp_path / "state" / "audit.jsonl"
    before = datetime.now(UTC).replace(microsecond=0)
    AuditLog(path).record("a", "x", b"1")
    code = f"from flora.party.audit import AuditLog; AuditLog({str(path)!r}).record('b', 'x', b'2')"
    subprocess.run([sys.executable, "-c", code], check=True)
    entries = verify(path)
    assert [entry.what for entry in entries] == ["a", "b"]
    assert before <= datetime.fromisoformat(entries[0].time) <= datetime.fromisoformat(entries[1].time)


def swapped(lines: list[bytes]) -> None:
    lines[1], lines[2] = lines[2], lines[1]


def changed(name: str, value: object, *, hashed: bool = False) -> Callable[[list[bytes]], None]:
    def change(lines: list[bytes]) -> None:
        document = {**json.loads(lines[1]), name: value}
        if hashed:
            document["hash"] = hashlib.sha256(json.dumps({**document, "hash": ""}).encode()).hexdigest()
        lines[1] = json.dumps(document).encode()

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (changed("what", "nothing"), "line 2: its hash is not that of what it says"),
        (changed("size", 99), "line 2: its hash is not"),
        (changed("what", "nothing", hashed=True), "line 3: it does not follow the line before"),
        (changed("previous", FIRST, hashed=True), "line 2: it does not follow the line before"),
        (changed("time", "2026-03-01T12:00:00+01:00", hashed=True), "line 2: time must be in UTC"),
        (changed("time", "noon", hashed=True), "line 2: Invalid isoformat"),
        (changed("size", -1, hashed=True), "line 2: size must be a whole number from 0, got -1"),
        (changed("size", True, hashed=True), "line 2: size must be"),
        (changed("to", "a\x1b", hashed=True), "line 2: to must be at most 1000 printable characters"),
        (changed("sha256", "x", hashed=True), "line 2: sha256 must be a SHA-256"),
        (changed("rows", 1), "line 2: it must be an object with the fields time, what, to"),
        (lambda lines: lines.pop(0), "line 1: it does not follow the line before"),
        (lambda lines: lines.pop(1), "line 2: it does not follow the line before"),
        (lambda lines: lines.insert(1, lines[1]), "line 3: it does not follow"),
        (lambda lines: lines.insert(1, b""), "line 2: "),
        (lambda lines: lines.insert(1, b"[]"), "line 2: it must be an object"),
        (lambda lines: lines.insert(1, b"\xff"), "line 2: "),
        (lambda lines: lines.insert(1, b"[" * 100_000), "line 2: nested too deep"),
        (swapped, "line 2: it does not follow"),
    ],
    ids=range(19),
)
@pytest.mark.parametrize("verified", [False, True], ids=["new", "verified before"])
def test_a_broken_line_is_named_and_nothing_more_is_recorded(
    tmp_path: Path, change: Callable[[list[bytes]], object], says: str, verified: bool
) -> None:
    path = tmp_path / "audit.jsonl"
    log_of(path, 4)
    if verified:
        AuditLog(path)
    lines = path.read_bytes().splitlines()
    change(lines)
    path.write_bytes(b"\n".join(lines) + b"\n")
    broken = path.read_bytes()
    for read in (verify, AuditLog):
        with pytest.raises(InputError, match=says) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: line ")
    assert path.read_bytes() == broken


def test_a_process_verifies_each_line_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "audit.jsonl"
    log_of(path, 20)
    AuditLog(path).record("more", "x", b"")
    read: list[str] = []
    from_line = Entry.from_line

    def counted(line: bytes) -> Entry:
        read.append(json.loads(line)["what"])
        return from_line(line)

    monkeypatch.setattr(Entry, "from_line", counted)
    for expected in (["more", "more"], ["more"]):  # the last line is always read
        read.clear()
        AuditLog(path)
        assert read == expected


def test_a_line_is_named_by_its_number_after_lines_that_were_verified_before(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log_of(path, 4)
    AuditLog(path)
    log_of(path, 4)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5] + lines[6:]))
    with pytest.raises(InputError, match="line 6: it does not follow"):
        AuditLog(path)


def test_a_log_that_was_begun_anew_is_verified_anew(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log_of(path, 4)
    AuditLog(path)
    path.unlink()
    log_of(path, 2)
    assert len(verify(path)) == 2
    AuditLog(path).record("more", "x", b"")
    assert len(verify(path)) == 3


def test_an_open_log_does_not_go_on_after_a_broken_last_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = log_of(path, 2)
    path.write_bytes(path.read_bytes().replace(b"reply 1", b"reply 7"))
    with pytest.raises(InputError, match="the last line: its hash is not that of what it says"):
        log.record("more", "x", b"")


def test_what_the_chain_cannot_show(tmp_path: Path) -> None:
    """A cut-off end is a valid log: only a hash that was kept elsewhere tells."""
    path = tmp_path / "audit.jsonl"
    log_of(path, 4)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))
    assert [entry.what for entry in verify(path)] == ["reply 0", "reply 1"]


KILLED = """
import os, signal, sys
from flora.party.audit import AuditLog
log, write = AuditLog(sys.argv[1]), os.write
def torn(file, data):
    write(file, data[: int(sys.argv[2])])
    os.kill(os.getpid(), signal.SIGKILL)
os.write = torn
log.record("torn", "aggregator", b"data")
"""


@pytest.mark.parametrize("written", [0, 1, 100, -1, 10_000])
def test_a_kill_in_the_middle_of_a_write_loses_nothing_of_the_chain(tmp_path: Path, written: int) -> None:
    path = tmp_path / "audit.jsonl"
    whole = log_of(path, 3)
    before = path.read_bytes()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), str(written)], check=False)
    assert killed.returncode == -signal.SIGKILL
    torn = path.read_bytes().removeprefix(before)
    if torn and not torn.endswith(b"\n"):
        with pytest.raises(InputError, match="line 4: it is torn: a write was cut short"):
            verify(path)
    whole.record("next", "aggregator", b"")
    entries = verify(path)
    assert path.read_bytes().startswith(before)
    if written == 10_000:  # all of it was there
        assert [entry.what for entry in entries[3:]] == ["torn", "next"]
    elif written == 0:
        assert [entry.what for entry in entries[3:]] == ["next"]
    else:
        repair = entries[3]
        assert [entry.what for entry in entries[3:]] == [REPAIR, "next"]
        assert (repair.size, repair.sha256) == (len(torn), hashlib.sha256(torn).hexdigest())
        assert repair.note.startswith(f"a write was cut short after {len(torn)} bytes")
        assert path.stat().st_mode & 0o077 == 0  # the repaired file is as private as the one it replaces


def test_a_start_repairs_too_and_only_once(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log_of(path, 1)
    path.write_bytes(path.read_bytes() + b'{"time"')
    for _ in range(2):
        AuditLog(path)
        assert [entry.what for entry in verify(path)] == ["reply 0", REPAIR]


def test_a_repair_that_is_killed_leaves_the_torn_line_to_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit.jsonl"
    log_of(path, 1)
    path.write_bytes(path.read_bytes() + b'{"time"')
    torn = path.read_bytes()

    def fail(self: Path, target: Path) -> None:
        raise OSError("killed here")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(FloraError, match="nothing may leave that cannot be written down"):
            AuditLog(path)
    assert path.read_bytes() == torn
    AuditLog(path)
    assert [entry.what for entry in verify(path)] == ["reply 0", REPAIR]


WRITER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from flora.party.audit import AuditLog
log = AuditLog(sys.argv[1])
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda k: log.record(f"{sys.argv[2]} {k}", "x", bytes(k)), range(20)))
"""


def test_threads_and_processes_write_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    processes = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b")]
    log = AuditLog(path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: log.record(f"c {k}", "x", bytes(k)), range(20)))
    assert [process.wait() for process in processes] == [0, 0]
    assert sorted(entry.what for entry in verify(path)) == sorted(f"{name} {k}" for name in "abc" for k in range(20))


@pytest.mark.parametrize(("what", "to", "note"), [("a\nb", "x", ""), ("a", "x" * 1001, ""), ("a", "x", "\x1b[2J")])
def test_an_entry_is_one_printable_line(tmp_path: Path, what: str, to: str, note: str) -> None:
    log = log_of(tmp_path / "audit.jsonl", 0)
    with pytest.raises(InputError, match=r"an entry of an audit log: (what|to|note) must be at most 1000 printable"):
        log.record(what, to, b"", note)
    assert verify(log.path) == ()


def test_the_longest_entry_can_be_torn_and_repaired(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log, longest = log_of(path, 1), "\U0001f600" * 1000
    log.record(longest, longest, b"", longest)
    path.write_bytes(path.read_bytes()[:-1])
    log.record("next", "x", b"")
    assert [entry.what for entry in verify(path)] == ["reply 0", REPAIR, "next"]


def test_what_is_no_log_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"1,2,3" * 20_000)
    with pytest.raises(InputError, match="the last line is longer than 65536 bytes, so this is no audit log"):
        AuditLog(path)
    assert path.read_bytes() == b"1,2,3" * 20_000
    with pytest.raises(InputError, match="no such file"):
        verify(tmp_path / "none")


def test_without_a_place_to_write_nothing_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FloraError, match="nothing may leave that cannot be written down"):
        AuditLog(tmp_path / "file" / "audit.jsonl")


def test_a_disk_that_is_full_is_an_error_and_the_rest_is_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit.jsonl"
    log, write = log_of(path, 1), os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, data: write(file, data[:9]))
        with pytest.raises(FloraError, match=r"cannot be written down .only 9 of"):
            log.record("lost", "x", b"")
    log.record("next", "x", b"")
    assert [entry.what for entry in verify(path)] == ["reply 0", REPAIR, "next"]
