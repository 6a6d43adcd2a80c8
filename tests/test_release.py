"""What is published: the archives, the site and the container files."""

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_wheel_and_source_archive_hold_the_package_and_nothing_of_the_laboratory(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"flora/__main__.py", "flora/sklearn/search.py", "flora/outcome/report/style.css"} <= names
    assert all(name.startswith(("flora/", "flora_hpo-")) for name in names)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        inside = {name.partition("/")[2] for name in tar.getnames()}
    assert {"README.md", "LICENSE", "src/flora/__init__.py", "docs/files.md", "pyproject.toml"} <= inside
    assert not any(name.startswith(("tests", "lab", "results")) for name in inside)


BROUGHT = {"polars", "IPython"}  # by the user, whose table or notebook it is


def test_every_package_that_is_imported_is_stated() -> None:
    extras = PROJECT["optional-dependencies"]
    stated = [*PROJECT["dependencies"], *(line for name in extras if name != "dev" for line in extras[name])]
    names = {re.split(r"[^\w-]", line)[0].lower() for line in stated}
    whose = packages_distributions()
    for file in (ROOT / "src" / "flora").rglob("*.py"):
        for package in imported(file) - {
            *sys.stdlib_module_names,
            "flora",
            "polars",
            "IPython",
        }:  # users bring those two
            assert {name.lower() for name in whose[package]} & names, f"{file}: {package}"


def imported(file: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    froms = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {name.partition(".")[0] for name in [*plain, *froms]}


@pytest.mark.slow
def test_the_site_is_built_without_a_broken_link(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings_handlers.python")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "FloraSearchCV" in (tmp_path / "site" / "api.html").read_text()
    assert (
        "Your first run" in (tmp_path / "site" / "index.html").read_text()
        or (tmp_path / "site" / "tutorial-scientist.html").is_file()
    )


def test_every_page_is_on_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text()
    assert {page.name for page in (ROOT / "docs").glob("*.md")} == set(re.findall(r"[\w-]+\.md", nav))


def test_every_extra_is_on_the_release_page() -> None:
    page = (ROOT / "docs" / "release.md").read_text()
    stated = set(re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE))
    assert stated == set(PROJECT["optional-dependencies"]) - {"build", "dev"}


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-deploy.txt"])
def test_what_is_installed_is_pinned_by_hashes_and_names_no_index(name: str) -> None:
    text = (ROOT / name).read_text()
    packages = re.findall(
        r"^[a-z0-9][\w.-]*==\S+(?: ;[^\\\n]*)? \\\n    --hash=sha256:", text, re.MULTILINE | re.IGNORECASE
    )
    assert len(packages) == len(re.findall(r"^\w[^\n]*==", text, re.MULTILINE)) > 20
    assert "://" not in text


def test_containers_run_without_root_and_from_the_lock_file() -> None:
    yaml = pytest.importorskip("yaml")
    image = (ROOT / "containers" / "Dockerfile").read_text()
    assert "USER flora" in image
    assert "--require-hashes -r /build/requirements-deploy.txt" in image
    for name in ("party", "aggregator"):
        (service,) = yaml.safe_load((ROOT / "containers" / f"{name}.yml").read_text())["services"].values()
        assert service["command"][0] == name
        assert service["read_only"]
        assert ("ports" in service) == (name == "aggregator")
