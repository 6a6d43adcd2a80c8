"""FLoRA in a network that NVFlare runs already: what a site, the server and a scientist add to their workspaces.

The processes stay NVFlare's own, and so do certificates, ports and permissions. A site's launcher brings FLoRA's guard
into its process; the server has none, and need not be trusted by a site that has.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.core.codec import to_document
from flora.core.documents import MIB, contents, object_in
from flora.core.files import write_whole
from flora.engines.nvflare.consortium import MARK, SCIENTIST, Consortium, Mark, Role
from flora.engines.nvflare.foreground import Foreground
from flora.engines.nvflare.kits.provision import CONTROLLER, ENGINE, EXECUTOR, WITHIN
from flora.errors import InputError

SITE, SERVER, ADMIN = "fed_client.json", "fed_server.json", "fed_admin.json"


@dataclass(frozen=True)
class Adopted:
    """A workspace of NVFlare's that FLoRA may be used in."""

    path: Path
    kind: str  # SITE, SERVER or ADMIN
    name: str

    @property
    def words(self) -> str:
        """What it is, in words."""
        return {SITE: f"the site {self.name}", SERVER: "the server", ADMIN: f"the user {self.name}"}[self.kind]


def adopt(workspace: Path, parties: tuple[str, ...] = ()) -> Adopted:
    """Let FLoRA be used in a workspace; ``parties`` are the sites that a user will ask, and are needed there alone."""
    path = workspace.resolve()
    kind = next((name for name in (SITE, SERVER, ADMIN) if (path / "startup" / name).is_file()), None)
    if kind is None:
        raise InputError(f"{path}: is no workspace of NVFlare's: its startup/ has none of {SITE}, {SERVER}, {ADMIN}")
    if (path / MARK).is_file() and not (path / "startup" / "start.sh").exists() and kind != ADMIN:
        raise InputError(f"{path}: is a kit of flora project, and needs no adoption")
    if parties and kind != ADMIN:
        raise InputError("--parties: says whom a user asks, and this workspace is not a user's")
    try:
        return {SITE: _site, SERVER: _server, ADMIN: _admin}[kind](path, parties)
    except InputError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path}: its startup/{kind} is none that NVFlare 2.9 writes ({type(error).__name__})"
        ) from error


def _site(path: Path, _: tuple[str, ...]) -> Adopted:
    found = _startup(path, SITE)
    name, server = str(found["client"]["fqsn"]), found["servers"][0]
    host, scheme = str(server["identity"]), str(server["service"]["scheme"])
    port = int(str(server["service"]["target"]).rpartition(":")[2])
    resources = _resources(path)
    for component in resources["components"]:
        if component["id"] == "process_launcher":
            component["path"] = f"{ENGINE}.guard.launcher.AdoptedLauncher"
    resources["components"] = [c for c in resources["components"] if c["id"] != "site_log_streamer"]
    resources["allow_log_streaming"] = False  # the text of an error may quote a row
    _prove_lines_within(path)
    _mark(path, "party", name, Consortium(str(server["name"]), host, (name,), port, scheme))
    _allow(path, resources, EXECUTOR)
    return Adopted(path, SITE, name)


def _server(path: Path, _: tuple[str, ...]) -> Adopted:
    name = str(_startup(path, SERVER)["servers"][0]["name"])
    Foreground(path / "state").open()
    _allow(path, _resources(path), CONTROLLER)
    return Adopted(path, SERVER, name)


def _admin(path: Path, parties: tuple[str, ...]) -> Adopted:
    if not parties:
        raise InputError("--parties A,B: which sites a run asks; a user's workspace does not say")
    found = _startup(path, ADMIN)["admin"]
    name, host, scheme = str(found["username"]), str(found["host"]), str(found["scheme"])
    _mark(path, SCIENTIST, name, Consortium(str(found["project_name"]), host, parties, int(found["port"]), scheme))
    return Adopted(path, ADMIN, name)


def _startup(path: Path, name: str) -> dict[str, Any]:
    file = path / "startup" / name
    return object_in(contents(file, MIB), str(file))


def _resources(path: Path) -> dict[str, Any]:
    """Return a site's settings: its own, or NVFlare's defaults."""
    own, usual = (path / "local" / name for name in ("resources.json", "resources.json.default"))
    file = own if own.exists() else usual
    return object_in(contents(file, MIB), str(file))


def _prove_lines_within(path: Path) -> None:
    """Let a site's processes show each other their certificate: the guard hears nobody on this machine without."""
    file = path / "local" / "comm_config.json"
    found = object_in(contents(file, MIB), str(file)) if file.exists() else {}
    within = found.setdefault("internal", WITHIN["internal"])
    if within["resources"].get("connection_security") != "mtls":
        raise InputError(f"{file}: internal.resources.connection_security must be 'mtls'; FLoRA's guard asks for it")
    _write(file, found)


def _allow(path: Path, resources: dict[str, Any], kind: str) -> None:
    """Add the one class to what jobs may name; where there is no list, all classes are allowed already."""
    if "class_allow_list" in resources:
        resources["class_allow_list"] = list(dict.fromkeys([*resources["class_allow_list"], kind]))
    _write(path / "local" / "resources.json", resources)


def _mark(path: Path, role: Role, name: str, consortium: Consortium) -> None:
    (path / "state").mkdir(mode=0o700, exist_ok=True)
    Foreground(path / "state").open()
    _write(path / MARK, to_document(Mark(role, name, consortium)))


def _write(path: Path, document: Any) -> None:
    write_whole(path, (json.dumps(document, indent=1) + "\n").encode())
