"""Files as they come: other separators, signs and encodings, other kinds, and what is no table at all."""

import gzip
import io
import json
import sqlite3
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flora.errors import DataError, InputError
from flora.party.tables.file import read_table
from flora.party.tables.format import TableFormat
from flora.party.tables.table import describe

EXPECTED = pd.DataFrame({"größe": [1.5, -2.25, 3.0], "ort": ["Köln", "Łódź, Süd", "Köln"], "y": [0, 1, 0]})
WESTERN = EXPECTED.replace("Łódź, Süd", "Zürich, Süd")


def heard(path: Path, **options: Any) -> tuple[pd.DataFrame, list[str]]:
    notes: list[str] = []
    return read_table(path, TableFormat(**options), notes.append), notes


def csv_of(table: pd.DataFrame, sep: str, decimal: str, encoding: str) -> bytes:
    return table.to_csv(index=False, sep=sep, decimal=decimal).encode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_csv_file_is_read_as_it_is_written(
    tmp_path: Path, sep: str, decimal: str, encoding: str, packed: bool
) -> None:
    expected = EXPECTED if encoding.startswith("utf") else WESTERN
    data = csv_of(expected, sep, decimal, encoding)
    path = tmp_path / ("t.csv.gz" if packed else "t.txt")
    path.write_bytes(gzip.compress(data) if packed else data)
    table, notes = heard(path)
    if sep == decimal:  # quoted decimal commas between commas might as well be thousands: nothing is guessed
        assert table["größe"].tolist() == ["1,5", "-2,25", "3,0"]
        return
    pd.testing.assert_frame_equal(table, expected)
    words = [
        ("semicolons", sep == ";"),
        ("tabs", sep == "\t"),
        ("bars", sep == "|"),
        ("decimal commas", decimal == ","),
    ]
    words += [("encoded as", not encoding.startswith("utf-8"))]
    for word, said in words:
        assert any(word in note for note in notes) == said, notes
    assert len(notes) <= 1


def test_what_is_said_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a;b,y\n1;2,0\n3;4,1\n")
    assert list(heard(path, sep=";")[0].columns) == ["a", "b,y"]
    assert list(heard(path, sep=",")[0].columns) == ["a;b", "y"]
    path.write_bytes(b"x;y\n1,5;0\n?;1\n")
    assert heard(path)[0]["x"].tolist()[0] == 1.5  # a marker among decimal commas
    assert heard(path, decimal=".")[0]["x"].tolist() == ["1,5", "?"]
    path.write_bytes(b"x;y\n" + b"".join(b"%d,5;0\n%d,5;1\n" % (k, k) for k in range(30)) + b"none taken;1\n")
    with pytest.raises(DataError, match="column 'x': numeric but for 1 of 61 cells, such as 'none taken' in row 61"):
        describe(heard(path)[0], "y")
    path.write_bytes("x;y\né;0\n".encode())
    assert heard(path, encoding="cp1252")[0]["x"].tolist() == ["Ã©"]
    with pytest.raises(DataError, match=r"t.csv: its text is not ascii \(.*\); say which with --encoding"):
        heard(path, encoding="ascii")


def test_a_letter_far_down_decides_the_encoding(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n" + b"plain,1\n" * 30_000 + b"caf\xe9,0\n")
    table, notes = heard(path)
    assert table["x"].iloc[-1] == "café"
    assert "cp1252" in notes[0]


def test_separators_in_texts_do_not_mislead(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('note,y\n"a;b;c",0\n"d;e",1\n"line\nbreak; here",1\n')
    table, notes = heard(path)
    assert list(table.columns) == ["note", "y"]
    assert len(table) == 3
    assert not notes


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sep": "::"}, "--sep must be one character or tab, got '::'"),
        ({"decimal": ";"}, "--decimal must be . or , and got ';'"),
        ({"sep": ".", "decimal": "."}, "--sep and --decimal must differ"),
        ({"encoding": "klingon"}, "--encoding must be one that Python knows, such as utf-8 or cp1252, got 'klingon'"),
        ({"encoding": "base64"}, "--encoding must be one that Python knows"),
    ],
)
def test_a_format_that_cannot_be_is_refused(options: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        TableFormat(**options)


def test_a_tab_can_be_typed() -> None:
    assert TableFormat(sep="tab").sep == TableFormat(sep="\\t").sep == "\t"


def test_feather_is_read_and_a_wrong_suffix_does_no_harm(tmp_path: Path) -> None:
    EXPECTED.to_feather(tmp_path / "t.feather")
    EXPECTED.to_parquet(tmp_path / "t.csv")
    for name in ("t.feather", "t.csv"):
        pd.testing.assert_frame_equal(read_table(tmp_path / name), EXPECTED)


def test_texts_of_digits_stay_texts_where_the_file_says_so(tmp_path: Path) -> None:
    pd.DataFrame({"code": ["01", "02", "?", " "], "y": [0, 1, 0, 1]}).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["code"].fillna("").tolist() == ["01", "02", "?", ""]


def excel_skeleton(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return path


def test_excel_needs_a_package_and_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"t.xlsx: Excel files need openpyxl: pip install 'flora-hpo\[excel\]'"):
        read_table(excel_skeleton(tmp_path / "t.xlsx"))


def test_a_feather_file_that_points_outside_of_itself_is_refused(tmp_path: Path) -> None:
    """Read as it is, it would end the process."""
    path = tmp_path / "t.feather"
    pd.DataFrame({"ort": ["aaa", "bbb", "ccc"]}).to_feather(path, compression="uncompressed")
    data, offsets = path.read_bytes(), struct.pack("<4i", 0, 3, 6, 9)
    if data.count(offsets) != 1:  # pandas 3 writes texts with long offsets
        offsets = struct.pack("<4q", 0, 3, 6, 9)
    assert data.count(offsets) == 1
    path.write_bytes(data.replace(offsets, offsets[: len(offsets) // 2] + b"\x7f" * (len(offsets) // 2)))
    with pytest.raises(DataError, match=r"t\.feather: "):
        heard(path)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_parquet_and_feather_without_pyarrow_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    getattr(EXPECTED, f"to_{kind}")(tmp_path / "t.bin")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=rf"t.bin: {kind.capitalize()} files need pyarrow: .*flora-hpo\[parquet\]"):
        read_table(tmp_path / "t.bin")


def test_a_column_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("self,func,index\n ,?,?\nno,2,3\n")
    table, _ = heard(path)
    assert list(table.columns) == ["self", "func", "index"]
    assert [table[name].isna().tolist() for name in table.columns] == [[True, False]] * 3


def test_excel_is_read(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    table = EXPECTED.assign(mixed=[1.5, "n/a", 2])
    with pd.ExcelWriter(path) as book:
        table.to_excel(book, sheet_name="patients", index=False)
        table.to_excel(book, sheet_name="other", index=False)
    found, notes = heard(path)
    pd.testing.assert_frame_equal(found[list(EXPECTED.columns)], EXPECTED, check_dtype=False)
    assert found["mixed"].isna().tolist() == [False, True, False]
    assert notes[0] == "t.xlsx: read the first of 2 sheets, 'patients'"
    with pytest.raises(DataError, match="not a table that can be read"):
        read_table(excel_skeleton(tmp_path / "broken.xlsx"))


def zipped(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def sqlite_bytes(folder: Path) -> bytes:
    with sqlite3.connect(folder / "made.db") as connection:
        connection.execute("create table t (x int)")
    connection.close()
    return (folder / "made.db").read_bytes()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"%PDF-1.7\n...", "it is a PDF document, expected a table; export it as CSV"),
        (zipped(data="x,y"), "it is a zip archive, of 'data', expected a table"),
        (zipped(a="x,y", b="x,y"), "it is a zip archive, of 'a' and 1 more"),
        (zipped(**{"xl/workbook.bin": "x"}), "it is a binary Excel workbook"),
        (b"% from a repository\n\n@RELATION iris\n@DATA\n", "it is an ARFF file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "it is a pointer of Git LFS"),
        (b"\x89PNG\r\n\x1a\n", "it is a PNG image"),
        (b"", "the file is empty"),
        (zipped(mimetype="text"), "it is an OpenDocument file"),
        (b"PK\x03\x04 torn", "it is a damaged zip archive"),
        (b"<!DOCTYPE html><html>", "it is an HTML page"),
        (b"\xef\xbb\xbf  <HTML><body>", "it is an HTML page"),
        (json.dumps([{"x": 1}]).encode(), "it is a JSON document"),
        (b"<?xml version='1.0'?><a/>", "it is an XML document"),
        (
            b"\x80\x04\x95\n\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01x\x94K\x01s.",
            "it is a Python pickle, which is never opened",
        ),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "it is an old Office document"),
        (b"a\x00b\x00\x01", "it is a binary file"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(DataError, match=says) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet", "t.feather", "t.xlsx"])
def test_a_text_that_is_named_as_something_else_is_read_as_what_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x,y\n1,a\n2,b\n")  # a browser has unpacked it
    assert read_table(tmp_path / name)["y"].tolist() == ["a", "b"]


def test_a_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(sqlite_bytes(tmp_path))
    with pytest.raises(DataError, match="it is an SQLite database, expected a table; name one of its own: sqlite:///"):
        read_table(path)
