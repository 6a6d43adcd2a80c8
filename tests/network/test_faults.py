"""What goes wrong in the world: a lost aggregator, refusals, Ctrl-C. The run goes on, or ends with a clear word."""

import signal
from pathlib import Path

import pytest

from flora.party.audit import verify
from tests.network.conftest import QUICK, Network, Open, answer_of, bytes_of

pytestmark = pytest.mark.network

TRIALS = 16  # a search that goes on while it is killed
LONG_SEARCH = ["--model", "mlp", "--trials", str(TRIALS), "--cv", "3", "--seed", "3", "--trainings", "1"]
LONG_TRAINING = ["--model", "hgb", "--trials", "2", "--cv", "2", "--seed", "5"]


def counts_said(text: str) -> list[int]:
    """Return the numbers of trials that a party said it has done, in order."""
    marks = [line.split("search: ")[1] for line in text.splitlines() if " of " in line and "search: " in line]
    return [int(mark.split(" of ")[0]) for mark in marks]


def assert_same(network: Network, out: str, alone: Path) -> None:
    assert bytes_of(network.folder / out) == bytes_of(alone)
    assert answer_of(network.folder / out) == answer_of(alone)


def test_the_aggregator_killed_at_every_step_goes_on_from_its_journal(opened: Open) -> None:
    network = opened().start()
    run = network.tune("out", *LONG_TRAINING)
    place = 0
    for step in ("describe", "search", "confirm", "train"):
        aggregator = network.commands["aggregator"]
        aggregator.until(f"{step}: asking", start=place)
        aggregator.kill()
        place = len(aggregator.text)
        if step == "search":  # and who has asked is gone too
            run.kill()
            run = network.tune("out", *LONG_TRAINING)
        network.aggregator()
    alone = network.in_process("alone", *LONG_TRAINING)
    assert run.wait() == 0, run.text
    for party in network.consortium.parties:
        assert counts_said(network.commands[party].text).count(1) == 1  # no trial was made twice
    assert_same(network, "out", alone)


def test_a_refusal_reaches_the_scientist_as_a_sentence(opened: Open) -> None:
    network = opened({"north": 60, "south": 60})
    network.allow("south", families=["svm"])
    network.start()
    run = network.tune("out", *LONG_TRAINING)
    assert run.wait() == 1
    assert "party 'south' refused 'search'" in run.text
    assert "the model must be one that this party allows (svm)" in run.text.replace("\n", " ")
    assert not (network.folder / "out" / "result.json").exists()


def test_sums_without_masks_are_refused_until_the_parties_allow_them_and_give_the_same_model(opened: Open) -> None:
    network = opened().start()
    run = network.tune("out", *LONG_TRAINING, "--unmasked")
    assert run.wait() == 1
    assert "refused 'train': this party's sums leave under masks alone" in run.text.replace("\n", " ")
    for party in network.consortium.parties:
        network.allow(party, unmasked_sums=True)
    again = network.tune("out", *LONG_TRAINING, "--unmasked")
    alone = network.in_process("alone", *LONG_TRAINING)
    assert again.wait() == 0, again.text
    assert_same(network, "out", alone)
    entries = verify(network.kits / "south" / "state" / "audit.jsonl")
    assert {entry.note for entry in entries if entry.what == "train: sums begin"} == {
        "3 parties, no masks: the aggregator can read what this party adds"
    }


def test_ask_shows_what_leaves_and_a_no_keeps_it(opened: Open) -> None:
    network = opened({"north": 60, "south": 60})
    network.aggregator()
    network.party("north")
    south = network.party("south", "--ask", typed="yes\nno\n")
    run = network.tune("out", *QUICK)
    assert run.wait() == 1
    assert "party 'south' refused 'search': the administrator of 'south' said no to 'search'" in run.text
    shown = south.text.split("send this reply to 'search'")[1]
    assert '"format": "flora-reply"' in shown
    assert '"loss"' in shown
    entries = [(entry.what, entry.size) for entry in verify(network.kits / "south" / "state" / "audit.jsonl")]
    assert [what for what, _ in entries] == ["describe: reply", "no reply"]


def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(opened: Open) -> None:
    network = opened({"north": 60, "south": 60}).start()
    run = network.tune("out", *LONG_SEARCH)
    network.commands["north"].until(f"search: 1 of {TRIALS}")
    run.running.send_signal(signal.SIGINT)
    assert run.wait() == 1
    assert "stopped; what is done is kept" in run.text
    again = network.tune("out", *LONG_SEARCH)
    alone = network.in_process("alone", *LONG_SEARCH, parties=["north", "south"])
    assert again.wait() == 0, again.text
    for name in ("north", "aggregator"):
        command = network.commands[name]
        command.running.send_signal(signal.SIGINT)
        assert command.wait(30) == 0
        assert "stopped; started again, it goes on from here" in command.text
    assert_same(network, "out", alone)
