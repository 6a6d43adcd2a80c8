"""JSON that somebody else may have written: what it calls itself, its size, its depth, and what is refused at once."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.core.codec import to_document
from flora.core.documents import MOST_BYTES, MOST_DEPTH, Format, contents, format_in, parse
from flora.core.rules import Count, Name, check
from flora.errors import InputError, TrialsError

STEADY = settings(derandomize=True, deadline=None, max_examples=200)


@dataclass(frozen=True)
class Note:
    """A record in a file."""

    name: Name
    pages: tuple[Count, ...] = ()

    def __post_init__(self) -> None:
        check(self)


NOTE = Note("Größe", (1, 2))
FORMAT = Format("flora-note", 3, 1000, TrialsError)
TEXT = FORMAT.text(to_document(NOTE))


class TestParse:
    @pytest.mark.parametrize("text", ['{"a": [1, 2.5, null, true, "ü"]}', b'{"a": [1, 2.5, null, true, "\xc3\xbc"]}'])
    def test_json_is_what_it_says(self, text: str | bytes) -> None:
        assert parse(text) == {"a": [1, 2.5, None, True, "ü"]}

    def test_a_mark_of_the_byte_order_is_no_part_of_it(self) -> None:
        assert parse(b"\xef\xbb\xbf[1]") == [1]

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("", "Expecting value"),
            ("{", "Expecting property name"),
            ("[1] 2", "Extra data"),
            ("NaN", "numbers must be finite, got NaN"),
            ("[Infinity]", "numbers must be finite, got Infinity"),
            ('{"a": -Infinity}', "numbers must be finite, got -Infinity"),
            ('{"a": 1, "b": 2, "a": 1}', "the key 'a' comes twice"),
            ('[{"x": {"\\n": 1, "\\n": 2}}]', r"the key '\\n' comes twice"),
            ("[" * 100_000, "nested too deep"),
            ('{"a":' * 100_000, "nested too deep"),
            ("9" * 5000, "Exceeds the limit"),
            (b"\xff\xfe[\x001\x00]\x00", "codec can't decode"),
            (b'"\xff"', "codec can't decode"),
        ],
        ids=range(13),
    )
    def test_all_else_is_a_value_error(self, text: str | bytes, says: str) -> None:
        with pytest.raises(ValueError, match=says):
            parse(text)

    def test_a_key_that_comes_twice_among_many_is_found_at_once(self) -> None:
        """To count each key among all others would take hours, and the sender a second."""
        many = ",".join(f'"{k}":0' for k in range(100_000))
        began = time.perf_counter()
        with pytest.raises(ValueError, match="the key '99999' comes twice"):
            parse(f'{{{many},"99999":1}}')
        assert time.perf_counter() - began < 10


class TestFormat:
    def test_a_record_comes_back_from_its_text(self) -> None:
        assert FORMAT.record(Note, TEXT, "a.json") == FORMAT.record(Note, TEXT.encode(), "a.json") == NOTE
        assert FORMAT.document(TEXT, "a.json") == {"name": "Größe", "pages": [1, 2]}

    def test_the_text_says_what_it_is_and_ends_its_line(self) -> None:
        assert list(json.loads(TEXT)) == ["format", "version", "name", "pages"]
        assert TEXT.isascii()
        assert TEXT.endswith("}\n")
        assert TEXT.startswith('{\n "format": "flora-note",\n')
        assert FORMAT.text({"a": 1}, indent=None) == '{"format":"flora-note","version":3,"a":1}\n'
        with pytest.raises(ValueError, match="not JSON compliant"):
            FORMAT.text({"a": float("nan")})

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"format": "other"}, "a.json: expected 'flora-note' version 3, got ('other', 3)"),
            ({"format": None}, "a.json: expected 'flora-note' version 3, got (None, 3)"),
            ({"format": ["flora-note"]}, "a.json: expected 'flora-note' version 3, got (['flora-note'], 3)"),
            ({"version": 4}, "a.json: expected 'flora-note' version 3, got ('flora-note', 4)"),
            ({"version": "3"}, "a.json: expected 'flora-note' version 3, got ('flora-note', '3')"),
            ({"name": "a\nb"}, "a.json: name must be 1 to 200 printable characters, got 'a\\nb'"),
            ({"pages": [1, 0]}, "a.json: pages[1] must be a whole number from 1 to 2^53, got 0"),
            ({"rows": []}, "a.json: it has the unknown field 'rows', it has ['name', 'pages']"),
            ({"name": 10**400}, "a.json: not a flora-note (numbers must be finite, got 1000"),
            ({"name": "\ud800"}, "a.json: not a flora-note (text must be Unicode, got '\\ud800')"),
            ({"\udc00": 1}, "a.json: not a flora-note (text must be Unicode, got '\\udc00')"),
        ],
    )
    def test_what_is_no_such_thing_is_refused_with_its_name(self, change: dict[str, Any], says: str) -> None:
        with pytest.raises(TrialsError) as caught:
            FORMAT.record(Note, json.dumps({**json.loads(TEXT), **change}), "a.json")
        assert str(caught.value).startswith(says)
        assert str(caught.value).isprintable()

    def test_true_is_no_version(self) -> None:
        first = Format("flora-note")
        assert first.version == 1
        with pytest.raises(InputError, match=r"version 1, got .'flora-note', True."):
            first.document('{"format": "flora-note", "version": true}', "x")

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("[]", r"a\.json: a flora-note is a JSON object, got \[\]"),
            ("{", r"a\.json: not a flora-note \(Expecting"),
            ('{"a": 1e999}', r"numbers must be finite, got inf"),
            ('{"a": 1, "a": 2}', "the key 'a' comes twice"),
            ("[" * 500, r"a\.json: not a flora-note"),
        ],
    )
    def test_bad_text_is_refused(self, text: str, says: str) -> None:
        with pytest.raises(TrialsError, match=says):
            FORMAT.document(text, "a.json")

    def test_its_error_is_its_own(self) -> None:
        with pytest.raises(InputError) as caught:
            Format("flora-note").document("", "x")
        assert type(caught.value) is InputError

    def test_the_size_is_that_of_the_bytes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("flora.core.documents.parse", lambda text: pytest.fail("it was parsed"))
        for text, size in ((" " * 1001, 1001), (b" " * 1001, 1001), ("ü" * 501, 1002), ("\ud800" * 334, 1002)):
            with pytest.raises(TrialsError, match=f"x: a flora-note has at most 1000 bytes, got {size}"):
                FORMAT.document(text, "x")

    def test_what_is_just_small_enough_is_read(self) -> None:
        assert FORMAT.record(Note, TEXT + " " * (1000 - len(TEXT)), "x") == NOTE

    @pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}")])
    def test_what_nests_too_deep_is_refused(self, open_: str, close: str) -> None:
        large = Format("flora-note", 3)

        def nested(depth: int) -> str:
            inside = f"{open_ * depth}1{close * depth}"
            return f'{{"format": "flora-note", "version": 3, "deep": {inside}}}'

        assert list(large.document(nested(MOST_DEPTH - 1), "x")) == ["deep"]
        for depth in (MOST_DEPTH, 100, *range(900, 1000, 9), 5000, 200_000):
            with pytest.raises(InputError, match=r"x: not a flora-note .nested (deeper than 32|too deep)"):
                large.document(nested(depth), "x")


class TestFiles:
    def test_a_file_is_read_if_it_is_there_and_small_enough(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_text(TEXT)
        assert FORMAT.file(path) == TEXT.encode()
        path.write_bytes(b" " * 1000)
        assert len(FORMAT.file(path)) == 1000
        path.write_bytes(b" " * 1001)
        with pytest.raises(TrialsError, match=r"a\.json: has at most 1000 bytes, got 1001"):
            FORMAT.file(path)
        for wrong, words in ((tmp_path / "none", "no such file"), (tmp_path, "a folder, expected a file")):
            with pytest.raises(TrialsError, match=words):
                FORMAT.file(wrong)
        with pytest.raises(InputError) as caught:
            contents(path, 1000)
        assert type(caught.value) is InputError

    def test_a_large_file_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "a.json"
        with path.open("wb") as file:
            file.truncate(MOST_BYTES + 1)
        monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
        with pytest.raises(InputError, match="at most 16777216 bytes, got 16777217"):
            contents(path, MOST_BYTES)

    @pytest.mark.parametrize(
        ("text", "name"),
        [(TEXT, "flora-note"), ("{}", None), ("[]", None), ('{"format": 3}', None), ('"format"', None)],
    )
    def test_a_text_says_what_it_is(self, text: str, name: str | None) -> None:
        assert format_in(text, "a.json") == name

    @pytest.mark.parametrize("text", [TEXT, TEXT.replace("note", "\\u006eote")])
    def test_a_kind_may_be_named_in_a_text_that_names_it_in_any_way(self, text: str) -> None:
        assert format_in(text, "a.json") == FORMAT.name
        assert FORMAT.may_be_named_in(text.encode())
        assert not FORMAT.may_be_named_in(b'{"format": "another"}')

    @pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000])
    def test_a_text_that_is_no_json_says_nothing(self, data: bytes) -> None:
        with pytest.raises(InputError, match=r"a\.json: not a JSON file"):
            format_in(data, "a.json")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def refused_or_read(text: str | bytes) -> None:
    try:
        FORMAT.record(Note, text, "x")
    except TrialsError as error:
        assert str(error).isprintable()  # noqa: PT017


@STEADY
@given(st.text() | st.binary())
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    refused_or_read(text)


@STEADY
@given(st.sampled_from(["name", "pages", "format", "version", "more"]), anything)
def test_any_field_is_read_or_refused(name: str, value: Any) -> None:
    refused_or_read(json.dumps({**json.loads(TEXT), name: value}))


@STEADY
@given(st.binary(min_size=1, max_size=4), st.integers(0, len(TEXT)))
def test_a_damaged_text_is_read_or_refused(damage: bytes, place: int) -> None:
    data = TEXT.encode()
    refused_or_read(data[:place] + damage + data[place + 1 :])
