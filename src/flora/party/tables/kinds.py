"""What a file is, by its first bytes: a table that can be read, or the name of what it is instead."""

import re
import zipfile
from pathlib import Path

READABLE = ("csv", "csv.gz", "parquet", "feather", "excel")
HEAD = 4096
SQLITE = "an SQLite database"

_STARTS = (  # what a file begins with, and what it then is
    (b"PAR1", "parquet"),
    (b"ARROW1", "feather"),
    (b"FEA1", "feather"),
    (b"\x1f\x8b", "csv.gz"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3\x00", SQLITE),
    (b"\xd0\xcf\x11\xe0", "an old Office document (.xls or .doc)"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"$FL2", "an SPSS file"),
    (b"<stata_dta>", "a Stata file"),
    (b"RDX", "an R data file"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x7fELF", "a program"),
    (b"{\\rtf", "an RTF document"),
)
_TEXTS = (  # the same for texts, in lower case and without leading blanks
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "an XML document"),
    (b"{", "a JSON document"),
    (b"[", "a JSON document"),
    (b"@relation", "an ARFF file"),
    (b"version https://git-lfs", "a pointer of Git LFS, in place of the file itself"),
)
_MEMBERS = (  # what only such a zip archive has
    ("xl/workbook.xml", "excel"),
    ("xl/workbook.bin", "a binary Excel workbook (.xlsb)"),
    ("word/document.xml", "a Word document"),
    ("mimetype", "an OpenDocument file"),
)
_COMMENTS = re.compile(rb"\A(?:\s|%.*\n)+")  # before an ARFF file's first line
ADVICE = "export it as CSV, Parquet, Feather or Excel (.xlsx)"


def kind_of_file(path: Path) -> str:
    """Return one of ``READABLE``, or words for what the file is."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_zip(path)
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a Python pickle, which is never opened: it could run any code"
    known = next((kind for start, kind in _STARTS if head.startswith(start)), None)
    if known:
        return known
    text = _COMMENTS.sub(b"", head.removeprefix(b"\xef\xbb\xbf").lower())
    binary = b"\x00" in head and head[:2] not in (b"\xff\xfe", b"\xfe\xff")
    otherwise = "a binary file" if binary else "csv"
    return next((kind for start, kind in _TEXTS if text.startswith(start)), otherwise)


def _kind_of_zip(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return "a damaged zip archive"
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    otherwise = f"a zip archive, of {names[0]!r:.60}{others}" if names else "an empty zip archive"
    return next((kind for name, kind in _MEMBERS if name in names), otherwise)
