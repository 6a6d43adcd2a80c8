"""A race of folds: who is left behind, and what a config is said to be worth that was not finished."""

import math

import numpy as np
import pytest

from flora.party.local_search.race import SHARP, Goal, Leader

FOLDS = (0.20, 0.30, 0.10, 0.20)


def test_the_leader_is_the_best_of_those_that_finished() -> None:
    leader = Leader.of([(0.5, 0.6, 0.4, 0.5), FOLDS, FOLDS])
    assert np.mean(leader.expected) == pytest.approx(0.2)
    assert leader.spread == pytest.approx(np.std(FOLDS, ddof=1))


def test_a_fold_is_as_hard_as_several_configs_find_it() -> None:
    alone, crowd = Leader.of([FOLDS]), Leader.of([FOLDS] * 18)
    assert np.subtract(alone.expected, 0.2) == pytest.approx(np.subtract(FOLDS, 0.2) / 3)  # perhaps its own luck
    assert np.subtract(crowd.expected, 0.2) == pytest.approx(np.subtract(FOLDS, 0.2) * 0.9)


class TestLeavesBehind:
    leader = Leader((0.2, 0.2, 0.2, 0.2), spread=0.1)

    @pytest.mark.parametrize(("loss", "lost"), [(0.54, False), (0.55, True)])  # 4 spreads of 0.1, 3 of 4 folds open
    def test_after_one_fold_only_who_is_far_behind(self, loss: float, lost: bool) -> None:
        assert self.leader.leaves_behind([[loss]]) is lost

    def test_after_more_folds_less_will_do(self) -> None:
        behind = [[0.26], [0.26], [0.26]]
        assert not self.leader.leaves_behind(behind[:1])
        assert not self.leader.leaves_behind(behind[:2])
        assert self.leader.leaves_behind(behind)

    def test_who_is_ahead_goes_on_and_so_does_who_has_all_folds(self) -> None:
        assert not self.leader.leaves_behind([[0.1], [0.1], [0.1]])
        assert not self.leader.leaves_behind([[0.9]] * 4)

    def test_differences_that_vary_are_no_confidence(self) -> None:
        assert not self.leader.leaves_behind([[0.0], [0.6], [0.2]])
        assert self.leader.leaves_behind([[0.27], [0.26], [0.27]])

    def test_a_path_is_as_good_as_its_best_stop(self) -> None:
        assert self.leader.leaves_behind([[0.9, 0.7]])
        assert not self.leader.leaves_behind([[0.9, 0.3]])

    def test_a_fold_that_is_hard_for_all_says_nothing(self) -> None:
        assert not Leader((0.5, 0.1, 0.1, 0.1), spread=0.1).leaves_behind([[0.62]])


class TestLossAndError:
    leader = Leader((0.3, 0.2, 0.1, 0.2), spread=0.1)

    def test_the_loss_is_the_leaders_and_the_difference_to_it(self) -> None:
        loss, error = self.leader.loss_and_error([0.5])
        assert loss == pytest.approx(0.4)  # 0.2 worse on this fold than the leader, whose mean is 0.2
        assert error == pytest.approx(0.1)  # one fold: the leader's spread is all that is known

    def test_the_error_falls_with_folds_and_rises_with_their_spread(self) -> None:
        alike, apart = self.leader.loss_and_error([0.5, 0.5]), self.leader.loss_and_error([0.1, 0.9])
        assert alike[1] == pytest.approx(math.sqrt(4 * 0.01 / 5 / 2))
        assert apart[1] == pytest.approx(math.sqrt((4 * 0.01 + 0.32) / 5 / 2))

    def test_who_was_left_behind_is_never_the_best(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(200):
            leader = Leader.of(rng.uniform(size=(3, 5)).tolist())
            losses = rng.uniform(size=(int(rng.integers(1, 5)), 2))
            if leader.leaves_behind(losses.tolist()):
                assert min(leader.loss_and_error(stop)[0] for stop in losses.T.tolist()) > np.mean(leader.expected)


class TestGoal:
    goal = Goal("trees", 0.1, 0.01)
    stops = (10, 20, 40, 80)

    def lost(self, *losses: float) -> bool:
        return self.goal.is_lost(self.stops[: len(losses)], losses, 160)

    def test_a_fit_that_falls_fast_enough_goes_on(self) -> None:
        assert not self.lost(0.5, 0.4, 0.3, 0.22)  # 0.1 at each doubling
        assert not self.lost(0.12, 0.12, 0.12, 0.12)

    def test_a_fit_that_would_not_come_near_the_leader_is_lost(self) -> None:
        assert self.lost(0.5, 0.48, 0.46, 0.45)
        assert self.lost(0.5, 0.5, 0.5, 0.5)

    def test_in_a_sharp_race_it_must_fall_fast_enough_lately(self) -> None:
        once_fast = (0.4, 0.25, 0.25, 0.25)
        assert not self.lost(*once_fast)
        assert Goal("trees", 0.1, 0.01, SHARP).is_lost(self.stops, once_fast, 320)
        assert not Goal("trees", 0.1, 0.01, SHARP).is_lost(self.stops, (0.5, 0.4, 0.3, 0.2), 320)

    def test_in_a_sharp_race_one_step_that_stood_still_is_forgiven(self) -> None:
        assert not Goal("trees", 0.1, 0.01, SHARP).is_lost(self.stops, (0.5, 0.4, 0.2, 0.2), 160)

    def test_a_fit_that_has_turned_is_lost(self) -> None:
        assert self.lost(0.14, 0.1, 0.12, 0.13)
        assert not self.lost(0.14, 0.1, 0.105, 0.13)  # but not by one stop alone

    def test_nobody_is_judged_by_three_stops(self) -> None:
        assert not self.lost(0.5, 0.5, 0.5)

    def test_it_is_the_leaders_loss_on_the_fold(self) -> None:
        assert Leader((0.3, 0.2), 0.1).goal("trees", 1) == Goal("trees", 0.2, 0.1)
