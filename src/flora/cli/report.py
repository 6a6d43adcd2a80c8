"""``flora report``: a run as one HTML page."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.options import options_of
from flora.cli.printing import print_line
from flora.outcome.folder import REPORT, write_report


@dataclass(frozen=True)
class ReportOptions:
    """What ``flora report`` was asked for."""

    run: Path
    out: Path | None


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("run", type=Path, metavar="OUT", help="the folder of a run")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"(OUT/{REPORT})")


def run(parsed: Namespace) -> None:
    """Write a run as one HTML page."""
    options = options_of(ReportOptions, parsed)
    target = options.out or options.run / REPORT
    write_report(options.run, target)
    print_line(f"Written: {target}")
