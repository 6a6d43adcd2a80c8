"""``flora status``: who is connected, and how far a run is."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.arguments import add_json
from flora.cli.options import options_of
from flora.cli.printing import print_line
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import AGGREGATOR, SCIENTIST, Kit
from flora.engines.nvflare.session import session


@dataclass(frozen=True)
class StatusOptions:
    """What ``flora status`` was asked for."""

    kit: Path
    json: bool


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("kit", type=Path, metavar="KIT", help="the aggregator's folder, or the scientist's in it")
    add_json(parser, "it")


def run(parsed: Namespace) -> dict[str, Any]:
    """Show who is connected and how far a run is."""
    options = options_of(StatusOptions, parsed)
    require_nvflare()
    kit = Kit.open(options.kit, AGGREGATOR, SCIENTIST)
    with session(kit) as line:
        connected, jobs = line.connected(), line.running()
        states = [found for job in jobs if (found := line.status(job))]
    at_work: dict[str, Any] = states[0]["parties"] if states else {}
    entries = [_entry(name, name in connected, at_work.get(name, {})) for name in kit.consortium.parties]
    document = {
        "consortium": kit.consortium.name,
        "runs": len(jobs),
        "step": states[0]["step"] if states else None,
        "parties": entries,
    }
    if not options.json:
        _show(kit, document)
    return document


def _entry(name: str, connected: bool, found: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "connected": connected, **{key: found.get(key) for key in ("state", "done", "total")}}


def _show(kit: Kit, document: Mapping[str, Any]) -> None:
    where = f"{kit.consortium.aggregator} port {kit.consortium.port}"
    under_way = f"a run is under way, at {document['step']!r}" if document["runs"] else "no run is under way"
    print_line(f"Consortium {kit.consortium.name}, aggregator {where}: {under_way}")
    for entry in document["parties"]:
        count = f", {entry['done']} of {entry['total']} trials" if entry["total"] else ""
        doing = f", {entry['state']}{count}" if entry["state"] else ""
        print_line(f"  {entry['name']}: {'connected' if entry['connected'] else 'not connected'}{doing}")
