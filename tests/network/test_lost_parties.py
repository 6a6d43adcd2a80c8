"""A party is lost, late or silent: killed, cut off, paused. The run goes on, or ends with a clear word."""

import signal
import sqlite3
import time

import pytest

from tests.network.conftest import QUICK, HeldSearch, Network, Open, answer_of, bytes_of
from tests.network.link import Link, for_seconds
from tests.network.test_faults import LONG_SEARCH, LONG_TRAINING, TRIALS, assert_same, counts_said

pytestmark = pytest.mark.network


def trials_kept(network: Network, party: str) -> int:
    """Return the number of trials in a party's own study files."""
    count = 0
    for path in (network.kits / party / "state" / "studies").glob("*.db"):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as base:
            count += base.execute("select count(*) from trials").fetchone()[0]
        base.close()
    return count


def test_a_party_killed_in_the_search_goes_on_where_it_was(opened: Open) -> None:
    network = opened().start()
    run = network.tune("out", *LONG_SEARCH)
    south = network.commands["south"]
    south.until(f"search: 3 of {TRIALS}")
    south.kill()
    kept = trials_kept(network, "south")
    assert kept >= 3
    run.until("south gives no sign of life", "party 'south' was lost")
    said = len(south.text)
    network.party("south")
    alone = network.in_process("alone", *LONG_SEARCH)
    assert run.wait() == 0, run.text
    counts = counts_said(network.commands["south"].text[said:])
    assert min(counts, default=TRIALS) >= kept
    assert counts or kept == TRIALS  # on a busy machine the search may be over before it is killed
    for other in ("north", "west"):  # nobody began again
        assert counts_said(network.commands[other].text).count(0) == 1
    assert_same(network, "out", alone)


def test_a_party_killed_in_the_training_is_named_and_the_training_begins_again_with_it(opened: Open) -> None:
    network = opened().start()
    run = network.tune("out", *LONG_TRAINING)
    west = network.commands["west"]
    west.until("train: begins")
    time.sleep(2.0)
    west.kill()
    run.until("party 'west' was lost in the step 'train'")
    assert network.commands["aggregator"].text.count("party 'west' was lost in the step 'train'") == 1
    network.party("west")
    alone = network.in_process("alone", *LONG_TRAINING)
    assert run.wait() == 0, run.text
    for party in network.consortium.parties:  # no party searched twice
        assert network.commands[party].text.count("search: 0 of 2") == 1
    assert_same(network, "out", alone)


def test_a_party_cut_off_while_a_run_ends_is_asked_again(opened: Open) -> None:
    network, link = opened({"north": 80, "south": 60}), Link().start()
    network.aggregator()
    network.party("north", environment=link.environment)
    network.party("south")
    run = network.tune("out", *LONG_TRAINING)
    network.commands["north"].until("train: begins")
    for_seconds(link.while_lost, 12.0)  # the run ends in the meantime, and north cannot hear of it
    alone = network.in_process("alone", *LONG_TRAINING, parties=["north", "south"])
    assert run.wait(300) == 0, run.text  # NVFlare would wait for north's word on that run for 900 s
    assert "party 'north' was lost in the step 'train'" in run.text
    link.close()
    assert_same(network, "out", alone)


def test_with_a_quorum_the_training_goes_on_without_the_lost_party(opened: Open) -> None:
    network = opened().start()
    run = network.tune("out", *LONG_TRAINING, "--quorum", "2")
    network.commands["west"].until("train: begins")
    network.commands["west"].kill()
    assert run.wait() == 0, run.text
    assert "going on without west (--quorum 2)" in run.text
    answer = answer_of(network.folder / "out")
    assert "west: it was lost in the training" in answer["notes"]
    assert [party["name"] for party in answer["parties"]] == ["north", "south", "west"]


def test_with_a_deadline_the_run_goes_on_without_who_is_late(opened: Open, held_search: HeldSearch) -> None:
    network = opened()
    network.aggregator()
    network.party("north")
    network.party("south")
    network.party("west", environment=held_search.environment)  # it searches without end
    run = network.tune("out", *QUICK, "--quorum", "2", "--deadline", "45")
    assert run.wait() == 0, run.text
    assert "party 'west' has not answered 'search' within 45 seconds" in run.text.replace("\n", " ")
    answer = answer_of(network.folder / "out")
    assert answer["missing"] == {"west": "it was late, and the run went on without it"}
    alone = network.in_process("alone", *QUICK, parties=["north", "south"])
    assert bytes_of(network.folder / "out") == bytes_of(alone)


def test_a_paused_and_a_late_party_hold_up_the_run_and_no_more(opened: Open) -> None:
    network = opened(fresh=True)  # nobody knows of west yet
    network.aggregator()
    network.party("north")
    network.party("south")
    run = network.tune("out", *LONG_SEARCH)
    run.until("waiting for west to connect", "waiting for south, west to connect")
    network.party("west")
    south = network.commands["south"]
    south.until(f"search: 2 of {TRIALS}")
    south.send(signal.SIGSTOP)
    run.until("south gives no sign of life", "party 'south' was lost")
    south.send(signal.SIGCONT)
    alone = network.in_process("alone", *LONG_SEARCH)
    assert run.wait() == 0, run.text
    assert_same(network, "out", alone)
