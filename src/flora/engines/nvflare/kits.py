"""Kits: what each party's and the aggregator's administrator gets, with a certificate of its own."""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any, Self

from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.kit_texts import AGGREGATOR_README, PARTY_README
from flora.errors import FloraError, InputError

AGGREGATOR, SCIENTIST, AUTHORITY = "aggregator", "scientist", "authority"
USER = "scientist@flora.example.org"
PARTY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
RESERVED = {AGGREGATOR, SCIENTIST, AUTHORITY, "server", "admin"}
SCHEMES = ("grpc", "tcp")
ENGINE = "flora.engines.nvflare"
MARK = "flora-kit.json"
# What a role may do at a site: nothing but submit and follow a run. Code in a job, shell and restarts are off.
ALLOWED = {"submit_job": "any", "view": "any"} | dict.fromkeys(
    ("manage_job", "download_job", "app_command"), "n:submitter"
)
REFUSED = ("clone_job", "operate", "shell_commands", "byoc", "server-predeployed-flwr")


@dataclass(frozen=True)
class Consortium:
    """Who takes part: what ``consortium.yml`` says."""

    name: str
    aggregator: str  # the host name that the parties dial
    parties: tuple[str, ...]
    port: int = 8002
    scheme: str = "grpc"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not PARTY_NAME.fullmatch(self.name):
            raise InputError(f"name: letters, digits, - and _, at most 63, got {self.name!r:.80}")
        if not isinstance(self.aggregator, str) or not HOST_NAME.fullmatch(self.aggregator):
            raise InputError(f"aggregator: the host name that the parties dial, got {self.aggregator!r:.80}")
        if not isinstance(self.port, int) or isinstance(self.port, bool) or not 0 < self.port < 65536:
            raise InputError(f"port: a whole number from 1 to 65535, got {self.port!r:.80}")
        if self.scheme not in SCHEMES:
            raise InputError(f"scheme: must be one of {list(SCHEMES)}, got {self.scheme!r:.80}")
        self._check_parties()

    def _check_parties(self) -> None:
        if not self.parties:
            raise InputError("parties: a consortium needs at least one party")
        for name in self.parties:
            if not isinstance(name, str) or not PARTY_NAME.fullmatch(name):
                raise InputError(f"parties: a name is of letters, digits, - and _, at most 63, got {name!r:.80}")
            if name.lower() in RESERVED:
                raise InputError(f"parties: the name {name!r} is reserved")
        lower = [name.lower() for name in self.parties]
        for name in self.parties:
            if lower.count(name.lower()) > 1:
                raise InputError(f"parties: names must differ, {name!r} comes twice")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read ``consortium.yml``."""
        import yaml

        if not path.is_file():
            raise InputError(f"{path}: no such file")
        try:
            document = yaml.safe_load(path.read_text("utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not a YAML file ({str(error).splitlines()[0]})") from error
        try:
            return cls.from_document(document)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Check and take over what was read."""
        known = [field.name for field in fields(cls)]
        if not isinstance(document, Mapping):
            raise InputError(f"a consortium is a mapping with {', '.join(known)}, got {document!r:.80}")
        for key in document:
            if key not in known:
                raise InputError(f"{key!r:.80} is not a field of a consortium, which has {', '.join(known)}")
        for key in ("name", "aggregator", "parties"):
            if key not in document:
                raise InputError(f"{key} is missing")
        if not isinstance(document["parties"], Sequence) or isinstance(document["parties"], str):
            raise InputError(f"parties: a list of names, got {document['parties']!r:.80}")
        return cls(**{**document, "parties": tuple(document["parties"])})


@dataclass(frozen=True)
class Kit:
    """A folder that was handed over: whose it is, and how to reach the aggregator."""

    path: Path
    role: str  # "party", "aggregator" or "scientist"
    name: str
    consortium: Consortium

    @classmethod
    def open(cls, path: Path, *roles: str) -> Self:
        """Return the kit in a folder, which must be of one of the roles."""
        try:
            mark = json.loads((path / MARK).read_bytes())
            kit = cls(path.resolve(), mark["role"], mark["name"], Consortium.from_document(mark["consortium"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: is not a kit of flora project (no good {MARK})") from error
        if kit.role not in roles:
            raise InputError(f"{path}: is the kit of {kit.whose}, need one of {' or '.join(roles)}")
        return kit

    @property
    def whose(self) -> str:
        """Whose kit it is, in words."""
        return f"party {self.name!r}" if self.role == "party" else f"the {self.role}"

    @property
    def state(self) -> Path:
        """The folder of all that is written while running."""
        return self.path / "state"

    @property
    def scientist(self) -> "Kit":
        """The kit that may submit runs: this one, or the one inside the aggregator's."""
        return self if self.role == SCIENTIST else Kit.open(self.path / SCIENTIST, SCIENTIST)


def make_kits(consortium: Consortium, out: Path) -> list[Kit]:
    """Write a folder for the aggregator and one for each party; the authority's keys stay in ``authority``.

    Where ``out`` holds the same consortium, only the kits of new parties are made: the others' stay as they are.
    """
    require_nvflare()
    _refuse_another(out, consortium)
    out.mkdir(parents=True, exist_ok=True)
    authority = out / AUTHORITY
    authority.mkdir(mode=0o700, exist_ok=True)
    made = _provision(consortium, authority)
    kits = [_aggregator_kit(consortium, made, out / AGGREGATOR)]
    kits += [_party_kit(consortium, made / party, out / party, party) for party in consortium.parties]
    _write_json(authority / "consortium.json", _document(consortium))
    shutil.rmtree(made)
    return kits


def _document(consortium: Consortium) -> dict[str, Any]:
    return {**vars(consortium), "parties": list(consortium.parties)}


def _refuse_another(out: Path, consortium: Consortium) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        stored = json.loads((out / AUTHORITY / "consortium.json").read_bytes())
    except (OSError, ValueError):
        raise InputError(f"{out}: is not empty and no folder of this consortium; name another with --out") from None
    for key, value in _document(consortium).items():
        if key != "parties" and stored.get(key) != value:
            raise InputError(f"{out}: holds another consortium: its {key} is {stored.get(key)!r}, now {value!r}")


def _provision(consortium: Consortium, authority: Path) -> Path:
    """Let NVFlare make keys and certificates; return the folder of its startup kits."""
    from nvflare.lighter.constants import CtxKey, WorkDir
    from nvflare.lighter.provision import prepare_builders, prepare_packager, prepare_project
    from nvflare.lighter.provisioner import Provisioner

    impl = "nvflare.lighter.impl"
    document: dict[str, Any] = {
        "api_version": 3,
        "name": consortium.name,
        "description": "",
        "participants": [
            {"name": consortium.aggregator, "type": "server", "org": "aggregator", "fed_learn_port": consortium.port},
            *({"name": party, "type": "client", "org": organisation(party)} for party in consortium.parties),
            {"name": USER, "type": "admin", "org": "aggregator", "role": "lead"},
        ],
        "builders": [
            {"path": f"{impl}.workspace.WorkspaceBuilder", "args": {"template_file": ["master_template.yml"]}},
            {
                "path": f"{impl}.static_file.StaticFileBuilder",
                "args": {"config_folder": "config", "scheme": consortium.scheme},
            },
            {"path": f"{impl}.cert.CertBuilder"},
            {"path": f"{impl}.signature.SignatureBuilder"},
        ],
    }
    log = _Log()
    with redirect_stderr(log):  # on a failure NVFlare prints a traceback
        context = Provisioner(str(authority), prepare_builders(document), prepare_packager(document)).provision(
            prepare_project(document), logger=log
        )
    if context.get(CtxKey.BUILD_ERROR):
        raise FloraError(f"{consortium.name}: NVFlare could not make the kits: {log.getvalue()[-500:]}")
    return Path(context[WorkDir.CURRENT_PROD_DIR])


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
        (folder / "README.md").write_text(AGGREGATOR_README.format(**_words(consortium, "")), "utf-8")
    _mark(folder / SCIENTIST, SCIENTIST, USER, consortium)  # a new party changes who is expected
    return _mark(folder, AGGREGATOR, consortium.aggregator, consortium)


def _party_kit(consortium: Consortium, made: Path, folder: Path, party: str) -> Kit:
    if folder.exists():
        return Kit.open(folder, "party")
    _take_over(made, folder)
    _write_json(folder / "local" / "resources.json", _party_resources(folder))
    _write_json(folder / "local" / "authorization.json", _authorization())
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
        "class_allow_list": [f"{ENGINE}.controller.FloraController"],
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
    _write_json(path, resources)


def _party_resources(folder: Path) -> Any:
    """Return NVFlare's settings of a party: one class may run there, and no log leaves."""
    resources = _default_resources(folder)
    components = [c for c in resources["components"] if c["id"] != "site_log_streamer"]
    for component in components:
        if component["id"] == "process_launcher":
            component["path"] = f"{ENGINE}.launcher.PartyLauncher"
    return {
        **resources,
        "class_allow_list": [f"{ENGINE}.executor.FloraExecutor"],
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


def _mark(folder: Path, role: str, name: str, consortium: Consortium) -> Kit:
    _write_json(folder / MARK, {"role": role, "name": name, "consortium": _document(consortium)})
    return Kit(folder.resolve(), role, name, consortium)


def _write_json(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
