"""What the processes of a party take, each by what it is for: looked at every few seconds while a run goes on."""

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

EVERY = 2.0  # seconds between two looks
KINDS = ("command", "NVFlare", "run")  # `flora party` itself, NVFlare's process, and the one that works for a run
WORDS = {"party_main run": "run", "aggregator_main run": "run", "party_main": "NVFlare", "aggregator_main": "NVFlare"}


@dataclass(frozen=True)
class Taken:
    """Memory in bytes: ``rss`` counts a page that processes share at each, ``pss`` shares it out between them."""

    rss: int = 0
    pss: int = 0

    def __add__(self, other: "Taken") -> "Taken":
        return Taken(self.rss + other.rss, self.pss + other.pss)

    def most(self, other: "Taken") -> "Taken":
        """Return the larger of each."""
        return Taken(max(self.rss, other.rss), max(self.pss, other.pss))


def taken_by(process: psutil.Process) -> Taken:
    """Return what a process takes now; nothing where it has ended."""
    with suppress(OSError, ValueError, psutil.Error):
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text("utf-8").splitlines()[1:]
        sizes = {line.split(":")[0]: 1024 * int(line.split()[1]) for line in lines}
        return Taken(sizes["Rss"], sizes["Pss"])
    return Taken()


def kind_of(process: psutil.Process) -> str:
    """Return what a process of ours is for; a worker of one that works is of its kind."""
    with suppress(psutil.Error):
        line = " ".join(process.cmdline())
        return next((kind for words, kind in WORDS.items() if words in line), KINDS[0])
    return KINDS[0]


@dataclass
class WatchedProcesses:
    """The most that each command's processes have taken: of each kind, and of all at one time."""

    roots: Mapping[str, int]  # name -> the number of its process
    kinds: dict[str, dict[str, Taken]] = field(default_factory=dict)
    whole: dict[str, Taken] = field(default_factory=dict)
    everything: Taken = field(default_factory=Taken)
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Look every few seconds, until stopped."""
        threading.Thread(target=self._watch, name="flora-memory", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            self.look()

    def look(self) -> None:
        """Look once at all."""
        total = Taken()
        for name, root in list(self.roots.items()):
            now = self._now(root)
            known = self.kinds.setdefault(name, {})
            for kind, taken in now.items():
                known[kind] = known.get(kind, Taken()).most(taken)
            whole = sum(now.values(), Taken())
            self.whole[name] = self.whole.get(name, Taken()).most(whole)
            total += whole
        self.everything = self.everything.most(total)

    def _now(self, root: int) -> dict[str, Taken]:
        try:
            process = psutil.Process(root)
            family = [process, *process.children(recursive=True)]
        except psutil.Error:
            return {}
        now: dict[str, Taken] = {}
        for member in family:
            kind = kind_of(member)
            now[kind] = now.get(kind, Taken()) + taken_by(member)
        return now


def greatest(of: Iterable[Taken]) -> Taken:
    """Return the most of each that any has taken."""
    most = Taken()
    for taken in of:
        most = most.most(taken)
    return most
