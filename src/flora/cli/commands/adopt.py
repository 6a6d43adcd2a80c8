"""``flora adopt``: FLoRA in a network that NVFlare runs already."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.parsed import check_jobs, options_of
from flora.cli.plain import print_line
from flora.cli.printing import note
from flora.cli.table_arguments import TABLE_KINDS, add_drop, add_format, add_jobs
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.run.site_settings import SiteSettings
from flora.errors import InputError
from flora.party.consent import Consent, DataSource
from flora.party.tables.format import TableFormat


@dataclass(frozen=True)
class AdoptOptions:
    """What ``flora adopt`` was asked for."""

    workspace: Path
    data: str | None
    target: str | None
    drop: tuple[str, ...]
    format: TableFormat
    parties: str | None
    jobs: int


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("workspace", type=Path, metavar="WORKSPACE", help="of a site, of the server, or of a user")
    parser.add_argument("--data", metavar="FILE", help=f"at a site: its table ({TABLE_KINDS})")
    parser.add_argument("--target", metavar="COL", help="at a site: the column to predict")
    add_drop(parser)
    add_format(parser)
    add_jobs(parser)
    parser.add_argument("--parties", metavar="A,B", help="at a user: the sites that a run asks")


def run(parsed: Namespace) -> None:
    """Let FLoRA be used in a workspace of NVFlare's."""
    require_nvflare()
    from flora.engines.nvflare.kits.adoption import SITE, adopt

    options = options_of(AdoptOptions, parsed)
    check_jobs(options.jobs)
    is_site = (options.workspace / "startup" / SITE).is_file()
    source = _source(options) if is_site else None
    if not is_site and (options.data or options.target):
        raise InputError("--data and --target: are for a site, and this workspace is none")
    parties = tuple(name.strip() for name in options.parties.split(",")) if options.parties else ()
    adopted = adopt(options.workspace, parties)
    if source is not None:
        _keep(Kit.open(adopted.path, "party"), source, options.jobs)
    print_line(f"{adopted.words} may be used by FLoRA; a process that is running must be started again")


def _source(options: AdoptOptions) -> DataSource:
    """Return the site's table, which must be one."""
    from flora.party.tables.table import open_table

    if not options.data or not options.target:
        raise InputError("a site needs --data FILE and --target COL")
    source = DataSource(str(Path(options.data).resolve()), options.target, options.drop, options.format)
    table = open_table(source.path, source.target, source.drop, source.format, say=note)
    table.described(None, None)
    return source


def _keep(kit: Kit, source: DataSource, jobs: int) -> None:
    SiteSettings(source, jobs).write(kit)
    consent = Consent.read(kit.path / "local" / "flora.json")
    print_line(consent.describe())
    print_line(f"({kit.path / 'local' / 'flora.json'} may say otherwise)")
