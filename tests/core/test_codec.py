"""The codec: every type there and back, every error with its place, and InputErrors alone for what is hostile."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.core import codec
from flora.core.codec import FLAT, MOST_ITEMS, checks_itself, has_form, read, read_fields, to_document, to_json
from flora.core.rules import Amount, Count, Name, Sentence, check
from flora.errors import InputError, SpaceError, WireError

STEADY = settings(derandomize=True, deadline=None, max_examples=300)
Value = float | int | str | bool
COUNTS: Any = Mapping[str, int]


class Celsius:
    """A class with a form of its own: a text."""

    def __init__(self, degrees: float) -> None:
        self.degrees = degrees

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Celsius) and other.degrees == self.degrees

    def __hash__(self) -> int:
        return hash(self.degrees)


def celsius_of(document: Any) -> Celsius:
    if document == "cold":
        raise SpaceError("it is too cold")
    return Celsius(float(document.removesuffix("°")))


has_form(Celsius, lambda value: f"{value.degrees}°", celsius_of)


@dataclass(frozen=True)
class Pair:
    """A record that checks all of its plain fields when it is made."""

    config: Mapping[str, Value]
    loss: Amount
    name: Name | None = None

    def __post_init__(self) -> None:
        check(self, WireError)


checks_itself(Pair)


@dataclass(frozen=True)
class Point:
    """A record in a record."""

    x: float
    y: float = 0.0

    def __post_init__(self) -> None:
        check(self, WireError)
        if self.x < self.y:
            raise WireError(f"x must not be below y, got {self.x} and {self.y}")


@dataclass(frozen=True)
class Label:
    """A record whose fields stand beside another's."""

    text: Sentence
    size: Count = 12


@dataclass(frozen=True)
class Everything:
    """A field of each type that the codec knows."""

    name: Name
    flag: bool
    count: Count
    amount: Amount
    number: float
    data: bytes
    kind: Literal["a", "b"]
    nothing: None
    perhaps: int | None
    value: Value
    words: tuple[Sentence, ...]
    table: tuple[tuple[float, ...], ...]
    config: Mapping[str, Value]
    deep: Mapping[str, tuple[Point, ...]]
    point: Point
    warm: Celsius
    label: Label = field(metadata=FLAT)
    other: Point | None = None
    anything: Any = None
    listed: tuple[int, ...] = field(default_factory=tuple)


WHOLE = Everything(
    name="Zürich",
    flag=True,
    count=3,
    amount=0.1,
    number=-1e300,
    data=bytes(range(256)),
    kind="b",
    nothing=None,
    perhaps=None,
    value="v",
    words=("", "one"),
    table=((1.0, 2.5), ()),
    config={"C": 1.5, "n": 3, "solver": "adam", "warm": True},
    deep={"a": (Point(1.0), Point(2.0, 1.0)), "b": ()},
    point=Point(3.0, -4.0),
    warm=Celsius(21.5),
    label=Label("beside", 9),
    other=Point(1.0, 1.0),
    anything=None,
    listed=(1, 2),
)
DOCUMENT = to_document(WHOLE)


class TestRoundTrip:
    def test_every_type_comes_back_as_it_was(self) -> None:
        assert read(Everything, json.loads(json.dumps(DOCUMENT))) == WHOLE
        assert to_document(read(Everything, DOCUMENT)) == DOCUMENT

    def test_the_document_is_of_jsons_types_in_the_order_of_the_fields(self) -> None:
        assert json.loads(json.dumps(DOCUMENT)) == DOCUMENT
        assert list(DOCUMENT)[:3] == ["name", "flag", "count"]
        assert DOCUMENT["warm"] == "21.5°"
        assert DOCUMENT["data"].startswith("AAECAwQF")
        assert DOCUMENT["table"] == [[1.0, 2.5], []]
        assert DOCUMENT["deep"] == {"a": [{"x": 1.0, "y": 0.0}, {"x": 2.0, "y": 1.0}], "b": []}

    def test_what_has_a_default_may_be_left_out(self) -> None:
        little = {key: value for key, value in DOCUMENT.items() if key not in ("other", "anything", "listed", "size")}
        found = read(Everything, little)
        assert (found.other, found.anything, found.listed, found.label) == (None, None, (), Label("beside", 12))

    def test_numpy_scalars_and_frozen_mappings_become_plain(self) -> None:
        config = MappingProxyType({"C": np.float64(2.0), "n": np.int64(3), "b": np.bool_(True), "s": np.str_("x")})
        plain = to_json(config)
        assert plain == {"C": 2.0, "n": 3, "b": True, "s": "x"}
        assert [type(value) for value in plain.values()] == [float, int, bool, str]

    def test_a_value_is_kept_as_it_is(self) -> None:
        back = read(Everything, {**DOCUMENT, "config": {"a": 1, "b": 1.0, "c": True, "d": "1"}}).config
        assert [type(value) for value in back.values()] == [int, float, bool, str]

    @pytest.mark.parametrize("value", [{1, 2}, object(), 1j, Celsius])
    def test_what_has_no_form_is_not_written(self, value: Any) -> None:
        with pytest.raises(TypeError):
            to_json(value)


class TestErrors:
    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"name": ""}, "doc.name must be 1 to 200 printable characters, got ''"),
            ({"name": 3}, "doc.name must be text, got 3"),
            ({"flag": 1}, "doc.flag must be true or false, got 1"),
            ({"flag": "true"}, "doc.flag must be true or false, got 'true'"),
            ({"count": 0}, "doc.count must be a whole number from 1 to 2^53, got 0"),
            ({"count": True}, "doc.count must be a whole number, got True"),
            ({"count": 1.0}, "doc.count must be a whole number, got 1.0"),
            ({"amount": -0.5}, "doc.amount must be a finite number from 0 to 1e100, got -0.5"),
            ({"number": math.nan}, "doc.number must be a finite number, got nan"),
            ({"number": math.inf}, "doc.number must be a finite number, got inf"),
            ({"number": "1"}, "doc.number must be a finite number, got '1'"),
            ({"number": None}, "doc.number must be a finite number, got None"),
            ({"number": True}, "doc.number must be a finite number, got True"),
            ({"kind": "c"}, "doc.kind must be one of ['a', 'b'], got 'c'"),
            ({"kind": ["a"]}, "doc.kind must be one of ['a', 'b'], got ['a']"),
            ({"nothing": 0}, "doc.nothing must be null, got 0"),
            ({"perhaps": 1.5}, "doc.perhaps must be a whole number, got 1.5"),
            ({"value": None}, "doc.value must be a finite number or a whole number or text or true or false, got None"),
            ({"value": [1]}, "doc.value must be a finite number or a whole number or text or true or false, got [1]"),
            ({"words": "ab"}, "doc.words must be a list of at most 100000, got 'ab'"),
            ({"words": {}}, "doc.words must be a list of at most 100000, got {}"),
            ({"words": ["a", "b\n"]}, "doc.words[1] must be at most 1000 printable characters, got 'b\\n'"),
            ({"table": [[1], [2, "x"]]}, "doc.table[1][1] must be a finite number, got 'x'"),
            ({"table": [1]}, "doc.table[0] must be a list of at most 100000, got 1"),
            ({"config": []}, "doc.config must be a JSON object, got []"),
            ({"config": {"C": {}}}, "doc.config.C must be a finite number or a whole number or text or true or false"),
            ({"config": {"C\n\x1b": None}}, "doc.config.C?? must be a finite number or"),
            ({"config": {"x" * 999: None}}, f"doc.config.{'x' * 80} must be"),
            ({"deep": {"a": [{"x": 1}, {"x": "1"}]}}, "doc.deep.a[1].x must be a finite number, got '1'"),
            ({"deep": {"a": [{}]}}, "doc.deep.a[0] lacks the field 'x'"),
            ({"deep": {"a": [5]}}, "doc.deep.a[0] must be a JSON object, got 5"),
            ({"deep": {"a": [{"x": 1, "z": 1}]}}, "doc.deep.a[0] has the unknown field 'z', it has ['x', 'y']"),
            ({"point": {"x": 1, "y": 2}}, "doc.point: x must not be below y, got 1 and 2"),
            ({"point": None}, "doc.point must be a JSON object, got None"),
            ({"other": {"x": 1, "y": 2}}, "doc.other: x must not be below y, got 1 and 2"),
            ({"warm": "cold"}, "doc.warm: it is too cold"),
            ({"warm": "warm"}, "doc.warm: cannot be read (ValueError: could not convert string to float: 'warm')"),
            ({"warm": 5}, "doc.warm: cannot be read (AttributeError: 'int' object has no attribute 'removesuffix')"),
            ({"label": {"text": "a"}}, "doc has the unknown field 'label', it has"),
            ({"text": 1}, "doc.text must be text, got 1"),
            ({"size": 0}, "doc.size must be a whole number from 1 to 2^53, got 0"),
            ({"rows": [1]}, "doc has the unknown field 'rows', it has ['amount', 'anything', 'config', 'count'"),
            ({"\n": 1}, "doc has the unknown field '\\n', it has"),
            ({"data": "%"}, "doc.data must be base64 text ("),
            ({"data": "QQ=\n="}, "doc.data must be base64 text ("),
            ({"data": "ä"}, "doc.data must be base64 text ("),
            ({"data": None}, "doc.data must be base64 text ("),
            ({"data": [65]}, "doc.data must be base64 text ("),
        ],
    )
    def test_it_names_the_place_the_rule_and_the_value(self, change: dict[str, Any], says: str) -> None:
        with pytest.raises(InputError) as caught:
            read(Everything, {**DOCUMENT, **change}, "doc")
        assert str(caught.value).startswith(says)
        assert str(caught.value).isprintable()

    @pytest.mark.parametrize("name", [name for name in DOCUMENT if name not in ("size", "other", "anything", "listed")])
    def test_a_field_without_a_default_must_be_there(self, name: str) -> None:
        with pytest.raises(InputError, match=f"doc lacks the field '{name}'"):
            read(Everything, {key: value for key, value in DOCUMENT.items() if key != name}, "doc")

    @pytest.mark.parametrize(
        ("document", "says"),
        [
            ([], r"^it must be a JSON object, got \[\]$"),
            (None, "^it must be a JSON object, got None$"),
            ({}, "^it lacks the field 'x'$"),
            ({"x": 1, "z": 2}, "^it has the unknown field 'z'"),
            ({"x": "1"}, "^x must be a finite number, got '1'$"),
            ({"x": 1, "y": 2}, "^x must not be below y"),
        ],
    )
    def test_without_a_place_it_begins_with_the_field(self, document: Any, says: str) -> None:
        with pytest.raises(InputError, match=says):
            read(Point, document)

    @pytest.mark.parametrize(
        ("hint", "document", "says"),
        [
            (tuple[int, ...], 3, "^must be a list of at most 100000, got 3$"),
            (tuple[int, ...], [1, "2"], r"^\[1\] must be a whole number, got '2'$"),
            (COUNTS, [], r"^must be a JSON object, got \[\]$"),
            (COUNTS, {"a": "1"}, "^a must be a whole number, got '1'$"),
        ],
    )
    def test_what_is_read_need_not_be_a_record(self, hint: Any, document: Any, says: str) -> None:
        assert read(tuple[int, ...], [1, 2]) == (1, 2)
        assert read(COUNTS, {"a": 1}) == {"a": 1}
        with pytest.raises(InputError, match=says):
            read(hint, document)

    def test_a_records_own_error_keeps_its_kind(self) -> None:
        for document in ({"point": {"x": 1, "y": 2}}, {"warm": "cold"}):
            with pytest.raises(WireError if "point" in document else SpaceError):
                read(Everything, {**DOCUMENT, **document})

    def test_a_form_that_fails_in_any_way_is_an_input_error_in_one_line(self) -> None:
        @dataclass(frozen=True)
        class Odd:
            error: Any

        def fail(document: Any) -> Any:
            raise {"t": TypeError, "v": ValueError, "k": KeyError, "a": AttributeError, "z": ZeroDivisionError}[
                document
            ]("a\nb")

        has_form(Odd, lambda value: value.error, fail)
        for kind in "tvkaz":
            with pytest.raises(InputError, match=r"^odd: cannot be read \(\w+Error: .*a.*b.*\)$") as caught:
                read(Odd, kind, "odd")
            assert str(caught.value).isprintable()


class TestLimits:
    def test_a_list_has_its_end(self) -> None:
        assert len(read(tuple[int, ...], [0] * MOST_ITEMS)) == MOST_ITEMS
        with pytest.raises(InputError, match="must be a list of at most 100000"):
            read(tuple[int, ...], [0] * (MOST_ITEMS + 1))

    def test_an_object_has_its_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codec, "MOST_ITEMS", 2)
        assert len(read(COUNTS, {"a": 1, "b": 2})) == 2
        with pytest.raises(InputError, match="must be a JSON object"):
            read(COUNTS, {"a": 1, "b": 2, "c": 3})

    def test_a_text_has_its_end(self) -> None:
        @dataclass(frozen=True)
        class Free:
            text: str

        assert len(read(Free, {"text": "x" * 10_000}).text) == 10_000
        with pytest.raises(InputError, match="text must be text, got 'xxx"):
            read(Free, {"text": "x" * 10_001})

    @pytest.mark.parametrize("depth", [10, 400, 900, 100_000])
    def test_what_is_nested_deep_is_refused_and_no_crash(self, depth: int) -> None:
        deep: Any = []
        for _ in range(depth):
            deep = [deep]
        for key in DOCUMENT:
            if key != "anything":
                with pytest.raises(InputError):
                    read(Everything, {**DOCUMENT, key: deep})

    def test_a_form_that_is_nested_too_deep_is_refused(self) -> None:
        @dataclass(frozen=True)
        class Tree:
            size: int

        def count(document: Any) -> int:
            return 1 + sum(count(part) for part in document)

        has_form(Tree, lambda tree: [], lambda document: Tree(count(document)))
        assert read(Tree, [[], [[]]]).size == 4
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        with pytest.raises(InputError, match=r"^tree: nested too deep$"):
            read(Tree, deep, "tree")
        with pytest.raises(InputError, match=r"^the document: nested too deep$"):
            read(Tree, deep)


class TestFlat:
    @dataclass(frozen=True)
    class Perhaps:
        """Its label may be missing."""

        name: Name
        label: Label | None = field(default=None, metadata=FLAT)

    def test_its_fields_stand_beside_its_neighbours(self) -> None:
        assert to_document(self.Perhaps("a", Label("t", 3))) == {"name": "a", "text": "t", "size": 3}
        assert "label" not in DOCUMENT
        assert (DOCUMENT["text"], DOCUMENT["size"]) == ("beside", 9)

    def test_it_is_left_out_where_it_is_none(self) -> None:
        assert to_document(self.Perhaps("a")) == {"name": "a"}
        assert read(self.Perhaps, {"name": "a"}) == self.Perhaps("a")

    def test_it_is_all_there_or_not_at_all(self) -> None:
        assert read(self.Perhaps, {"name": "a", "text": "t"}) == self.Perhaps("a", Label("t"))
        with pytest.raises(InputError, match="doc lacks the field 'text'"):
            read(self.Perhaps, {"name": "a", "size": 3}, "doc")

    def test_its_own_name_is_no_field(self) -> None:
        with pytest.raises(InputError, match=r"has the unknown field 'label', it has \['name', 'size', 'text'\]"):
            read(self.Perhaps, {"name": "a", "label": None})


class TestForms:
    @dataclass(frozen=True)
    class Ratio:
        """Written as a text, though it has fields."""

        top: int
        bottom: Count = 1

    has_form(
        Ratio,
        lambda ratio: f"{ratio.top}/{ratio.bottom}",
        lambda text: TestForms.Ratio(*map(int, text.split("/"))),
    )

    def test_a_form_comes_before_the_fields(self) -> None:
        assert to_json(self.Ratio(3, 4)) == "3/4"
        assert to_json({"a": (self.Ratio(3, 4),)}) == {"a": ["3/4"]}
        assert read(self.Ratio, "3/4") == self.Ratio(3, 4)
        with pytest.raises(InputError):
            read(self.Ratio, {"top": 3})

    def test_a_form_may_use_the_fields(self) -> None:
        assert read_fields(self.Ratio, {"top": 3}) == self.Ratio(3)
        with pytest.raises(InputError, match=r"r\.bottom must be a whole number from 1"):
            read_fields(self.Ratio, {"top": 3, "bottom": 0}, "r")

    def test_a_form_that_comes_later_holds_too(self) -> None:
        @dataclass(frozen=True)
        class Late:
            size: int

        has_form(Late, lambda late: late.size, Late)
        assert read(Late, 3) == Late(3)
        has_form(Late, lambda late: late.size, lambda size: Late(size + 1))
        assert read(Late, 3) == Late(4)


points = st.builds(lambda x, gap: Point(x, x - gap), st.floats(-1e100, 1e100), st.floats(0, 1e100))
sentences = st.text(st.characters(categories=("L", "N", "S")), max_size=9)
values = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53) | st.booleans() | sentences
records = st.builds(
    Everything,
    name=st.text(st.characters(categories=("L", "N")), min_size=1, max_size=200),
    flag=st.booleans(),
    count=st.integers(1, 2**53),
    amount=st.floats(0, 1e100),
    number=st.floats(allow_nan=False, allow_infinity=False),
    data=st.binary(max_size=99),
    kind=st.sampled_from(["a", "b"]),
    nothing=st.none(),
    perhaps=st.none() | st.integers(),
    value=values,
    words=st.lists(sentences, max_size=3).map(tuple),
    table=st.lists(st.lists(st.floats(-1e300, 1e300), max_size=3).map(tuple), max_size=3).map(tuple),
    config=st.dictionaries(st.text(), values, max_size=3),
    deep=st.dictionaries(st.text(), st.lists(points, max_size=2).map(tuple), max_size=2),
    point=points,
    warm=st.builds(Celsius, st.floats(allow_nan=False, allow_infinity=False)),
    label=st.builds(Label, sentences, st.integers(1, 2**53)),
    other=st.none() | points,
    anything=st.none() | st.booleans() | st.text(),
    listed=st.lists(st.integers()).map(tuple),
)


@STEADY
@given(records)
def test_any_record_comes_back_as_it_was(record: Everything) -> None:
    text = json.dumps(to_document(record), allow_nan=False)
    back = read(Everything, json.loads(text))
    assert back == record
    assert json.dumps(to_document(back)) == text


texts = st.text(st.characters(), max_size=8)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.sampled_from([10**400, 2**53 + 1, -0.0]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [path, *(place for key, part in inside for place in places(part, (*path, key)))]


def with_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = with_value(document[path[0]], path[1:], value)
    return copy


def reads_or_refuses(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except InputError as error:
        assert str(error).isprintable()  # noqa: PT017
        return None


@settings(STEADY, max_examples=600)
@given(st.sampled_from(places(DOCUMENT)), anything)
def test_whatever_stands_anywhere_is_read_or_refused(path: tuple[Any, ...], value: Any) -> None:
    found = reads_or_refuses(lambda: read(Everything, with_value(DOCUMENT, path, value), "doc"))
    if found is not None:
        assert read(Everything, to_document(found)) == found


@STEADY
@given(anything)
def test_any_json_is_read_or_refused(document: Any) -> None:
    for hint in (Everything, Point, Label, Celsius, TestFlat.Perhaps, tuple[Point, ...], Mapping[str, Point]):
        reads_or_refuses(partial(read, hint, document))


ODD: Any = st.sampled_from(
    [None, True, 0, -1, 1.5, math.nan, 1e101, 10**400, "", "a\n", "x" * 20_000, [], {}, {"a": {}}, [1]]
)


class TestRecordsThatCheckThemselves:
    @staticmethod
    def outcome(document: Any) -> str:
        try:
            return repr(read(tuple[Pair, ...], document, "pairs"))
        except InputError as error:
            return f"{type(error).__name__}: {error}"

    @STEADY
    @given(st.lists(st.dictionaries(st.sampled_from(["config", "loss", "name", "other"]), ODD), max_size=3), ODD)
    def test_a_list_of_them_is_read_and_refused_as_one_by_one(self, records: list[Any], odd: Any) -> None:
        good: Any = {"config": {"C": 1.0, "b": True}, "loss": 0.5}
        for document in (records, [good, *records], [good, {**good, "config": odd}], [good, odd], odd):
            at_once = self.outcome(document)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(codec, "_read_checked", lambda kind, value: None)
                assert self.outcome(document) == at_once

    def test_they_are_looked_at_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codec, "_read_list", lambda *_: pytest.fail("they were read one by one"))
        assert read(tuple[Pair, ...], [{"config": {}, "loss": 0}]) == (Pair({}, 0),)

    def test_a_mapping_in_one_is_no_larger_than_in_any(self) -> None:
        large = {str(k): 0 for k in range(MOST_ITEMS + 1)}
        with pytest.raises(InputError, match=r"^\[0\]\.config must be a JSON object, got"):
            read(tuple[Pair, ...], [{"config": large, "loss": 0}])
