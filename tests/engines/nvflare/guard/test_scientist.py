"""A scientist's own process: the guard is there before its first cell, and leaves no trace after the last."""

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nvflare.fuel.f3.cellnet.core_cell import CoreCell
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
from nvflare.fuel.flare_api import flare_api
from nvflare.fuel.hci.client.api import AdminAPI
from nvflare.fuel.utils.admin_name_utils import new_admin_client_name
from nvflare.fuel.utils.constants import Mode

from flora.engines.nvflare.consortium import USER, Consortium, Kit
from flora.engines.nvflare.guard.rules import SESSION
from flora.engines.nvflare.run.session import NoAggregatorError, session
from flora.party.audit import verify
from tests.engines.nvflare.guard.test_rules import ADMIN, frame, line


def kit(folder: Path) -> Kit:
    return Kit(folder, "scientist", USER, Consortium("c", "agg.example.org", ("north",)))


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr(CoreCell, "process_message", lambda *args: found.append(args[-1]))
    return found


def sent(topic: str) -> None:
    keys = MessageHeaderKey
    where = {keys.ORIGIN: "server", keys.DESTINATION: ADMIN, keys.CHANNEL: "hci_channel", keys.TOPIC: topic}
    message = frame(**where)
    process: Any = CoreCell.process_message
    process(None, SimpleNamespace(name="server"), line("N/A", Mode.ACTIVE), 1, message)


def test_the_guard_is_there_when_nvflare_logs_in_and_while_the_line_is_open(
    passed: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def log_in(*_: Any, **__: Any) -> Any:
        sent("at login")
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(flare_api, "new_secure_session", log_in)
    with session(kit(tmp_path)):
        sent("report_env")
        sent("SESSION_EXPIRED")
    assert len(passed) == 1
    notes = [entry.note for entry in verify(tmp_path / "state" / "audit.jsonl")]
    assert [note.partition(" from ")[0] for note in notes] == [
        "'at login' on 'hci_channel'",
        "'report_env' on 'hci_channel'",
    ]


def test_one_session_after_the_other_has_one_guard(
    passed: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def log_in(*_: Any, **__: Any) -> Any:
        raise ConnectionError

    monkeypatch.setattr(flare_api, "new_secure_session", log_in)
    before = CoreCell.process_message
    with pytest.raises(NoAggregatorError), session(kit(tmp_path)):
        pass
    assert CoreCell.process_message is before


def test_nvflare_names_a_scientists_cell_as_the_rules_say() -> None:
    assert SESSION.fullmatch(new_admin_client_name())
    assert "my_fqcn = new_admin_client_name()" in inspect.getsource(AdminAPI.connect)
