"""A private search across machines: parties that let no pair leave answer it, and it ends as in one process."""

import json

import pytest

from flora.party.audit import verify
from tests.network.conftest import Open, answer_of, bytes_of

pytestmark = pytest.mark.network

QUICK = ["--model", "svm", "--trials", "4", "--cv", "3", "--confirm", "3", "--trainings", "1", "--seed", "11"]


def test_parties_that_let_no_pair_leave_search_in_private_and_end_as_in_one_process(opened: Open) -> None:
    network = opened().start()
    for party in network.consortium.parties:
        network.allow(party, pairs="never", fewest_parties=3)
    usual = network.tune("usual", *QUICK)
    assert usual.wait() == 1
    assert "refused 'search': no pair of this party leaves it" in usual.text.replace("\n", " ")
    run = network.tune("out", *QUICK, "--private")
    alone = network.in_process("alone", *QUICK, "--private")
    assert run.wait() == 0, run.text
    out = network.folder / "out"
    assert bytes_of(out) == bytes_of(alone)
    assert answer_of(out) == answer_of(alone)
    assert json.loads((out / "result.json").read_text())["private"]["parties"] == 3
    assert not list((out / "trials").glob("*"))
    entries = verify(network.kits / "south" / "state" / "audit.jsonl")
    for step in ("survey", "confirm-privately", "train"):
        begun = {entry.note for entry in entries if entry.what == f"{step}: sums begin"}
        assert begun == {"3 parties, masked, with north, west"}
