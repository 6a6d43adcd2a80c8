"""An aggregator that writes to, or deletes from, the machine of who fetches a result from it."""

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nvflare.fuel.hci.client.api_status import APIStatus
from nvflare.fuel.hci.client.file_transfer import FileTransferModule
from nvflare.fuel.hci.proto import ProtoKey

from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.guard.downloads import keep_downloads_within
from flora.engines.nvflare.run.session import Session
from flora.errors import FloraError

RUN, KEY = "5bad8af9-c4b2-4c94-99cd-b8ccacca2c0c", "36f79e7f-ac83-486a-b0c0-cf74c9f90a97"


class Client:
    """NVFlare's client at an aggregator that answers as it likes, with NVFlare's own module for files."""

    def __init__(self, folder: Path, files: list[str], transaction: str = KEY, meta: Any = None) -> None:
        self.download_dir = folder / "kit" / "transfer"
        self.download_dir.mkdir(parents=True)
        self.module = FileTransferModule(str(self.download_dir), str(self.download_dir))
        found = {"files": [[name, "ref"] for name in files], "tx_id": transaction, "source_fqcn": "server"}
        self.meta = meta or found

    def download_job_result(self, run: str) -> Any:
        context = SimpleNamespace(get_command_entry=lambda: SimpleNamespace(full_command_name=lambda: "x", usage=""))
        context.get_api = lambda: self
        return self.module.pull_folder(["pull_folder", run], context)[ProtoKey.META]["location"]

    def server_execute(self, command: str, cmd_ctx: Any = None) -> Any:
        if cmd_ctx is None:
            return {ProtoKey.STATUS: APIStatus.SUCCESS, ProtoKey.META: self.meta}
        path = Path(cmd_ctx.receiver.file_name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        cmd_ctx.receiver.num_bytes_received = 2
        return {ProtoKey.STATUS: APIStatus.SUCCESS}

    def do_command(self, command: str) -> Any:
        context: Any = SimpleNamespace(
            get_command_entry=lambda: None, get_api=lambda: self, get_command=lambda: command
        )
        context.set_requester = lambda receiver: setattr(context, "receiver", receiver)
        return self.module.pull_binary_file(command.replace("'", "").split(" "), context)

    def fire_session_event(self, *_: Any) -> None: ...

    def debug(self, *_: Any) -> None: ...


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileTransferModule, "pull_binary_file", FileTransferModule.pull_binary_file)
    keep_downloads_within()
    keep_downloads_within()


def fetch(client: Client, run: str = RUN) -> list[str]:
    kit = Kit(client.download_dir.parent, "scientist", "s", Consortium("c", "localhost", ("north",)))
    with Session(kit, client).result(run) as folder:
        return [] if folder is None else sorted(file.name for file in folder.iterdir())


def test_a_result_is_fetched_and_leaves_nothing(guarded: None, tmp_path: Path) -> None:
    client = Client(tmp_path, ["workspace/flora-run/outcome.json", "workspace/flora-run/a.json"])
    assert fetch(client) == ["a.json", "outcome.json"]
    assert list(client.download_dir.iterdir()) == []


@pytest.mark.parametrize("place", ["../../../stolen", "/{}/stolen", "workspace/../../../../stolen"])
def test_no_file_is_written_where_the_aggregator_wants_it(guarded: None, tmp_path: Path, place: str) -> None:
    client = Client(tmp_path, ["workspace/flora-run/outcome.json", place.format(tmp_path)])
    with pytest.raises(FloraError, match="a place of its own choice"):
        fetch(client)
    assert not list(tmp_path.rglob("stolen"))


@pytest.mark.parametrize("transaction", ["../../stolen", "/stolen", "x/../../../stolen", ""])
def test_no_folder_is_made_where_the_aggregator_wants_it(guarded: None, tmp_path: Path, transaction: str) -> None:
    with pytest.raises(FloraError, match="a place of its own choice"):
        fetch(Client(tmp_path, ["a.json"], transaction))
    assert not list(tmp_path.rglob("*stolen*"))


def test_no_folder_is_read_or_deleted_that_the_aggregator_names(guarded: None, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "flora-run").mkdir(parents=True)
    (own / "flora-run" / "outcome.json").write_text("{}")
    with pytest.raises(FloraError, match="says that a run's result lies at"):
        fetch(Client(tmp_path, [], meta={"location": str(own)}))
    with pytest.raises(FloraError, match="which is no run's name"):
        fetch(Client(tmp_path / "more", ["a.json"]), "../../own")
    assert (own / "flora-run" / "outcome.json").exists()


def test_the_seam_is_where_it_was() -> None:
    assert list(inspect.signature(FileTransferModule.pull_binary_file).parameters) == ["self", "args", "ctx"]
    source = inspect.getsource(inspect.unwrap(FileTransferModule.pull_binary_file))
    for line in ("tx_id = args[2]", "folder_name = args[4]", "file_name = args[5]"):
        assert line in source
    assert "parts = [cmd_name, source_fqcn, tx_id, ref_id, folder_name, file_name]" in inspect.getsource(
        FileTransferModule.pull_folder
    )
