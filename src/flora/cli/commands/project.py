"""``flora project``: the kits of a consortium."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import Consortium
from flora.engines.nvflare.kits.provision import make_kits


@dataclass(frozen=True)
class ProjectOptions:
    """What ``flora project`` was asked for."""

    consortium: Path
    out: Path | None
    own_keys: bool


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("consortium", type=Path, metavar="CONSORTIUM.yml", help="name, aggregator, port, parties")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder of the kits (the consortium's name)")
    parser.add_argument(
        "--own-keys", action="store_true", help="without keys for the parties: flora certificate request makes them"
    )


def run(parsed: Namespace) -> None:
    """Make the kits of a consortium."""
    options = options_of(ProjectOptions, parsed)
    require_nvflare()
    consortium = Consortium.read(options.consortium)
    out = options.out or Path(consortium.name)
    for kit in make_kits(consortium, out, own_keys=options.own_keys):
        print_line(f"Written: {out / kit.path.name}, the kit of {kit.whose}; its README.md says what to do")
    print_line(f"{out / 'authority'} holds the root key of all certificates: keep it, and hand it to nobody")
