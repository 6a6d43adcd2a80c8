"""The benchmark, small: it ends, counts, and trains the model of the run in process."""

import json
from pathlib import Path

import pytest

from tests.network.conftest import Command

pytestmark = pytest.mark.network


@pytest.mark.parametrize("scheme", ["grpc", "tcp"])
def test_the_benchmark_counts_calls_and_bytes_and_splits_the_time(tmp_path: Path, scheme: str) -> None:
    arguments = ["benchmark", "network", "--rows", "400", "--parties", "2", "--scheme", scheme, "--json"]
    command = Command(arguments, tmp_path / "log").start()
    try:
        assert command.wait() == 0, command.text
    finally:
        command.end()
    document = json.loads(command.text.splitlines()[-1])
    assert document["same_model"] is True
    assert list(document["latency"]) == ["8", "10000", "200000", "2000000", "20000000"]
    for party in document["parties"]:
        assert party["calls"] > 100
        assert party["sent"] > 8 * party["calls"]
        assert party["computing"] + party["waiting"] == pytest.approx(party["seconds"])
