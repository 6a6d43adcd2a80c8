import json
from pathlib import Path
from typing import Any

import pytest

from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.kits.adoption import adopt
from flora.engines.nvflare.kits.provision import CONTROLLER, EXECUTOR
from flora.errors import InputError

CLIENT = {
    "servers": [{"name": "stock", "service": {"target": "hub.org:8002", "scheme": "grpc"}, "identity": "hub.org"}],
    "client": {"fqsn": "site-1"},
}
ADMIN = {"admin": {"project_name": "p", "username": "lead@x.org", "host": "hub.org", "port": 8002, "scheme": "grpc"}}
RESOURCES = {
    "class_allow_list": ["a.B"],
    "allow_log_streaming": True,
    "other": {"kept": 1},
    "components": [{"id": "process_launcher", "path": "x.Y"}, {"id": "site_log_streamer"}, {"id": "mine"}],
}


def workspace(folder: Path, name: str, document: Any, resources: str = "resources.json.default") -> Path:
    for part in ("startup", "local"):
        (folder / part).mkdir(parents=True)
    (folder / "startup" / name).write_text(json.dumps(document))
    (folder / "startup" / "start.sh").write_text("")
    (folder / "local" / resources).write_text(json.dumps(RESOURCES))
    return folder


def resources_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "local" / "resources.json").read_text())
    return found


@pytest.mark.parametrize("resources", ["resources.json.default", "resources.json"])
def test_a_site_keeps_its_settings_and_lets_one_class_and_no_log_through(tmp_path: Path, resources: str) -> None:
    site = workspace(tmp_path / "site", "fed_client.json", CLIENT, resources)
    for _ in range(2):  # twice is as good as once
        assert adopt(site).words == "the site site-1"
        found = resources_of(site)
        assert found["class_allow_list"] == ["a.B", EXECUTOR]
        assert found["allow_log_streaming"] is False
        assert found["other"] == {"kept": 1}
        assert [component["id"] for component in found["components"]] == ["process_launcher", "mine"]
        assert found["components"][0]["path"].endswith("AdoptedLauncher")
    kit = Kit.open(site, "party")
    assert (kit.name, kit.consortium.aggregator, kit.consortium.port) == ("site-1", "hub.org", 8002)


def test_a_network_over_http_as_nvflare_makes_it_unasked_is_adopted(tmp_path: Path) -> None:
    server = {"name": "stock", "service": {"target": "hub.org:8002", "scheme": "http"}, "identity": "hub.org"}
    adopt(workspace(tmp_path / "site", "fed_client.json", {**CLIENT, "servers": [server]}))
    user = {"admin": {**ADMIN["admin"], "scheme": "http"}}
    adopt(workspace(tmp_path / "user", "fed_admin.json", user), ("site-1",))
    for folder, role in (("site", "party"), ("user", "scientist")):
        assert Kit.open(tmp_path / folder, role).consortium.scheme == "http"


def test_a_sites_processes_show_each_other_their_certificate(tmp_path: Path) -> None:
    site = workspace(tmp_path / "site", "fed_client.json", CLIENT)
    adopt(site)
    file = site / "local" / "comm_config.json"
    assert json.loads(file.read_text())["internal"]["resources"]["connection_security"] == "mtls"
    own = {"mine": 1, "internal": {"scheme": "tcp", "resources": {"host": "localhost", "connection_security": "clear"}}}
    file.write_text(json.dumps(own))
    with pytest.raises(InputError, match=r"comm_config.json: internal.resources.connection_security must be 'mtls'"):
        adopt(site)
    assert json.loads(file.read_text()) == own


def test_the_server_and_a_user_are_adopted_too(tmp_path: Path) -> None:
    server = workspace(tmp_path / "server", "fed_server.json", {"servers": [{"name": "stock"}]})
    adopt(server)
    assert resources_of(server)["class_allow_list"] == ["a.B", CONTROLLER]
    user = workspace(tmp_path / "user", "fed_admin.json", ADMIN)
    with pytest.raises(InputError, match="--parties A,B"):
        adopt(user)
    adopt(user, ("site-1", "site-2"))
    kit = Kit.open(user, "scientist")
    assert (kit.name, kit.consortium.parties) == ("lead@x.org", ("site-1", "site-2"))


@pytest.mark.parametrize(
    ("name", "document", "parties", "words"),
    [
        ("other.json", {}, (), "is no workspace of NVFlare's"),
        ("fed_client.json", {}, (), "none that NVFlare 2.9 writes"),
        ("fed_client.json", {"client": 3, "servers": []}, (), "none that NVFlare 2.9 writes"),
        ("fed_client.json", [], (), "must be a JSON object"),
        ("fed_client.json", CLIENT, ("a",), "this workspace is not a user's"),
        ("fed_admin.json", ADMIN, ("../x",), "parties must be a list of which each is of letters"),
    ],
)
def test_what_is_no_workspace_is_refused(
    tmp_path: Path, name: str, document: Any, parties: tuple[str, ...], words: str
) -> None:
    folder = workspace(tmp_path / "w", name, document)
    with pytest.raises(InputError, match=words):
        adopt(folder, parties)
    assert not (folder / "flora-kit.json").exists()
