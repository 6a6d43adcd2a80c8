"""The options of the commands that work across machines."""

from pathlib import Path
from typing import Any

NETWORK_COMMANDS = ("project", "party", "aggregator", "status", "audit")


def add_network_commands(commands: Any) -> None:
    """Add the commands of the three people involved: who makes the kits, a party, the aggregator."""
    _add_project(commands)
    _add_party(commands)
    _add_aggregator(commands)
    _add_status(commands)
    _add_audit(commands)


def add_network_benchmark(kinds: Any) -> None:
    """Add the benchmark of the network."""
    network = kinds.add_parser("network", help="latency, bytes and a training over the network, on this machine")
    network.add_argument("--parties", type=int, default=3, metavar="N", help="(%(default)s)")
    network.add_argument("--rows", type=int, default=15_000, metavar="N", help="of all parties together (%(default)s)")
    network.add_argument("--scheme", choices=("grpc", "tcp"), default="grpc", help="how it travels (%(default)s)")
    network.add_argument("--json", action="store_true", help="print the result as one JSON object")


def add_tune_options(tune: Any) -> None:
    """Add the options of a run across machines."""
    network = tune.add_argument_group("across machines")
    network.add_argument("--project", type=Path, metavar="KIT", help="ask the parties of this kit's consortium")
    network.add_argument("--quorum", type=int, metavar="N", help="go on without lost parties while N remain (all)")
    network.add_argument(
        "--wait", type=float, default=600.0, metavar="S", help="seconds to wait for who is not there (%(default)g)"
    )


def _add_project(commands: Any) -> None:
    project = commands.add_parser("project", help="make the kits of a consortium: the aggregator's and each party's")
    project.add_argument("consortium", type=Path, metavar="CONSORTIUM.yml", help="name, aggregator, port, parties")
    project.add_argument("--out", type=Path, metavar="DIR", help="the folder of the kits (the consortium's name)")


def _add_party(commands: Any) -> None:
    party = commands.add_parser("party", help="take part in a consortium's runs, in the foreground")
    party.add_argument("kit", type=Path, metavar="KIT", help="the folder that you were given")
    party.add_argument("--data", metavar="FILE", help="the party's table: CSV, CSV.gz, Parquet (local/flora.json's)")
    party.add_argument("--target", metavar="COL", help="the column to predict (local/flora.json's)")
    party.add_argument("--drop", action="append", default=[], metavar="COL", help="leave a column out; may be repeated")
    party.add_argument("--jobs", type=int, default=1, metavar="J", help="processes at work (%(default)s)")
    party.add_argument("--ask", action="store_true", help="show what is about to leave, and wait for a yes")


def _add_aggregator(commands: Any) -> None:
    aggregator = commands.add_parser("aggregator", help="serve a consortium's runs, in the foreground")
    aggregator.add_argument("kit", type=Path, metavar="KIT", help="the aggregator's folder")


def _add_status(commands: Any) -> None:
    status = commands.add_parser("status", help="who is connected, and how far a run is")
    status.add_argument("kit", type=Path, metavar="KIT", help="the aggregator's folder, or the scientist's in it")
    status.add_argument("--json", action="store_true", help="print it as one JSON object")


def _add_audit(commands: Any) -> None:
    audit = commands.add_parser("audit", help="read and verify a party's record of all that left it")
    audit.add_argument("file", type=Path, metavar="FILE", help="KIT/state/audit.jsonl")
    audit.add_argument("--json", action="store_true", help="print it as one JSON object")
