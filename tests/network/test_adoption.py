"""A consortium that runs NVFlare: provisioned and started with NVFlare alone, adopted, and a whole tune in it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from flora.engines.nvflare.run.service import end_tree
from tests.conftest import two_moons
from tests.network.conftest import Command, answer_of, bytes_of, port_of_its_own
from tests.network.test_intruders import Intruder

pytestmark = pytest.mark.network

SITES = {"site-1": 90, "site-2": 70}
OPTIONS = ["--model", "svm", "--trials", "4", "--cv", "3", "--seed", "2"]
PROJECT = """
api_version: 3
name: stock
description: a consortium that runs NVFlare
participants:
  - {{name: localhost, type: server, org: hub, fed_learn_port: {port}}}
  - {{name: site-1, type: client, org: one}}
  - {{name: site-2, type: client, org: two}}
  - {{name: stranger, type: client, org: three}}
  - {{name: lead@example.org, type: admin, org: hub, role: lead}}
builders:
  - {{path: nvflare.lighter.impl.workspace.WorkspaceBuilder, args: {{template_file: [master_template.yml]}}}}
  - {{path: nvflare.lighter.impl.static_file.StaticFileBuilder, args: {{config_folder: config{scheme}}}}}
  - {{path: nvflare.lighter.impl.cert.CertBuilder}}
  - {{path: nvflare.lighter.impl.signature.SignatureBuilder}}
"""
Started = list["subprocess.Popen[bytes]"]


@pytest.fixture
def started() -> Iterator[Started]:
    processes: Started = []
    yield processes
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            end_tree(process.pid)
        process.wait()


@pytest.fixture(params=[", scheme: grpc", ""], ids=["grpc", "as NVFlare has it"])
def stock(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of the workspaces that NVFlare's own command has made."""
    (tmp_path / "project.yml").write_text(PROJECT.format(port=port_of_its_own(), scheme=request.param))
    command = [str(Path(sys.executable).parent / "nvflare"), "provision", "-p", "project.yml", "-w", "made"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    for file in (tmp_path / "made").rglob("localhost/local/resources.json.default"):  # its jobs are this test's alone
        file.write_text(file.read_text().replace("/tmp/nvflare", str(tmp_path / "nvflare")))  # noqa: S108
    return tmp_path / "made" / "stock" / "prod_00"


def flora(tmp_path: Path, *arguments: object) -> Command:
    return Command([str(argument) for argument in arguments], tmp_path / "flora.log").start()


def nvflare(workspace: Path, processes: Started) -> None:
    """Start a workspace as its start.sh does."""
    line = next(line for line in (workspace / "startup" / "sub_start.sh").read_text().splitlines() if "-u -m" in line)
    words = line.replace("exec python3", sys.executable).replace('"$WORKSPACE"', str(workspace)).split()
    with (workspace / "log").open("wb") as log:
        process = subprocess.Popen(
            words, cwd=workspace, stdout=log, stderr=log, env={**os.environ}, start_new_session=True
        )
    processes.append(process)


def test_a_whole_tune_in_a_network_of_nvflares(tmp_path: Path, stock: Path, started: Started) -> None:
    tables = {}
    for place, (site, rows) in enumerate(SITES.items()):
        tables[site] = tmp_path / f"{site}.csv"
        two_moons(rows, rows, shift=0.2 * place).to_csv(tables[site], index=False)
        adopted = flora(tmp_path, "adopt", stock / site, "--data", tables[site], "--target", "kind")
        assert adopted.wait() == 0, adopted.text
    lead = stock / "lead@example.org"
    for more in ([stock / "localhost"], [lead, "--parties", ",".join(SITES)]):
        assert flora(tmp_path, "adopt", *more).wait() == 0
    for workspace in ("localhost", *SITES):
        nvflare(stock / workspace, started)
    run = flora(tmp_path, "tune", "--project", lead, *OPTIONS, "--out", tmp_path / "out")
    assert run.wait() == 0, run.text
    alone = flora(tmp_path, "tune", *tables.values(), "--target", "kind", *OPTIONS, "--out", tmp_path / "alone")
    assert alone.wait() == 0, alone.text
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "alone")
    assert answer_of(tmp_path / "out") == answer_of(tmp_path / "alone")
    for site in SITES:
        resources = json.loads((stock / site / "local" / "resources.json").read_text())
        assert resources["allow_log_streaming"] is False
        assert (stock / site / "state" / "audit.jsonl").read_text().count("\n") >= 4
        assert "refused" not in (stock / site / "state" / "audit.jsonl").read_text()  # the guard lets a run be
    _sites_give_nothing_to_a_peer(stock, tmp_path, tables["site-1"])


def _sites_give_nothing_to_a_peer(stock: Path, tmp_path: Path, table: Path) -> None:
    """A site that has not adopted FLoRA writes to one that has, through a server that passes everything on."""
    before = sorted(path.name for path in (stock / "site-1" / "state").iterdir())
    peer = Intruder("peer", stock / "stranger", tmp_path / "intruder").start()
    try:
        answers = peer.attack("site-1", table=table, claims=("server", "site-1"))
    finally:
        peer.end()
    assert answers == []
    assert sorted(path.name for path in (stock / "site-1" / "state").iterdir()) == before
    assert "a site hears its server and its own runs alone" in (stock / "site-1" / "state" / "audit.jsonl").read_text()
