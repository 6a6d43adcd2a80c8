"""The choice among candidates, with numbers that can be checked by hand."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.aggregator.choose import Candidate, Choice, Whole, choose, gains_over, same_config
from flora.aggregator.evidence import Confirmed
from flora.errors import TrialsError
from flora.problem.messages import Confirmation
from flora.problem.path import Path
from flora.problem.space import Boolean, Categorical, Config, Integer, Real, SearchSpace
from flora.problem.trials import Trial

LINE = SearchSpace((Real("u", 0.0, 1.0),), {"u": 0.0})
TREES = SearchSpace((Integer("trees", 10, 200), Real("rate", 0.0, 1.0)), {"trees": 100, "rate": 0.5})
PATH = Path("trees", (10, 16, 27, 45, 74, 100, 121, 200))
LOSS = 0.4  # of the default


def measured(config: Config, gain: float, error: float = 0.01, *, loss: float | None = None) -> Confirmation:
    return Confirmation(Trial(config, LOSS - gain if loss is None else loss, 0.02, 5, 50), gain, error)


def line(*gains: float, error: float = 0.01) -> list[Confirmation]:
    """A party's gains at u = 0 (the default), 0.1, 0.2, ..."""
    default = measured({"u": 0.0}, 0.0, 0.0)
    return [default, *(measured({"u": (k + 1) / 10}, gain, error) for k, gain in enumerate(gains))]


def choice_of(
    confirmed: Confirmed, rows: Mapping[str, int], space: SearchSpace, *, minimum: Config | None = None, **whole: Any
) -> Choice:
    everybody = Whole.of(rows, space, **{key: value for key, value in whole.items() if key != "parties"})
    return choose(confirmed, rows, replace(everybody, parties=whole.get("parties", len(rows))), minimum)


def chosen(confirmed: Confirmed, rows: Mapping[str, int] | None = None, **options: Any) -> Choice:
    return choice_of(confirmed, rows or dict.fromkeys(confirmed, 50), LINE, **options)


def five(*gains: Sequence[float]) -> dict[str, list[Confirmation]]:
    return {f"p{k}": line(*each) for k, each in enumerate(gains)}


class TestGrade:
    """A few parties; gains of 0.1 and 0.2 by their folds' error."""

    def test_a_gain_within_chance_is_not_used_whatever_the_surface_says(self) -> None:
        unsure = {"a": line(0.01, 0.02, error=0.05), "b": line(0.01, 0.0, error=0.05)}
        found = chosen(unsure, minimum={"u": 0.1})
        assert found == chosen(unsure)
        assert (found.verdict.grade, found.verdict.decision) == ("not shown", "keep-defaults")

    def test_counts_all_configs_that_were_compared(self) -> None:
        parties = {name: line(0.02, *([0.0] * 7), error=0.02) for name in "ab"}
        found = chosen(parties)
        alone = chosen({name: line(0.02, error=0.02) for name in "ab"})
        assert (found.chosen_from, alone.chosen_from) == (8, 1)
        assert found.chosen.gain == alone.chosen.gain
        assert found.verdict.chance == pytest.approx(8 * alone.verdict.chance)
        assert (alone.verdict.decision, found.verdict.decision) == ("use", "keep-defaults")

    def test_counts_the_stops_of_a_path(self) -> None:
        confirmed = {"a": along({27: -0.2, 200: 0.1}, {27: 0.0, 121: 0.3})}
        assert choice_of(confirmed, {"a": 50}, TREES, path=PATH).chosen_from == 4

    def test_few_folds_tell_their_error_badly(self) -> None:
        even = {name: line(0.1, error=0.01) for name in "ab"}  # five folds each, the same error: 2 * 4
        assert chosen(even).chosen.gain.degrees == pytest.approx(8)
        odd = {"a": line(0.1, error=0.1), "b": line(0.1, error=1e-6)}  # the first one's alone
        assert chosen(odd).chosen.gain.degrees == pytest.approx(4)
        assert chosen(even, objective="worst").chosen.gain.degrees == 4

    def test_of_many_parties_those_that_are_kept_tell_the_error(self) -> None:
        assert chosen(five(*[[0.1]] * 4, [0.2])).chosen.gain.degrees == 2
        assert chosen(five(*[[0.1]] * 10)).chosen.gain.degrees == 5

    def test_where_only_the_default_was_measured_it_stays(self) -> None:
        found = chosen({"a": line(), "b": line()})
        assert (found.chosen_from, found.verdict.decision) == (0, "keep-defaults")


class TestLeaning:
    """Many parties, and the surface's minimum at u = 0.1; gains at 0.1 and 0.2 by party."""

    # trimmed means of 0.11 and 0.14, with standard errors of 0.02 and 0.06
    near = five([0.08, 0.06], [0.08, 0.06], [0.11, 0.14], [0.14, 0.22], [0.14, 0.22])
    far = five([0.08, 0.36], [0.08, 0.36], [0.11, 0.44], [0.14, 0.52], [0.14, 0.52])

    def test_the_minimum_is_taken_within_one_standard_error_of_the_best(self) -> None:
        alone = chosen(self.near)
        assert alone.chosen.config == {"u": 0.2}
        assert alone.chosen.gain.low < alone.candidates[1].gain.estimate < alone.chosen.gain.estimate
        leaning = chosen(self.near, minimum={"u": 0.1})
        assert leaning.chosen == alone.candidates[1]
        assert leaning.verdict.decision == "use"

    def test_not_where_another_is_better_beyond_that(self) -> None:
        assert chosen(self.far, minimum={"u": 0.1}) == chosen(self.far)
        assert chosen(self.far).chosen.config == {"u": 0.2}

    def test_not_where_its_own_gain_is_within_its_error(self) -> None:
        unsure = five([0.3, 0.1], [0.3, 0.1], [0.0, 0.2], [-0.27, 0.3], [-0.27, 0.3])
        assert chosen(unsure).candidates[1].gain.low < 0 < chosen(unsure).candidates[1].gain.estimate
        assert chosen(unsure, minimum={"u": 0.1}) == chosen(unsure)

    def test_not_for_the_worst_off_party(self) -> None:
        assert chosen(self.near, minimum={"u": 0.1}, objective="worst") == chosen(self.near, objective="worst")

    def test_not_where_it_failed_at_a_party_or_is_the_default(self) -> None:
        assert chosen(self.near, minimum={"u": 0.7}) == chosen(self.near)
        assert chosen(self.near, minimum={"u": 0.0}) == chosen(self.near)


class TestMean:
    def test_a_few_parties_count_by_their_rows_and_tell_errors_by_their_folds(self) -> None:
        confirmed = {"a": line(0.1, 0.0, error=0.01), "b": line(0.2, 0.3, error=0.02)}
        found = chosen(confirmed, {"a": 30, "b": 10})
        assert [candidate.config["u"] for candidate in found.candidates] == [0.0, 0.1, 0.2]
        assert [candidate.gain.estimate for candidate in found.candidates] == pytest.approx([0, 0.125, 0.075])
        assert found.chosen is found.candidates[1]
        assert found.chosen.gain.error == pytest.approx(math.hypot(0.75 * 0.01, 0.25 * 0.02))
        assert (found.verdict.decision, found.verdict.basis) == ("use", "measured")

    def test_the_default_is_chosen_where_nothing_is_better(self) -> None:
        found = chosen({"a": line(-0.1), "b": line(0.05)})
        assert found.chosen.config == {"u": 0.0}
        assert found.verdict.decision == "keep-defaults"

    def test_from_five_parties_on_the_ends_are_trimmed(self) -> None:
        found = chosen(five([0.0], [0.1], [0.2], [0.3], [10.0]))
        gain = found.chosen.gain
        assert gain.estimate == pytest.approx(0.2)
        # clipped to the kept ones: -0.1, -0.1, 0, 0.1, 0.1 off the mean, each with a fifth of the rows
        assert gain.error == pytest.approx(math.sqrt(4 * 0.1**2 / 25 * 5 / 4) / 0.6)

    def test_the_kept_ones_count_by_their_rows(self) -> None:
        rows = {"p0": 1, "p1": 30, "p2": 10, "p3": 40, "p4": 1}
        found = chosen(five([-5.0], [0.1], [0.2], [0.3], [5.0]), rows)
        assert found.chosen.gain.estimate == pytest.approx((3 + 2 + 12) / 80)

    def test_the_order_of_parties_changes_nothing(self) -> None:
        rng = np.random.default_rng(0)
        confirmed = {f"p{k}": line(*rng.normal(size=4)) for k in range(7)}
        rows = {name: 40 + 3 * k for k, name in enumerate(confirmed)}
        names = list(confirmed)
        backwards = {name: confirmed[name] for name in reversed(names)}
        assert chosen(confirmed, rows) == chosen(backwards, {name: rows[name] for name in reversed(names)})


class TestALiar:
    def test_one_of_five_turns_nothing_round(self) -> None:
        honest = [[0.1, -0.2], [0.12, -0.1], [0.08, -0.3], [0.11, -0.2]]
        assert chosen(five(*honest, [0.1, -0.2])).chosen.config == {"u": 0.1}
        for lie in ([-1e6, 1e6], [1e6, -1e6], [-1e6, -1e6], [1e6, 1e6]):
            found = chosen(five(*honest, lie), {f"p{k}": 50 if k < 4 else 10**9 for k in range(5)})
            assert found.chosen.config == {"u": 0.1}
            assert 0.08 <= found.chosen.gain.estimate <= 0.12
        assert chosen(dict(list(five(*honest).items())[:3]) | {"p4": line(-1e6, 1e6)}).chosen.config == {"u": 0.2}

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.tuples(*[st.floats(-1, 1)] * 3), min_size=4, max_size=12),
        st.tuples(*[st.floats(-1e9, 1e9)] * 3),
        st.integers(1, 10**12),
    )
    def test_a_gain_stays_among_those_of_the_honest(
        self, honest: list[tuple[float, ...]], lie: tuple[float, ...], rows: int
    ) -> None:
        parties = five(*honest, lie)
        counts = dict.fromkeys(parties, 50) | {f"p{len(honest)}": rows}
        for k, candidate in enumerate(chosen(parties, counts).candidates[1:]):
            gains = [each[k] for each in honest]
            assert min(gains) - 1e-12 <= candidate.gain.estimate <= max(gains) + 1e-12


class TestWorst:
    def test_the_worst_off_party_decides(self) -> None:
        # the losses of the default, of one that helps the well-off, and of one that helps the worst-off
        losses = {"a": (0.2, 0.0, 0.19), "b": (0.5, 0.55, 0.4), "c": (0.3, 0.1, 0.35)}
        confirmed = {
            party: [
                measured({"u": u}, each[0] - loss, 0.03 * (u > 0), loss=loss)
                for u, loss in zip((0.0, 0.1, 0.2), each, strict=True)
            ]
            for party, each in losses.items()
        }
        worst, mean = (chosen(confirmed, objective=objective) for objective in ("worst", "mean"))
        assert [c.gain.estimate for c in worst.candidates] == pytest.approx([0.0, 0.5 - 0.55, 0.5 - 0.4])
        assert worst.chosen.config == {"u": 0.2}
        assert worst.chosen.gain.error == pytest.approx(0.03)  # that of party b
        assert mean.chosen.config == {"u": 0.1}

    def test_nobody_is_trimmed(self) -> None:
        found = chosen(five([0.1], [0.1], [0.1], [0.1], [-0.3]), objective="worst")
        assert found.candidates[1].gain.estimate == pytest.approx(-0.3)


class TestWhatIsCompared:
    def test_a_candidate_that_failed_at_one_party_is_dropped(self) -> None:
        confirmed = {"a": line(0.5, 0.1), "b": [*line(0.5, 0.1)[:1], *line(0.5, 0.1)[2:]]}
        assert [candidate.config["u"] for candidate in chosen(confirmed).candidates] == [0.0, 0.2]
        backwards = {"a": confirmed["b"], "b": confirmed["a"]}
        assert chosen(backwards).candidates == chosen(confirmed).candidates

    def test_a_config_that_was_measured_twice_is_one_candidate(self) -> None:
        confirmed = {"a": [*line(0.1), measured({"u": 0.0}, 0.0, 0.0)], "b": line(0.1)}
        assert [candidate.config["u"] for candidate in chosen(confirmed).candidates] == [0.0, 0.1]

    def test_all_must_have_measured_the_default(self) -> None:
        with pytest.raises(TrialsError, match=r"not all parties measured the default \{'u': 0.0\}"):
            chosen({"a": line(0.1), "b": line(0.1)[1:]})
        with pytest.raises(TrialsError, match="not all parties measured the default"):
            chosen({"a": line(0.1), "b": []})
        with pytest.raises(TrialsError, match="the space has none"):
            choice_of({"a": line(0.1)}, {"a": 5}, SearchSpace(LINE.parameters))

    def test_configs_are_the_same_by_their_values(self) -> None:
        assert same_config({"u": 1, "v": "x"}, {"v": "x", "u": 1.0})
        assert not same_config({"u": 1}, {"u": True})
        assert not same_config({"u": "1"}, {"u": 1})
        space = SearchSpace((Boolean("warm"),), {"warm": False})
        parties = {"a": [measured({"warm": False}, 0.0, 0.0), measured({"warm": True}, 0.2)]}
        assert choice_of(parties, {"a": 9}, space).chosen.config == {"warm": True}


def along(default: Mapping[int, float], other: Mapping[int, float]) -> list[Confirmation]:
    """Gains by the number of trees: at the default's rate, and at another."""
    first = measured({"trees": 100, "rate": 0.5}, 0.0, 0.0)
    rest = [measured({"trees": t, "rate": 0.5}, gain) for t, gain in default.items()]
    return [first, *rest, *(measured({"trees": t, "rate": 0.1}, gain) for t, gain in other.items())]


def test_gains_over_any_of_the_measured_configs() -> None:
    """Beside 0.1, which gains 0.04 with an error of 0.01, the default is 0.04 behind, and 0.2 by 0.01 ahead."""
    found = gains_over({"u": 0.1}, {"a": line(0.04, 0.05)}, {"a": 50}, "mean")
    assert [config for config, _ in found] == [{"u": 0.0}, {"u": 0.2}]
    assert [gain.estimate for _, gain in found] == pytest.approx([-0.04, 0.01])
    assert [gain.error for _, gain in found] == pytest.approx([0.01, 0.01 * math.sqrt(2)])
    assert gains_over({"u": 0.9}, {"a": line(0.04)}, {"a": 50}, "mean") == []


class TestPath:
    gains = along({16: -0.3, 27: -0.2, 45: -0.1, 200: 0.1}, {16: -0.25, 27: 0.0, 45: -0.05, 121: 0.3})

    def found(
        self, parties: int, space: SearchSpace = TREES, path: Path = PATH, *, rows: int = 50
    ) -> tuple[Candidate, ...]:
        confirmed = {f"p{k:02d}": self.gains for k in range(parties)}
        return choice_of(confirmed, dict.fromkeys(confirmed, rows), space, path=path).candidates

    def test_what_differs_only_along_the_path_is_one_candidate_at_its_best_stop(self) -> None:
        default, other = self.found(4)
        assert default.config == default.measured == {"trees": 200, "rate": 0.5}
        assert other.config == other.measured == {"trees": 121, "rate": 0.1}
        assert (default.gain.estimate, other.gain.estimate) == pytest.approx((0.1, 0.3))

    def test_many_parties_reach_less_far_at_their_size_and_further_together(self) -> None:
        default, other = self.found(32)  # 32 ** -0.4 is 1/4: of 200 trees, 50
        assert default.measured == {"trees": 45, "rate": 0.5}
        assert default.config == {"trees": 180, "rate": 0.5}
        assert other.measured == {"trees": 27, "rate": 0.1}
        assert other.config == {"trees": 108, "rate": 0.1}
        assert default.gain.estimate == 0.0  # gains are over the default at its best within reach
        assert other.gain.estimate == pytest.approx(0.0 - -0.1)

    def test_the_whole_path_counts_where_the_training_goes_past_the_range(self) -> None:
        default, other = self.found(32, path=replace(PATH, open=True), rows=157)  # 5,024 rows to count trees by
        assert (default.measured["trees"], other.measured["trees"]) == (200, 121)
        assert (default.gain.estimate, other.gain.estimate) == pytest.approx((0.0, 0.3 - 0.1))
        assert default.config["trees"] == other.config["trees"] == 200  # a recommendation is a config of the space
        assert self.found(32, path=replace(PATH, open=True), rows=156) == self.found(32)  # 4,992 rows
        assert self.found(32, rows=157) == self.found(32)

    def test_one_that_learns_slowly_is_not_chosen_where_the_rows_of_all_may_get_further_than_thought(self) -> None:
        gains = along({16: -0.3, 27: -0.2, 45: -0.1, 200: 0.1}, {16: -0.4, 27: -0.3, 45: -0.15, 121: 0.3})
        confirmed = {f"p{k:02d}": gains for k in range(32)}
        slow = {"trees": 121, "rate": 0.1}
        for minimum in (None, slow):
            rows = dict.fromkeys(confirmed, 157)
            found = choice_of(confirmed, rows, TREES, path=replace(PATH, open=True), minimum=minimum)
            assert [c.keeps_up for c in found.candidates] == [True, False]
            assert found.candidates[1].gain.estimate == pytest.approx(0.2)
            assert found.chosen is found.candidates[0]
            assert found.verdict.decision == "keep-defaults"
        few = choice_of({"a": gains, "b": gains}, {"a": 2500, "b": 2500}, TREES, path=replace(PATH, open=True))
        assert few.chosen.config == slow
        assert few.chosen.keeps_up

    def test_the_growth_sets_in_with_five_parties(self) -> None:
        assert self.found(4)[1].config == self.found(4)[1].measured
        grown = self.found(5)[1]
        assert (grown.measured["trees"], grown.config["trees"]) == (27, round(27 * 5**0.4))

    def test_what_grows_stays_in_the_range_and_on_the_grid(self) -> None:
        steps = SearchSpace((Integer("trees", 10, 210, step=50), Real("rate", 0.0, 1.0)), dict(TREES.default))
        for candidate in self.found(32, steps, Path("trees", (10, 27, 45, 210))):
            steps.check(candidate.config)
        low = SearchSpace((Integer("trees", 10, 120), Real("rate", 0.0, 1.0)), dict(TREES.default))
        assert self.found(32, low, Path("trees", (16, 27, 45, 120)))[1].config["trees"] == 108
        assert self.found(32, low, Path("trees", (16, 27, 45, 200)))[0].config["trees"] == 120

    def test_the_worst_off_party_is_taken_at_its_own_size(self) -> None:
        confirmed = {f"p{k:02d}": self.gains for k in range(32)}
        found = choice_of(confirmed, dict.fromkeys(confirmed, 50), TREES, path=PATH, objective="worst")
        assert found.chosen.config == found.chosen.measured == {"trees": 121, "rate": 0.1}

    def test_a_default_outside_the_range_of_the_path_is_still_the_default(self) -> None:
        space = SearchSpace((Integer("trees", 10, 50), Real("rate", 0.0, 1.0)), dict(TREES.default))
        confirmed = {"a": along({10: -0.4, 50: -0.1}, {10: -0.2, 50: -0.05})}
        found = choice_of(confirmed, {"a": 50}, space, path=Path("trees", (10, 50)))
        assert [c.gain.estimate for c in found.candidates] == pytest.approx([-0.1, -0.05])
        assert found.verdict.decision == "keep-defaults"


class TestGrows:
    """Two HPs without a path, of which C grows with the rows."""

    space = SearchSpace((Real("C", 0.01, 1000, "log"), Real("gamma", 1e-5, 10, "log")), {"C": 1.0, "gamma": 0.1})
    gains = (
        measured({"C": 1.0, "gamma": 0.1}, 0.0, 0.0),
        measured({"C": 5.0, "gamma": 0.2}, 0.1),
        measured({"C": 500.0, "gamma": 1.0}, 0.05),
    )

    def found(self, count: int, space: SearchSpace | None = None, **options: Any) -> Choice:
        confirmed = {f"p{k:02d}": self.gains for k in range(count)}
        rows = dict.fromkeys(confirmed, 50)
        return choice_of(confirmed, rows, space or self.space, grows={"C"}, **options)

    def test_what_many_parties_measured_stands_for_more_of_it_in_its_range(self) -> None:
        default, first, second = self.found(32).candidates
        assert default.config == default.measured == self.space.default  # it is what is kept, as it is
        assert first.config == {"C": pytest.approx(20.0), "gamma": 0.2}
        assert second.config == {"C": 1000.0, "gamma": 1.0}
        assert (first.measured["C"], second.measured["C"]) == (5.0, 500.0)

    def test_a_few_parties_and_the_worst_off_party_are_taken_at_their_own_size(self) -> None:
        assert self.found(4).chosen.config["C"] == 5.0
        assert self.found(5).chosen.config["C"] == pytest.approx(5.0 * 5**0.4)
        assert self.found(32, objective="worst").chosen.config["C"] == 5.0

    def test_the_surfaces_minimum_is_known_by_what_was_measured(self) -> None:
        minimum = {"C": 500.0, "gamma": 1.0}
        assert self.found(32, minimum=minimum).chosen.measured["C"] == 5.0  # of all parties' gains its own is lower
        sixth = (self.gains[0], measured({"C": 5.0, "gamma": 0.2}, -0.3), measured({"C": 500.0, "gamma": 1.0}, 0.05))
        unsure = {f"p{k}": sixth if k < 2 else self.gains for k in range(6)}  # the gains at C = 5 are far apart
        rows = dict.fromkeys(unsure, 50)
        assert choice_of(unsure, rows, self.space, grows={"C"}, minimum=minimum).chosen.config["C"] == 1000.0

    def test_a_list_of_values_stays_as_it_is(self) -> None:
        listed = SearchSpace((Categorical("C", (1.0, 5.0, 500.0)), self.space.parameters[1]), dict(self.space.default))
        assert self.found(32, listed).chosen.config["C"] == 5.0

    def test_parties_that_look_without_one_of_five_grow_and_trim_as_all_do(self) -> None:
        assert self.found(4, parties=5).chosen.config == self.found(5).chosen.config
