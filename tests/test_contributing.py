"""CONTRIBUTING.md shows how to add a surface, a family, a sampler and an engine. Here that is done, to the letter."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
CONTRACTS = {  # the contract test that covers each, and what picks the new one out of it
    "surface": ("tests/aggregator/test_surface.py", "TestEverySurface and optimist"),
    "family": ("tests/models/test_contract.py", "TestEveryFamily and stump"),
    "sampler": ("tests/party/local_search/test_samplers.py", "TestEverySampler and patient"),
    "engine": ("tests/engines/test_contract.py", "TestEveryEngine and one"),
}


@pytest.mark.parametrize("kind", CONTRACTS)
def test_what_the_page_shows_is_a_file_and_a_line_and_passes_the_contract(kind: str, tmp_path: Path) -> None:
    section = re.search(rf"^### An? {kind}$(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    assert section
    file, registry, line = re.findall(r"`([^`]+)`", section[1])[:3]
    (code,) = re.findall(r"```python\n(.*?)```", section[1], re.DOTALL)
    assert len(code.splitlines()) <= 26
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "src", copy / "src")
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=shutil.ignore_patterns("network", "browser", "lab"))
    (copy / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    (copy / file).write_text(code)
    text = (copy / registry).read_text()
    first = next(found for found in re.findall(r'^    "[^\n]*",$', text, re.MULTILINE))
    (copy / registry).write_text(text.replace(first, f"{first}\n    {line}"))
    command = [sys.executable, "-m", "ruff", "check", file, registry]
    linted = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout
    where, which = CONTRACTS[kind]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", where, "-k", which],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"[1-9]\d* passed", done.stdout), done.stdout
