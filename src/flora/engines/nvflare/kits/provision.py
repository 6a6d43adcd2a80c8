"""Kits: what each party's and the aggregator's administrator gets, with a certificate of its own."""

import json
import shutil
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from flora.core.codec import read, to_document
from flora.core.documents import MIB, contents, object_in
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import AGGREGATOR, AUTHORITY, MARK, SCIENTIST, USER, Consortium, Kit, Mark, Role
from flora.engines.nvflare.kits.texts import AGGREGATOR_README, PARTY_README
from flora.errors import FloraError, InputError

ENGINE = "flora.engines.nvflare"
CONTROLLER, EXECUTOR = (
    f"{ENGINE}.run.controller.FloraController",
    f"{ENGINE}.run.executor.FloraExecutor",
)  # what a run names
# What a role may do at a site: nothing but submit and follow a run. Code in a job, shell and restarts are off.
ALLOWED = {"submit_job": "any", "view": "any"} | dict.fromkeys(
    ("manage_job", "download_job", "app_command"), "n:submitter"
)
# Within a machine, between NVFlare's own processes, messages would go in the clear; nobody else may listen or speak.
WITHIN = {
    "allow_adhoc_conns": False,
    "internal": {"scheme": "stcp", "resources": {"host": "localhost", "connection_security": "mtls", "secure": True}},
    # NVFlare keeps each message that came, with a thread, as long as its sender may repeat it: a minute, if not told.
    "streaming_retry_timeout": 15.0,
}
REFUSED = ("clone_job", "operate", "shell_commands", "byoc", "server-predeployed-flwr")


def make_kits(consortium: Consortium, out: Path, *, own_keys: bool = False) -> list[Kit]:
    """Write a folder for the aggregator and one for each party; the authority's keys stay in ``authority``.

    With ``own_keys`` the new parties' kits have neither key nor certificate: each party makes its own.
    Where ``out`` holds the same consortium, only the kits of new parties are made: the others' stay as they are.
    """
    require_nvflare()
    from flora.engines.nvflare.kits.authority import keep_root_alone

    _refuse_another(out, consortium)
    out.mkdir(parents=True, exist_ok=True)
    authority = out / AUTHORITY
    authority.mkdir(mode=0o700, exist_ok=True)
    new = tuple(party for party in consortium.parties if not (out / party).exists())
    made = _provision(consortium, authority, new)
    try:
        kits = [_aggregator_kit(consortium, made, out / AGGREGATOR)]
        kits += [_party_kit(consortium, made / party, out / party, party) for party in consortium.parties]
        for party in new if own_keys else ():
            for file in ("client.key", "client.crt"):
                (out / party / "startup" / file).unlink()
        _write_json(authority / "consortium.json", to_document(consortium))
    finally:
        shutil.rmtree(made)
        keep_root_alone(authority)
    return kits


def _refuse_another(out: Path, consortium: Consortium) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        file = out / AUTHORITY / "consortium.json"
        stored = read(Consortium, object_in(contents(file, MIB), file.name))
    except (OSError, InputError):
        raise InputError(f"{out}: is not empty and no folder of this consortium; name another with --out") from None
    for key, value in vars(consortium).items():
        if key != "parties" and vars(stored)[key] != value:
            raise InputError(f"{out}: holds another consortium: its {key} is {vars(stored)[key]!r}, now {value!r}")


def _provision(consortium: Consortium, authority: Path, new: Sequence[str]) -> Path:
    """Let NVFlare make keys and certificates for new parties; return the folder of its startup kits."""
    from nvflare.lighter.constants import CtxKey, WorkDir
    from nvflare.lighter.provision import prepare_builders, prepare_packager, prepare_project
    from nvflare.lighter.provisioner import Provisioner

    document = _project(consortium, authority, new)
    log = _Log()
    with redirect_stderr(log):  # on a failure NVFlare prints a traceback
        context = Provisioner(str(authority), prepare_builders(document), prepare_packager(document)).provision(
            prepare_project(document), logger=log
        )
    if context.get(CtxKey.BUILD_ERROR):
        raise FloraError(f"{consortium.name}: NVFlare could not make the kits: {log.getvalue()[-500:]}")
    return Path(context[WorkDir.CURRENT_PROD_DIR])


def _project(consortium: Consortium, authority: Path, new: Sequence[str]) -> dict[str, Any]:
    """Return what NVFlare is to make. It always makes a server's kit; that of a later party's turn is thrown away."""
    from flora.engines.nvflare.kits.authority import root_days

    impl = "nvflare.lighter.impl"
    return {
        "api_version": 3,
        "name": consortium.name,
        "description": "",
        "participants": [
            {"name": consortium.aggregator, "type": "server", "org": "aggregator", "fed_learn_port": consortium.port},
            *({"name": party, "type": "client", "org": organisation(party)} for party in new),
            {"name": USER, "type": "admin", "org": "aggregator", "role": "lead"},
        ],
        "builders": [
            {"path": f"{impl}.workspace.WorkspaceBuilder", "args": {"template_file": ["master_template.yml"]}},
            {
                "path": f"{impl}.static_file.StaticFileBuilder",
                "args": {"config_folder": "config", "scheme": consortium.scheme},
            },
            {"path": f"{ENGINE}.kits.authority.YearsCertBuilder", "args": {"root_valid_days": root_days(authority)}},
            {"path": f"{impl}.signature.SignatureBuilder"},
        ],
    }


class _Log(StringIO):
    """What NVFlare says while it makes kits: shown only if it fails."""

    def error(self, text: str) -> None:
        """Keep an error."""
        self.write(f"{text}\n")

    debug = info = warning = error


def organisation(party: str) -> str:
    """Return NVFlare's name for whom a party belongs to: itself."""
    return party.replace("-", "_")


def _aggregator_kit(consortium: Consortium, made: Path, folder: Path) -> Kit:
    if not folder.exists():
        _take_over(made / consortium.aggregator, folder)
        _write_json(folder / "local" / "resources.json", _aggregator_resources(folder))
        _take_over(made / USER, folder / SCIENTIST)
        _write_json(folder / "local" / "authorization.json", _authorization())
        _write_json(folder / "local" / "comm_config.json", WITHIN)
        (folder / "README.md").write_text(AGGREGATOR_README.format(**_words(consortium, "")), "utf-8")
    _mark(folder / SCIENTIST, SCIENTIST, USER, consortium)  # a new party changes who is expected
    return _mark(folder, AGGREGATOR, consortium.aggregator, consortium)


def _party_kit(consortium: Consortium, made: Path, folder: Path, party: str) -> Kit:
    if folder.exists():
        return Kit.open(folder, "party")
    _take_over(made, folder)
    _write_json(folder / "local" / "resources.json", _party_resources(folder))
    _write_json(folder / "local" / "authorization.json", _authorization())
    _write_json(folder / "local" / "comm_config.json", WITHIN)
    (folder / "README.md").write_text(PARTY_README.format(**_words(consortium, party)), "utf-8")
    return _mark(folder, "party", party, consortium)


def _words(consortium: Consortium, party: str) -> dict[str, Any]:
    listed = ", ".join(consortium.parties)
    return {"name": consortium.name, "host": consortium.aggregator, "port": consortium.port, "party": party} | {
        "parties": listed
    }


def _take_over(made: Path, folder: Path) -> None:
    """Copy what is needed of NVFlare's startup kit: certificates and addresses; no scripts."""
    startup = folder / "startup"
    startup.mkdir(parents=True)
    folder.chmod(0o700)
    for file in (made / "startup").iterdir():
        if file.suffix != ".sh":
            shutil.copy2(file, startup)
    for key in startup.glob("*.key"):
        key.chmod(0o600)
    if (made / "local").is_dir():
        shutil.copytree(made / "local", folder / "local")


def _aggregator_resources(folder: Path) -> Any:
    """Return NVFlare's settings of the aggregator: all state stays in the kit, and no party's log is taken."""
    resources = _default_resources(folder)
    resources["servers"][0]["heart_beat_timeout"] = 20
    for component in resources["components"]:
        if component["id"] == "job_scheduler":
            component["args"]["max_jobs"] = 1
    return {
        **resources,
        "class_allow_list": [CONTROLLER],
        "components": [c for c in resources["components"] if c["id"] != "log_receiver"],
    }


def place_state(kit: Kit) -> None:
    """Let the aggregator keep its state in the kit, wherever the kit is now: NVFlare wants absolute paths."""
    path = kit.path / "local" / "resources.json"
    resources = json.loads(path.read_bytes())
    resources["snapshot_persistor"]["args"]["storage"]["args"]["root_dir"] = str(kit.state / "snapshots")
    for component in resources["components"]:
        if component["id"] == "job_manager":
            component["args"]["uri_root"] = str(kit.state / "jobs")
        if component["id"] == "process_launcher":  # also in a kit of an earlier version
            component["path"] = f"{ENGINE}.guard.launcher.AggregatorLauncher"
    resources["servers"][0]["max_num_clients"] = len(kit.consortium.parties)
    _write_json(path, resources)
    _write_json(kit.path / "local" / "comm_config.json", WITHIN | lines_of(len(kit.consortium.parties)))


def lines_of(parties: int) -> dict[str, Any]:
    """Return gRPC's settings for so many parties.

    Each line holds a thread of the pool: a party has one, and another in a run; NVFlare's 100 would keep out the
    fiftieth. Without ``so_reuseport`` a second aggregator cannot take the same port.
    """
    from nvflare.fuel.f3.drivers.net_utils import MAX_FRAME_SIZE

    sizes = [[f"grpc.max_{way}_message_length", MAX_FRAME_SIZE] for way in ("send", "receive")]
    return {"grpc": {"max_workers": 2 * parties + 32, "options": [*sizes, ["grpc.so_reuseport", 0]]}}


def _party_resources(folder: Path) -> Any:
    """Return NVFlare's settings of a party: one class may run there, and no log leaves."""
    resources = _default_resources(folder)
    components = [c for c in resources["components"] if c["id"] != "site_log_streamer"]
    for component in components:
        if component["id"] == "process_launcher":
            component["path"] = f"{ENGINE}.guard.launcher.PartyLauncher"
    return {
        **resources,
        "class_allow_list": [EXECUTOR],
        "allow_log_streaming": False,
        "components": components,
    }


def _default_resources(folder: Path) -> Any:
    return json.loads((folder / "local" / "resources.json.default").read_bytes())


def _authorization() -> dict[str, Any]:
    nobody = dict.fromkeys((*ALLOWED, *REFUSED), "none")
    lead = {**nobody, **ALLOWED}
    roles = {"project_admin": nobody, "org_admin": nobody, "lead": lead, "member": nobody}
    return {"format_version": "1.0", "permissions": roles}


def _mark(folder: Path, role: Role, name: str, consortium: Consortium) -> Kit:
    _write_json(folder / MARK, to_document(Mark(role, name, consortium)))
    return Kit(folder.resolve(), role, name, consortium)


def _write_json(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
