import json
from pathlib import Path

import pytest

from flora.aggregator.surface import SurfaceChoice
from flora.core.codec import read, to_document
from flora.engines.nvflare.run.job import PULLS, SOONEST, Run, pull_seconds, write_job
from flora.errors import InputError
from flora.problem.schema import Column, Schema
from flora.program.request import Request

SCHEMA = Schema("y", "classification", (Column("x", "numeric", low=0.0, high=1.0),), ("a", "b"))
SPACE = {"C": {"type": "real", "range": [0, 1]}}
FULL = Request(
    "svm",
    SPACE,
    task="classification",
    schema=SCHEMA,
    scoring="f1",
    trials=7,
    folds=3,
    sampler="gp",
    send=4,
    seed=5,
    surface=SurfaceChoice("sgm+u", "gp", 2.0),
    confirm=3,
    objective="worst",
    trainings=5,
    certificate=True,
)


@pytest.mark.parametrize("request_", [Request(), FULL])
def test_a_request_comes_back_as_it_was(request_: Request) -> None:
    assert read(Request, json.loads(json.dumps(to_document(request_)))) == request_


@pytest.mark.parametrize(
    ("change", "words"), [({"more": 1}, "unknown field 'more'"), ({"seed": None}, "seed must be a whole number")]
)
def test_a_request_with_other_fields_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(Request, {**to_document(FULL), **change})


def test_a_run_comes_back_as_it_was() -> None:
    run = Run("hearts", ("b", "a"), FULL, {"a": "training"})
    assert Run.from_json(run.to_json()) == run


def test_the_same_request_is_the_same_run_whoever_is_left_out() -> None:
    run = Run("hearts", ("a", "b"), FULL)
    assert run.digest == run.without("a", "train").digest
    assert run.digest != Run("hearts", ("a", "b"), Request()).digest
    assert run.digest != Run("lungs", ("a", "b"), FULL).digest


def test_who_is_lost_in_the_training_stays_in_the_rest() -> None:
    run = Run("hearts", ("c", "a", "b"), FULL).without("b", "train")
    assert run.asked(training=False) == ["a", "b", "c"]
    assert run.asked(training=True) == ["a", "c"]
    assert run.without("a", "search").asked(training=False) == ["b", "c"]
    assert run.without("a", "search").asked(training=True) == ["c"]
    assert run.present == ["a", "c"]  # the answers of the lost one are there already
    assert run.without("a", "search").present == ["c"]


def test_what_is_submitted_holds_no_code(tmp_path: Path) -> None:
    folder = write_job(tmp_path, Run("hearts", ("a", "b"), FULL))
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert files == ["app/config/config_fed_client.json", "app/config/config_fed_server.json", "meta.json"]
    meta = json.loads((folder / "meta.json").read_bytes())
    assert meta["deploy_map"] == {"app": ["server", "a", "b"]}


def test_many_parties_together_ask_for_work_no_more_often_than_few(tmp_path: Path) -> None:
    assert pull_seconds(2) == SOONEST
    assert 200 / pull_seconds(200) <= PULLS
    parties = tuple(f"p{number}" for number in range(200))
    config = write_job(tmp_path, Run("many", parties, Request(), {"p0": "run"})) / "app" / "config"
    server = json.loads((config / "config_fed_server.json").read_bytes())["server"]
    assert server["task_request_interval"] == pull_seconds(199)
