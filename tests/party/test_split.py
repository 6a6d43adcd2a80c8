"""One table dealt out to several parties."""

import numpy as np
import pandas as pd
import pytest

from flora.errors import DataError
from flora.party.split import split


def table(rows: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "ward": rng.choice(["a", "b", "c"], rows),
            "label": np.repeat([0, 1], [rows * 3 // 4, rows - rows * 3 // 4]),
        }
    )


@pytest.mark.parametrize(("how", "parties"), [("iid", 4), ("dirichlet:0.5", 3), ("column:x", 3), ("column:ward", None)])
def test_every_row_goes_to_one_party(how: str, parties: int | None) -> None:
    deal = split(table(), "label", parties, how, seed=1)
    places = np.concatenate([part.index for part in deal.values()])
    assert sorted(places) == list(range(120))
    assert len(deal) == (parties or 3)
    again = split(table(), "label", parties, how, seed=1)
    assert all(deal[name].equals(again[name]) for name in deal)


def test_iid_is_stratified_and_moves_with_the_seed() -> None:
    deal = split(table(), "label", 4, "iid", seed=1)
    assert {int(part.label.sum()) for part in deal.values()} <= {7, 8}
    assert list(deal) == ["party-1", "party-2", "party-3", "party-4"]
    other = split(table(), "label", 4, "iid", seed=2)
    assert not deal["party-1"].equals(other["party-1"])


def test_a_target_whose_values_all_differ_is_dealt_out_as_it_comes() -> None:
    deal = split(table(30).assign(label=[f"id{k}" for k in range(30)]), "label", 4, "iid", seed=0)
    assert sorted(map(len, deal.values())) == [7, 7, 8, 8]


def test_dirichlet_skews_more_with_a_smaller_alpha() -> None:
    def spread(alpha: float) -> float:
        shares = [split(table(600), "label", 3, f"dirichlet:{alpha}", seed=s) for s in range(5)]
        return float(np.mean([np.std([part.label.mean() for part in deal.values()]) for deal in shares]))

    assert spread(0.3) > 2 * spread(100)


def test_dirichlet_leaves_no_lone_row_of_a_class() -> None:
    for seed in range(10):
        for part in split(table(60), "label", 3, "dirichlet:0.3", seed=seed).values():
            counts = part.label.value_counts()
            assert len(counts) >= 2
            assert counts.min() >= 2


def test_a_naming_column_is_no_feature_and_quantiles_keep_theirs() -> None:
    assert all("ward" not in part for part in split(table(), "label", None, "column:ward", seed=0).values())
    deal = split(table(), "label", 3, "column:x", seed=0)
    assert deal["party-1"].x.max() <= deal["party-2"].x.min()


def test_a_quantity_is_stratified_by_its_quantiles() -> None:
    numbers = table().assign(label=np.linspace(0, 1, 120))
    deal = split(numbers, "label", 3, "iid", seed=0)
    means = [part.label.mean() for part in deal.values()]
    assert max(means) - min(means) < 0.05


def test_rows_without_a_target_are_left_out() -> None:
    holes = table().astype({"label": float})
    holes.loc[:9, "label"] = np.nan
    assert sum(map(len, split(holes, "label", 3, "iid", seed=0).values())) == 110


@pytest.mark.parametrize(
    ("parties", "how", "message"),
    [
        (0, "iid", "--parties must be from 1 to half the rows .60., got 0"),
        (61, "iid", "got 61"),
        (None, "iid", "got None"),
        (3, "sorted", "the split must be iid, dirichlet:ALPHA or column:NAME, got 'sorted'"),
        (3, "dirichlet:no", "needs a number above 0, got 'no'"),
        (3, "dirichlet:-1", "needs a number above 0, got '-1'"),
        (60, "dirichlet:0.01", "fewer than 2 classes"),
        (3, "column:nowhere", "no such column"),
        (3, "column:ward", "cuts a number into quantiles"),
    ],
)
def test_what_cannot_be_dealt_is_refused(parties: int | None, how: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        split(table(), "label", parties, how, seed=0)
