"""What ``flora party`` was started with, for the process that answers a run's steps."""

import json
from dataclasses import dataclass

from flora.core.codec import read, to_document
from flora.core.documents import MIB, contents, object_in
from flora.core.files import write_whole
from flora.engines.nvflare.consortium import Kit
from flora.party.consent import DataSource


@dataclass(frozen=True)
class SiteSettings:
    """What ``flora party`` was started with; it stays at the party."""

    data: DataSource
    jobs: int = 1
    ask: bool = False

    def write(self, kit: Kit) -> None:
        """Keep the settings in the kit's state."""
        write_whole(kit.settings, self.to_text().encode(), mode=0o600)

    def to_text(self) -> str:
        """Return what is kept."""
        return json.dumps(to_document(self))

    @classmethod
    def read(cls, kit: Kit) -> "SiteSettings":
        """Read what :meth:`write` kept."""
        file = kit.settings
        return read(cls, object_in(contents(file, MIB), str(file)), str(file))
