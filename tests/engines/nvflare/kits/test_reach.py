import shutil
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from flora.engines.nvflare.consortium import Consortium, Kit, Role
from flora.engines.nvflare.kits.certificates import check_key
from flora.engines.nvflare.kits.provision import make_kits
from flora.engines.nvflare.kits.reach import AGAIN, Reach, busy_port, obstacle
from flora.engines.nvflare.run.service import running
from flora.errors import InputError


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        found.listen()
        yield found


def port_of(found: socket.socket) -> int:
    port: int = found.getsockname()[1]
    return port


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("kits") / "kits"
    make_kits(Consortium("hearts", "localhost", ("north",)), out)
    return out


def kit(path: Path, aggregator: str, port: int, role: Role = "party") -> Kit:
    return Kit(path, role, "north", Consortium("hearts", aggregator, ("north",), port))


def test_a_name_that_nobody_knows(made: Path) -> None:
    assert "cannot resolve agg.invalid" in obstacle(kit(made / "north", "agg.invalid", 8002))


def test_a_port_where_nobody_listens(made: Path, listener: socket.socket) -> None:
    port = port_of(listener)
    listener.close()
    assert f"nobody listens at localhost port {port}" in obstacle(kit(made / "north", "localhost", port))


def test_somebody_else_listens(made: Path, listener: socket.socket) -> None:
    """It accepts and says nothing that TLS would say."""
    found = kit(made / "north", "localhost", port_of(listener))
    import threading

    def answer() -> None:
        line, _ = listener.accept()
        line.sendall(b"hello, this is not TLS\n")
        line.close()

    threading.Thread(target=answer, daemon=True).start()
    assert "refuses this kit's certificate" in obstacle(found) or "no way to" in obstacle(found)


@pytest.mark.parametrize("knows", [True, False])
def test_an_aggregator_that_does_not_know_the_certificate(made: Path, tmp_path: Path, knows: bool) -> None:
    """gRPC hangs up without a word of TLS."""
    grpc: Any = pytest.importorskip("grpc")
    startup, roots = made / "aggregator" / "startup", made
    if not knows:
        roots = tmp_path / "strangers"
        make_kits(Consortium("others", "localhost", ("north",)), roots)
    parts = [(startup / name).read_bytes() for name in ("server.key", "server.crt")]
    root = (roots / "north" / "startup" / "rootCA.pem").read_bytes()
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_secure_port("localhost:0", grpc.ssl_server_credentials([tuple(parts)], root, True))
    server.start()
    try:
        found = obstacle(kit(made / "north", "localhost", port))
    finally:
        server.stop(None).wait()
    assert found == ("" if knows else f"localhost port {port} refuses this kit's certificate (it hangs up)")


def test_a_port_that_is_taken(made: Path, listener: socket.socket) -> None:
    port = port_of(listener)
    assert f"port {port} cannot be used" in busy_port(kit(made / "aggregator", "localhost", port, "aggregator"))
    listener.close()
    assert busy_port(kit(made / "aggregator", "localhost", port, "aggregator")) == ""


def test_a_port_that_is_shared_counts_as_taken(made: Path) -> None:
    """gRPC's way to let two programs listen on one port must not fool us."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert busy_port(kit(made / "aggregator", "localhost", port_of(other), "aggregator")) != ""


def test_it_says_a_thing_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "grpc_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    said: list[str] = []
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    reach = Reach(lambda: "a wall", said.append)

    def steps(seconds: float) -> None:
        for _ in range(int(seconds)):
            now[0] += 1.0
            reach.step(connected=False)
            while reach._looking:
                time.sleep(0.001)

    steps(20)
    assert said == ["not connected: a wall; trying on"]
    steps(AGAIN)
    assert len(said) == 2
    reach.step(connected=True)
    steps(20)
    assert len(said) == 3


@pytest.mark.parametrize(("mode", "said"), [(0o644, "mode 0644"), (0o777, "chmod 600"), (0o640, "others can read")])
def test_a_key_for_everybody_is_refused(made: Path, tmp_path: Path, mode: int, said: str) -> None:
    shutil.copytree(made / "north", tmp_path / "north")
    (tmp_path / "north" / "startup" / "client.key").chmod(mode)
    with pytest.raises(InputError, match=said):
        check_key(Kit.open(tmp_path / "north", "party"))


def test_a_kit_without_its_key_says_so(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "north", tmp_path / "north")
    (tmp_path / "north" / "startup" / "client.key").unlink()
    with (
        pytest.raises(InputError, match=r"client\.key: a kit needs its private key"),
        running(Kit.open(tmp_path / "north", "party"), print),
    ):
        pass


def test_a_state_that_cannot_be_written_is_one_sentence(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made / "north", tmp_path / "north")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("flora.engines.nvflare.run.service.write_whole", full)
    with (
        pytest.raises(InputError, match=r"state: cannot be written \(No space left on device\)"),
        running(Kit.open(tmp_path / "north", "party"), print),
    ):
        pass
    monkeypatch.undo()
    (tmp_path / "north" / "state").rmdir()
    (tmp_path / "north" / "state").write_text("a file")
    with pytest.raises(InputError, match="cannot be written"), running(Kit.open(tmp_path / "north", "party"), print):
        pass
