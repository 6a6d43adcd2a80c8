"""``flora-lab pack``: what killed runs left, and what git merged, as files that are as small as can be."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora_lab.options import add_results
from flora_lab.store import WORK, Store


@dataclass(frozen=True)
class PackOptions:
    """What ``flora-lab pack`` was asked for."""

    results: Path


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    add_results(parser)


def run(parsed: Namespace) -> None:
    """Pack all results anew."""
    results = options_of(PackOptions, parsed).results
    for experiment in sorted({path.name for folder in (results, results / WORK) for path in folder.glob("[!.]*")}):
        for store in Store.all(results, experiment):
            store.pack(anew=True)
            print_line(f"{store.packed}: {len(store.names())} pieces in {store.packed.stat().st_size:,} bytes")
