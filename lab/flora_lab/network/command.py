"""``flora-lab network``: what the exchange between parties costs, on this machine with real certificates."""

import json
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from flora.cli.arguments import add_json
from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.cli.printing import note
from flora.cli.processes import child, free_port, stoppable
from flora.core.collective import Collective
from flora.core.documents import object_in
from flora.core.threads import in_step
from flora.core.workers import one_thread
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.kits.provision import make_kits
from flora.engines.nvflare.run.ending import Ending
from flora.engines.nvflare.run.remote import run_for
from flora.engines.nvflare.run.session import NoAggregatorError, Session, session
from flora.errors import FloraError, InputError
from flora.problem.plan import at_least
from flora.program.request import Request
from flora_lab.network.delay import delayed

CONTROLLER, EXECUTOR = "flora_lab.network.engine.BenchmarkController", "flora_lab.network.engine.BenchmarkExecutor"
GOAL = "15,000 rows of 30 columns at 3 parties, 100 trees of 31 leaves: 12 s, and 60 s with --delay 50"
WHOSE = {  # processes' own seconds, which other work on the machine lengthens little
    "own": "a party: trees, words, masks, digests",
    "carrying": "a party: messages and TLS",
    "first": "the aggregator's first process: messages, TLS, sums",
    "run": "the aggregator's process of the run",
}
LONGEST = 900.0  # seconds
MOST_DELAY = 1000.0  # milliseconds
TRAININGS = ("unmasked", "masked")  # one after the other


@dataclass(frozen=True)
class NetworkOptions:
    """What ``flora-lab network`` was asked for."""

    parties: int
    rows: int
    trees: int
    scheme: str
    delay: float  # milliseconds of a round trip
    json: bool

    def __post_init__(self) -> None:
        at_least("trees", self.trees, 1)
        if not 0 <= self.delay <= MOST_DELAY:
            raise InputError(f"delay: from 0 to {MOST_DELAY:g} milliseconds, got {self.delay:g}")
        if self.parties < 1 or self.rows < 10 * self.parties:
            raise InputError(f"need at least 1 party and 10 rows for each, got {self.parties} and {self.rows}")


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("--parties", type=int, default=3, metavar="N", help="(%(default)s)")
    parser.add_argument("--rows", type=int, default=15_000, metavar="N", help="of all parties together (%(default)s)")
    parser.add_argument("--trees", type=int, default=100, metavar="N", help="(%(default)s)")
    parser.add_argument("--scheme", choices=("grpc", "tcp"), default="grpc", help="how it travels (%(default)s)")
    parser.add_argument(
        "--delay", type=float, default=0.0, metavar="MS", help="milliseconds added to a round trip (%(default)g)"
    )
    add_json(parser)


def run(parsed: Namespace) -> dict[str, Any]:
    """Measure latencies and one training with masks and without, over the network and in process."""
    options = options_of(NetworkOptions, parsed)
    require_nvflare()
    names = tuple(f"party-{k + 1}" for k in range(options.parties))
    rows = options.rows // options.parties
    with TemporaryDirectory() as folder, stoppable(), ExitStack() as stack:
        consortium = Consortium("benchmark", "localhost", names, free_port(), options.scheme)
        kits = make_kits(consortium, Path(folder) / "kits")
        table = Path(folder) / "none.csv"
        table.write_text("x,y\n" + "1,a\n2,b\n" * 2)
        if options.delay:
            port = stack.enter_context(delayed(consortium.port, options.delay / 2000))
        for kit in kits:
            _allow(kit, rows, options.trees)
            if options.delay and kit.role == "party":
                _dial(kit, port)
            command = ["aggregator", str(kit.path)]
            if kit.role == "party":
                command = ["party", str(kit.path), "--data", str(table), "--target", "y"]
            stack.enter_context(child(kit.name, command, note))
        outcome = _outcome(kits[0])
    document = _document(outcome, names, options)
    document["in_process"], document["same_model"] = _in_process(options, rows, outcome["found"])
    if not options.json:
        _show(document)
    return document


def _allow(kit: Kit, rows: int, trees: int) -> None:
    """Let the kit run the benchmark's classes, and tell a party how many rows to make up and trees to train."""
    path = kit.path / "local" / "resources.json"
    resources = json.loads(path.read_bytes())
    resources["class_allow_list"] = [CONTROLLER, EXECUTOR]
    path.write_text(json.dumps(resources), "utf-8")
    kit.state.mkdir(mode=0o700, exist_ok=True)
    (kit.state / "benchmark.json").write_text(json.dumps({"rows": rows, "trees": trees}), "utf-8")


def _dial(kit: Kit, port: int) -> None:
    """Let a party dial another port than that of the aggregator."""
    path = kit.path / "startup" / "fed_client.json"
    document = json.loads(path.read_bytes())
    document["servers"][0]["service"]["target"] = f"localhost:{port}"
    path.write_text(json.dumps(document), "utf-8")


def _outcome(kit: Kit) -> dict[str, Any]:
    began = time.monotonic()
    while True:
        try:
            with session(kit) as line:
                return _measured(line, began)
        except NoAggregatorError:
            if time.monotonic() - began > LONGEST:
                raise
            time.sleep(1.0)


def _measured(line: Session, began: float) -> dict[str, Any]:
    def in_time() -> None:
        if time.monotonic() - began > LONGEST:
            raise FloraError(f"the benchmark did not end in {LONGEST:.0f} s")
        time.sleep(0.5)

    parties = line.kit.consortium.parties
    while len(line.connected()) < len(parties):
        in_time()
    job = line.submit(run_for(line.kit, Request()), (CONTROLLER, EXECUTOR))
    while line.ended(job) is None:
        in_time()
    from flora_lab.network.engine import MEASURED  # NVFlare is needed for it

    with line.result(job) as folder:
        if folder is None:
            raise FloraError("the benchmark left nothing")
        ending = Ending.read(folder)
        if ending.state != "finished":
            raise FloraError(f"the benchmark failed: {ending.error}")
        return object_in((folder / MEASURED).read_bytes(), MEASURED)


def _document(outcome: Mapping[str, Any], names: tuple[str, ...], options: NetworkOptions) -> dict[str, Any]:
    found = outcome["found"]
    latency = {size: max(found[name]["latency"][size] for name in names) for size in found[names[0]]["latency"]}
    about = {
        "rows": options.rows,
        "trees": options.trees,
        "scheme": options.scheme,
        "delay": options.delay,
        "latency": latency,
    }
    trainings = {kind: [_cost(name, found[name][kind]) for name in names] for kind in TRAININGS}
    seconds = {kind: max(party["seconds"] for party in parties) for kind, parties in trainings.items()}
    marks = zip(TRAININGS, pairwise(outcome["aggregator"]), strict=True)
    aggregator = {kind: {key: after[key] - before[key] for key in after} for kind, (before, after) in marks}
    return {**about, **trainings, "seconds": seconds, "aggregator": aggregator}


def _cost(name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a training cost a party."""
    counted = {key: found[key] for key in ("calls", "sent", "received", "seconds", "waiting", "own", "carrying")}
    return {"name": name, **counted, "computing": found["seconds"] - found["waiting"]}


def _in_process(options: NetworkOptions, rows: int, found: Mapping[str, Any]) -> tuple[float, bool]:
    """Train the same in threads of this process: how long it takes, and whether every party's model is the same."""
    began = time.perf_counter()
    with one_thread():
        models = in_step([partial(_train, rows, options.trees)] * options.parties)
    afar = {entry[kind]["model"] for entry in found.values() for kind in TRAININGS}
    return time.perf_counter() - began, {*models, *afar} == {models[0]}


def _train(rows: int, trees: int, collective: Collective) -> str:
    from flora_lab.network.engine import train  # NVFlare is needed for the rest of it

    return train(collective, rows, trees)


def _table(title: str, parties: Sequence[Mapping[str, Any]]) -> Table:
    """Return what a training cost each party, as a table."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for header in ("party", "calls", "MB out", "MB in", "seconds", "computing", "waiting"):
        table.add_column(header, justify="left" if header == "party" else "right")
    for party in parties:
        megabytes = [f"{party[key] / 1e6:.1f}" for key in ("sent", "received")]
        seconds = [f"{party[key]:.1f}" for key in ("seconds", "computing", "waiting")]
        table.add_row(party["name"], str(party["calls"]), *megabytes, *seconds)
    return table


def _whose(document: Mapping[str, Any]) -> Table:
    """Return where a training's seconds are spent, of the processes' own: parties' are means."""
    title = "Processes' own seconds"
    table = Table("", *TRAININGS, title=title, title_justify="left", box=SIMPLE_HEAD)
    for key, words in WHOSE.items():
        cells = list[str]()
        for kind in TRAININGS:
            each = [party[key] for party in document[kind] if key in party] or [document["aggregator"][kind][key]]
            cells.append(f"{sum(each) / len(each):.1f}")
        table.add_row(words, *cells)
    return table


def _show(document: Mapping[str, Any]) -> None:
    console = Console()
    latency = Table("bytes", "ms", title="A sum (median)", title_justify="left", box=SIMPLE_HEAD)
    for size, seconds in document["latency"].items():
        latency.add_row(f"{int(size):,}", f"{1000 * seconds:.1f}")
    console.print(latency)
    for kind in TRAININGS:
        console.print(_table(f"One training, {kind}", document[kind]))
    console.print(_whose(document))
    ratio = document["seconds"]["masked"] / document["seconds"]["unmasked"]
    print_line(f"With masks: {ratio:.2f} times the seconds.")
    same = "the same model" if document["same_model"] else "ANOTHER model"
    print_line(f"In process: {document['in_process']:.1f} s, and {same}. The goal: {GOAL}.")
