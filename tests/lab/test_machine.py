"""What is said of the machine, and what is not."""

import platform
from importlib.metadata import version
from pathlib import Path

from flora_lab.machine import about, machine, machines_in, note_machine


def test_a_machine_is_noted_once_and_without_its_name(tmp_path: Path) -> None:
    note_machine(tmp_path)
    note_machine(tmp_path)
    [file] = (tmp_path / "machines").iterdir()
    assert machines_in(tmp_path) == [machine()]
    assert set(machine()) == {"cores", "memory_gib", "processor", "platform"}
    assert machine()["cores"] >= 1
    assert machine()["memory_gib"] >= 1
    assert platform.node() not in file.name + file.read_text()


def test_a_line_on_the_machine_names_versions_as_far_as_there_are_any() -> None:
    line = about("numpy", "no-such-package")
    assert f"numpy {version('numpy')}, no no-such-package" in line
    assert line.startswith(machine()["processor"])
