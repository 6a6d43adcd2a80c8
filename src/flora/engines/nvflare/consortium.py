"""Who takes part, and the folder that each one was handed."""

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from flora.core.codec import read
from flora.core.documents import MIB, contents, object_in
from flora.core.rules import Rule, check, one_line, whole
from flora.errors import InputError

AGGREGATOR: Final = "aggregator"
SCIENTIST: Final = "scientist"
AUTHORITY: Final = "authority"
PARTY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
KIT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,252}")  # of a party, a host, or a user of NVFlare's
RESERVED = {AGGREGATOR, SCIENTIST, AUTHORITY, "server", "admin"}
SCHEMES = ("grpc", "tcp")
ALL_SCHEMES = (*SCHEMES, "http")  # the last is NVFlare's own default, in a network that it runs already
MOST_PARTIES = 1000
MARK = "flora-kit.json"
USER = "scientist@flora.example.org"  # the name in the certificate of who may submit runs
DEEPEST = 8  # lists and mappings, one in the other, of a file
Role = Literal["party", "aggregator", "scientist"]


def _like(pattern: re.Pattern[str], words: str) -> Rule:
    """Return the rule of a text that is wholly of a pattern."""
    return Rule(words, lambda text: pattern.fullmatch(text) is not None)


Plain = Annotated[str, _like(PARTY_NAME, "of letters, digits, - and _, at most 63")]
Host = Annotated[str, _like(HOST_NAME, "the host name that the parties dial")]
Port = Annotated[int, whole(1, 65535)]
Scheme = Annotated[str, Rule(f"one of {list(SCHEMES)}", lambda text: text in ALL_SCHEMES)]


@dataclass(frozen=True)
class Consortium:
    """Who takes part: what ``consortium.yml`` says."""

    name: Plain
    aggregator: Host
    parties: tuple[Plain, ...]
    port: Port = 8002
    scheme: Scheme = "grpc"

    def __post_init__(self) -> None:
        check(self)
        if not 1 <= len(self.parties) <= MOST_PARTIES:
            raise InputError(f"parties: a consortium has 1 to {MOST_PARTIES} parties, got {len(self.parties)}")
        for name in self.parties:
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
            if not isinstance(document, dict):
                raise InputError(f"a consortium is a mapping of name, aggregator and parties, got {document!r:.80}")
            found = read(cls, document)
            if found.scheme not in SCHEMES:
                raise InputError(f"scheme must be one of {list(SCHEMES)}, got {found.scheme!r}")
        except InputError as error:
            raise InputError(one_line(f"{path}: {error}")) from error
        return found


@dataclass(frozen=True)
class Mark:
    """The file that makes a folder a kit: whose it is."""

    role: Role
    name: Annotated[str, _like(KIT_NAME, "the name of a party, a host or a user")]
    consortium: Consortium


def _refuse_foreign(path: Path) -> None:
    """Refuse a folder that this user may not read, as that of another one which was mounted in a container."""
    if path.is_dir() and not os.access(path, os.R_OK | os.X_OK, effective_ids=True):
        raise InputError(
            f"{path}: belongs to user {path.stat().st_uid}, and user {os.geteuid()} runs flora and may not read it; "
            f"a kit must belong to who runs flora (chown)"
        )


@dataclass(frozen=True)
class Kit:
    """A folder that was handed over: whose it is, and how to reach the aggregator."""

    path: Path
    role: Role
    name: str
    consortium: Consortium

    @classmethod
    def open(cls, path: Path, *roles: str) -> Self:
        """Return the kit in a folder, which must be of one of the roles, where any are named."""
        _refuse_foreign(path)
        try:
            mark = read(Mark, object_in(contents(path / MARK, MIB), MARK))
        except (OSError, InputError) as error:
            raise InputError(f"{path}: is not a kit of flora project (no good {MARK})") from error
        kit = cls(path.resolve(), mark.role, mark.name, mark.consortium)
        if roles and kit.role not in roles:
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
