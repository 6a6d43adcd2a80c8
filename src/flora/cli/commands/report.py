"""``flora report``: a run as one HTML page."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.cli.printing import note
from flora.cli.watch import WatchedFolder, add_address, watch_until_stopped
from flora.errors import InputError
from flora.outcome.folder import REPORT, write_report


@dataclass(frozen=True)
class ReportOptions:
    """What ``flora report`` was asked for."""

    run: Path
    out: Path | None
    watch: bool
    host: str
    port: int


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("run", type=Path, metavar="OUT", help="the folder of a run")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"(OUT/{REPORT})")
    parser.add_argument(
        "--watch", action="store_true", help="serve a page of the run while it goes on: steps, parties, the surface"
    )
    add_address(parser)


def run(parsed: Namespace) -> None:
    """Write a run as one HTML page."""
    options = options_of(ReportOptions, parsed)
    if options.watch:
        if options.out is not None:
            raise InputError("--out names the file of a finished run's report: leave it out with --watch")
        if options.run.exists() and not options.run.is_dir():
            raise InputError(f"{options.run}: is a file, and a run is a folder")
        watch_until_stopped(WatchedFolder(options.run), options.host, options.port, note)
        return
    target = options.out or options.run / REPORT
    write_report(options.run, target)
    print_line(f"Written: {target}")
