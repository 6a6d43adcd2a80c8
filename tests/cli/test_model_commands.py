"""What is done with a model: predict, evaluate, export, and a run's own test."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flora.outcome.loaded import load
from flora.program.result import MODEL
from tests.cli.test_main import QUICK, Run, refused
from tests.conftest import two_moons
from tests.outcome.test_loaded import run_in, ward


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of hgb; its file is all that is needed of a run."""
    return run_in(tmp_path_factory.mktemp("run"), max_iter=20) / MODEL


def csv_in(folder: Path, table: pd.DataFrame) -> Path:
    table.to_csv(folder / "new.csv", index=False)
    return folder / "new.csv"


def table_of(printed: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(printed))


class TestPredict:
    def test_columns_go_along(self, flora: Run, run: Path, tmp_path: Path) -> None:
        new = csv_in(tmp_path, ward(30, 2).assign(case=range(100, 130)))
        code, printed, err = flora("predict", run, new, "--id", "case", "--id", "site")
        assert (code, err) == (0, "")
        found = table_of(printed)
        assert list(found) == ["case", "site", "prediction", "probability_lower", "probability_upper"]
        assert found["case"].tolist() == list(range(100, 130))
        refused(flora("predict", run, new, "--id", "nobody"), "--id nobody: no such column")

    def test_classes_or_probabilities_alone(self, flora: Run, run: Path, tmp_path: Path) -> None:
        new = csv_in(tmp_path, ward(30, 2))
        assert list(table_of(flora("predict", run, new, "--only", "classes")[1])) == ["prediction"]
        chances = table_of(flora("predict", run, new, "--only", "probabilities")[1])
        assert list(chances) == ["probability_lower", "probability_upper"]
        assert np.allclose(chances.sum(axis=1), 1)
        machine = run_in(tmp_path / "svm", "svm", C=1.0)
        refused(flora("predict", machine, new, "--only", "probabilities"), "this model knows none")

    def test_standard_input(self, flora: Run, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        new = csv_in(tmp_path, ward(30, 2))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(new.read_bytes())))
        assert flora("predict", run, "-")[1] == flora("predict", run, new)[1]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        refused(flora("predict", run, "-"), "error: standard input: the file is empty")

    def test_categories_new_to_the_model_are_told_once(self, flora: Run, run: Path, tmp_path: Path) -> None:
        table = ward(30, 2)
        table.loc[:4, "site"] = "moon"
        code, printed, err = flora("predict", run, csv_in(tmp_path, table))
        assert code == 0
        assert len(table_of(printed)) == 30
        assert err.splitlines() == [
            "note: column 'site': 5 of 30 rows have categories new to the model, such as 'moon'; they count as missing"
        ]


class TestEvaluate:
    def test_scores_confusion_and_calibration(self, flora: Run, run: Path, tmp_path: Path) -> None:
        table = ward(90, 2)
        new = csv_in(tmp_path, table)
        code, printed, _ = flora("evaluate", run, new)
        assert code == 0
        right = np.mean(load(run).predict(table) == table["kind"])
        assert f"{right:.4f} ±" in printed
        assert "Rows by true class (down) and predicted class\n" in printed  # wider than its table
        assert "Calibration: expected error" in printed
        document = json.loads(flora("evaluate", run, new, "--json")[1])
        assert {figure["scoring"] for figure in document["figures"]} >= {"accuracy", "balanced_accuracy", "roc_auc"}
        assert sum(map(sum, document["confusion"])) == 90

    def test_a_table_without_the_target(self, flora: Run, run: Path, tmp_path: Path) -> None:
        refused(flora("evaluate", run, csv_in(tmp_path, ward(9, 2).drop(columns="kind"))), "target 'kind' is not in")


class TestExport:
    def test_onnx(self, flora: Run, run: Path, tmp_path: Path) -> None:
        runtime = pytest.importorskip("onnxruntime")
        code, printed, _ = flora("export", run, "--to", "onnx", "--output", tmp_path / "m.onnx")
        assert (code, "a model of kind with 3 columns" in printed) == (0, True)
        table = ward(30, 2)
        inputs: dict[str, Any] = {name: table[[name]].to_numpy() for name in ("x", "y")}
        answers = runtime.InferenceSession(tmp_path / "m.onnx").run(
            ["prediction"], {**inputs, "site": table[["site"]].to_numpy(dtype=object)}
        )
        assert answers[0].tolist() == load(run).predict(table).tolist()

    def test_scikit_learn(self, flora: Run, run: Path, tmp_path: Path) -> None:
        from skops.io import get_untrusted_types
        from skops.io import load as load_skops

        assert flora("export", run, "--to", "sklearn")[0] == 0
        path = run.with_suffix(".skops")
        pipeline = load_skops(path, trusted=get_untrusted_types(file=path))
        table = ward(30, 2)
        assert pipeline.predict(table).tolist() == load(run).predict(table).tolist()

    def test_another_family(self, flora: Run, tmp_path: Path) -> None:
        run = run_in(tmp_path / "svm", "svm", C=1.0)
        assert flora("export", run, "--to", "sklearn")[0] == 0
        assert (run / "model.skops").is_file()


class TestTuneWithATest:
    def test_a_share_of_the_rows(self, flora: Run, tmp_path: Path) -> None:
        two_moons(200, 3).to_csv(tmp_path / "all.csv", index=False)
        options = [tmp_path / "all.csv", "--target", "kind", "--parties", 2, *QUICK, "--out", tmp_path / "run"]
        code, printed, _ = flora("tune", *options, "--test", "0.25", "--json")
        assert code == 0
        document = json.loads(printed)
        assert sum(party["rows"] for party in document["parties"]) == 150
        assert document["test"]["rows"] == 50
        assert document["test"]["figures"][0]["scoring"] == "balanced_accuracy"
        assert document["test"]["figures"][0]["score"] > 0.6
        assert json.loads((tmp_path / "run" / "test.json").read_text()) == document["test"]
        page = (tmp_path / "run" / "report.html").read_text()
        assert "The model that was trained, on 50 rows of --test, which no party had." in page
        assert flora("report", tmp_path / "run")[0] == 0
        assert (tmp_path / "run" / "report.html").read_text() == page
        (tmp_path / "run" / "test.json").unlink()
        assert flora("report", tmp_path / "run")[0] == 0
        assert "which no party had" not in (tmp_path / "run" / "report.html").read_text()

    def test_a_table(self, flora: Run, party_files: list[Path], tmp_path: Path) -> None:
        test = csv_in(tmp_path, two_moons(40, 9))
        code, printed, _ = flora(
            "tune", *party_files, "--target", "kind", *QUICK, "--out", tmp_path / "run", "--test", test
        )
        assert code == 0
        assert "On 40 rows" in printed

    @pytest.mark.parametrize(
        ("asked", "says"),
        [("1.5", "above 0 and below 1"), ("no.csv", "takes a table or a share"), ("0.001", "too few")],
    )
    def test_what_is_no_test(self, flora: Run, party_files: list[Path], tmp_path: Path, asked: str, says: str) -> None:
        options = ["--target", "kind", *QUICK, "--out", tmp_path / "run", "--test", asked]
        refused(flora("tune", *party_files, *options), says)
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        ("name", "text", "says"),
        [
            ("test.csv", "x,y\n1,2\n", "--test: the target 'kind' is not in the table"),
            ("test.csv", "kind,x\na,2\n", "--test: column 'y' is not in the table"),
            ("test.pdf", "%PDF-1.4", "test.pdf: it is a PDF document"),
        ],
    )
    def test_a_table_that_cannot_be_scored_ends_the_run_before_it_begins(
        self, flora: Run, party_files: list[Path], tmp_path: Path, name: str, text: str, says: str
    ) -> None:
        (tmp_path / name).write_text(text)
        options = ["--target", "kind", *QUICK, "--out", tmp_path / "run", "--test", tmp_path / name]
        refused(flora("tune", *party_files, *options), says)
        assert not (tmp_path / "run").exists()
