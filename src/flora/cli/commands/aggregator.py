"""``flora aggregator``: the aggregator of a consortium, in the foreground."""

import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.parsed import options_of
from flora.cli.processes import ended_cleanly, line_of, show_checks
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import AGGREGATOR, Kit
from flora.engines.nvflare.kits.health import checks
from flora.engines.nvflare.run.service import running


@dataclass(frozen=True)
class AggregatorOptions:
    """What ``flora aggregator`` was asked for."""

    kit: Path
    check: bool


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("kit", type=Path, metavar="KIT", help="the aggregator's folder")
    parser.add_argument("--check", action="store_true", help="say whether all is as it must be, and end")


def run(parsed: Namespace) -> None:
    """Serve runs until stopped."""
    options = options_of(AggregatorOptions, parsed)
    require_nvflare()
    kit = Kit.open(options.kit, AGGREGATOR)
    if options.check:
        show_checks(checks(kit))
        return
    say = line_of("aggregator")
    with ended_cleanly(say), running(kit, say) as service:
        say(f"starting on port {kit.consortium.port}, for {', '.join(kit.consortium.parties)}; Ctrl-C stops")
        service.start()
        while True:
            service.step()
            time.sleep(0.2)
