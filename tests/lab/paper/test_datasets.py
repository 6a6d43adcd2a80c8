"""The paper's datasets: what they are, and what they are not."""

from pathlib import Path

import pytest
from flora_lab.paper.datasets import DATASETS, TARGET, folder, load

from flora.errors import DataError


@pytest.mark.parametrize(
    "name", ["sonar", "heart-statlog", "oil-spill", "pc3", "pollen", "eeg-eye-state", "electricity"]
)
def test_the_seven_are_what_the_paper_says(name: str, paper_data: Path) -> None:
    table = load(name, paper_data)
    assert set(table[TARGET]) == {0, 1}
    assert table.notna().all().all()


def test_what_is_not_the_dataset_is_refused(tmp_path: Path) -> None:
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
    assert folder(None) == tmp_path
    assert folder(Path("here")) == Path.cwd() / "here"  # workers may run elsewhere
    monkeypatch.delenv("FLORA_DATA")
    assert folder(None) is None


def test_sizes_add_up() -> None:
    for dataset in DATASETS.values():
        assert sum(dataset.classes) == dataset.rows
