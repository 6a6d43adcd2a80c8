"""A private search from end to end: APLM's recommendation from sums, and no party's pairs anywhere."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flora.aggregator.choose import Whole, choose
from flora.aggregator.surface import SurfaceChoice, fit_surface
from flora.engines.threads import in_process
from flora.errors import FloraError, InputError
from flora.party.consent import Consent
from flora.party.gate import Gate
from flora.problem.messages import Confirm, ConfirmReply, Reply, SearchReply, Step
from flora.problem.privacy import Ledger
from flora.problem.private_messages import ConfirmPrivately, SurveyReply
from flora.problem.trials import PartyTrials
from flora.problem.wire import reply_text
from flora.program.drive import Ask, drive
from flora.program.request import Request
from flora.program.result import Result, result_of
from flora.program.single_shot import Outcome, single_shot
from flora.surrogate.minimise import middle_of_lowest
from flora.surrogate.survey import surveyed
from tests.conftest import gate, two_moons

NAMES = ("east", "north", "south", "west")
REQUEST = Request(family="svm", trials=6, folds=3, confirm=3, seed=4, trainings=0, private=True)


def gates(names: Sequence[str] = NAMES) -> list[Gate]:
    return [gate(name, two_moons(60 + 7 * k, k, shift=0.1 * k)) for k, name in enumerate(names)]


def watching(ask: Ask, heard: list[tuple[Step, Reply]]) -> Ask:
    def told(step: Step) -> list[Reply]:
        replies = list(ask(step))
        heard.extend((step, reply) for reply in replies)
        return replies

    return told


@pytest.fixture(scope="module")
def run() -> tuple[Outcome, list[tuple[Step, Reply]]]:
    heard: list[tuple[Step, Reply]] = []
    return drive(single_shot(REQUEST), watching(in_process(gates()), heard)), heard


@pytest.fixture(scope="module")
def pairs() -> list[PartyTrials]:
    """What the same parties send in a search that is not private."""
    heard: list[tuple[Step, Reply]] = []
    drive(single_shot(replace(REQUEST, private=False, confirm=0)), watching(in_process(gates()), heard))
    return [reply.trials for _, reply in heard if isinstance(reply, SearchReply) and reply.trials]


@pytest.mark.parametrize("weights", ["equal", "rows"])
def test_the_recommendation_is_that_of_aplm_at_the_same_points(weights: str, pairs: list[PartyTrials]) -> None:
    request = replace(REQUEST, confirm=0, surface=SurfaceChoice(weights=weights))
    found = drive(single_shot(request), in_process(gates())).found
    space = found.space
    surface = fit_surface("aplm", pairs, space, REQUEST.seed, weights=weights)
    points, means = surveyed(space, REQUEST.seed, surface)
    assert space.decode(middle_of_lowest(points, means)) == [found.recommendation.config]
    assert found.recommendation.loss == pytest.approx(means.min(), abs=1e-12)


def test_the_choice_is_that_of_who_knows_each_partys_gains(run: tuple[Outcome, list[tuple[Step, Reply]]]) -> None:
    outcome, heard = run
    step = next(step for step, _ in heard if isinstance(step, ConfirmPrivately))
    assert outcome.plan is not None
    assert outcome.found.choice is not None
    replies = in_process(gates())(Confirm(outcome.plan, outcome.schema, step.configs))
    confirmed = {reply.party: reply.confirmations for reply in replies if isinstance(reply, ConfirmReply)}
    rows = {reply.party: reply.rows for reply in replies}
    known = choose(confirmed, rows, Whole.of(rows, outcome.found.space))
    ours = outcome.found.choice
    assert [each.config for each in ours.candidates] == [each.config for each in known.candidates]
    assert ours.chosen.config == known.chosen.config
    assert ours.chosen.gain.estimate == pytest.approx(known.chosen.gain.estimate)
    assert ours.chosen.gain.error == pytest.approx(known.chosen.gain.error)
    assert ours.chosen.gain.degrees == pytest.approx(known.chosen.gain.degrees)
    assert outcome.found.verdict is not None
    assert outcome.found.verdict.chance == pytest.approx(known.verdict.chance)


def numbers_in(document: Any) -> list[float]:
    if isinstance(document, dict):
        return [number for part in document.values() for number in numbers_in(part)]
    if isinstance(document, list):
        return [number for part in document for number in numbers_in(part)]
    return [float(document)] if isinstance(document, int | float) and not isinstance(document, bool) else []


def test_no_pair_of_a_party_is_in_any_reply(
    run: tuple[Outcome, list[tuple[Step, Reply]]], pairs: list[PartyTrials]
) -> None:
    outcome, heard = run
    plain = {"describe", "search-privately", "survey", "confirm-privately"}
    assert {step.name for step, _ in heard} == plain
    said = {n for step, reply in heard for n in numbers_in(json.loads(reply_text(reply, step))) if n not in (0, 1)}
    for party in pairs:
        assert not said & {number for trial in party.trials for number in (trial.loss, trial.error)}
        assert not said & {float(trial.config["C"]) for trial in party.trials[1:]}
    assert outcome.found.trials == ()
    result = result_of(outcome, REQUEST, {})
    assert [(party.best_loss, party.measured, party.trials_digest) for party in result.parties] == [(None,) * 3] * 4


def test_the_result_says_that_it_was_private_and_comes_back(run: tuple[Outcome, list[tuple[Step, Reply]]]) -> None:
    result = result_of(run[0], REQUEST, {})
    assert result.private is not None
    assert (result.private.parties, result.private.points, result.measured) == (4, 3_073, True)
    assert Result.from_text(result.to_text(), "result.json") == result


def test_with_fewer_than_three_nothing_is_added_up() -> None:
    heard: list[tuple[Step, Reply]] = []
    with pytest.raises(InputError, match="needs 3 parties that can search, and here are 2"):
        drive(single_shot(REQUEST), watching(in_process(gates(NAMES[:2])), heard))
    assert {step.name for step, _ in heard} == {"describe", "search-privately"}


def test_parties_with_other_sums_are_noticed() -> None:
    engine = in_process(gates())

    def one_lies(step: Step) -> list[Reply]:
        return [
            replace(reply, means=(*reply.means[:-1], 0.0)) if isinstance(reply, SurveyReply) and k == 2 else reply
            for k, reply in enumerate(engine(step))
        ]

    with pytest.raises(FloraError, match="parties 'east' and 'south' ended with different sums"):
        drive(single_shot(REQUEST), one_lies)


def test_sums_of_another_length_are_refused() -> None:
    engine = in_process(gates())

    def all_lie(step: Step) -> list[Reply]:
        replies = engine(step)
        return [replace(each, means=each.means[:-1]) if isinstance(each, SurveyReply) else each for each in replies]

    with pytest.raises(InputError, match="a survey of this space has more than 3072 points"):
        drive(single_shot(REQUEST), all_lie)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"surface": SurfaceChoice("mplm")}, "--surface mplm: a sum over all parties gives aplm"),
        ({"surface": SurfaceChoice("median")}, "--surface median"),
        ({"objective": "worst"}, "--objective worst: a sum does not tell who is worst off"),
        ({"send": 3}, "--send 3: no pair is sent"),
        ({"certificate": True}, "--certificate: it needs each party's pairs"),
        ({"masked": False}, "--unmasked: without masks the aggregator sees each party's share"),
    ],
)
def test_what_sums_cannot_give_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=f"--private does not go with {words}"):
        replace(REQUEST, **more)


NOISY = replace(REQUEST, trials=3, epsilon=5.0)


@pytest.fixture(scope="module")
def under_noise() -> tuple[Outcome, list[tuple[Step, Reply]]]:
    heard: list[tuple[Step, Reply]] = []
    parties = gates([f"p{k:02d}" for k in range(20)])
    drawn = [replace(g, party=replace(g.party, noise=random.Random(k))) for k, g in enumerate(parties)]
    return drive(single_shot(NOISY), watching(in_process(drawn), heard)), heard


def test_under_noise_there_is_one_sum_and_nothing_is_confirmed(
    under_noise: tuple[Outcome, list[tuple[Step, Reply]]],
) -> None:
    outcome, heard = under_noise
    assert {step.name for step, _ in heard} == {"describe", "search-privately", "survey"}
    told = next(reply for _, reply in heard if isinstance(reply, SurveyReply))
    assert (told.parties, len(told.means), told.deviations) == (20, 33, ())
    assert outcome.found.choice is None
    assert outcome.found.verdict is not None
    assert outcome.found.verdict.basis == "predicted"
    outcome.found.space.check(outcome.found.recommendation.config)


def test_the_ledger_is_in_the_result_and_comes_back(under_noise: tuple[Outcome, list[tuple[Step, Reply]]]) -> None:
    result = result_of(under_noise[0], NOISY, {})
    assert result.private is not None
    assert result.private.ledger == Ledger.of(5.0, 20, 33)
    assert (result.private.parties, result.private.points) == (20, 33)
    assert Result.from_text(result.to_text(), "result.json") == result


def test_the_same_noise_gives_the_same_answer_and_the_seed_alone_does_not_give_it(
    under_noise: tuple[Outcome, list[tuple[Step, Reply]]],
) -> None:
    def again(*, drawn: bool) -> tuple[float, ...]:
        heard: list[tuple[Step, Reply]] = []
        parties = gates([f"p{k:02d}" for k in range(20)])
        if drawn:  # and under masks, which change no sum
            parties = [
                replace(g, party=replace(g.party, noise=random.Random(k)), consent=Consent(epsilon=5.0))
                for k, g in enumerate(parties)
            ]
        drive(single_shot(NOISY), watching(in_process(parties), heard))
        return next(reply.means for _, reply in heard if isinstance(reply, SurveyReply))

    told = next(reply.means for _, reply in under_noise[1] if isinstance(reply, SurveyReply))
    assert again(drawn=True) == told
    assert again(drawn=False) != told


def test_noise_takes_twenty_parties() -> None:
    with pytest.raises(InputError, match=r"epsilon needs 20 parties, for of fewer .* here are 4"):
        drive(single_shot(NOISY), in_process(gates()))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"private": False}, "--epsilon is for the sums of a private search: say --private, too"),
        ({"surface": SurfaceChoice(weights="rows")}, "--epsilon does not go with --weights rows"),
        ({"scoring": "neg_log_loss"}, "--epsilon does not go with --scoring neg_log_loss"),
        ({"epsilon": 0.0}, "epsilon must be a number above 0 and at most 100"),
    ],
)
def test_what_noise_does_not_go_with_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        replace(NOISY, **more)


def test_paths_and_many_parties_choose_the_same_way_whatever_the_order() -> None:
    request = replace(REQUEST, family="hgb", trials=4, confirm=2)
    parties = gates([f"p{k}" for k in range(5)])
    first, second = (drive(single_shot(request), in_process(order)).found for order in (parties, parties[::-1]))
    assert first.choice == second.choice
    assert first.choice is not None
    assert all(np.isfinite(each.gain.error) for each in first.choice.candidates)
