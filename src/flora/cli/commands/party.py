"""``flora party``: one party of a consortium, in the foreground."""

import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flora.cli.parsed import check_jobs, options_of
from flora.cli.plain import print_line
from flora.cli.processes import apart, ended_cleanly, line_of, show_checks
from flora.cli.table_arguments import TABLE_KINDS, add_drop, add_format, add_jobs
from flora.core.files import write_whole
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.kits.health import checks
from flora.engines.nvflare.run.service import running
from flora.errors import InputError
from flora.party.tables.format import TableFormat

if TYPE_CHECKING:  # the rest is loaded in a copy of this process, which ends: this one goes on for weeks
    from flora.engines.nvflare.run.service import Service
    from flora.party.consent import Consent, DataSource


@dataclass(frozen=True)
class PartyOptions:
    """What ``flora party`` was asked for."""

    kit: Path
    data: str | None
    target: str | None
    drop: tuple[str, ...]
    format: TableFormat
    jobs: int
    ask: bool
    check: bool

    def __post_init__(self) -> None:
        check_jobs(self.jobs)

    def source(self, consent: "Consent") -> "DataSource":
        """Return where the party's rows are: as typed, or as its own file says."""
        from flora.party.consent import DataSource

        own = consent.data
        path, target = self.data or (own and own.path), self.target or (own and own.target)
        if not path or not target:
            raise InputError("a party needs --data FILE and --target COL, or both in its local/flora.json")
        form = own.format if own and self.format == TableFormat() else self.format
        place = path if "://" in path else str(Path(path).resolve())
        return DataSource(place, target, self.drop or (own.drop if own else ()), form)


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("kit", type=Path, metavar="KIT", help="the folder that you were given")
    parser.add_argument("--data", metavar="FILE", help=f"the party's table: {TABLE_KINDS} (local/flora.json's)")
    parser.add_argument("--target", metavar="COL", help="the column to predict (local/flora.json's)")
    add_drop(parser)
    add_format(parser)
    add_jobs(parser)
    parser.add_argument("--ask", action="store_true", help="show what is about to leave, and wait for a yes")
    parser.add_argument("--check", action="store_true", help="say whether all is as it must be, and end")


def run(parsed: Namespace) -> None:
    """Take part in runs until stopped."""
    options = options_of(PartyOptions, parsed)
    require_nvflare()
    kit = Kit.open(options.kit, "party")
    if options.check:
        show_checks(checks(kit, table=lambda: _table_words(_source(kit, options))))
        return
    settings = apart(lambda: _prepared(kit, options))  # what is wrong with the table is better said now
    say = line_of(kit.name)
    with ended_cleanly(say), running(kit, say) as service:
        try:
            write_whole(kit.settings, settings.encode(), mode=0o600)
        except OSError as error:
            raise InputError(f"{kit.state}: cannot be written ({error.strerror})") from error
        say(f"dialling {kit.consortium.aggregator} port {kit.consortium.port}; Ctrl-C stops")
        service.start()
        while True:
            service.step()
            if options.ask:
                _answer(service)
            time.sleep(0.2)


def _source(kit: Kit, options: PartyOptions) -> "DataSource":
    from flora.party.consent import Consent

    return options.source(Consent.read(kit.path / "local" / "flora.json"))


def _prepared(kit: Kit, options: PartyOptions) -> str:
    """Say what the party allows, and return the text of the settings for the process that answers a run's steps."""
    from flora.engines.nvflare.run.site_settings import SiteSettings
    from flora.party.consent import Consent

    source = _source(kit, options)
    _table_words(source)
    print_line(Consent.read(kit.path / "local" / "flora.json").describe())
    return SiteSettings(source, options.jobs, options.ask).to_text()


def _table_words(source: "DataSource") -> str:
    """Return what the party's table is, or raise where it is none that can be learnt from."""
    from flora.party.tables.table import open_table

    table = open_table(source.path, source.target, source.drop, source.format, say=print_line)
    schema = table.described(None, None)[0]
    return f"{len(schema.columns)} columns, {schema.task} of {schema.target!r}"


def _answer(service: "Service") -> None:
    """Put the question that waits, if there is one, to the person at the terminal."""
    question = service.foreground.question()
    if question is None:
        return
    name, text = question
    print_line(text)
    try:
        typed = input("Let this leave? yes or no: ")
    except EOFError:
        raise InputError("--ask needs a terminal, or an answer on standard input") from None
    service.foreground.answer(name, yes=typed.strip().lower() in ("y", "yes"))
