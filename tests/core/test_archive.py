"""Zip archives of ours."""

import io
import zipfile

import pytest

from flora.core.archive import archive_of, members_of
from flora.errors import InputError


def test_the_same_files_are_the_same_bytes_in_any_order() -> None:
    assert archive_of({"b": b"2", "a": b"1"}) == archive_of({"a": b"1", "b": b"2"})
    assert members_of(archive_of({"b": b"2", "a": b"1"}), 2) == {"a": b"1", "b": b"2"}


def test_what_is_damaged_or_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    good = archive_of({"a": b"1" * 100, "b": b""})
    for bad in (b"", b"no archive", good[:-10], good.replace(b"1" * 100, b"2" * 100)):
        with pytest.raises(InputError, match="not a zip archive that can be read"):
            members_of(bad, 9)
    with pytest.raises(InputError, match="at most 1 files"):
        members_of(good, 1)
    monkeypatch.setattr("flora.core.archive.MOST_BYTES", 50)
    with pytest.raises(InputError, match="at most 50 bytes unpacked, got 100"):
        members_of(good, 9)


def test_a_bomb_is_refused_by_what_it_declares() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for k in range(300):
            archive.writestr(str(k), bytes(2**20))
    assert len(buffer.getvalue()) < 2**20
    with pytest.raises(InputError, match="bytes unpacked"):
        members_of(buffer.getvalue(), 1000)
