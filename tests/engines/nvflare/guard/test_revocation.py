from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flora.engines.nvflare.consortium import USER, Consortium, Kit
from flora.engines.nvflare.guard.revocation import FILE, Revoked, read_revoked, revoke
from flora.errors import InputError

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    (tmp_path / "local").mkdir()
    return Kit(tmp_path, "aggregator", "localhost", Consortium("c", "localhost", ("north", "south")))


def test_what_was_made_before_is_shut_out_and_what_is_made_later_is_not(kit: Kit) -> None:
    revoked = Revoked(kit.path / "local" / FILE)
    assert revoked.changed() is False
    assert revoked.refusal("north", NOW) == ""
    revoke(kit, "north", NOW)
    assert revoked.changed()
    assert not revoked.changed()
    for made in (NOW - timedelta(days=99), NOW, None):  # of the same second, or of no date that can be found out
        assert "the certificates of north from before 2026-03-01 12:00 UTC are revoked" in revoked.refusal(
            "north", made
        )
    assert revoked.refusal("north", NOW + timedelta(seconds=1)) == ""
    assert revoked.refusal("south", NOW - timedelta(days=99)) == ""


def test_a_list_grows_and_names_members_alone(kit: Kit) -> None:
    revoke(kit, "north", NOW)
    revoke(kit, USER, NOW + timedelta(days=1))
    assert set(read_revoked(kit.path / "local" / FILE)) == {"north", USER}
    with pytest.raises(InputError, match="'east' is no member that can be shut out; these are north, south"):
        revoke(kit, "east", NOW)


def test_a_party_s_list_may_name_who_came_after_its_kit_but_not_itself(kit: Kit) -> None:
    north = Kit(kit.path, "party", "north", kit.consortium)
    revoke(north, "east", NOW)
    assert set(read_revoked(kit.path / "local" / FILE)) == {"east"}
    for name in ("north", "../east", "e\u0430st", ""):
        with pytest.raises(InputError, match="is no member that can be shut out"):
            revoke(north, name, NOW)


@pytest.mark.parametrize("text", ["{", "[]", '{"north": 3}', '{"north": "soon"}'])
def test_a_list_that_cannot_be_read_lets_nobody_in(kit: Kit, text: str) -> None:
    path = kit.path / "local" / FILE
    path.write_text(text)
    with pytest.raises(InputError, match=r"revoked\.json"):
        read_revoked(path)
    revoked = Revoked(path)
    assert revoked.changed()
    assert revoked.refusal("south", NOW) == "revoked.json cannot be read, so nobody is let in"
    path.unlink()
    assert revoked.changed()
    assert revoked.refusal("south", NOW) == ""
