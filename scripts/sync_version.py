"""Fail unless the package, its metadata and the newest entry of the changelog state the same version."""

import re
import sys
import tomllib
from pathlib import Path

import flora

ROOT = Path(__file__).parent.parent


def main() -> int:
    """Compare the three versions."""
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    entry = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    found = {"flora": flora.__version__, "pyproject.toml": metadata, "CHANGELOG.md": entry and entry.group(1)}
    if len(set(found.values())) == 1:
        return 0
    sys.stderr.write(f"versions differ: {found}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
