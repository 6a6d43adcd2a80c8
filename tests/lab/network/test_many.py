"""Many parties at one aggregator, with few: as processes of their own, and sharing one."""

import json
import os
import subprocess
import sys

import psutil
import pytest

from flora_lab.main import main
from flora_lab.network.memory import Taken, WatchedProcesses, greatest, taken_by

PROGRAM = "import sys; from flora_lab.main import main; sys.exit(main())"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["--parties", "0"], "need a party or more, and 1 or more at a stage, got 0 and 8"),
        (["--stage", "0"], "need a party or more, and 1 or more at a stage, got 32 and 0"),
        (["--rows", "39"], "a party answers nothing with fewer than 40 rows, got 39"),
    ],
)
def test_what_cannot_be_is_refused(typed: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["many", *typed]) == 2
    assert words in capsys.readouterr().err


def test_memory_is_that_of_a_process_and_of_what_it_has_started() -> None:
    own = taken_by(psutil.Process())
    assert own.rss >= own.pss > 2**20
    assert own.rss == pytest.approx(psutil.Process().memory_info().rss, rel=0.2)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        watched = WatchedProcesses({"here": os.getpid()})
        watched.look()
        assert watched.whole["here"].rss > own.rss
        assert watched.everything == watched.whole["here"]
        child.communicate(b"\n")
    assert greatest([Taken(3, 1), Taken(2, 2)]) == Taken(3, 2)


@pytest.mark.network
def test_a_run_with_parties_of_both_kinds_ends_and_gives_the_model_of_one_process() -> None:
    arguments = ["many", "--parties", "1", "--hosted", "3", "--json"]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], check=False, capture_output=True, text=True, timeout=900
    )
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout.splitlines()[-1])
    assert document["same_model"] is True
    assert (document["parties"], document["hosted"]) == (1, 3)
    whole, parts = document["party"].pop("all"), document["party"].values()
    assert all(part["rss"] >= part["pss"] > 1 for part in parts)
    assert max(part["rss"] for part in parts) < whole["rss"] <= sum(part["rss"] for part in parts)
