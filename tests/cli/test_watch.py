"""The page of a run that goes on, served on this machine."""

import http.client
import json
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from flora.cli.main import main
from flora.cli.watch import WatchedFolder, served
from flora.core.codec import to_document
from flora.errors import InputError
from flora.outcome.live import FILE, FORMAT, Live, LiveParty, LiveStep
from flora.outcome.report.live import WAITING
from flora.program.request import Request


def live() -> Live:
    """A run that has written just now."""
    step = LiveStep("search", 4.0, ended=False, done=3, total=9)
    return Live.of(Request(), None, [LiveParty("north", 3, 9)], [step])


def asked(address: str, path: str, **headers: str) -> tuple[int, str]:
    url = urlsplit(address)
    line = http.client.HTTPConnection(str(url.hostname), url.port, timeout=60)
    line.request("GET", path, headers=headers)
    reply = line.getresponse()
    assert reply.getheader("Cache-Control") == "no-store"
    return reply.status, reply.read().decode()


def test_the_page_shows_a_run_as_it_goes_on(tmp_path: Path) -> None:
    with served(WatchedFolder(tmp_path), port=0) as address:
        assert address.startswith("http://127.0.0.1:")
        assert json.loads(asked(address, "/now")[1])["line"] == WAITING
        status, page = asked(address, "/")
        assert status == 200
        assert "connect-src &#x27;self&#x27;" in page
        (tmp_path / FILE).write_text(FORMAT.text(to_document(live())))
        for _ in range(600):
            if "3 of 9" in (now := json.loads(asked(address, "/now")[1]))["line"]:
                break
            time.sleep(0.05)
        assert "3 of 9" in now["line"]
        assert "north" in now["steps"]
        assert asked(address, "/live.json")[0] == 404


def test_a_page_of_somebody_else_that_has_this_address_under_another_name_is_refused(tmp_path: Path) -> None:
    with served(WatchedFolder(tmp_path), port=0) as address:
        port = urlsplit(address).port
        assert asked(address, "/now", Host=f"localhost:{port}")[0] == 200
        assert asked(address, "/now", Host=f"evil.example:{port}")[0] == 403
        assert asked(address, "/now", Host="")[0] == 403
    with served(WatchedFolder(tmp_path), host="0.0.0.0", port=0) as address:  # noqa: S104  (told otherwise)
        assert asked(address.replace("0.0.0.0", "127.0.0.1"), "/now", Host="a.example")[0] == 200  # noqa: S104


def test_it_is_served_on_loopback_alone(tmp_path: Path) -> None:
    with served(WatchedFolder(tmp_path), port=0) as address, socket.socket() as other:
        other.bind(("127.0.0.2", int(urlsplit(address).port or 0)))  # free: nobody listens on all addresses


def test_a_finished_run_is_its_report(party_files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "run"
    quick = ["--model", "svm", "--trials", "3", "--cv", "2", "--confirm", "1", "--trainings", "1", "--json"]
    assert main(["tune", *map(str, party_files), "--target", "kind", "--out", str(out), *quick]) == 0
    assert not (out / FILE).exists()
    with served(WatchedFolder(out), port=0) as address:
        assert json.loads(asked(address, "/now")[1])["finished"] is True
        assert asked(address, "/")[1] == (out / "report.html").read_text()


def test_what_cannot_be_served_is_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(WatchedFolder(tmp_path), port=0) as address:
        port = str(urlsplit(address).port)
        with (
            pytest.raises(InputError, match=f"127.0.0.1 port {port} cannot be served"),
            served(WatchedFolder(tmp_path), port=int(port)),
        ):
            pass
    assert main(["report", str(tmp_path), "--watch", "--port", "99999"]) == 2
    assert "127.0.0.1 port 99999 cannot be served" in capsys.readouterr().err
    assert main(["report", str(tmp_path), "--watch", "--out", "x.html"]) == 2
    assert "--out names the file of a finished run's report" in capsys.readouterr().err
