"""A run over the network gives the same bytes as the run in process, for every family."""

import json
from pathlib import Path

import pytest

from tests.network.conftest import Network, answer_of, bytes_of

pytestmark = pytest.mark.network

TREE = "sklearn.tree:DecisionTreeClassifier"
TREE_SPACE = {
    "max_depth": {"type": "int", "range": [1, 8], "default": 3},
    "min_samples_leaf": {"type": "int", "range": [1, 9], "default": 1},
}


@pytest.mark.parametrize("model", ["svm", "hgb", "mlp", TREE])
def test_the_same_bytes_as_in_process(shared: Network, model: str, tmp_path: Path) -> None:
    space = tmp_path / "space.json"
    space.write_text(json.dumps(TREE_SPACE))
    options = ["--model", model, "--trials", "3", "--cv", "3", "--seed", "11"]
    options += ["--space", str(space)] if model == TREE else []
    if model == "svm":
        options += ["--certificate"]  # one more step that adds up
    for party in shared.consortium.parties:
        shared.allow(party, families=["svm", "hgb", "mlp", TREE], certificate=True)
    name = model.split(":", maxsplit=1)[0]
    run = shared.tune(f"net-{name}", *options)
    alone = shared.in_process(f"alone-{name}", *options)
    assert run.wait() == 0, run.text
    afar = shared.folder / f"net-{name}"
    assert bytes_of(afar) == bytes_of(alone)
    assert answer_of(afar) == answer_of(alone)
    assert (afar / "report.html").is_file()


def test_status_names_who_is_connected(shared: Network) -> None:
    command = shared.run("status", ["status", str(shared.kits / "aggregator"), "--json"])
    assert command.wait() == 0, command.text
    document = json.loads(command.text.splitlines()[-1])
    assert [(entry["name"], entry["connected"]) for entry in document["parties"]] == [
        ("north", True),
        ("south", True),
        ("west", True),
    ]


def test_what_left_is_in_the_audit_log(shared: Network) -> None:
    from flora.audit import verify

    entries = verify(shared.kits / "north" / "state" / "audit.jsonl")
    steps = {entry.what.split(":")[0] for entry in entries}
    assert {"describe", "search", "confirm", "certify", "train"} <= steps
