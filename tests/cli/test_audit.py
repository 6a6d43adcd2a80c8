"""``flora audit``: what left a party, shown or as JSON, and never of a log that is broken."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flora.cli.main import main
from flora.party.audit import FIRST, AuditLog, Entry, verify

NOON = datetime(2026, 3, 1, 12, 0, 0, 5000, UTC)


def log_in(folder: Path) -> AuditLog:
    log = AuditLog(folder / "audit.jsonl", lambda: NOON)
    log.record("search: reply", "aggregator", b"{}", "a note")
    return log


def test_the_json_is_the_entries_and_the_last_hash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = log_in(tmp_path)
    last = log.record("[bold]train", "Zürich", b"\0" * 1234)
    assert main(["audit", str(log.path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["version"], document["file"]) == ("flora-audit", 1, str(log.path))
    assert document["last"] == last.hash
    assert [Entry(**entry) for entry in document["entries"]] == list(verify(log.path))


def test_the_table_shows_every_entry_and_takes_nothing_for_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    log = log_in(tmp_path)
    last = log.record("[bold]train", "Zürich", b"\0" * 1234)
    assert main(["audit", str(log.path)]) == 0
    shown = capsys.readouterr().out
    assert f"2 entries, each with the hash of the one before; the last is {last.hash}" in shown
    for words in ("search: reply", "a note", "[bold]train", "Zürich", "1234", "2026-03-01T12:00:00.005"):
        assert words in shown


def test_a_log_without_entries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "audit.jsonl").write_bytes(b"")
    assert main(["audit", str(tmp_path / "audit.jsonl"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["entries"], document["last"]) == ([], FIRST)


def test_a_broken_log_is_an_error_and_its_entries_are_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log_in(tmp_path).path
    path.write_bytes(path.read_bytes().replace(b"a note", b"a lie!"))
    assert main(["audit", str(path)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "audit.jsonl: line 1: its hash is not that of what it says" in shown.err
    assert main(["audit", str(tmp_path / "none")]) == 2
