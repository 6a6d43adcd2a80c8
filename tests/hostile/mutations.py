"""Valid documents made hostile: by structure where they have one, by bytes where they have none.

A case is a short list of edits, each of three small numbers that hypothesis draws and shrinks: what is done, where, and
with what. The same numbers give the same bytes.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

Edit = tuple[int, int, int]  # what is done, where, with what
Mutate = Callable[[bytes, Sequence[Edit]], bytes]
EDITS = st.lists(st.tuples(*[st.integers(0, 2**20)] * 3), min_size=1, max_size=4)


class Raw(str):
    """A text that goes into a document as it is."""

    __slots__ = ()


NASTY: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3.5, -0.0, 1e-320, 1e100, -1e101, 1e200, 2**31, 2**53, 2**63, -(2**64), 10**400,
    Raw("1" * 5000), Raw("NaN"), Raw("Infinity"), Raw("-Infinity"), Raw("1e999"), Raw("-1e999"), Raw("0.1e-999"),
    Raw('"\\ud800"'), Raw('"\\udfff\\ud800"'), Raw('"\\u0000"'), Raw('"\\u202e"'), Raw("truf"), Raw(""),
    Raw("[[[["), Raw("[" * 100_000), Raw("[" * 40 + "]" * 40), Raw('{"a":' * 900 + "1" + "}" * 900),
    Raw('{"a":1,"a":2}'), Raw("[" * 990 + "]" * 990), "", " ", "a", "\n", "\x1b[2J", "x" * 20_000,
    "../../etc/passwd", "nan", "inf", "1e400", "é" * 300, "\U0001f600", "NULL", "True", "==", "sklearn.svm:SVC",
    "os:system", "builtins:eval", [], {}, [[]], [None], [0] * 3000, {"a": None}, {"": ""}, ["a", "a"],
    [1, "a", None, [], {}], {"type": "real", "range": [0, 1]},
)  # fmt: skip


def of_json(data: bytes, edits: Sequence[Edit]) -> bytes:
    """Return a JSON document with some of its parts replaced, left out, doubled, nested or moved; or torn."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):  # an earlier edit tore it
        return of_bytes(data, edits)
    tear = [edit for edit in edits if edit[0] % 8 == 7]
    try:
        for edit in edits:
            if edit not in tear:
                document = _edited(document, edit)
        text = json.dumps(document, default=str).encode()
    except RecursionError:  # an earlier edit has nested it as deeply as JSON is read, and it is no longer written
        return of_bytes(data, edits)
    return of_bytes(_with_raws(text), tear) if tear else _with_raws(text)


def _with_raws(text: bytes) -> bytes:
    """Put the texts that no writer of JSON writes where their marks are."""
    for k, value in enumerate(NASTY):
        if isinstance(value, Raw):
            text = text.replace(_mark(k).encode(), value.encode())
    return text


def _mark(place: int) -> str:
    return f'"raw-{place:04d}-raw"'


def _nasty(choice: int) -> Any:
    place = choice % len(NASTY)
    return f"raw-{place:04d}-raw" if isinstance(NASTY[place], Raw) else deepcopy(NASTY[place])


def _edited(document: Any, edit: Edit) -> Any:
    what, where, how = edit
    nodes = list(_nodes(document))
    if not nodes:
        return _nasty(how)
    holder, key = nodes[where % len(nodes)]
    other_holder, other_key = nodes[how % len(nodes)]
    match what % 8:
        case 0 | 1 | 2:
            holder[key] = _nasty(how)
        case 3:
            del holder[key]
        case 4:
            holder[key] = json.loads(json.dumps(other_holder[other_key]))
        case 5:
            _grown(holder, key, how)
        case _:
            _turned(holder, key, how)
    return document


def _nodes(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each part of a document as its holder and its key."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        keys: Any = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        for key in list(keys):
            yield value, key
            waiting.append(value[key])


def _grown(holder: Any, key: Any, how: int) -> None:
    """Double a part: a list has it many times, an object has it under other names too."""
    if isinstance(holder, list):
        holder[key:key] = [deepcopy(holder[key]) for _ in range(1 + how % 200)]
    else:
        holder[("more", f"{key} ", f"{key}\u0301", "format", "__class__")[how % 5]] = deepcopy(holder[key])


def _turned(holder: Any, key: Any, how: int) -> None:
    """Change a part a little: of another type, the other sign, once more nested, a letter or a digit other."""
    value = holder[key]
    if isinstance(value, bool | None):
        holder[key] = str(value).lower()
    elif isinstance(value, int | float):
        holder[key] = (-value, value + 1, value * 10**6, str(value), [value], f"{value}.5", bool(value))[how % 7]
    elif isinstance(value, str):
        at = how % (len(value) + 1)
        holder[key] = (value[:at] + "\u0000" + value[at:], value[:at], value * 2, [value], value[::-1], at)[how % 6]
    else:
        holder[key] = ([value], {"value": value}, json.dumps(value), len(value))[how % 4]


def of_bytes(data: bytes, edits: Sequence[Edit]) -> bytes:
    """Return bytes with some of them flipped, cut off, left out, put in or moved."""
    for what, where, how in edits:
        at, other = where % (len(data) + 1), how % (len(data) + 1)
        low, high = sorted((at, other))
        match what % 8:
            case 0 | 1:
                data = data[:at] + bytes([(data[at] ^ (1 << how % 8)) if at < len(data) else 0]) + data[at + 1 :]
            case 2:
                data = data[:at]
            case 3:
                data = data[:low] + data[high:]
            case 4:
                data = data[:high] + data[low:]
            case 5:
                data = data[:at] + _ODD[how % len(_ODD)] + data[at:]
            case 6:
                data = data[:at] + bytes([how % 256]) * (1 + how % 300) + data[at:]
            case _:
                data = data[:at] + _ODD[how % len(_ODD)] + data[at + 4 :]
    return data


_ODD = (
    b"\x00", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r",
    b"\n\n", b'"', b"'", b",", b";", b"\t", b"{", b"}", b"[", b"]", b"\\", b"nan", b"-inf", b"1e999", b"9" * 5000,
    b"--1", b"=1+1", b"\xf0\x9f\x98\x80", b"PK\x03\x04", b"\x1f\x8b\x08", b"*a", b"&a",
    b"!!python/object:os.system", b"!!binary x", b"? ", b": ", b"- ", b"%", b"---\n", b"2001-99-99", b"[" * 3000,
    b"- " * 1200, b"{a: " * 800, b"<<: *a", b"0x", b"1:60:61",
)  # fmt: skip


def of_text(data: bytes, edits: Sequence[Edit]) -> bytes:
    """Return a text of lines and cells with some of them moved, doubled, left out or replaced; or torn."""
    for edit in edits:
        what, where, how = edit
        lines = data.split(b"\n")
        at = where % len(lines)
        cells = lines[at].split(b",")
        match what % 6:
            case 0 | 1:
                cells[how % len(cells)] = _CELLS[(how // len(cells)) % len(_CELLS)]
                lines[at] = b",".join(cells)
            case 2:
                lines[at : at + 1] = [lines[at]] * (how % 3)
            case 3:
                lines[at] = b",".join(cells[: how % (len(cells) + 1)])
            case 4:
                lines[at] = b",".join(cells + cells)
            case _:
                data = of_bytes(data, [edit])
                continue
        data = b"\n".join(lines)
    return data


_CELLS = (
    b"", b" ", b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"1e200", b"-1e101", b"1e-400", b"9" * 5000, b"0x10",
    b"1_000", b"1,5", b'"', b'"a', b'"a""b"', b"'", b"#", b"=cmd|' /C'!A0", b"\x00", b"\xff", b"\xed\xa0\x80",
    b"TRUE", b"None", b"-", b"?", b"2024-02-30", b"99999999999999999999", b"1/0", b"x" * 3000, b"\xe2\x80\xae",
    b"\r", b"C", b"loss", b"score", b"error",
)  # fmt: skip


def inside(mutate: Callable[[str], Mutate]) -> Mutate:
    """Return what changes one file of a zip archive, in the way that is right for its name; or the zip itself."""

    def changed(data: bytes, edits: Sequence[Edit]) -> bytes:
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        except Exception:  # an archive in an archive that an edit before has damaged
            return of_bytes(data, edits)
        for edit in edits:
            if edit[0] % 11 == 10:
                return of_bytes(data, edits)
            name = sorted(files)[edit[1] % len(files)]
            inner = (edit[0] // 11, edit[1] // len(files), edit[2])
            files[name] = mutate(name)(files[name], [inner])
        return _zipped(files)

    return changed


def _zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def gzipped(mutate: Mutate) -> Mutate:
    """Return what changes the text in a gzip file, and now and then the file."""

    def changed(data: bytes, edits: Sequence[Edit]) -> bytes:
        if edits[0][0] % 3 == 0:
            return of_bytes(data, edits)
        return gzip.compress(mutate(gzip.decompress(data), edits), compresslevel=1)

    return changed
