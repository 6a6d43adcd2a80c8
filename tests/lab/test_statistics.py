"""Statistics with known numbers: among them the paper's own, from the paper's own cells."""

import pytest

from flora_lab.paper.aggregate import published_regrets
from flora_lab.paper.published import AGGREGATE, COMPARISON, SURFACES
from flora_lab.statistics import Mean, Summary, mean_over, quartiles, relative_regret, spread, summary, versus

# Where the printed statistic is not that of the printed cells: two by the rounding of cells, and in the last the paper
# prints SGM's mean and deviation for SGM+U.
OTHER_TEST = {("hgb", "aplm"), ("mlp", "sgm+u")}
OTHER_MEAN = {("overall", "sgm+u")}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("group", AGGREGATE)
def test_the_published_aggregate_follows_from_the_published_cells(group: str, surface: str) -> None:
    printed, ours = AGGREGATE[group][surface], summary(published_regrets(group, surface))
    assert ours.wins == printed.wins
    assert ours.quartiles == pytest.approx(printed.quartiles, abs=0.0101)
    if (group, surface) not in OTHER_MEAN:
        assert (ours.mean, ours.deviation) == pytest.approx((printed.mean, printed.deviation), abs=0.0101)
    if (group, surface) not in OTHER_TEST:
        assert ours.test == pytest.approx(printed.test, abs=6e-6)


def test_the_printed_mean_of_sgm_u_is_sgms() -> None:
    ours = summary(published_regrets("overall", "sgm+u"))
    assert (round(ours.mean, 2), round(ours.deviation, 2)) == (0.65, 0.45)
    assert AGGREGATE["overall"]["sgm+u"][:2] == AGGREGATE["overall"]["sgm"][:2]


def test_the_gap_is_best_minus_baseline() -> None:
    for rows in COMPARISON.values():
        for row in rows.values():
            assert row.gap == pytest.approx(row.best - row.baseline, abs=0.0101)
            assert row.gamma == pytest.approx(row.best_party / row.worst_party, abs=0.0101)


def test_wins_ties_and_losses() -> None:
    assert summary([0.5, 1.0, 1.5, -0.2]).wins == (2, 1, 1)
    assert isinstance(summary([0.5, 0.6]), Summary)


def test_nothing_but_ties_is_no_evidence() -> None:
    assert summary([1.0, 1.0]).test == (0.0, 1.0)


def test_regret() -> None:
    assert relative_regret(90, 90, 80) == 0
    assert relative_regret(90, 80, 80) == 1
    assert relative_regret(90, 79, 80) == pytest.approx(1.1)


def test_a_spread_is_over_what_is_known() -> None:
    assert spread([None, 0.1, 0.2, 0.6]) == pytest.approx({"median": 0.2, "low": 0.15, "high": 0.4})
    assert spread([None]) is None
    assert quartiles([1.0, 2.0, 3.0]) == (1.5, 2.0, 2.5)


OTHERS = [0.2, 3.0, 0.5, 0.9, 1.4, 0.1, 0.7, 2.0]
OURS = [other - step for other, step in zip(OTHERS, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], strict=True)]


def test_the_comparison_is_of_differences_in_the_same_cells() -> None:
    datasets = list("abcdefgh")
    found = versus(datasets, OURS, OTHERS, seed=0)
    assert found.datasets == 8
    assert found.median == pytest.approx(-0.45)
    assert -0.8 <= found.low < -0.45 < found.high <= -0.1
    assert found.p_value == pytest.approx(2 / 2**8)  # all of one sign, exactly
    assert versus(datasets, OURS, OTHERS, seed=0) == found
    same = versus(datasets, OTHERS, OTHERS, seed=0)
    assert (same.median, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_deals_of_one_dataset_count_once() -> None:
    found = versus(list("aaaabbbb"), OURS, OTHERS, seed=0)
    assert (found.datasets, found.p_value) == (2, 0.5)  # of two that agree, exactly: however many deals there are
    assert (found.median, found.low, found.high) == pytest.approx((-0.45, -0.65, -0.25))


def test_a_mean_s_interval_draws_whole_datasets() -> None:
    values = [0.9, 1.0, 1.1, -1.1, -1.0, -0.9, 0.0, 0.1, -0.1]
    apart, together = (mean_over(names, values) for names in (list("abcdefghi"), list("aaabbbccc")))
    assert apart.value == together.value == pytest.approx(0)
    assert None not in (apart.low, apart.high, together.low, together.high)
    assert (together.high or 0) - (together.low or 0) > (apart.high or 0) - (apart.low or 0) > 0
    assert mean_over(["a", "a"], [1.0, 2.0]) == Mean(1.5, None, None)
