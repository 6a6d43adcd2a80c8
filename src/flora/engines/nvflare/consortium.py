"""Who takes part, and the folder that each one was handed."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from flora.core.documents import MIB, contents, object_in
from flora.core.rules import one_line
from flora.errors import InputError

AGGREGATOR, SCIENTIST, AUTHORITY = "aggregator", "scientist", "authority"
PARTY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
KIT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,252}")  # of a party, a host, or a user of NVFlare's
RESERVED = {AGGREGATOR, SCIENTIST, AUTHORITY, "server", "admin"}
SCHEMES = ("grpc", "tcp")
ALL_SCHEMES = (*SCHEMES, "http")  # the last is NVFlare's own default, in a network that it runs already
ROLES = ("party", AGGREGATOR, SCIENTIST)
MOST_PARTIES = 1000
MARK = "flora-kit.json"
USER = "scientist@flora.example.org"  # the name in the certificate of who may submit runs
DEEPEST = 8  # lists and mappings, one in the other, of a file


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
        if not isinstance(self.scheme, str) or self.scheme not in ALL_SCHEMES:
            raise InputError(f"scheme: must be one of {list(SCHEMES)}, got {self.scheme!r:.80}")
        self._check_parties()

    def _check_parties(self) -> None:
        if not 1 <= len(self.parties) <= MOST_PARTIES:
            raise InputError(f"parties: a consortium has 1 to {MOST_PARTIES} parties, got {len(self.parties)}")
        for name in self.parties:
            if not isinstance(name, str) or not PARTY_NAME.fullmatch(name):
                raise InputError(f"parties: a name is of letters, digits, - and _, at most 63, got {name!r:.80}")
            if name.lower() in RESERVED:
                raise InputError(f"parties: the name {name!r} is reserved")
            if name.lower() == self.aggregator.lower():  # its certificate would be that party's
                raise InputError(f"parties: the name {name!r} is the aggregator's host")
        count = Counter(name.lower() for name in self.parties)
        for name in self.parties:
            if count[name.lower()] > 1:
                raise InputError(f"parties: names must differ, {name!r} comes twice")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read ``consortium.yml``."""
        import yaml

        try:
            text = contents(path, MIB).decode("utf-8-sig")
            depth = 0
            for event in yaml.parse(text, yaml.SafeLoader):
                if isinstance(event, yaml.AliasEvent):
                    raise ValueError("an alias is not allowed")  # a few of them can stand for a list without end
                opens, closes = isinstance(event, yaml.CollectionStartEvent), isinstance(event, yaml.CollectionEndEvent)
                depth += opens - closes
                if depth > DEEPEST:
                    raise ValueError(f"nested more than {DEEPEST} deep")
            document = yaml.safe_load(text)
        except InputError:
            raise
        except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:  # also a date that is none
            words = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(one_line(f"{path}: not a YAML file ({words:.200})")) from error
        try:
            found = cls.from_document(document)
            if found.scheme not in SCHEMES:
                raise InputError(f"scheme: must be one of {list(SCHEMES)}, got {found.scheme!r}")
        except InputError as error:
            raise InputError(one_line(f"{path}: {error}")) from error
        return found

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
            mark = object_in(contents(path / MARK, MIB), MARK)
            kit = cls(path.resolve(), mark["role"], mark["name"], Consortium.from_document(mark["consortium"]))
        except (OSError, InputError, KeyError) as error:
            raise InputError(f"{path}: is not a kit of flora project (no good {MARK})") from error
        if kit.role not in ROLES or not isinstance(kit.name, str) or not KIT_NAME.fullmatch(kit.name):
            raise InputError(f"{path}: is not a kit of flora project (no good {MARK})")
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
    def settings(self) -> Path:
        """What a party's command was started with, for the process that answers a run's steps."""
        return self.state / "party.json"

    @property
    def scientist(self) -> "Kit":
        """The kit that may submit runs: this one, or the one inside the aggregator's."""
        return self if self.role == SCIENTIST else Kit.open(self.path / SCIENTIST, SCIENTIST)
