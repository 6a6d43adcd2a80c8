from pathlib import Path
from typing import Any

import pytest

from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.foreground import Foreground
from flora.engines.nvflare.guard.alarm import AGAIN, MOST, Alarm, Quota
from flora.party.audit import AuditLog, verify


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def alarm(tmp_path: Path) -> Alarm:
    kit = Kit(tmp_path, "party", "north", Consortium("hearts", "localhost", ("north",)))
    Foreground(kit.state).open()
    return Alarm(kit, Clock())


def written(alarm: Alarm) -> list[str]:
    return [entry.note for entry in verify(alarm.kit.state / "audit.jsonl")]


def test_a_refusal_is_in_the_log_and_on_the_screen(alarm: Alarm) -> None:
    alarm.refused("'sys.shell' from south", "no")
    (entry,) = verify(alarm.kit.state / "audit.jsonl")
    assert (entry.what, entry.to, entry.size, entry.note) == ("refused", "nobody", 0, "'sys.shell' from south: no")
    assert Foreground(alarm.kit.state).lines(0)[0] == ["refused 'sys.shell' from south: no"]


def test_the_same_again_is_counted_and_not_written(alarm: Alarm) -> None:
    clock: Any = alarm.clock
    for _ in range(1000):
        alarm.refused("x", "no")
    assert written(alarm) == ["x: no"]
    clock.now = AGAIN
    alarm.refused("x", "no")
    assert written(alarm)[1] == "x: no (999 more refusals since the last line)"


def test_a_flood_of_different_ones_fills_nothing(alarm: Alarm) -> None:
    clock: Any = alarm.clock
    for number in range(3000):
        clock.now = number / 100  # half a minute
        alarm.refused(f"message {number}", "no")
    assert len(written(alarm)) == MOST
    clock.now = AGAIN + 30
    alarm.refused("the last", "no")
    assert written(alarm)[-1] == f"the last: no ({3000 - MOST} more refusals since the last line)"


def test_a_long_log_is_read_once(alarm: Alarm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a stranger's lines would else cost more than the one before: a second of them all, at 20,000."""
    reads: list[Path] = []

    def counted(path: Path) -> Any:
        reads.append(path)
        return AuditLog(path)

    monkeypatch.setattr("flora.engines.nvflare.guard.alarm.AuditLog", counted)
    for number in range(5):
        alarm.refused(f"message {number}", "no")
    assert (len(written(alarm)), len(reads)) == (5, 1)


def test_what_a_stranger_writes_is_one_harmless_line(alarm: Alarm) -> None:
    alarm.refused("\x1b[2Jevil\nline\u202e" + "x" * 10_000, "no")
    assert "\n" not in written(alarm)[0]
    assert "\x1b" not in written(alarm)[0]
    assert len(written(alarm)[0]) <= 400


def test_a_log_that_cannot_be_written_does_not_open_the_gate(alarm: Alarm) -> None:
    (alarm.kit.state / "audit.jsonl").write_text("not a log\n")
    alarm.refused("x", "no")
    lines = Foreground(alarm.kit.state).lines(0)[0]
    assert "the audit log could not be written" in lines[0]
    assert lines[1] == "refused x: no"


def test_the_memory_of_texts_is_bounded() -> None:
    quota = Quota()
    for number in range(5000):
        quota.admit(str(number), number * AGAIN)
    assert len(quota._last) <= 200
