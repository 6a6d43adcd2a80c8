import base64
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from nvflare.lighter.utils import Identity, generate_cert, generate_keys, serialize_cert, serialize_pri_key

from flora.core.collective import Collective
from flora.core.masks import Masking
from flora.core.threads import in_step
from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.guard.revocation import revoke
from flora.engines.nvflare.kits import signatures as signatures_module
from flora.engines.nvflare.kits.provision import make_kits
from flora.engines.nvflare.kits.signatures import KitSigner
from flora.errors import CollectiveError, InputError

NAMES = ("north", "south", "west")


@pytest.fixture(scope="module")
def kits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("kits") / "kits"
    make_kits(Consortium("hearts", "localhost", NAMES), out)
    return out


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kits of another consortium, with the same names."""
    out = tmp_path_factory.mktemp("strangers") / "kits"
    make_kits(Consortium("hearts", "localhost", NAMES), out)
    return out


def signer(kits: Path, name: str) -> KitSigner:
    return KitSigner(Kit.open(kits / name, "party"))


def test_a_party_knows_another_s_signature(kits: Path) -> None:
    signed = signer(kits, "south").sign(b"keys")
    assert signer(kits, "north").fault("south", b"keys", signed) is None
    assert signer(kits, "north").fault("south", b"other keys", signed) == "it has signed something else"
    assert signer(kits, "north").fault("west", b"keys", signed) == "the certificate is that of 'south'"
    assert b"PRIVATE" not in signed


def test_a_signature_under_a_borrowed_certificate_is_none(kits: Path) -> None:
    south, west = (json.loads(signer(kits, name).sign(b"keys")) for name in ("south", "west"))
    mixed = json.dumps({**west, "certificate": south["certificate"]}).encode()
    assert signer(kits, "north").fault("south", b"keys", mixed) == "it has signed something else"


def test_neither_another_consortium_nor_the_aggregator_can_sign_for_a_party(kits: Path, strangers: Path) -> None:
    foreign = signer(strangers, "south").sign(b"keys")
    assert signer(kits, "north").fault("south", b"keys", foreign) == "its certificate is not of this consortium"
    own = kits / "aggregator" / "startup"
    pretended = kits.parent / "pretended"
    (pretended / "startup").mkdir(parents=True, exist_ok=True)
    for mine, called in (("server.key", "client.key"), ("server.crt", "client.crt")):
        (pretended / "startup" / called).write_bytes((own / mine).read_bytes())
    kit: Any = SimpleNamespace(path=pretended)
    signed = KitSigner(kit).sign(b"keys")
    assert signer(kits, "north").fault("south", b"keys", signed) == "the certificate is that of 'localhost'"


@pytest.mark.parametrize(("startup", "name"), [("", "localhost"), ("scientist", "scientist@flora.example.org")])
def test_the_aggregator_is_no_party_of_a_sum_by_any_of_its_certificates(kits: Path, startup: str, name: str) -> None:
    """With a share of its own in the sum it could subtract it, and be left with the one party's."""
    pretended = kits.parent / f"pretended-{name}"
    shutil.copytree(kits / "aggregator" / startup / "startup", pretended / "startup")
    for suffix in ("key", "crt") if not startup else ():
        (pretended / "startup" / f"server.{suffix}").rename(pretended / "startup" / f"client.{suffix}")
    kit: Any = SimpleNamespace(path=pretended)
    said = KitSigner(kit).sign(b"keys")
    assert signer(kits, "north").fault(name, b"keys", said) == "its certificate is not that of a party"


@pytest.mark.parametrize(
    ("role", "fault"),
    [(None, None), ("client", None), ("server", "not that of a party"), ("relay", "not that of a party")],
)
def test_a_role_that_a_certificate_names_is_a_party_s(
    kits: Path, tmp_path: Path, role: str | None, fault: str | None
) -> None:
    """What ``nvflare cert`` makes on request names the role, also a site's."""
    private, public = generate_keys()
    root = json.loads(next((kits / "authority").rglob("cert.json")).read_bytes())
    certificate = generate_cert(
        Identity("east", None, role),
        Identity("hearts"),
        load_pem_private_key(root["root_pri_key"].encode(), None),
        public,
    )
    (tmp_path / "startup").mkdir()
    (tmp_path / "startup" / "client.key").write_bytes(serialize_pri_key(private))
    (tmp_path / "startup" / "client.crt").write_bytes(serialize_cert(certificate))
    kit: Any = SimpleNamespace(path=tmp_path)
    found = signer(kits, "north").fault("east", b"keys", KitSigner(kit).sign(b"keys"))
    assert (found is None) if fault is None else fault in str(found)


@pytest.mark.parametrize("said", [b"", b"{}", b'{"certificate": "eA==", "signature": "eA=="}', b"\xff"])
def test_what_is_no_signature_is_refused(kits: Path, said: bytes) -> None:
    assert signer(kits, "north").fault("south", b"keys", said) == "its certificate is not of this consortium"


def test_a_damaged_certificate_is_refused_whatever_is_wrong_with_it(kits: Path) -> None:
    document = json.loads(signer(kits, "south").sign(b"keys"))
    pem = base64.b64decode(document["certificate"])
    lines = pem.decode().strip().splitlines()
    der = bytearray(base64.b64decode("".join(lines[1:-1])))
    knows = signer(kits, "north")
    for place in range(0, len(der), 7):
        changed = bytes([*der[:place], der[place] ^ 0x55, *der[place + 1 :]])
        text = "\n".join([lines[0], base64.b64encode(changed).decode(), lines[-1], ""])
        said = json.dumps({**document, "certificate": base64.b64encode(text.encode()).decode()}).encode()
        assert knows.fault("south", b"keys", said), place


def test_a_certificate_of_another_time_is_refused(kits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signed = signer(kits, "south").sign(b"keys")

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz or UTC) + timedelta(days=9000)

    monkeypatch.setattr(signatures_module, "datetime", Later)
    fault = signer(kits, "north").fault("south", b"keys", signed)
    assert fault is not None
    assert fault.startswith("its certificate is valid until ")


def test_a_party_adds_up_with_no_certificate_that_its_administrator_has_revoked(kits: Path, tmp_path: Path) -> None:
    """The aggregator has a list of its own, but with a stolen kit it is the one to be kept out."""
    signed = signer(kits, "south").sign(b"keys")
    shutil.copytree(kits / "north", tmp_path / "north")
    knows = signer(tmp_path, "north")
    now = datetime.now(UTC)
    revoke(knows.kit, "south", now - timedelta(days=99))
    assert knows.fault("south", b"keys", signed) is None
    revoke(knows.kit, "south", now)
    assert "the certificates of south from before" in str(knows.fault("south", b"keys", signed))
    assert knows.fault("west", b"keys", signer(kits, "west").sign(b"keys")) is None
    (tmp_path / "north" / "local" / "revoked.json").write_text("{")
    assert "cannot be read" in str(knows.fault("west", b"keys", signer(kits, "west").sign(b"keys")))


def test_parties_add_up_under_the_keys_of_their_kits(kits: Path, strangers: Path) -> None:
    def share(folders: dict[str, Path]) -> Any:
        def run(line: Collective) -> list[int]:
            name = NAMES[line.rank]
            masked = Masking(NAMES, signer(folders.get(name, kits), name)).begin(line, "train")
            return [int(n) for n in masked.add_integers(np.array([line.rank, 5]))]

        return run

    assert in_step([share({})] * 3) == [[3, 15]] * 3
    with pytest.raises(CollectiveError, match=r"has not signed .* \(its certificate is not of this consortium\)"):
        in_step([share({"south": strangers})] * 3)


def test_a_party_may_not_have_the_aggregator_s_name() -> None:
    with pytest.raises(InputError, match="the name 'Clinic' is the aggregator's host"):
        Consortium("hearts", "clinic", ("north", "Clinic"))
