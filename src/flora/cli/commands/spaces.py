"""``flora spaces``: the families' own search spaces as JSON, to be changed and given back with ``--space``."""

import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flora.cli.arguments import TASKS
from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.models import FAMILIES, family_of
from flora.problem.family import FEDERATED, OWN, space_of
from flora.problem.schema import Task


@dataclass(frozen=True)
class SpacesOptions:
    """What ``flora spaces`` was asked for."""

    model: str | None
    task: Task
    aggregator_hps: bool


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("model", nargs="?", choices=list(FAMILIES), help="one space alone, as --space takes it (all)")
    parser.add_argument("--task", choices=TASKS, default="classification", help="(%(default)s)")
    parser.add_argument("--aggregator-hps", action="store_true", help="mlp: with those of the aggregator")


def run(parsed: Namespace) -> None:
    """Print the default search spaces."""
    options = options_of(SpacesOptions, parsed)
    which = FEDERATED if options.aggregator_hps else OWN
    names = [options.model] if options.model else _able(options.task)
    spaces = {name: space_of(family_of(name), options.task, which).to_json() for name in names}
    if options.model:
        print_line(_text(spaces[options.model]))
    else:
        print_line(_text(spaces, _text))


def _text(document: Mapping[str, Any], of: Callable[[Any], str] = json.dumps) -> str:
    """Return a JSON object with a line for each entry, to be changed by hand."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {of(entry)}" for name, entry in document.items()) + "\n}"


def _able(task: Task) -> list[str]:
    return [name for name in FAMILIES if task in family_of(name).tasks]


def space_words(task: Task = "classification") -> str:
    """Return the default spaces as lines of text, for --help."""
    lines = []
    for name in _able(task):
        lines.append(f"  {name}")
        for hp, entry in space_of(family_of(name), task).to_json().items():
            low_high = " to ".join(f"{end:g}" for end in entry["range"]) if "range" in entry else "one of values"
            scale = f", {entry['space']}" if entry.get("space", "linear") != "linear" else ""
            lines.append(f"    {hp:<20} {low_high}{scale}; default {entry['default']}")
    return "\n".join(lines)
