"""A curious aggregator keeps all that it gets in a training of each family: noise from each party, and right sums."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from flora.core.masks import FreshSigner, Masking
from flora.engines.nvflare.run.collective import CellCollective, answer_to_message, call_of
from flora.engines.nvflare.run.hub import Hub
from flora.engines.threads import in_process
from flora.models import FAMILIES, family_of
from flora.party.audit import AuditLog, verify
from flora.party.consent import Consent
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.tables.table import Table, describe
from flora.problem.family import space_of
from flora.problem.messages import Step, Train, TrainReply
from flora.problem.plan import SearchPlan
from flora.problem.wire import read_reply
from tests.conftest import two_moons

NAMES = ("north", "south", "west")
FRAMES = {name: two_moons(60 + 7 * k, k).assign(place=f"town {k % 2}") for k, name in enumerate(NAMES)}
TABLES = {name: Table(frame, "kind") for name, frame in FRAMES.items()}
FEW: dict[str, dict[str, Any]] = {"hgb": {"max_iter": 30}, "mlp": {"hidden_layer_sizes": 50}, "svm": {}}
RARE = 1e-9  # what is as rare as this is no chance


def step_of(name: str) -> Train:
    family = family_of(name)
    space = space_of(family, "classification")
    schema = describe(FRAMES["north"].assign(place=["town 0", "town 1"] * 30), "kind")
    plan = SearchPlan(name, "classification", space, "balanced_accuracy", 3, 3)
    return Train(plan, schema, {**space.default, **FEW[name]}, 0.3, choose=bool(family.passes_through & {*space.names}))


@dataclass
class CuriousHub:
    """The aggregator's real hub, which keeps every contribution and every sum."""

    parts: dict[str, list[NDArray[np.int64]]] = field(default_factory=lambda: {name: [] for name in NAMES})
    gathered: dict[str, list[bytes]] = field(default_factory=lambda: {name: [] for name in NAMES})
    sums: list[NDArray[np.int64]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hub = Hub(4, NAMES, lambda queue, answer: queue.put(answer_to_message(answer)))

    def end_of(self, party: str) -> CellCollective:
        def exchange(sent: Any, _seconds: float) -> Any:
            call, data = call_of(sent), bytes(sent.payload)
            if call.kind == "add":
                self.parts[party].append(np.frombuffer(data, dtype=np.int64))
            else:
                self.gathered[party].append(data)
            answers: Queue[Any] = Queue()
            now = self.hub.receive(party, answers, call, data)
            found = answer_to_message(now) if now else answers.get(timeout=60)
            if party == "north" and call.kind == "add":
                self.sums.append(np.frombuffer(bytes(found.payload), dtype=np.int64))
            return found

        return CellCollective(NAMES.index(party), 3, 4, exchange, lambda: False)

    def run(self, share: Callable[[str, CellCollective], str]) -> list[str]:
        with ThreadPoolExecutor(3) as pool:
            return [f.result() for f in [pool.submit(share, name, self.end_of(name)) for name in NAMES]]


def trained(step: Step, folder: Path, *, masked: bool) -> tuple[CuriousHub, list[TrainReply]]:
    """Return what the aggregator has kept of a training, and the parties' replies."""
    hub, signers = CuriousHub(), FreshSigner.for_each(NAMES)

    def share(name: str, line: CellCollective) -> str:
        masks = Masking(NAMES, signers[name], "server.run 4") if masked else None
        log = AuditLog(folder / f"{name}-{masked}.jsonl")
        gate = Gate(Party(name, TABLES[name]), Consent(unmasked_sums=not masked), log, masks=masks)
        return gate.letter(step, line)

    replies = [read_reply(text, step) for text in hub.run(share)]
    return hub, [reply for reply in replies if isinstance(reply, TrainReply)]


def chances(words: NDArray[np.int64]) -> list[float]:
    """Return how likely words from a uniform source would be as uneven as these: byte by byte, at each place."""
    table = words[:50_000].view(np.uint8).reshape(-1, 8)
    if len(table) < 1280:  # too few for each place
        return [float(chisquare(np.bincount(table.ravel(), minlength=256)).pvalue)]
    return [float(chisquare(np.bincount(place, minlength=256)).pvalue) for place in table.T]


@pytest.fixture(scope="module", params=FAMILIES)
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    step, folder = step_of(request.param), tmp_path_factory.mktemp("logs")
    found = {masked: trained(step, folder, masked=masked) for masked in (True, False)}
    return {"step": step, "folder": folder, "masked": found[True], "plain": found[False]}


def test_each_contribution_alone_is_noise(runs: dict[str, Any]) -> None:
    hub, _ = runs["masked"]
    for party in NAMES:
        assert len(hub.parts[party]) > 10
        large = [words for words in hub.parts[party] if len(words) >= 160]  # 1,280 bytes: five of each kind
        small = np.concatenate([words for words in hub.parts[party] if len(words) < 160])
        for words in [small, *large]:
            assert min(chances(words)) > RARE
    everything = np.concatenate([words[:5000] for party in NAMES for words in hub.parts[party]])
    assert len(np.unique(everything)) == len(everything)  # no word comes twice, so no mask does


def test_without_masks_they_are_not(runs: dict[str, Any]) -> None:
    hub, _ = runs["plain"]
    for party in NAMES:
        assert min(chances(np.concatenate(hub.parts[party]))) < RARE
        large = [words for words in hub.parts[party] if len(words) >= 160]
        assert sum(min(chances(words)) < RARE for words in large) > len(large) / 2


def test_no_number_of_a_party_comes_in_the_clear(runs: dict[str, Any]) -> None:
    (masked, _), (plain, _) = runs["masked"], runs["plain"]
    for party in NAMES:
        for hidden, open_ in zip(masked.parts[party], plain.parts[party], strict=True):
            assert len(hidden) == len(open_) + 1  # the check word
            assert not (hidden[:-1] == open_).any()


def test_the_sums_are_what_they_were(runs: dict[str, Any]) -> None:
    (masked, _), (plain, _) = runs["masked"], runs["plain"]
    assert len(masked.sums) == len(plain.sums)
    for one, other in zip(masked.sums, plain.sums, strict=True):
        random = (one[:-1] != other) & (one[:-1] != 0) & (other != 0)  # what stands for "somebody reaches this digit"
        assert np.array_equal(one[:-1][~random], other[~random])
        assert not random.any() or len(other) % 15 == 0


def test_nothing_is_gathered_but_keys_and_signatures(runs: dict[str, Any]) -> None:
    hub, _ = runs["masked"]
    for party in NAMES:
        key, signed = hub.gathered[party]
        assert len(key) == 32
        assert set(json.loads(signed)) == {"signature", "sealed"}
    assert runs["plain"][0].gathered == {name: [] for name in NAMES}


def test_the_model_is_the_same_bytes_with_masks_without_and_in_one_process(runs: dict[str, Any]) -> None:
    (_, masked), (_, plain) = runs["masked"], runs["plain"]
    assert masked == plain
    assert len({reply.model for reply in masked}) == 1
    simulated = in_process([Gate(Party(name, TABLES[name])) for name in NAMES])(runs["step"])
    guarded = in_process([Gate(Party(name, TABLES[name]), Consent()) for name in NAMES])(runs["step"])
    assert list(simulated) == list(guarded) == masked


def test_the_audit_log_says_that_sums_were_masked_and_with_whom(runs: dict[str, Any]) -> None:
    begun = {
        masked: next(entry.note for entry in verify(runs["folder"] / f"south-{masked}.jsonl") if "begin" in entry.what)
        for masked in (True, False)
    }
    assert begun[True] == "3 parties, masked, with north, west"
    assert begun[False] == "3 parties, no masks: the aggregator can read what this party adds"
