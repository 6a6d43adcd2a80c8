"""``flora-lab speed``: how long things take. Each in a module of its own, with add_arguments and run."""

from argparse import Namespace
from importlib import import_module
from typing import Any

SPEEDS = {
    "table": "flora_lab.speed.table",
    "trees": "flora_lab.speed.trees",
    "search": "flora_lab.speed.search",
    "aggregate": "flora_lab.speed.aggregate",
}


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("what", nargs="?", choices=list(SPEEDS), default="table", help="(%(default)s)")
    for name, module in SPEEDS.items():
        import_module(module).add_arguments(parser.add_argument_group(name))


def run(parsed: Namespace) -> None:
    """Measure what was named, and print its tables."""
    import_module(SPEEDS[parsed.what]).run(parsed)
