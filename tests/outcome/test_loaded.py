"""flora.load: a run's model as a fitted scikit-learn estimator."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer

import flora
from flora.core.collective import Alone
from flora.errors import DataError, InputError
from flora.models import family_of
from flora.models.model_file import pack, unpack
from flora.models.rows import encode
from flora.outcome.loaded import FederatedClassifier, load
from flora.party.tables.table import describe
from flora.program.result import MODEL
from tests.conftest import two_moons


def ward(rows: int, seed: int) -> pd.DataFrame:
    frame = two_moons(rows, seed)
    frame["site"] = np.resize(["inner", "outer", "east"], rows)
    return frame


def run_in(folder: Path, family: str = "hgb", target: str = "kind", **config: Any) -> Path:
    table = ward(120, 1)
    rows = encode(table, describe(table, target, drop=[] if target == "kind" else ["kind"]))
    model = family_of(family).train(config, rows, Alone(), 0).model
    folder.mkdir(exist_ok=True)
    (folder / MODEL).write_bytes(pack(model, family=family, schema=rows.schema, config=config))
    return folder


def test_it_predicts_what_flora_predict_does(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run", max_iter=20)
    model, new = flora.load(run), ward(50, 2)
    expected = unpack((run / MODEL).read_bytes()).predict_table(new)
    assert isinstance(model, FederatedClassifier)
    assert model.predict(new).tolist() == expected["prediction"].tolist()
    assert np.array_equal(model.predict_proba(new), expected.iloc[:, 1:])
    assert model.classes_.tolist() == ["lower", "upper"]
    assert model.feature_names_in_.tolist() == ["site", "x", "y"]
    assert (model.n_features_in_, model.config_) == (3, {"max_iter": 20})
    assert model.predict(load(run / MODEL)._encoded(new).astype(object)).shape == (50,)


def test_arrays_and_other_tables_are_taken(tmp_path: Path) -> None:
    model, new = load(run_in(tmp_path / "run", max_iter=20)), ward(50, 2)
    expected = model.predict(new)
    assert np.array_equal(model.predict(new[["y", "kind", "x", "site"]]), expected)
    assert np.array_equal(model.predict(new[["site", "x", "y"]].to_numpy()), expected)
    pl = pytest.importorskip("polars")
    assert np.array_equal(model.predict(pl.from_dict(new.to_dict("list"))), expected)


def test_scikit_learn_takes_it_for_fitted(tmp_path: Path) -> None:
    model, new = load(run_in(tmp_path / "run", max_iter=20)), ward(90, 2)
    assert is_classifier(model)
    assert get_scorer("roc_auc")(model, new, new["kind"]) > 0.8
    assert model.score(new, new["kind"]) == np.mean(model.predict(new) == new["kind"])


def test_numbers_and_models_without_probabilities(tmp_path: Path) -> None:
    numbers = load(run_in(tmp_path / "numbers", target="x", max_iter=20))
    assert is_regressor(numbers)
    assert numbers.score(ward(50, 2), ward(50, 2)["x"]) > 0.2
    machine = load(run_in(tmp_path / "svm", "svm", C=1.0))
    assert not hasattr(machine, "predict_proba")
    assert machine.predict(ward(5, 2)).shape == (5,)


def test_a_notebook_shows_what_it_is_of(tmp_path: Path) -> None:
    shown = load(run_in(tmp_path / "run", max_iter=20))._repr_html_()
    assert shown.startswith("<div>FederatedClassifier: hgb of 2 classes, <code>kind</code>, from 3 columns</div>")
    assert "<tr><th>max_iter</th><td>20</td></tr>" in shown


def test_what_is_no_model_or_no_table_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        flora.load(tmp_path / "nothing")
    (tmp_path / "untrained").mkdir()
    (tmp_path / "untrained" / "result.json").write_text("{}")
    with pytest.raises(InputError, match=r"untrained: this run trained no model; .*flora tune --given FILES"):
        flora.load(tmp_path / "untrained")
    model = load(run_in(tmp_path / "run", max_iter=3))
    with pytest.raises(DataError, match=r"needs the shape \(n, 3\), the columns \['site', 'x', 'y'\], got \(4, 2\)"):
        model.predict(np.zeros((4, 2)))
    with pytest.raises(DataError, match="column 'y' is missing"):
        model.predict(ward(4, 1).drop(columns="y"))
