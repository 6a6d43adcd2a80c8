import numpy as np
import pytest

from flora.problem.space import Config
from flora_lab.speed import trees


def test_the_training_table_compares_with_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ROWS", 300), ("COLUMNS", 6), ("TREES", 2), ("PARTIES", (2, 3))):
        monkeypatch.setattr(trees, name, value)
    lines = trees.training_table(2)
    assert [line.split("|")[1].strip() for line in lines if line.startswith("| p") or "pooled scikit" in line] == [
        "pooled scikit-learn", "p = 2, rows together", "p = 3, rows together",
    ]  # fmt: skip
    assert "exchanges a tree" in lines[-1]


def test_the_search_table_compares_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = trees.made_up_rows(120, 5)
    monkeypatch.setattr(trees, "a_third", lambda name, data: rows)
    monkeypatch.setattr(trees, "_stops", lambda: (2, 5))
    lines = trees.search_table("made up", None, 2)
    assert any(line.startswith("| hgb |") for line in lines)
    assert any(line.startswith("Losses, hgb minus LightGBM") for line in lines)


def test_rows_are_made_up_by_the_generator() -> None:
    first, again, other = (trees.made_up_rows(4000, 6, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert 0.3 < other.y.mean() < 0.7


def test_exchanges_are_counted() -> None:
    calls, megabytes = trees.exchanges(trees.made_up_rows(2000, 5))
    assert 5 < calls < 14
    assert 0 < megabytes < 2
    fewest, more = trees.exchanges(trees.made_up_rows(2000, 5), trees.ALL_LEAVES)
    assert 5 < fewest <= calls
    assert more > megabytes


def test_random_configs_are_in_the_papers_space() -> None:
    space = trees.FAMILY.spaces("classification")["paper"]
    found: list[Config] = trees.random_configs(5, seed=0)
    for config in found:
        space.check({**config, "max_iter": 10})
    assert len({np.round(float(config["learning_rate"]), 9) for config in found}) == 5
