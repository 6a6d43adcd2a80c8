import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)

from flora.core.documents import parse
from flora.errors import SpaceError
from flora.problem.parameters import Boolean, Categorical, Integer, Parameter, Real
from flora.problem.space import SearchSpace
from flora.problem.space_formats import parameters_of, read_space

STEADY = settings(derandomize=True, deadline=None, max_examples=150)
LINEAR, LOG = {"space": "linear"}, {"space": "log"}
PAPER: dict[str, dict[str, Any]] = {  # appendix B.2, with its single-shot baselines as defaults
    "hgb": {
        "max_iter": {"type": "int", **LINEAR, "range": (10, 200), "default": 100},
        "learning_rate": {"type": "real", **LOG, "range": (1e-3, 1.0), "default": 0.1},
        "min_samples_leaf": {"type": "int", **LINEAR, "range": (1, 40), "default": 20},
        "l2_regularization": {"type": "real", **LOG, "range": (1e-4, 1.0), "default": 0},
    },
    "svm": {
        "C": {"type": "real", **LOG, "range": (0.01, 1000.0), "default": 1.0},
        "gamma": {"type": "real", **LOG, "range": (1e-5, 10.0), "default": 0.1},
        "tol": {"type": "real", **LOG, "range": (1e-5, 1e-1), "default": 1e-3},
    },
    "mlp": {
        "hidden_layer_sizes": {"type": "int", **LINEAR, "range": (50, 200)},
        "alpha": {"type": "real", **LOG, "range": (1e-5, 1e1)},
        "learning_rate_init": {"type": "real", **LOG, "range": (1e-5, 1e-1)},
    },
}


@pytest.mark.parametrize("family", PAPER)
def test_the_papers_spaces_are_read(family: str) -> None:
    space = SearchSpace.from_json(PAPER[family])
    assert space.names == tuple(PAPER[family])
    for parameter, entry in zip(space.parameters, PAPER[family].values(), strict=True):
        assert isinstance(parameter, Integer) == (entry["type"] == "int")
        assert isinstance(parameter, Real)
        assert (parameter.low, parameter.high, parameter.scale) == (*entry["range"], entry["space"])
    assert SearchSpace.from_json(json.dumps(PAPER[family])).digest == space.digest


@pytest.mark.parametrize(
    ("entry", "parameter"),
    [
        *[
            ({"type": "real", "space": s, "range": [0.1, 0.9]}, Real("x", 0.1, 0.9, s))
            for s in ("linear", "log", "logit", "bilog")
        ],
        *[({"type": "int", "space": s, "range": [1, 9]}, Integer("x", 1, 9, s)) for s in ("linear", "log", "bilog")],
        ({"type": "real", "range": [0, 1], "step": 0.5}, Real("x", 0, 1, step=0.5)),
        ({"type": "cat", "values": ["a", 1, 0.5, True]}, Categorical("x", ("a", 1, 0.5, True))),
        ({"type": "bool"}, Boolean("x")),
    ],
)
def test_every_type_and_scale_is_read_and_written(entry: Any, parameter: Parameter) -> None:
    read, _ = parameters_of({"x": entry})
    assert read == (parameter,)
    assert type(read[0]) is type(parameter)
    assert parameters_of(json.loads(json.dumps({"x": parameter.to_json()})))[0] == (parameter,)


@pytest.mark.parametrize(
    ("distribution", "parameter"),
    [
        (FloatDistribution(0.5, 2), Real("x", 0.5, 2)),
        (FloatDistribution(0.5, 2, log=True), Real("x", 0.5, 2, "log")),
        (FloatDistribution(0.5, 2, step=0.5), Real("x", 0.5, 2, step=0.5)),
        (IntDistribution(1, 9), Integer("x", 1, 9)),
        (IntDistribution(1, 9, log=True), Integer("x", 1, 9, "log")),
        (IntDistribution(1, 9, step=2), Integer("x", 1, 9, step=2)),
        (CategoricalDistribution(["a", 1, True]), Categorical("x", ("a", 1, True))),
    ],
)
def test_optunas_distributions_are_read(distribution: BaseDistribution, parameter: Parameter) -> None:
    text = distribution_to_json(distribution)
    for written in (distribution, text, json.loads(text)):
        read, _ = parameters_of({"x": written})
        assert read == (parameter,)
        assert type(read[0]) is type(parameter)
    assert SearchSpace.from_json(json.dumps({"x": json.loads(text)})).parameters == (parameter,)


def test_optunas_json_may_carry_a_default() -> None:
    entry = {**json.loads(distribution_to_json(IntDistribution(1, 9))), "default": 3}
    assert SearchSpace.from_json({"x": entry}).default == {"x": 3}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"type": "reel", "range": [0, 1]}, "the type must be one of .* got 'reel'"),
        ({"type": ["real"], "range": [0, 1]}, "the type must be one of"),
        ({"range": [0, 1]}, "the type must be one of .* got None"),
        ({"type": "real", "range": [2, 1]}, "need low < high"),
        ({"type": "real", "space": "log", "range": [0, 1]}, "a log range needs low > 0"),
        ({"type": "real", "space": "logit", "range": [0, 0.5]}, "0 < low and high < 1"),
        ({"type": "real", "space": "logit", "range": [0.5, 1]}, "0 < low and high < 1"),
        ({"type": "real", "space": {}, "range": [0, 1]}, "the scale must be one of"),
        ({"type": "real", "range": [float("nan"), 1]}, "finite number, got nan"),
        ({"type": "real", "range": [0, float("inf")]}, "finite number, got inf"),
        ({"type": "real", "range": ["0", "1"]}, "finite number, got '0'"),
        ({"type": "real", "range": [False, True]}, "finite number, got False"),
        ({"type": "real", "range": [0, 1, 2]}, r"the range must be \[low, high\]"),
        ({"type": "real", "range": "01"}, r"the range must be \[low, high\]"),
        ({"type": "real"}, r"the range must be \[low, high\], got None"),
        ({"type": "real", "space": "log", "range": [1, 2], "step": 0.5}, "a step needs a linear range"),
        ({"type": "int", "range": [0.5, 2]}, "whole numbers"),
        ({"type": "cat", "values": []}, "need 2 to 1000 values"),
        ({"type": "cat", "values": ["a"]}, "need 2 to 1000 values"),
        ({"type": "cat", "values": ["a", "a"]}, "values must differ"),
        ({"type": "cat", "values": "ab"}, "the values must be a list"),
        ({"type": "cat", "values": [[1], [2]]}, "a value is text, a finite number or a bool"),
        ({"type": "cat"}, "the values must be a list, got None"),
        ({"type": "real", "range": [0, 1], "scale": "log"}, "unknown key 'scale', a real has type, space, range"),
        ({"type": "cat", "values": ["a", "b"], "range": [0, 1]}, "unknown key 'range', a cat has type, values"),
        ({"type": "bool", 5: 1}, "unknown key 5"),
        ("log", "not a mapping nor JSON of one .* got 'log'"),
        ("9" * 5000, "not a mapping nor JSON of one"),
        (7, "a range is a mapping with a type, got 7"),
        ({"name": "NormalDistribution", "attributes": {}}, "distribution must be one of .* got 'NormalDistribution'"),
        ({"name": [], "attributes": {}}, "distribution must be one of"),
        ({"name": "IntDistribution", "attributes": 3}, "distribution must be one of"),
        ({"name": "FloatDistribution", "attributes": {}}, "a bound must be a finite number, got None"),
        (CategoricalDistribution(["a", None]), "a value is text, a finite number or a bool, got None"),
        (FloatDistribution(1, 1), "need low < high"),
    ],
)
def test_a_bad_range_is_refused_in_one_line(entry: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        SearchSpace.from_json({"x": entry})
    assert str(caught.value).startswith("x: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "at least one HP, got none"),
        ([], "a search space is a mapping"),
        (None, "a search space is a mapping"),
        ("[1]", "a search space is a mapping"),
        ("{", "a search space: not a mapping nor JSON of one"),
        ('{"a": {"type": "bool"}, "a": {"type": "bool"}}', "the key 'a' comes twice"),
        ({1: {"type": "bool"}}, "an HP's name must be printable text, got 1"),
        ({"": {"type": "bool"}}, "an HP's name must be printable text, got ''"),
        ({"a\nb": {"type": "bool"}}, "an HP's name must be printable text"),
    ],
)
def test_a_bad_space_is_refused_in_one_line(document: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        SearchSpace.from_json(document)
    assert "\n" not in str(caught.value)


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(), st.text(max_size=5))
JSON = st.recursive(
    SCALARS,
    lambda node: st.one_of(st.lists(node, max_size=3), st.dictionaries(st.text(max_size=3), node, max_size=3)),
    max_leaves=4,
)
KEYS = st.sampled_from(["type", "space", "range", "values", "step", "default", "name", "attributes"])
NODES = st.one_of(
    JSON,
    st.sampled_from(["real", "int", "cat", "bool", "log", "logit", "FloatDistribution", "CategoricalDistribution"]),
    st.tuples(SCALARS, SCALARS).map(list),
    st.dictionaries(st.sampled_from(["low", "high", "log", "step", "choices"]), JSON, max_size=5),
)


@STEADY
@given(st.one_of(JSON, st.dictionaries(st.sampled_from(["x", "y"]), st.dictionaries(KEYS, NODES), max_size=2)))
def test_whatever_is_given_only_a_space_error_comes_out(document: Any) -> None:
    try:
        space = SearchSpace.from_json(document)
    except SpaceError:
        return
    assert SearchSpace.from_json(space.to_json()) == space


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("NaN", "finite, got NaN"),
        ("[-Infinity]", "finite, got -Infinity"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' comes twice"),
        ("[" * 100_000, "nested too deep"),
        (b"\xff\xfe{\x00}\x00", "codec can't decode"),
        (b'"\xe9"', "codec can't decode"),
        ("9" * 5000, "digits"),
        ("", "Expecting value"),
    ],
)
def test_loose_json_is_refused(text: str | bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(text)


def test_a_byte_order_mark_is_no_harm() -> None:
    assert parse(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_a_space_file_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="no such file"):
        read_space(tmp_path / "none.json")
    (tmp_path / "space.json").write_text('{"C": {"type": "real", "range": [1, 0]}}')
    with pytest.raises(SpaceError, match=r"space\.json: C: need low < high, got 1 and 0"):
        read_space(tmp_path / "space.json")
    (tmp_path / "space.json").write_text('{"C": {"type": "bool"}, "C": {"type": "bool"}}')
    with pytest.raises(SpaceError, match="comes twice"):
        read_space(tmp_path / "space.json")
