"""Results that are packed, added to, and merged."""

import json
import lzma
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flora.errors import InputError
from flora_lab.main import main
from flora_lab.store import Store, compressed

RESULTS = Path(__file__).parents[2] / "results"
MOST = 8_000_000  # bytes


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.of(tmp_path, "paper", "T3-k2")


def test_a_piece_is_the_same_loose_and_packed(store: Store) -> None:
    documents = {"cells/a": {"loss": 0.1 + 0.2, "rows": 1.0, "text": "é\t\n"}, "searches/b": {"n": [1, None, True]}}
    for name, document in documents.items():
        store.add(name, document)
    for _ in range(2):
        assert store.names() == set(documents)
        assert {name: json.dumps(store.read(name)) for name in documents} == {
            name: json.dumps(document) for name, document in documents.items()
        }
        store.pack()
    assert store.read("cells/nowhere") is None
    assert not list(store.work.rglob("*.json"))


def test_what_is_added_comes_behind_and_nothing_is_packed_twice(store: Store) -> None:
    store.add("cells/a", 1)
    store.pack()
    before = store.packed.read_bytes()
    store.add("cells/b", 2)
    store.add("cells/a", 3)  # by a run that did not know
    store.pack()
    assert store.packed.read_bytes().startswith(before)
    assert (store.read("cells/a"), store.read("cells/b")) == (1, 2)
    assert lzma.decompress(store.packed.read_bytes()) == b"cells/a\t1\ncells/b\t2\n"  # as xzcat has it


def test_no_results_are_none(store: Store, tmp_path: Path) -> None:
    store.pack(anew=True)
    assert not store.packed.exists()
    assert store.names() == set()
    assert Store.all(tmp_path / "nowhere", "paper") == []


def test_two_versions_are_merged_by_writing_one_behind_the_other(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = ({f"cells/{k}": b'{"k": %d}' % k for k in some} for some in (range(50), range(25, 75)))
    store.packed.parent.mkdir()
    store.packed.write_bytes(compressed(ours) + compressed(theirs))
    before = store.packed.stat().st_size
    store.add("cells/75", {"k": 75})  # by a run that was killed
    assert main(["pack", "--results", str(tmp_path)]) == 0
    assert "T3-k2.tsv.xz: 76 pieces" in capsys.readouterr().out.replace("\n", "")
    assert {name: store.read(name) for name in store.names()} == {f"cells/{k}": {"k": k} for k in range(76)}
    assert store.packed.stat().st_size < before


ADDS = """
import sys
from pathlib import Path
from flora_lab.store import Store
store = Store.of(Path(sys.argv[1]), "paper", "T3-k2")
for k in range(10):
    store.add(f"cells/{sys.argv[2]}-{k}", k)
    store.pack()
"""


def test_several_processes_add_and_pack_at_the_same_time(store: Store, tmp_path: Path) -> None:
    def add(name: str) -> int:
        return subprocess.run([sys.executable, "-c", ADDS, str(tmp_path), name], check=True).returncode

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(add, "abc")) == [0, 0, 0]
    assert store.names() == {f"cells/{name}-{k}" for name in "abc" for k in range(10)}
    assert not list(store.work.rglob("*.json"))


def test_a_broken_file_is_named(store: Store) -> None:
    store.add("cells/a", 1)
    (store.work / "pieces" / "cells" / "a.json").write_text("{")
    with pytest.raises(InputError, match=r"a\.json: not a JSON file"):
        store.read("cells/a")
    store.packed.parent.mkdir()
    store.packed.write_bytes(compressed({"cells/b": b"1"})[:-5])
    with pytest.raises(InputError, match=r"T3-k2\.tsv\.xz: not a file of results"):
        store.names()


def test_the_committed_results_are_small_and_packed() -> None:
    files = [path for path in RESULTS.rglob("*") if path.is_file() and ".work" not in path.parts]
    assert sum(path.stat().st_size for path in files) <= MOST
    assert len(files) <= 30
