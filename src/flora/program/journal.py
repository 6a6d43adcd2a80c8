"""The aggregator's memory of a run: every reply is kept, so that a run begun again asks for nothing twice.

The folder has ``run.json``, which says whose run it is, and a folder for each step in the program's order, with the
step itself and a file for each party's reply. Each file is written whole: a kill at any moment leaves all readable.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any
from urllib.parse import quote

from flora.core.files import sync_folder, write_whole
from flora.errors import FloraError, InputError
from flora.problem.messages import Reply, Search, SearchReply, Step
from flora.problem.plan import first_difference
from flora.problem.trials import PartyTrials
from flora.problem.wire import read_reply, read_step, step_text

RUN, STEP = "run.json", "step.json"


class Journal:
    """The replies of one run, for the threads of one process. Another run's folder is refused."""

    def __init__(self, folder: str | Path, identity: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self._places: dict[str, Path] = {}  # of the steps that this process has come to, by digest
        self._anew: set[Path] = set()  # steps whose next reply begins a new attempt
        self._lock = RLock()
        with self._writing():
            self._begin_or_go_on(json.loads(json.dumps(identity)))

    def known(self, step: Step, parties: Sequence[str]) -> tuple[dict[str, Reply], list[str]]:
        """Return the replies to ``step`` that are kept, by party, and who is still to be asked.

        Inside some steps the parties add up: there all are asked, or nobody.
        """
        with self._writing():
            place = self._place(step)
            replies = {reply.party: reply for reply in (_read(path, step) for path in _kept(place))}
            found = {party: replies[party] for party in sorted(parties) if party in replies}
            missing = [party for party in parties if party not in found]
            if step.together and missing:
                self._anew.add(place)
                return {}, list(parties)
        return found, missing

    def keep(self, step: Step, reply: Reply, text: str) -> None:
        """Keep a reply as it came; it is on the disk when this returns."""
        with self._writing():
            place = self._place(step)
            if place in self._anew:  # what is left of an attempt that came to nothing
                for path in _kept(place):
                    path.unlink()
                self._anew.discard(place)
            write_whole(place / _file_name(reply.party), text.encode())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except OSError as error:
            raise FloraError(f"{self.folder}: the run cannot be kept there ({error})") from error

    def _begin_or_go_on(self, identity: Mapping[str, Any]) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder}: is a file, and the journal of a run is a folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        marker = self.folder / RUN
        if marker.exists():
            difference = _difference(_stored(marker), identity)
            if difference:
                raise InputError(f"{self.folder} holds another run: {difference}")
        elif any(not path.name.endswith(".draft") for path in self.folder.iterdir()):
            raise InputError(f"{self.folder} holds something else: it has no {RUN}")
        else:
            write_whole(marker, json.dumps(identity, indent=1).encode())

    def _place(self, step: Step) -> Path:
        """Return the step's folder. Steps are numbered as this process comes to them; one that comes again is the same.

        The program is a function of the request and the replies, so a run begun again comes to the same steps.
        """
        text = step_text(step)
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest in self._places:
            return self._places[digest]
        place = self.folder / f"{len(self._places) + 1:02d}-{step.name}"
        stored = place / STEP
        if not stored.exists():
            place.mkdir(exist_ok=True)
            sync_folder(self.folder)
            write_whole(stored, text.encode())
        elif stored.read_bytes() != text.encode():
            difference = _difference(_stored(stored), json.loads(text)) or "its fields come in another order"
            raise InputError(f"{place} was asked for otherwise: {difference}; use another folder, or delete it")
        self._places[digest] = place
        return place


def newest_search(runs: Path) -> tuple[Mapping[str, Any], Search | None, list[PartyTrials]]:
    """Return whose run is the newest of a folder of runs, its search, and the trials that came so far."""
    found = sorted((path for path in runs.glob(f"*/{RUN}")), key=lambda path: path.parent.stat().st_mtime)
    if not found:
        return {}, None, []
    for place in found[-1].parent.glob(f"*-{Search.name}"):
        step = read_step((place / STEP).read_bytes(), str(place / STEP)) if (place / STEP).exists() else None
        if isinstance(step, Search):
            replies = [_read(path, step) for path in _kept(place)]
            return _stored(found[-1]), step, [r.trials for r in replies if isinstance(r, SearchReply) and r.trials]
    return _stored(found[-1]), None, []


def _kept(place: Path) -> list[Path]:
    return sorted(path for path in place.glob("*.json") if path.name != STEP)


def _file_name(party: str) -> str:
    """Return a file name for a party, short whatever it is called; the digest tells names apart that begin alike."""
    return f"{quote(party, safe='')[:40]}-{hashlib.sha256(party.encode()).hexdigest()[:12]}.json"


def _read(path: Path, step: Step) -> Reply:
    try:
        reply = read_reply(path.read_text("utf-8"), step)
    except ValueError as error:  # an InputError is one too
        raise InputError(f"{path}: {error}; without this file the party is asked again") from error
    if path.name != _file_name(reply.party):
        raise InputError(f"{path}: holds a reply of {reply.party!r}, whose file is {_file_name(reply.party)}")
    return reply


def _stored(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a JSON file ({error})") from error
    if not isinstance(document, dict):
        raise InputError(f"{path}: must be a JSON object")
    return document


def _difference(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return in words what is otherwise in a stored document, by the innermost field's path."""
    before, after = dict(_leaves(stored)), dict(_leaves(now))
    return first_difference(before, {**dict.fromkeys(before), **after})


def _leaves(document: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value
