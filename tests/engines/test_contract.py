"""One contract for all engines: the same program ends with the same bytes, and no engine goes round a party's gate.

An engine in ``flora.engines.ENGINES`` is tested. NVFlare takes kits in place of gates, and is held to the same in
tests/network.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from flora.engines import ENGINES, engine_of
from flora.engines.files import CarriedFiles, NotAnsweredError
from flora.engines.threads import in_process
from flora.errors import ConsentError
from flora.party.audit import AuditLog, verify
from flora.party.consent import Consent, Pairs
from flora.party.gate import Gate
from flora.problem.messages import Confirm, Reply, Search, SearchReply, Step
from flora.problem.wire import read_letter, read_step, step_text
from flora.program.drive import Ask, drive
from flora.program.request import Request
from flora.program.single_shot import Outcome, single_shot
from tests.conftest import gate, two_moons

REQUEST = Request(family="svm", trials=3, folds=3, confirm=2, seed=4, trainings=0)


def carried(gates: Sequence[Gate]) -> Ask:
    """Carry each step as text to each party, and its reply as text back: what people do with files."""

    def ask(step: Step) -> list[Reply]:
        text = step_text(step)
        replies = [read_letter(each.letter(read_step(text)), each.name).reply for each in gates]
        if not isinstance(step, Search):
            return replies
        return CarriedFiles(
            tuple(reply.trials for reply in replies if isinstance(reply, SearchReply) and reply.trials)
        )(step)

    return ask


EVERY: dict[str, Callable[[Sequence[Gate]], Ask]] = {
    **{name: engine_of(name) for name in ENGINES},
    **{f"{name}, two at a time": partial(engine_of(name), jobs=2) for name in ENGINES},
    "files": carried,
}


def gates(folder: Path, consent: Consent | None = None) -> list[Gate]:
    """Three parties that write down what leaves."""
    found = [gate(name, two_moons(rows, rows)) for name, rows in (("north", 60), ("south", 50), ("west", 80))]
    allowed = consent or Consent.of_everything()
    return [replace(each, consent=allowed, log=AuditLog(folder / f"{each.name}.jsonl")) for each in found]


@pytest.mark.parametrize("engine", EVERY.values(), ids=EVERY.keys())
class TestEveryEngine:
    def run(self, engine: Callable[[Sequence[Gate]], Ask], parties: Sequence[Gate]) -> Outcome:
        return drive(single_shot(REQUEST), engine(parties))

    def test_the_outcome_is_the_same_whatever_the_order_of_parties(
        self, engine: Callable[[Sequence[Gate]], Ask], tmp_path: Path
    ) -> None:
        expected = self.run(in_process, gates(tmp_path / "a"))
        found = self.run(engine, gates(tmp_path / "b")[::-1])
        assert [party.to_json() for party in found.found.trials] == [p.to_json() for p in expected.found.trials]
        assert found.found.choice == expected.found.choice

    def test_all_that_leaves_is_in_the_log(self, engine: Callable[[Sequence[Gate]], Ask], tmp_path: Path) -> None:
        self.run(engine, gates(tmp_path))
        for name in ("north", "south", "west"):
            entries = verify(tmp_path / f"{name}.jsonl")
            assert [entry.what for entry in entries] == ["describe: reply", "search: reply", "confirm: reply"]

    def test_a_refusal_ends_the_run(self, engine: Callable[[Sequence[Gate]], Ask], tmp_path: Path) -> None:
        with pytest.raises(ConsentError, match="at most 2 trials, and 3 are asked for"):
            self.run(engine, gates(tmp_path, Consent(most_trials=2)))

    def test_a_party_rounds_and_limits_what_it_sends(
        self, engine: Callable[[Sequence[Gate]], Ask], tmp_path: Path
    ) -> None:
        found = self.run(engine, gates(tmp_path, Consent(pairs=Pairs(rounded=2, best=2)))).found
        assert [len(party.trials) for party in found.trials] == [2, 2, 2]
        losses = [trial.loss for party in found.trials for trial in party.trials]
        assert losses == [float(f"{loss:.2g}") for loss in losses]

    def test_a_person_who_says_no_is_obeyed(self, engine: Callable[[Sequence[Gate]], Ask], tmp_path: Path) -> None:
        asked: list[str] = []

        def no(text: str) -> bool:
            asked.append(text)
            return False

        with pytest.raises(ConsentError, match="said no to 'describe'"):
            self.run(engine, [replace(each, person=no) for each in gates(tmp_path)])
        assert asked[0].startswith("send this reply to 'describe'")
        assert verify(tmp_path / "north.jsonl") == ()


def test_files_wait_for_what_is_not_answered() -> None:
    found = gate("a", two_moons(60, 1))
    engine = carried([found])
    trials: list[SearchReply] = []

    def ask(step: Step) -> list[Reply]:
        if isinstance(step, Confirm):
            return CarriedFiles(tuple(reply.trials for reply in trials if reply.trials))(step)
        replies = list(engine(step))
        trials.extend(reply for reply in replies if isinstance(reply, SearchReply))
        return replies

    with pytest.raises(NotAnsweredError, match="have not answered 'confirm' yet"):
        drive(single_shot(REQUEST), ask)
