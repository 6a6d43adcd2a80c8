"""The machines that results were computed on: a small file for each, beside the results, without a name."""

import json
import os
import platform
import re
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from flora.core.files import write_whole

FOLDER = "machines"


def machine() -> dict[str, Any]:
    """Return what matters of this machine for how long a run takes, and nothing by which it could be found."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30),
        "processor": _processor(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def about(*names: str) -> str:
    """Return a line on this machine and the versions of some packages, as far as they are installed."""
    found, known = {each.metadata["Name"]: each.version for each in distributions()}, machine()
    versions = (f"{name} {found[name]}" if name in found else f"no {name}" for name in names)
    return f"{known['processor']}, {known['cores']} cores; Python {platform.python_version()}, {', '.join(versions)}"


def note_machine(results: Path) -> None:
    """Keep this machine's file beside the results; the same machine writes the same file."""
    found = machine()
    name = "-".join(map(str, found.values()))
    file = results / FOLDER / (re.sub(r"[^a-z0-9.]+", "-", name.lower()) + ".json")
    if not file.exists():
        write_whole(file, (json.dumps(found, indent=1) + "\n").encode())


def machines_in(results: Path) -> list[dict[str, Any]]:
    """Return the machines that are noted beside the results."""
    return [json.loads(file.read_bytes()) for file in sorted((results / FOLDER).glob("*.json"))]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
