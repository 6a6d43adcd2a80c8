"""Who is shut out: a member's certificates of before a moment. One that the authority makes later gets in again.

The aggregator's list keeps them out of the network; a party's own keeps them out of its sums.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flora.core.documents import MIB, contents, object_in
from flora.core.files import write_whole
from flora.engines.nvflare.consortium import AGGREGATOR, PARTY_NAME, USER, Kit
from flora.errors import FloraError, InputError

FILE = "revoked.json"  # in a kit's local/


def read_revoked(path: Path) -> dict[str, datetime]:
    """Return since when each member's certificates are revoked; nobody's where there is no file."""
    if not path.exists():
        return {}
    try:
        found = {name: datetime.fromisoformat(since) for name, since in object_in(contents(path, MIB), FILE).items()}
        return {name: since.astimezone(UTC) for name, since in found.items()}
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: maps members to times, such as 2026-01-31T12:00:00+00:00 ({error!s:.80})") from error


def revoke(kit: Kit, name: str, now: datetime) -> None:
    """Shut out all certificates of a member that were made before now; what runs notices by itself."""
    members = (*kit.consortium.parties, USER)
    later = kit.role != AGGREGATOR and PARTY_NAME.fullmatch(name)  # a party's kit knows no party that came after it
    if (name not in members and not later) or name == kit.name:
        raise InputError(f"{name!r:.80} is no member that can be shut out; these are {', '.join(members)}")
    path = kit.path / "local" / FILE
    revoked = read_revoked(path) | {name: now + timedelta(seconds=1)}  # a certificate's date has no fractions
    document = {member: since.isoformat(timespec="seconds") for member, since in sorted(revoked.items())}
    write_whole(path, (json.dumps(document, indent=1) + "\n").encode())


@dataclass
class Revoked:
    """The list as it is now: it is read again whenever its file has changed."""

    path: Path
    _stamp: tuple[int, int] = (0, 0)
    _since: Mapping[str, datetime] | None = field(default_factory=dict)  # None: it cannot be read

    def changed(self) -> bool:
        """Read the file again where it has changed, and say whether it has."""
        try:
            found = self.path.stat()
            stamp = found.st_mtime_ns, found.st_ino
        except OSError:
            stamp = 0, 0
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self._since = read_revoked(self.path)
        except (FloraError, OSError):
            self._since = None
        return True

    def refusal(self, name: str, made: datetime | None) -> str:
        """Return why a certificate is shut out; empty where it is not. Whose date is not known counts as old."""
        if self._since is None:
            return f"{FILE} cannot be read, so nobody is let in"
        since = self._since.get(name)
        if since is None or (made is not None and made >= since):
            return ""
        return f"the certificates of {name} from before {since:%Y-%m-%d %H:%M} UTC are revoked"
