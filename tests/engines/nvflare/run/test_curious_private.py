"""A curious aggregator keeps all that it gets in a private search: noise, sums, and no pair or gain of a party."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from flora.core.masks import FreshSigner, Masking
from flora.engines.threads import in_process
from flora.models.sums import DIGIT_BITS, HIGHEST, LOWEST
from flora.party.audit import AuditLog, verify
from flora.party.consent import Consent, Pairs
from flora.party.gate import Gate
from flora.party.party import Party
from flora.problem.messages import Confirm, ConfirmReply, Reply, Search, SearchReply, Step
from flora.problem.private_messages import ConfirmPrivately, SearchPrivately
from flora.problem.wire import read_reply, reply_text
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import Outcome, single_shot
from tests.engines.nvflare.run.test_curious_hub import NAMES, RARE, TABLES, CuriousHub, chances

REQUEST = Request(family="svm", trials=4, folds=3, confirm=8, seed=4, trainings=0, private=True)


@dataclass
class CuriousAggregator:
    """It drives the program, and keeps each step, each letter, and all that its hub gets."""

    parties: dict[str, Party]
    folder: Path
    masked: bool = True

    def __post_init__(self) -> None:
        self.letters: dict[str, list[str]] = {}
        self.hubs: dict[str, CuriousHub] = {}
        self.steps: dict[str, Step] = {}

    def ask(self, step: Step) -> list[Reply]:
        hub, signers = CuriousHub(), FreshSigner.for_each(NAMES)

        def share(name: str, line: Any) -> str:
            masks = Masking(NAMES, signers[name], step.name) if self.masked else None
            log = AuditLog(self.folder / f"{name}-{self.masked}.jsonl")
            consent = Consent(unmasked_sums=not self.masked, pairs=Pairs(never=True), fewest_parties=3)
            return Gate(self.parties[name], consent, log, masks=masks).letter(step, line if step.together else None)

        texts = hub.run(share)
        self.steps[step.name], self.letters[step.name], self.hubs[step.name] = step, texts, hub
        return [read_reply(text, step) for text in texts]


@dataclass(frozen=True)
class Seen:
    masked: CuriousAggregator
    plain: CuriousAggregator
    outcome: Outcome
    secrets: dict[str, set[float]]  # losses, gains and errors of each party
    folder: Path


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("logs")
    parties = {name: Party(name, TABLES[name]) for name in NAMES}
    masked, plain = CuriousAggregator(parties, folder), CuriousAggregator(parties, folder, masked=False)
    outcome = drive(single_shot(REQUEST), masked.ask)
    assert drive(single_shot(REQUEST), plain.ask).found.choice == outcome.found.choice
    return Seen(masked, plain, outcome, {name: secrets(masked, party) for name, party in parties.items()}, folder)


def secrets(seen: CuriousAggregator, party: Party) -> set[float]:
    """Return what a party would say of itself if the same were asked for without --private."""
    search, confirm = seen.steps["search-privately"], seen.steps["confirm-privately"]
    assert isinstance(search, SearchPrivately)
    assert isinstance(confirm, ConfirmPrivately)
    searched = party.answer(Search(search.plan, search.schema))
    confirmed = party.answer(Confirm(confirm.plan, confirm.schema, confirm.configs))
    assert isinstance(searched, SearchReply)
    assert isinstance(confirmed, ConfirmReply)
    assert searched.trials is not None
    trials = [*searched.trials.trials, *(each.trial for each in confirmed.confirmations)]
    found = {number for trial in trials for number in (trial.loss, trial.error)}
    found |= {number for each in confirmed.confirmations for number in (each.gain, each.gain_error)}
    return {float(number) for number in found if number is not None} - {0.0, 1.0}


def test_each_share_of_a_sum_is_noise(seen: Seen) -> None:
    for name in ("survey", "confirm-privately"):
        for party in NAMES:
            parts = seen.masked.hubs[name].parts[party]
            assert len(parts) == {"survey": 5, "confirm-privately": 2}[name]
            for words in parts:
                assert min(chances(words)) > RARE
            sent = {"survey": 61_080, "confirm-privately": 20_608}  # as docs/security.md has it
            assert sum(words.nbytes for words in parts) == sent[name]
    everything = np.concatenate(
        [words for hub in seen.masked.hubs.values() for party in NAMES for words in hub.parts[party]]
    )
    assert len(np.unique(everything)) == len(everything)


def test_without_masks_it_is_not_and_shows_what_a_party_believes(seen: Seen) -> None:
    for name in ("survey", "confirm-privately"):
        for party in NAMES:
            assert max(min(chances(words)) for words in seen.plain.hubs[name].parts[party]) < RARE


def read_back(words: NDArray[np.int64], rows: int) -> set[float]:
    """Return what somebody reads who takes a share for digits of 32 bits, of numbers times rows (models/sums.py)."""
    width, found = HIGHEST - LOWEST + 1, set()
    for digits in words[: len(words) // width * width].reshape(-1, width).tolist():
        total = sum(digit << (DIGIT_BITS * k) for k, digit in enumerate(digits))
        found.add(round(float(Fraction(total, rows << (-DIGIT_BITS * LOWEST))), 12) if abs(total) < 2**2000 else 0.0)
    return found


def test_no_gain_of_a_party_can_be_read_from_its_shares_but_without_masks(seen: Seen) -> None:
    for party in NAMES:
        rows, gains = len(TABLES[party].frame), {round(number, 12) for number in seen.secrets[party]}
        masked, plain = (run.hubs["confirm-privately"].parts[party] for run in (seen.masked, seen.plain))
        assert not set().union(*(read_back(words, rows) for words in masked)) & gains
        assert len(set().union(*(read_back(words, rows) for words in plain)) & gains) > 1


def test_nor_from_its_letters(seen: Seen) -> None:
    every = set().union(*seen.secrets.values())
    for name, texts in seen.masked.letters.items():
        said = numbers_in([json.loads(text) for text in texts])
        assert not said & every, name
    search = seen.masked.steps["search-privately"]
    assert isinstance(search, SearchPrivately)
    usual = Search(search.plan, search.schema)
    open_letters = [reply_text(Party(name, TABLES[name]).answer(usual), usual) for name in NAMES]
    assert numbers_in([json.loads(text) for text in open_letters]) & every  # the search as it usually is fails this


def numbers_in(document: Any) -> set[float]:
    if isinstance(document, dict):
        return set().union(*map(numbers_in, document.values())) if document else set()
    if isinstance(document, list):
        return set().union(*map(numbers_in, document)) if document else set()
    return {float(document)} if isinstance(document, int | float) and not isinstance(document, bool) else set()


def test_the_letters_of_all_parties_say_the_same(seen: Seen) -> None:
    for name in ("survey", "confirm-privately"):
        letters = map(json.loads, seen.masked.letters[name])
        said = [{key: value for key, value in each.items() if key not in ("party", "rows")} for each in letters]
        assert said[0] == said[1] == said[2]
    for text in seen.masked.letters["search-privately"]:
        document = json.loads(text)
        assert set(document) == {"format", "version", "step", "step_digest", "party", "rows", "searched", "notes"}


def test_the_sums_are_those_without_masks_and_the_outcome_that_of_one_process(seen: Seen) -> None:
    for name in ("survey", "confirm-privately"):
        for one, other in zip(seen.masked.hubs[name].sums, seen.plain.hubs[name].sums, strict=True):
            assert np.array_equal(one[:-1], other)
    apart = drive(single_shot(REQUEST), in_process([Gate(Party(name, TABLES[name])) for name in NAMES]))
    assert apart.found.choice == seen.outcome.found.choice
    assert apart.found.recommendation == seen.outcome.found.recommendation


def test_a_party_that_lets_no_pair_leave_refuses_the_usual_search(seen: Seen) -> None:
    usual = CuriousAggregator(seen.masked.parties, seen.folder)
    with pytest.raises(Exception, match="no pair of this party leaves it, and this step asks for losses of its own"):
        drive(single_shot(replace(REQUEST, private=False)), usual.ask)


def test_the_audit_log_has_the_sums_and_with_whom(seen: Seen) -> None:
    entries = verify(seen.folder / "south-True.jsonl")
    what = [entry.what for entry in entries]
    names = ("survey", "confirm-privately")
    together = [f"{name}: {word}" for name in names for word in ("sums begin", "sums", "reply")]
    assert what[:8] == ["describe: reply", "search-privately: reply", *together]
    assert entries[2].note == "3 parties, masked, with north, west"
