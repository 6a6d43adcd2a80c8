"""The end of a race on a few folds: who is finished, and what the others are said to be worth."""

import pytest

from flora.party.local_search.finals import finals, joined
from flora.party.local_search.folds import Tried

LOSSES = {  # a config's on six folds, of which the race has had three
    1: (0.10, 0.10, 0.10, 0.50, 0.50, 0.50),  # lucky in the race
    2: (0.15, 0.15, 0.15, 0.15, 0.15, 0.15),
    3: (0.50, 0.50, 0.50, 0.50, 0.50, 0.50),
}
RACED = [Tried({"a": k}, losses[:3]) for k, losses in LOSSES.items()]


def rest(number: int, known: Tried) -> Tried:
    return Tried(known.config, LOSSES[number + 1][len(known.fold_losses) :])


def test_who_was_lucky_is_found_out_and_the_best_one_has_all_folds() -> None:
    found = finals(RACED, 3, 6, rest)
    assert [len(one.fold_losses) for one in found] == [6, 6, 3]
    losses = [one.loss_and_error()[0] for one in found]
    assert losses[:2] == pytest.approx([0.30, 0.15])
    assert min(losses) == losses[1]
    assert losses[2] > 0.4


def test_where_the_best_stays_the_best_nobody_else_is_finished() -> None:
    asked: list[int] = []

    def finish(number: int, known: Tried) -> Tried:
        asked.append(number)
        return Tried(known.config, (0.1, 0.1, 0.1))

    finals(RACED, 3, 6, finish)
    assert asked == [0]


def test_a_config_that_fails_there_has_failed_and_the_next_one_is_finished() -> None:
    found = finals(RACED, 3, 6, lambda n, known: Tried(known.config, (), failure="X: y") if n == 0 else rest(n, known))
    assert found[0].failure == "X: y"
    assert len(found[1].fold_losses) == 6


def test_one_that_left_the_race_early_is_judged_by_the_folds_that_it_has() -> None:
    early = [*RACED[1:], Tried({"a": 1}, (0.1,))]
    found = finals(
        early, 3, 6, lambda n, known: Tried(known.config, LOSSES[int(known.config["a"])][len(known.fold_losses) :])
    )
    assert [len(one.fold_losses) for one in found] == [6, 3, 6]


def test_a_path_is_joined_config_by_config() -> None:
    first = Tried({"t": 20}, (0.1,), (({"t": 10}, (0.2,)),), seconds=1.0)
    more = Tried({"t": 20}, (0.3,), (({"t": 10}, (0.4,)),), seconds=2.0)
    assert joined(first, more) == Tried({"t": 20}, (0.1, 0.3), (({"t": 10}, (0.2, 0.4)),), seconds=3.0)


def test_nothing_is_finished_where_all_failed() -> None:
    assert finals([Tried({"a": 1}, (), failure="X")], 3, 6, rest)[0].failure == "X"
