"""``flora-lab many``: many parties at one aggregator, on this machine: whether the run ends, and what each takes."""

import json
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from flora.cli.arguments import add_json
from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.cli.printing import note
from flora.cli.processes import child, free_port, stoppable
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.kits.provision import make_kits
from flora.engines.nvflare.run.service import CONNECTED, READY
from flora.errors import FloraError, InputError
from flora.randomness import stream
from flora_lab.network.memory import KINDS, Taken, WatchedProcesses, greatest

LONGEST = 3600.0  # seconds for all
AT_A_HOST = 25  # parties
HOST = "from flora_lab.network.hosted import main; main()"
COLUMNS = 4
SPACE = {
    "max_iter": {"type": "int", "range": [5, 20], "default": 10},
    "learning_rate": {"type": "real", "space": "log", "range": [0.03, 0.3], "default": 0.1},
}
ASKED = ("--model", "hgb", "--trials", "3", "--cv", "2", "--seed", "5")
GOAL = "each party at most 400 MB in all its processes"


@dataclass(frozen=True)
class ManyOptions:
    """What ``flora-lab many`` was asked for."""

    parties: int
    hosted: int
    stage: int
    rows: int
    masked: bool
    json: bool

    def __post_init__(self) -> None:
        if self.parties < 0 or self.hosted < 0 or self.parties + self.hosted < 1 or self.stage < 1:
            raise InputError(f"need a party or more, and 1 or more at a stage, got {self.parties} and {self.stage}")
        if self.rows < 40:
            raise InputError(f"a party answers nothing with fewer than 40 rows, got {self.rows}")


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("--parties", type=int, default=32, metavar="N", help="as processes of their own (%(default)s)")
    parser.add_argument("--hosted", type=int, default=0, metavar="N", help="more, 25 in a process (%(default)s)")
    parser.add_argument("--stage", type=int, default=8, metavar="N", help="parties started at a time (%(default)s)")
    parser.add_argument("--rows", type=int, default=100, metavar="N", help="of each party (%(default)s)")
    parser.add_argument("--unmasked", dest="masked", action="store_false", help="let sums leave without masks")
    add_json(parser)


@dataclass
class SaidLines:
    """What the commands have said so far."""

    said: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        """Keep a line."""
        self.said.append(line)

    def wait(self, words: str, count: int, until: float) -> None:
        """Wait until so many lines have said it."""
        while sum(words in line for line in self.said) < count:
            if time.monotonic() > until:
                last = "\n".join(self.said[-20:])
                raise FloraError(f"{count} lines with {words!r} did not come in time; the last lines are\n{last}")
            time.sleep(0.2)


def run(parsed: Namespace) -> dict[str, Any]:
    """Start all, let them do a whole run, and return what it took."""
    options = options_of(ManyOptions, parsed)
    require_nvflare()
    names = tuple(f"party-{k + 1:03d}" for k in range(options.parties + options.hosted))
    until, lines = time.monotonic() + LONGEST, SaidLines()
    with TemporaryDirectory() as made, stoppable(), ExitStack() as stack:
        folder = Path(made)
        kits = make_kits(Consortium("many", "localhost", names, free_port()), folder / "kits")
        (folder / "space.json").write_text(json.dumps(SPACE), "utf-8")
        for kit in kits[1:]:
            _furnish(kit, folder, options)
        roots: dict[str, int] = {}
        watched = WatchedProcesses(roots)
        watched.start()
        stack.callback(watched.stop)
        began = time.monotonic()
        roots["aggregator"] = stack.enter_context(child("aggregator", ["aggregator", str(kits[0].path)], lines.say)).pid
        lines.wait(READY, 1, until)
        start = Start(folder, lines, stack, roots, until)
        start.as_processes(kits[1 : 1 + options.parties], options.stage)
        start.hosted(kits[1 + options.parties :])
        started = time.monotonic() - began
        seconds = _tuned(kits[0], folder, options, lines, until)
        watched.stop()
        same = _same_alone(folder, names, lines, until)
    document = _document(watched, names, options) | {"started": started, "seconds": seconds, "same_model": same}
    if not options.json:
        _show(document)
    return document


def _furnish(kit: Kit, folder: Path, options: ManyOptions) -> None:
    """Write a party's table and its consent."""
    rng = stream(0, "many", kit.name)
    X = rng.normal(size=(options.rows, COLUMNS)).round(3)
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(0, 0.5, options.rows) > 0
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(COLUMNS)]).assign(kind=np.where(y, "upper", "lower"))
    table.to_csv(_table(folder, kit.name), index=False)
    if not options.masked:
        (kit.path / "local" / "flora.json").write_text(json.dumps({"unmasked_sums": True}), "utf-8")


def _table(folder: Path, name: str) -> Path:
    return folder / f"{name}.csv"


@dataclass
class Start:
    """Starts parties, a few at a time: the next ones when those before are connected."""

    folder: Path
    lines: SaidLines
    stack: ExitStack
    roots: dict[str, int]
    until: float
    connected: int = 0

    def as_processes(self, kits: Sequence[Kit], stage: int) -> None:
        """Start each party as its administrator does."""
        for first in range(0, len(kits), stage):
            for kit in kits[first : first + stage]:
                command = ["party", str(kit.path), "--data", str(_table(self.folder, kit.name)), "--target", "kind"]
                self.roots[kit.name] = self.stack.enter_context(child(kit.name, command, self.lines.say)).pid
            self._wait(len(kits[first : first + stage]))

    def hosted(self, kits: Sequence[Kit]) -> None:
        """Start parties that share processes."""
        for first in range(0, len(kits), AT_A_HOST):
            here = kits[first : first + AT_A_HOST]
            words = [str(path) for kit in here for path in (kit.path, _table(self.folder, kit.name))]
            name = f"host-{first // AT_A_HOST + 1}"
            self.roots[name] = self.stack.enter_context(child(name, words, self.lines.say, HOST)).pid
            self._wait(len(here))

    def _wait(self, more: int) -> None:
        self.connected += more
        self.lines.wait(CONNECTED, self.connected, self.until)
        note(f"{self.connected} parties are connected")


def _command(folder: Path, out: str, options: Sequence[str]) -> list[str]:
    return ["tune", *options, "--out", str(folder / out), "--space", str(folder / "space.json"), *ASKED]


def _tuned(kit: Kit, folder: Path, options: ManyOptions, lines: SaidLines, until: float) -> float:
    """Let the parties do a whole run; return its seconds."""
    masks = [] if options.masked else ["--unmasked"]
    began = time.monotonic()
    with child("tune", _command(folder, "out", ["--project", str(kit.path), *masks]), lines.say) as process:
        while process.poll() is None:
            if time.monotonic() > until:
                raise FloraError(f"the run did not end within {LONGEST:.0f} s; the last lines are\n{lines.said[-20:]}")
            time.sleep(0.5)
    if process.returncode != 0:
        last = "\n".join(lines.said[-20:])
        raise FloraError(f"the run ended with code {process.returncode}; the last lines are\n{last}")
    return time.monotonic() - began


def _same_alone(folder: Path, names: Sequence[str], lines: SaidLines, until: float) -> bool:
    """Do the same run in one process: whether the model is the same, byte for byte."""
    tables = [str(_table(folder, name)) for name in names]
    with child("alone", _command(folder, "alone", [*tables, "--target", "kind"]), lines.say) as process:
        process.wait(max(1.0, until - time.monotonic()))
    models = [(folder / out / "model.flora").read_bytes() for out in ("out", "alone")]
    return models[0] == models[1]


def _document(watched: WatchedProcesses, names: Sequence[str], options: ManyOptions) -> dict[str, Any]:
    def entry(taken: Taken) -> dict[str, float]:
        return {"rss": taken.rss / 1e6, "pss": taken.pss / 1e6}

    own = names[: options.parties]
    party = {kind: greatest(watched.kinds.get(name, {}).get(kind, Taken()) for name in own) for kind in KINDS}
    aggregator = {kind: watched.kinds["aggregator"].get(kind, Taken()) for kind in KINDS}
    return {
        "parties": options.parties,
        "hosted": options.hosted,
        "rows": options.rows,
        "masked": options.masked,
        "party": {kind: entry(taken) for kind, taken in party.items()}
        | {"all": entry(greatest(watched.whole[name] for name in own))},
        "aggregator": {kind: entry(taken) for kind, taken in aggregator.items()}
        | {"all": entry(watched.whole["aggregator"])},
        "together": entry(watched.everything),
    }


def _show(document: dict[str, Any]) -> None:
    table = Table(title="The most at one time, MB", title_justify="left", box=SIMPLE_HEAD)
    for header in ("whose", "processes", "RSS", "PSS"):
        table.add_column(header, justify="left" if header in ("whose", "processes") else "right")
    for whose in ("party", "aggregator") if document["parties"] else ("aggregator",):
        for kind, taken in document[whose].items():
            words = "the greediest party" if whose == "party" else whose
            table.add_row(words, kind, f"{taken['rss']:.0f}", f"{taken['pss']:.0f}")
    table.add_row("all together", "", *(f"{document['together'][kind]:.0f}" for kind in ("rss", "pss")))
    Console().print(table)
    same = "the same model as in process" if document["same_model"] else "ANOTHER MODEL than in process"
    count = f"{document['parties']} parties as processes of their own and {document['hosted']} that share processes"
    print_line(f"{count} were connected after {document['started']:.0f} s.")
    print_line(f"The run ended after {document['seconds']:.0f} s, with {same}. The goal: {GOAL}.")
