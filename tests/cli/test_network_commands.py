"""What the commands across machines say before any process is started."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from flora.cli.main import main
from flora.party.audit import AuditLog
from tests.conftest import two_moons

CONSORTIUM = "name: hearts\naggregator: localhost\nport: 8123\nparties: [north, south]\n"


@pytest.fixture(scope="module")
def kits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kits that ``flora project`` makes."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "consortium.yml").write_text(CONSORTIUM)
    assert main(["project", str(folder / "consortium.yml"), "--out", str(folder / "kits")]) == 0
    return folder / "kits"


def refused(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that a wrong command gets."""
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_project_says_who_gets_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "consortium.yml").write_text(CONSORTIUM)
    assert main(["project", str(tmp_path / "consortium.yml"), "--out", str(tmp_path / "kits")]) == 0
    out = capsys.readouterr().out
    for word in ("the aggregator", "party 'north'", "party 'south'", "root key"):
        assert word in out


def test_project_refuses_a_bad_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "consortium.yml").write_text(CONSORTIUM.replace("8123", "many"))
    error = refused(["project", str(tmp_path / "consortium.yml")], capsys)
    assert "consortium.yml: port must be a whole number, got 'many'" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["x.csv"], "DATA: with --project the parties bring their own tables, got ('x.csv',)"),
        (["--target", "y"], "--target: with --project the parties bring their own tables, got 'y'"),
        (["--drop", "y"], "--drop: with --project"),
        (["--sep", ";"], "--sep: with --project the parties bring their own tables, got ';'"),
        (["--missing", "??"], "--missing: with --project"),
        (["--dates", "parts"], "--dates: with --project"),
        (["--auto"], "--auto: with --project"),
        (["--test", "0.2"], "--test: the rows of other machines stay there"),
        (["--split", "dirichlet:1"], "--split: with --project the parties bring their own tables, got dirichlet:1"),
        (["--parties", "2"], "--parties: with --project the kit names the parties, got 2"),
        (["--quorum", "3"], "--quorum: from 1 to the number of parties, got 3"),
        (["--surface", "flat"], "surface"),
    ],
)
def test_tune_refuses_what_is_the_parties_own(
    kits: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(["tune", *options, "--project", str(kits / "aggregator")], capsys)


def test_tune_needs_tables_or_a_kit(capsys: pytest.CaptureFixture[str]) -> None:
    assert "a run needs DATA and --target COL, or --project KIT" in refused(["tune"], capsys)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--quorum", "2"], "--quorum: for parties on other machines, with --project; got 2 without it"),
        (["--deadline", "9.5"], "--deadline: for parties on other machines, with --project; got 9.5 without it"),
        (["--unmasked"], "--unmasked: for parties on other machines, with --project"),
        (["--split", "dirichlet:1"], "--split dirichlet:1: needs --parties N, and one table to split"),
    ],
)
def test_tune_refuses_what_is_for_other_runs(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(["tune", "a.csv", "b.csv", "--target", "y", *options], capsys)


def test_each_command_wants_its_own_kit(kits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is the kit of party 'north'" in refused(["aggregator", str(kits / "north")], capsys)
    assert "is the kit of party 'north'" in refused(["status", str(kits / "north")], capsys)
    assert "is the kit of party 'north'" in refused(["tune", "--project", str(kits / "north")], capsys)
    assert "is the kit of the aggregator" in refused(["party", str(kits / "aggregator")], capsys)
    assert "is not a kit of flora project" in refused(["aggregator", str(tmp_path)], capsys)


def test_a_party_checks_its_table_before_it_dials(
    kits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kit, table = str(kits / "north"), tmp_path / "north.csv"
    two_moons(60, 1).to_csv(table, index=False)
    assert "a party needs --data FILE and --target COL" in refused(["party", kit], capsys)
    assert "no such file" in refused(["party", kit, "--data", "none.csv", "--target", "kind"], capsys)
    assert "target 'sort' is not in" in refused(["party", kit, "--data", str(table), "--target", "sort"], capsys)
    assert "jobs must be" in refused(["party", kit, "--data", str(table), "--target", "kind", "--jobs", "0"], capsys)


def test_a_party_refuses_a_bad_consent_file(kits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = kits / "south" / "local" / "flora.json"
    path.write_text('{"families": "all"}')
    assert "families must be a list" in refused(["party", str(kits / "south")], capsys)
    path.write_text(json.dumps({"data": {"path": "none.csv", "target": "y"}}))
    assert "none.csv: no such file" in refused(["party", str(kits / "south")], capsys)


def test_status_of_an_aggregator_that_is_not_there(kits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", str(kits / "aggregator")]) == 1
    assert "the aggregator at localhost port 8123 does not answer" in capsys.readouterr().err


def test_audit_shows_what_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    AuditLog(tmp_path / "audit.jsonl").record("search: reply", "localhost", b"{}")
    assert main(["audit", str(tmp_path / "audit.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"][0]["what"] == "search: reply"


@pytest.mark.parametrize("command", [["aggregator", "kit"], ["demo", "--network"], ["tune", "--project", "kit"]])
def test_without_nvflare_the_message_says_what_to_install(command: list[str]) -> None:
    program = "import sys; sys.modules['nvflare'] = None; from flora.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "flora: this engine needs NVFlare: pip install 'flora-hpo[nvflare]'\n"
