"""The benchmark, small: it ends, counts, and trains the model of the run in process."""

import json
import subprocess
import sys

import pytest

from flora_lab.main import main

PROGRAM = "import sys; from flora_lab.main import main; sys.exit(main())"


def test_too_few_rows_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["network", "--rows", "19", "--parties", "2"]) == 2
    assert "need at least 1 party and 10 rows for each, got 2 and 19" in capsys.readouterr().err


@pytest.mark.parametrize("delay", ["-1", "nan", "1001"])
def test_a_delay_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], delay: str) -> None:
    assert main(["network", "--delay", delay]) == 2
    assert "delay: from 0 to 1000 milliseconds" in capsys.readouterr().err


@pytest.mark.network
def test_the_benchmark_counts_calls_and_bytes_and_splits_the_time() -> None:
    arguments = [
        "network",
        "--rows",
        "400",
        "--parties",
        "2",
        "--scheme",
        "tcp",
        "--trees",
        "20",
        "--delay",
        "4",
        "--json",
    ]  # all others use grpc
    command = [sys.executable, "-c", PROGRAM, *arguments]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout.splitlines()[-1])
    assert document["same_model"] is True
    assert list(document["latency"]) == ["8", "10000", "200000", "2000000", "20000000"]
    for kind in ("unmasked", "masked"):
        for party in document[kind]:
            assert party["calls"] > 20
            assert party["own"] > 0
            assert party["carrying"] > 0
            assert party["sent"] > 8 * party["calls"]
            assert party["computing"] + party["waiting"] == pytest.approx(party["seconds"])
        assert document["aggregator"][kind]["first"] > 0
    assert min(document["latency"].values()) >= 0.004
    assert document["masked"][0]["calls"] == document["unmasked"][0]["calls"] + 2  # keys and signatures
