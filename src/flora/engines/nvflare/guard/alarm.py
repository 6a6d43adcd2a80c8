"""A refusal made known: a line in the audit log and one on the screen, and not so many that they fill the disk."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from flora.core.rules import one_line
from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.foreground import Foreground
from flora.errors import FloraError
from flora.party.audit import AuditLog

AGAIN = 60.0  # seconds after which the same is worth another line
MOST = 12  # lines in that time, whatever they say
MOST_KEYS = 200
MOST_TEXT = 400  # letters of a line


@dataclass
class Quota:
    """Says which lines are written: each text once a minute, and not many in a minute."""

    _last: dict[str, float] = field(default_factory=dict)
    _recent: list[float] = field(default_factory=list)
    _left_out: int = 0

    def admit(self, text: str, now: float) -> int | None:
        """Return how many lines were left out since the last that was written; None where this one is left out too."""
        self._recent = [then for then in self._recent if now - then < AGAIN]
        if now - self._last.get(text, -AGAIN) < AGAIN or len(self._recent) >= MOST:
            self._left_out += 1
            return None
        if len(self._last) >= MOST_KEYS:  # texts are the sender's choice
            self._last.clear()
        self._last[text] = now
        self._recent.append(now)
        left_out, self._left_out = self._left_out, 0
        return left_out


@dataclass
class Alarm:
    """Where one process of a kit makes refusals known."""

    kit: Kit
    clock: Callable[[], float] = time.monotonic
    _quota: Quota = field(default_factory=Quota)
    _lock: Any = field(default_factory=Lock)
    _log: AuditLog | None = None  # opened once: that reads the whole file, which strangers can make long

    def refused(self, what: str, why: str) -> None:
        """Make a refusal known. It never raises: what was refused stays refused."""
        text = one_line(f"{what}: {why}"[:MOST_TEXT])
        with self._lock:
            left_out = self._quota.admit(text, self.clock())
            if left_out is not None:
                more = f" ({left_out} more refusals since the last line)" if left_out else ""
                self._write(f"{text}{more}")

    def say(self, text: str) -> None:
        """Tell the person in the foreground something, not more often than is good."""
        with self._lock:
            if self._quota.admit(text, self.clock()) is not None:
                self._say(text)

    def _write(self, text: str) -> None:
        try:
            self._log = self._log or AuditLog(self.kit.state / "audit.jsonl")
            self._log.record("refused", "nobody", b"", text)
        except (FloraError, OSError) as error:
            self._say(f"the audit log could not be written: {one_line(str(error)[:MOST_TEXT])}")
        self._say(f"refused {text}")

    def _say(self, text: str) -> None:
        try:
            Foreground(self.kit.state).say(text)
        except OSError:
            return  # NVFlare's own log has it; there is nobody else to tell
