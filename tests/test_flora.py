"""The package's face: its names are there, and nothing in it is pickled."""

import ast
from pathlib import Path

import pytest

import flora


def test_every_public_name_is_there() -> None:
    for name in flora.__all__:
        assert getattr(flora, name).__name__ == name
    assert set(flora.__all__) <= set(dir(flora))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = flora.nothing


def test_no_pickle_in_the_source() -> None:
    banned = {"pickle", "cloudpickle", "dill", "marshal", "shelve"}
    for path in Path(flora.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            modules = [*names, node.module or ""] if isinstance(node, ast.ImportFrom) else names
            assert not banned & {module.split(".")[0] for module in modules}, path
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path


def test_one_name_is_one_thing() -> None:
    """A reader who meets a record's name in two files may take it for the same."""
    found: dict[str, list[str]] = {}
    for path in Path(flora.__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path.name)
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
