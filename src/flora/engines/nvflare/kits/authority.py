"""The consortium's own certificate authority: certificates for years, and no private key kept but the root's."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from nvflare.lighter.impl.cert import CertBuilder

from flora.core.files import write_whole

ROOT_DAYS, DAYS = 3650, 1826
ROOT_FIELDS = ("root_cert", "root_pri_key")


class YearsCertBuilder(CertBuilder):  # type: ignore[misc]
    """NVFlare's builder, whose certificates would end after 360 days: these hold for five years, or as the root."""

    def _generate_cert(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("ca"):
            end = kwargs["not_valid_before"] + timedelta(days=DAYS)
            kwargs["not_valid_after"] = min(end, self.root_cert.not_valid_after_utc)
        return CertBuilder._generate_cert(*args, **kwargs)


def root_days(authority: Path) -> int:
    """Return for how many days the root is made: ten years, or as the one that is there was."""
    from cryptography import x509

    for state in authority.rglob("cert.json"):
        stored = json.loads(state.read_bytes())
        root = x509.load_pem_x509_certificate(stored["root_cert"].encode())
        return (root.not_valid_after_utc - root.not_valid_before_utc).days
    return ROOT_DAYS


def keep_root_alone(authority: Path) -> None:
    """Forget the keys of parties and aggregator, which are in their kits now; close the folder to others."""
    for folder in (authority, *(path for path in authority.rglob("*") if path.is_dir())):
        folder.chmod(0o700)
    for state in authority.rglob("cert.json"):
        stored = json.loads(state.read_bytes())
        root = {name: stored[name] for name in ROOT_FIELDS}
        write_whole(state, json.dumps(root).encode(), mode=0o600)
    for path in authority.rglob("*"):
        if path.is_file():
            path.chmod(0o600)
