import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from flora.core.codec import read
from flora.engines.nvflare.consortium import AGGREGATOR, Consortium, Kit
from flora.engines.nvflare.kits.provision import make_kits, place_state
from flora.errors import InputError

GOOD: dict[str, Any] = {"name": "hearts", "aggregator": "flora.example.org", "parties": ["north", "south"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "two words"}, "name must be of letters, digits"),
        ({"name": 3}, "name must be text, got 3"),
        ({"aggregator": "not a host"}, "aggregator must be the host name"),
        ({"aggregator": "-x.org"}, "aggregator must be the host name"),
        ({"port": 0}, "port must be a whole number from 1 to 65535, got 0"),
        ({"port": True}, "port must be a whole number"),
        ({"scheme": "ftp"}, r"scheme must be one of \['grpc', 'tcp'\], got 'ftp'"),
        ({"parties": []}, "a consortium has 1 to 1000 parties, got 0"),
        ({"parties": "north"}, "parties must be a list of .*, got 'north'"),
        ({"parties": ["../x"]}, r"parties\[0\] must be of letters"),
        ({"parties": [7]}, r"parties\[0\] must be text, got 7"),
        ({"parties": ["north", "North"]}, "parties: names must differ, 'north' comes twice"),
        ({"parties": ["server"]}, "parties: the name 'server' is reserved"),
        ({"color": "red"}, "unknown field 'color'"),
    ],
)
def test_a_bad_consortium_is_refused_by_field_and_value(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(Consortium, {**GOOD, **change})


@pytest.mark.parametrize("field", ["name", "aggregator", "parties"])
def test_what_must_be_there_is_named(field: str) -> None:
    with pytest.raises(InputError, match=f"lacks the field {field!r}"):
        read(Consortium, {key: value for key, value in GOOD.items() if key != field})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not a YAML file"),
        ("- a", "a consortium is a mapping"),
        ("", "is a mapping"),
        ("name: " + "[" * 3000, "nested more than 8 deep"),
        (json.dumps({**GOOD, "scheme": "http"}), r"scheme must be one of \['grpc', 'tcp'\]"),  # adopted kits alone
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "consortium.yml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        Consortium.read(path)
    with pytest.raises(InputError, match="no such file"):
        Consortium.read(tmp_path / "other.yml")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kits of a consortium of two."""
    out = tmp_path_factory.mktemp("project") / "kits"
    make_kits(read(Consortium, GOOD), out)
    return out


def permissions(kit: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((kit / "local" / "authorization.json").read_bytes())
    return document["permissions"]  # type: ignore[no-any-return]


def test_each_has_a_folder_and_a_page_and_only_its_own_key(made: Path) -> None:
    assert sorted(path.name for path in made.iterdir()) == ["aggregator", "authority", "north", "south"]
    for name in ("aggregator", "north", "south"):
        assert "flora" in (made / name / "README.md").read_text()
    keys = sorted(str(path.relative_to(made)) for path in made.rglob("*.key"))
    assert keys == [
        "aggregator/scientist/startup/client.key",
        "aggregator/startup/server.key",
        "north/startup/client.key",
        "south/startup/client.key",
    ]
    assert len({(made / key).read_bytes() for key in keys}) == 4
    for path in (*made.rglob("*.key"), *(made / name for name in ("authority", "aggregator", "north"))):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_nobody_may_bring_code_or_a_shell(made: Path) -> None:
    for name in ("aggregator", "north", "south"):
        for rights in permissions(made / name).values():
            for right in ("byoc", "shell_commands", "operate", "clone_job"):
                assert rights[right] == "none"
        assert {role for role, rights in permissions(made / name).items() if rights["submit_job"] != "none"} == {"lead"}


def test_a_party_runs_one_class_and_sends_no_log(made: Path) -> None:
    resources = json.loads((made / "north" / "local" / "resources.json").read_bytes())
    assert resources["class_allow_list"] == ["flora.engines.nvflare.run.executor.FloraExecutor"]
    assert resources["class_list_enforcement_mode"] == "enforce"
    assert resources["allow_log_streaming"] is False
    assert "log" not in json.dumps(resources["components"]).lower().replace("logging", "log")


def test_within_a_machine_nothing_goes_in_the_clear(made: Path) -> None:
    for name in ("aggregator", "north"):
        within = json.loads((made / name / "local" / "comm_config.json").read_bytes())["internal"]
        assert within["scheme"] == "stcp"
        assert within["resources"] == {"host": "localhost", "connection_security": "mtls", "secure": True}


def test_the_aggregator_keeps_its_state_in_its_kit_wherever_it_is(made: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("local", "flora-kit.json"):
        source = made / "aggregator" / name
        if source.is_dir():
            (moved / name).mkdir()
            for file in source.iterdir():
                (moved / name / file.name).write_bytes(file.read_bytes())
        else:
            (moved / name).write_bytes(source.read_bytes())
    place_state(Kit.open(moved, AGGREGATOR))
    text = (moved / "local" / "resources.json").read_text()
    assert "/tmp/nvflare" not in text  # noqa: S108
    assert text.count(str(moved / "state")) == 2
    assert json.loads(text)["class_allow_list"] == ["flora.engines.nvflare.run.controller.FloraController"]


def test_a_new_party_changes_no_other_kit(tmp_path: Path) -> None:
    out = tmp_path / "kits"
    make_kits(read(Consortium, GOOD), out)
    before = {path: path.read_bytes() for path in (out / "north").rglob("*") if path.is_file()}
    key = (out / "aggregator" / "startup" / "server.key").read_bytes()
    make_kits(read(Consortium, {**GOOD, "parties": ["north", "south", "west"]}), out)
    assert {path: path.read_bytes() for path in (out / "north").rglob("*") if path.is_file()} == before
    assert (out / "aggregator" / "startup" / "server.key").read_bytes() == key
    root = (out / "north" / "startup" / "rootCA.pem").read_bytes()
    assert (out / "west" / "startup" / "rootCA.pem").read_bytes() == root
    assert Kit.open(out / "aggregator", AGGREGATOR).consortium.parties == ("north", "south", "west")
    assert Kit.open(out / "aggregator", AGGREGATOR).scientist.consortium.parties == ("north", "south", "west")


def test_the_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty and no folder of this consortium"):
        make_kits(read(Consortium, GOOD), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_the_folder_of_another_consortium_is_refused(made: Path) -> None:
    with pytest.raises(InputError, match="its port is 8002, now 9000"):
        make_kits(read(Consortium, {**GOOD, "port": 9000}), made)


def test_a_kit_is_of_the_role_that_is_wanted(made: Path, tmp_path: Path) -> None:
    assert Kit.open(made / "north", "party").name == "north"
    with pytest.raises(InputError, match="is the kit of party 'north', need one of aggregator"):
        Kit.open(made / "north", AGGREGATOR)
    with pytest.raises(InputError, match="is the kit of the aggregator, need one of party"):
        Kit.open(made / "aggregator", "party")
    with pytest.raises(InputError, match="is not a kit of flora project"):
        Kit.open(tmp_path, "party")


def test_the_authority_keeps_the_root_alone_and_shows_it_to_nobody(tmp_path: Path) -> None:
    out = tmp_path / "kits"
    make_kits(read(Consortium, GOOD), out)
    (state,) = (out / "authority").rglob("cert.json")
    assert set(json.loads(state.read_bytes())) == {"root_cert", "root_pri_key"}
    text = b"".join(path.read_bytes() for path in (out / "authority").rglob("*") if path.is_file())
    assert text.count(b"PRIVATE KEY") == 2  # begin and end of one
    for path in (out / "authority", *(out / "authority").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_later_party_is_signed_by_the_same_root(tmp_path: Path) -> None:
    out = tmp_path / "kits"
    make_kits(read(Consortium, GOOD), out)
    make_kits(read(Consortium, {**GOOD, "parties": ["north", "south", "west"]}), out)
    root = x509.load_pem_x509_certificate((out / "north" / "startup" / "rootCA.pem").read_bytes())
    west = x509.load_pem_x509_certificate((out / "west" / "startup" / "client.crt").read_bytes())
    west.verify_directly_issued_by(root)
    (state,) = (out / "authority").rglob("cert.json")
    assert set(json.loads(state.read_bytes())) == {"root_cert", "root_pri_key"}


def test_certificates_hold_for_years(made: Path) -> None:
    startup = made / "north" / "startup"
    for name, years in (("rootCA.pem", 10), ("client.crt", 5)):
        found = x509.load_pem_x509_certificate((startup / name).read_bytes())
        assert abs((found.not_valid_after_utc - found.not_valid_before_utc).days - 365.25 * years) < 5


def test_a_root_of_an_earlier_version_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its certificates ended after 360 days; a new party's cannot outlive it."""
    monkeypatch.setattr("flora.engines.nvflare.kits.authority.ROOT_DAYS", 360)
    out = tmp_path / "kits"
    make_kits(read(Consortium, GOOD), out)
    monkeypatch.undo()
    make_kits(read(Consortium, {**GOOD, "parties": ["north", "south", "west"]}), out)
    startup = out / "west" / "startup"
    root, west = (
        x509.load_pem_x509_certificate((startup / name).read_bytes()) for name in ("rootCA.pem", "client.crt")
    )
    assert west.not_valid_after_utc == root.not_valid_after_utc


def test_the_aggregator_has_room_for_all_its_parties(tmp_path: Path) -> None:
    many = [f"p{number}" for number in range(150)]
    consortium = read(Consortium, {**GOOD, "parties": many})
    folder = tmp_path / "aggregator"
    (folder / "local").mkdir(parents=True)
    servers: Any = [{"max_num_clients": 100}]
    storage: Any = {"args": {"storage": {"args": {}}}}
    resources = {"servers": servers, "components": [], "snapshot_persistor": storage}
    (folder / "local" / "resources.json").write_text(json.dumps(resources))
    place_state(Kit(folder, AGGREGATOR, "flora.example.org", consortium))
    assert json.loads((folder / "local" / "resources.json").read_bytes())["servers"][0]["max_num_clients"] == 150
    grpc = json.loads((folder / "local" / "comm_config.json").read_bytes())["grpc"]
    assert grpc["max_workers"] >= 300
    assert ["grpc.so_reuseport", 0] in grpc["options"]


def test_a_kit_of_another_user_is_called_so() -> None:
    """As in a container whose user is not the owner of the folder that is mounted."""
    with tempfile.TemporaryDirectory() as name:  # tmp_path lies in a folder that others may not enter
        folder, myself = Path(name), os.geteuid()
        (folder / "flora-kit.json").write_text("{}")
        folder.chmod(0o700 if myself == 0 else 0o000)
        try:
            os.seteuid(myself or 65534)
            with pytest.raises(InputError, match=rf"belongs to user {myself}, and user \d+ runs flora") as caught:
                Kit.open(folder, "party")
        finally:
            os.seteuid(myself)
            folder.chmod(0o700)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["../../x", "a/b", "", ".x", "-rf", "a b", "n\u043erth", "north\x1b[2J", 3, None])
def test_a_kit_whose_name_is_none_is_no_kit(tmp_path: Path, name: Any) -> None:
    """Files are named by it, and NVFlare's process is told it."""
    consortium = {"name": "c", "aggregator": "h", "parties": ["north"]}
    (tmp_path / "flora-kit.json").write_text(json.dumps({"role": "party", "name": name, "consortium": consortium}))
    with pytest.raises(InputError, match="is not a kit of flora project"):
        Kit.open(tmp_path, "party")
