"""``flora certificate``: a key of one's own, a new certificate for a kit, a stolen kit shut out."""

from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flora.cli.plain import print_line
from flora.core.documents import MIB, contents
from flora.core.files import write_whole
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import AGGREGATOR, Kit


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    request = actions.add_parser("request", help="at a kit: make a key, and write the request for its certificate")
    request.add_argument("kit", type=Path, metavar="KIT")
    request.add_argument("--out", type=Path, metavar="FILE", help="(NAME.csr)")
    sign = actions.add_parser("sign", help="where flora project was run: make the certificate that is asked for")
    sign.add_argument("folder", type=Path, metavar="DIR", help="the folder of the kits, with its authority")
    sign.add_argument("request", type=Path, metavar="FILE", help="the request")
    sign.add_argument("--out", type=Path, metavar="FILE", help="(NAME.crt)")
    install = actions.add_parser("install", help="at the kit: take the certificate; it counts from the next start on")
    install.add_argument("kit", type=Path, metavar="KIT")
    install.add_argument("certificate", type=Path, metavar="FILE")
    revoke = actions.add_parser(
        "revoke", help="at the aggregator and the other parties: shut out a member's certificates"
    )
    revoke.add_argument(
        "kit", type=Path, metavar="KIT", help="the aggregator's kit: out of the network; a party's: of sums"
    )
    revoke.add_argument("name", metavar="NAME", help="the party whose kit was stolen")


def run(parsed: Namespace) -> None:
    """Do one of the four."""
    require_nvflare()
    {"request": _request, "sign": _sign, "install": _install, "revoke": _revoke}[parsed.action](parsed)


def _request(parsed: Namespace) -> None:
    from flora.engines.nvflare.kits.renewal import request_certificate

    kit = Kit.open(parsed.kit)
    out = parsed.out or Path(f"{kit.name}.csr")
    write_whole(out, request_certificate(kit))
    print_line(f"Written: {out}; the key stays in the kit. Send this file to who keeps the authority, and ask for")
    print_line(f"  flora certificate sign DIR {out}")


def _sign(parsed: Namespace) -> None:
    from flora.engines.nvflare.kits.renewal import sign_request

    signed = sign_request(parsed.folder, contents(parsed.request, MIB))
    out = parsed.out or Path(f"{signed.name}.crt")
    write_whole(out, signed.data)
    print_line(f"Written: {out}, the certificate of {signed.name} until {signed.until:%Y-%m-%d}. It is for its kit:")
    print_line(f"  flora certificate install KIT {out}")


def _install(parsed: Namespace) -> None:
    from flora.engines.nvflare.kits.renewal import install_certificate

    kit = Kit.open(parsed.kit)
    until = install_certificate(kit, contents(parsed.certificate, MIB))
    print_line(f"{kit.whose} has a new key and certificate until {until:%Y-%m-%d}; start it again to use them")


def _revoke(parsed: Namespace) -> None:
    from flora.engines.nvflare.guard.revocation import revoke

    kit = Kit.open(parsed.kit, AGGREGATOR, "party")
    revoke(kit, parsed.name, datetime.now(UTC))
    of = "also of a run under way" if kit.role == AGGREGATOR else f"of all sums of {kit.name!r} that begin from now on"
    print_line(f"{parsed.name} is shut out, {of}, until it has a certificate that is made later:")
    print_line("  flora certificate request, sign and install")
