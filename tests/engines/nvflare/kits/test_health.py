import os
import shlex
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest

from flora.engines.nvflare.consortium import AGGREGATOR, Consortium, Kit
from flora.engines.nvflare.kits import health
from flora.engines.nvflare.kits.health import BAD, GOOD, WARNING, Check, checks, is_bad, lines
from flora.engines.nvflare.kits.provision import make_kits
from flora.engines.nvflare.run.service import running
from flora.errors import DataError, InputError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    out = tmp_path_factory.mktemp("kits") / "kits"
    make_kits(Consortium("hearts", "localhost", ("north",), port), out)
    return out


@pytest.fixture
def north(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "north", tmp_path / "north")
    return tmp_path / "north"


def found(path: Path, role: str = "party", **more: object) -> dict[str, Check]:
    return {check.name: check for check in checks(Kit.open(path, role), **more)}  # type: ignore[arg-type]


def test_a_good_aggregator(made: Path) -> None:
    all_of_it = found(made / "aggregator", AGGREGATOR)
    assert {check.state for check in all_of_it.values()} == {GOOD}
    assert set(all_of_it) == {"versions", "permissions", "certificate", "clock", "disk", "state", "port"}
    assert not is_bad(list(all_of_it.values()))
    assert len(list(lines(list(all_of_it.values())))) == 7


def test_a_party_without_an_aggregator(north: Path) -> None:
    all_of_it = found(north, table=lambda: "60 rows of 3 columns, target 'kind'")
    bad = [check for check in all_of_it.values() if check.state != GOOD]
    assert [check.name for check in bad] == ["aggregator"]
    assert "nobody listens at localhost" in bad[0].sentence
    assert is_bad(list(all_of_it.values()))
    assert all_of_it["table"].sentence.startswith("60 rows")


@pytest.mark.parametrize("name", ["my kits", "o'brien", 'a"b', "c#", "back\\slash"])
def test_a_place_where_nvflare_cannot_start_a_run(north: Path, name: str) -> None:
    """It puts a command together without quotes, and takes it apart again."""
    (north.parent / name).mkdir()
    kit = Kit.open(north.rename(north.parent / name / "north"), "party")
    with suppress(ValueError):
        assert shlex.split(f"-m {kit.path}", comments=True) != ["-m", str(kit.path)]
    assert found(kit.path)["state"].state == BAD
    with pytest.raises(InputError, match="NVFlare cannot work in a folder with"), running(kit, print):
        pytest.fail("it runs")


def test_each_fault_is_named(north: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def table() -> str:
        raise DataError("no column 'kind'")

    key = north / "startup" / "client.key"
    key.chmod(0o644)
    later = time.time() + 7200
    os.utime(north / "startup" / "rootCA.pem", (later, later))
    (north / "state").write_text("a file")
    monkeypatch.setattr(health, "LEAST_DISK", 2**60)
    all_of_it = found(north, table=table)
    for name, state, words in (
        ("permissions", BAD, "chmod 600"),
        ("clock", BAD, "before the kit was made"),
        ("state", BAD, "cannot be written"),
        ("disk", WARNING, "are free"),
        ("table", BAD, "no column 'kind'"),
    ):
        assert all_of_it[name].state == state, name
        assert words in all_of_it[name].sentence


def test_a_kit_that_others_may_look_into(north: Path) -> None:
    north.chmod(0o755)
    assert found(north)["permissions"].state == WARNING


def test_a_taken_port(made: Path) -> None:
    port = Kit.open(made / "aggregator", AGGREGATOR).consortium.port
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert found(made / "aggregator", AGGREGATOR)["port"].state == BAD
        assert found(made / "aggregator", AGGREGATOR, is_running=True)["port"].state == GOOD
