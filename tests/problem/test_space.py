import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.core.workers import workers
from flora.errors import SpaceError
from flora.problem.space import Boolean, Categorical, Config, Integer, Real, SearchSpace

STEADY = settings(derandomize=True, deadline=None, max_examples=60)
MIXED = SearchSpace(
    (
        Real("rate", 1e-3, 1.0, "log"),
        Integer("leaves", 2, 500, "log"),
        Real("offset", -50.0, 50.0, "bilog"),
        Real("share", 0.01, 0.99, "logit"),
        Categorical("solver", ("adam", "sgd", 3, True)),
        Boolean("warm"),
    ),
    {"rate": 0.1, "leaves": 31, "offset": 0, "share": 0.5, "solver": "adam", "warm": False},
)
DISCRETE = SearchSpace((Integer("n", 1, 4, "log"), Categorical("c", ("x", "y", "z")), Boolean("b")))


def test_scaled_numbers_stay_in_their_ranges() -> None:
    config = {**MIXED.default, "leaves": 300}
    more = MIXED.scaled(config, {"rate", "leaves", "solver", "elsewhere"}, 2.0)
    assert more == pytest.approx({**config, "rate": 0.2, "leaves": 500})
    assert MIXED.scaled(config, {"rate"}, 1.0) == config


@st.composite
def configs(draw: st.DrawFn) -> Config:
    return MIXED.decode(np.array([draw(st.lists(st.floats(0, 1), min_size=MIXED.width, max_size=MIXED.width))]))[0]


@STEADY
@given(configs())
def test_a_config_comes_back_from_its_point(config: Config) -> None:
    MIXED.check(config)
    point = MIXED.encode([config])
    assert point.shape == (1, MIXED.width)
    assert ((point >= 0) & (point <= 1)).all()
    back = MIXED.decode(point)[0]
    assert {k: v for k, v in back.items() if not isinstance(v, float)} == {
        k: v for k, v in config.items() if not isinstance(v, float)
    }
    assert [type(v) for v in back.values()] == [type(v) for v in config.values()]
    assert np.allclose(MIXED.encode([back]), point, rtol=0, atol=1e-9)


ODD: Any = st.sampled_from(
    [None, True, False, 0, 1, -1, 2, 3.0, 3.5, 600, 1e-3, 1.0, 51.0, 10**400, "adam", "x", [], {}]
)


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.lists(configs(), min_size=1, max_size=4), st.sampled_from([*MIXED.names, "elsewhere"]), ODD)
def test_one_look_at_all_configs_tells_no_more_than_each_of_them(found: list[Config], name: str, odd: Any) -> None:
    assert MIXED.surely_holds(found)
    found[-1] = {**found[-1], name: odd}
    if MIXED.surely_holds(found):
        MIXED.check(found[-1])
    assert not MIXED.surely_holds([{"rate": 0.1}])


def test_one_look_at_all_configs_takes_a_default_outside_of_the_range() -> None:
    space = SearchSpace((Real("l2", 1e-4, 1.0, "log"),), {"l2": 0.0})
    assert space.surely_holds([{"l2": 0.0}, {"l2": 0}, {"l2": 0.5}])
    assert not space.surely_holds([{"l2": False}])
    assert not space.surely_holds([{"l2": 0.0}, {"l2": 1e-5}])
    assert not space.surely_holds([{"l2": float("nan")}, {"l2": 0.5}])


def test_snap_moves_nothing_that_is_in_place() -> None:
    points = MIXED.sample(np.random.default_rng(0), 200)
    assert points.shape == (200, MIXED.width)
    assert np.allclose(MIXED.snap(points), points, rtol=0, atol=1e-12)
    for config in MIXED.decode(points):
        MIXED.check(config)


def test_sampling_reaches_every_discrete_config() -> None:
    found = {tuple(config.values()) for config in DISCRETE.decode(DISCRETE.sample(np.random.default_rng(0), 1000))}
    assert len(found) == 24


def test_no_configs_are_no_points() -> None:
    assert MIXED.encode([]).shape == (0, MIXED.width)
    assert MIXED.decode(np.empty((0, MIXED.width))) == []


def test_the_space_comes_back_from_its_json() -> None:
    text = json.dumps(MIXED.to_json())
    for back in (SearchSpace.from_json(json.loads(text)), SearchSpace.from_json(text)):
        assert back == MIXED
        assert back.digest == MIXED.digest


@STEADY
@given(st.permutations(MIXED.parameters))
def test_the_digest_knows_no_order(parameters: list[Any]) -> None:
    shuffled = SearchSpace(tuple(parameters), dict(reversed(list(MIXED.default.items()))))
    assert shuffled.digest == MIXED.digest


def test_the_digest_is_the_same_everywhere() -> None:
    space = SearchSpace.from_json({"C": {"type": "real", "space": "log", "range": [0.01, 1000], "default": 1}})
    assert space.digest == "ff93ed300396a1765f321773e77e54752a7c29620b7f2a8b604e3f01f54fcc65"


ENTRIES: dict[str, Any] = {
    "n": {"type": "int", "range": [10, 200], "step": 10, "default": 100},
    "x": {"type": "real", "space": "log", "range": [1, 10], "default": 2},
    "c": {"type": "cat", "values": [1, 2], "default": 1},
}


def test_ten_and_ten_point_zero_are_the_same_space() -> None:
    floats = json.loads(json.dumps(ENTRIES), parse_int=float)
    assert "10.0" in json.dumps(floats)
    one, other = SearchSpace.from_json(ENTRIES), SearchSpace.from_json(floats)
    assert one.digest == other.digest
    assert one == other
    assert type(other.default["n"]) is int


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("n", {"range": [10, 210]}),
        ("n", {"step": 5}),
        ("n", {"default": 110}),
        ("x", {"space": "linear"}),
        ("x", {"type": "int"}),
        ("c", {"values": [1, 3]}),
        ("c", {"values": ["1", 2], "default": 2}),
        ("c", {"values": [True, 1]}),
    ],
)
def test_another_space_has_another_digest(name: str, change: dict[str, Any]) -> None:
    changed = {**ENTRIES, name: {**ENTRIES[name], **change}}
    assert SearchSpace.from_json(changed).digest != SearchSpace.from_json(ENTRIES).digest


def test_a_default_outside_the_range_is_a_config_of_the_space() -> None:
    space = SearchSpace((Real("l2", 1e-4, 1.0, "log"), Integer("n", 10, 200)), {"l2": 0, "n": 100})
    space.check({"l2": 0, "n": 100})
    assert space.is_default({"n": 100.0, "l2": 0.0})
    assert space.encode([space.default])[0, 0] == 0.0
    space.check({"l2": 0, "n": 101})  # what the default passes through, and what it could be with more trees
    with pytest.raises(SpaceError, match=r"l2: 1e-05 is not in .*0\.0001"):
        space.check({"l2": 1e-5, "n": 100})
    with pytest.raises(SpaceError, match="l2: False is not in"):
        space.check({"l2": False, "n": 100})


def test_a_default_is_empty_or_complete() -> None:
    pair = (Real("a", 0, 1), Real("b", 0, 1))
    assert SearchSpace(pair).default == {}
    assert not SearchSpace(pair).is_default({})
    with pytest.raises(SpaceError, match="b: has no default, as a has"):
        SearchSpace(pair, {"a": 0.5})
    document = {"a": {"type": "real", "range": [0, 1], "default": 0.5}, "b": {"type": "real", "range": [0, 1]}}
    with pytest.raises(SpaceError, match="b: has no default"):
        SearchSpace.from_json(document)
    assert SearchSpace.from_json(document, {"a": 0.1, "b": 0.2, "z": 9}).default == {"a": 0.5, "b": 0.2}


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: SearchSpace(()), "at least one HP, got none"),
        (lambda: SearchSpace((Real("a", 0, 1), Boolean("a"))), "HP names must differ, got \\['a', 'a'\\]"),
        (lambda: SearchSpace((Real("a", 0, 1),), {"b": 1}), "the default names 'b', which is no HP of \\['a'\\]"),
        (lambda: SearchSpace((Boolean("a"),), {"a": 1}), "a: must be one of \\[False, True\\], got 1"),
    ],
)
def test_a_space_that_cannot_be_is_refused(build: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        build()


GOOD = {"rate": 0.5, "leaves": 10, "offset": 0.0, "share": 0.5, "solver": 3, "warm": True}


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ([GOOD], "a config maps HP names to values"),
        ({}, "a config must name"),
        ({k: v for k, v in GOOD.items() if k != "rate"}, "a config must name .*'rate'"),
        ({**GOOD, "more": 1}, "a config must name .* got .*'more'"),
        ({**GOOD, "rate": 2.0}, "rate: 2.0 is not in"),
        ({**GOOD, "rate": "0.5"}, "rate: '0.5' is not in"),
        ({**GOOD, "rate": True}, "rate: True is not in"),
        ({**GOOD, "rate": float("nan")}, "rate: nan is not in"),
        ({**GOOD, "leaves": 10.5}, "leaves: 10.5 is not in"),
        ({**GOOD, "leaves": 10**400}, "leaves: 1000"),
        ({**GOOD, "solver": 1}, "solver: 1 is not in"),
        ({**GOOD, "solver": ["adam"]}, "solver: .* is not in"),
        ({**GOOD, "warm": 1}, "warm: 1 is not in"),
    ],
)
def test_a_config_outside_the_space_is_refused(config: Any, says: str) -> None:
    MIXED.check(GOOD)
    with pytest.raises(SpaceError, match=says) as caught:
        MIXED.check(config)
    assert "\n" not in str(caught.value)


def test_numpy_scalars_are_values_too() -> None:
    config: dict[str, Any] = {
        "rate": np.float64(0.5),
        "leaves": np.int32(10),
        "offset": np.float32(0),
        "share": np.float64(0.5),
        "solver": np.int64(3),
        "warm": np.bool_(True),
    }
    MIXED.check(config)
    assert np.array_equal(MIXED.encode([config]), MIXED.encode([GOOD]))
    space = SearchSpace(MIXED.parameters, config)
    assert json.loads(json.dumps(space.to_json()))["leaves"]["default"] == 10


def test_a_space_can_be_copied_and_sent_to_a_worker() -> None:
    with workers(2) as spread:
        [sent] = spread(copy.copy, [MIXED])
    for other in (copy.deepcopy(MIXED), sent):
        assert other == MIXED
        assert other.default == MIXED.default


def test_a_space_is_frozen() -> None:
    given_default = {"a": 0.5}
    space = SearchSpace((Real("a", 0, 1),), given_default)
    given_default["a"] = 0.9
    assert space.default == {"a": 0.5}
    with pytest.raises(TypeError):
        space.default["a"] = 1  # type: ignore[index]
