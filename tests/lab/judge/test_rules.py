"""Rules: what they pick in cells whose best answer is known."""

from collections.abc import Callable

import pytest

from flora.models import family_of
from flora.party.tables.table import describe
from flora.problem.family import PAPER, space_of
from flora.problem.messages import ConfirmReply, DescribeReply, Reply, SearchReply, Step, Train
from flora.problem.space import Config
from flora.problem.trials import Gain, PartyTrials
from flora.program.request import Request
from flora.program.single_shot import single_shot
from flora_lab.judge.record import Pick, Record
from flora_lab.judge.rules import RULES
from tests.conftest import two_moons
from tests.lab.judge.cases import OTHER, LossOf, made_up_record

RULE = {rule.name: rule.pick for rule in RULES}


def default_of(family: str) -> Config:
    return space_of(family_of(family), "classification", PAPER).default


def other_is_better(config: Config) -> float:
    """At a party: the other candidate beats the default, and both are best at 45 trees."""
    off = abs(float(config.get("max_iter", 45)) - 45) / 1000
    default = default_of("hgb" if "max_iter" in config else "svm")
    same = all(value == default[name] for name, value in config.items() if name != "max_iter")
    return 0.3 + off if same else 0.2 + off


def default_is_better(config: Config) -> float:
    return 0.5 - other_is_better(config)


@pytest.mark.parametrize("family", ["hgb", "svm"])
def test_the_product_recommends_what_the_parties_confirm(family: str) -> None:
    record = made_up_record(family, other_is_better, other_is_better)
    assert RULE["flora"](record) == Pick(OTHER[family])
    assert RULE["flora without confirmation"](record) == Pick(OTHER[family])
    assert RULE["default"](record) == Pick(record.default)


def test_the_default_is_kept_where_no_gain_shows() -> None:
    record = made_up_record("svm", default_is_better, default_is_better, predicted=Gain(0.01, 0.02))
    for name in ("flora", "flora without confirmation", "oracle"):
        assert RULE[name](record) == Pick(record.default), name
    assert RULE["flora in range"](record).config == record.default
    assert RULE["aplm"](record) == Pick(OTHER["svm"])


def test_many_small_parties_get_more_trees() -> None:
    record = made_up_record("hgb", other_is_better, other_is_better, parties=10)
    assert RULE["flora"](record) == Pick({**OTHER["hgb"], "max_iter": round(45 * 10**0.4)})


def other_is_better_late(config: Config) -> float:
    """At a party: the other candidate wins, but only with more trees than stand for 200 of all rows."""
    default = default_of("hgb")
    same = all(value == default[name] for name, value in config.items() if name != "max_iter")
    return 0.3 if same or int(config["max_iter"]) < 121 else 0.2


def test_in_range_candidates_are_compared_where_the_training_gets() -> None:
    record = made_up_record("hgb", other_is_better_late, other_is_better, parties=10, rows=500, chosen=(45,) * 5)
    assert RULE["flora"](record) == Pick({**OTHER["hgb"], "max_iter": 200}, in_training=True)
    assert RULE["flora in range"](record) == Pick(record.default, in_training=True, in_range=True)


def test_with_rows_enough_the_training_chooses_the_trees() -> None:
    chosen = (45,) * 5
    few, enough = (
        made_up_record("hgb", other_is_better, other_is_better, parties=5, rows=rows, chosen=chosen)
        for rows in (999, 1000)
    )
    assert not RULE["flora"](few).in_training
    for name in ("flora", "flora in range", "flora without confirmation", "oracle"):
        assert RULE[name](enough).in_training, name
    assert RULE["default as trained"](enough) == Pick(enough.default, in_training=True)
    assert RULE["default as trained"](few) == RULE["default"](few) == Pick(few.default)
    assert not RULE["aplm"](enough).in_training  # the paper's


def test_the_oracle_knows_the_truth_whatever_the_parties_say() -> None:
    record = made_up_record("svm", other_is_better, default_is_better)
    assert RULE["flora"](record) == Pick(OTHER["svm"])
    assert RULE["oracle"](record) == Pick(record.default)


def _answers(record: Record) -> Callable[[Step], list[Reply]]:
    """Return an engine that answers from the stored cell."""
    schema = describe(two_moons(30, 0), "kind")

    def answer(step: Step, trials: PartyTrials) -> Reply:
        party, rows = trials.party, record.rows[trials.party]
        if step.name == "describe":
            return DescribeReply(party, rows, schema)
        if step.name == "search":
            return SearchReply(party, rows, trials)
        return ConfirmReply(party, rows, tuple(record.confirmed[party]))

    return lambda step: [answer(step, trials) for trials in record.trials]


@pytest.mark.parametrize(
    ("family", "parties", "rows", "local"),
    [
        ("svm", 2, 100, default_is_better),
        ("hgb", 2, 100, other_is_better),
        ("hgb", 5, 100, other_is_better),
        ("hgb", 5, 1000, other_is_better),
    ],
)
def test_the_products_own_program_trains_what_the_rule_picks(
    family: str, parties: int, rows: int, local: LossOf
) -> None:
    record = made_up_record(family, local, local, parties=parties, rows=rows, chosen=(45,) * 5)
    ask, program = _answers(record), single_shot(Request(family, PAPER, trials=2, folds=5, confirm=2, trainings=1))
    step = next(program)
    while not isinstance(step, Train):
        step = program.send(ask(step))
    program.close()
    pick = RULE["flora"](record)
    last = round(200 * parties**0.4)
    assert step.config == ({**pick.config, "max_iter": last} if pick.in_training else pick.config)
    assert step.choose == pick.in_training
