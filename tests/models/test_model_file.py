import contextlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flora.core.archive import archive_of, members_of
from flora.core.collective import Alone
from flora.core.threads import in_step
from flora.errors import DataError, InputError
from flora.models.estimator.family import AnyEstimator, SoftVote
from flora.models.model_file import StoredModel, pack, read_model, unpack
from flora.models.rows import encode
from flora.party.tables.table import describe
from flora.problem.schema import Task
from flora.randomness import stream

FAMILIES: dict[str, dict[str, Any]] = {
    "sklearn.linear_model:LogisticRegression": {"C": 0.5},
    "sklearn.ensemble:RandomForestClassifier": {"n_estimators": 5},
    "sklearn.linear_model:Ridge": {"alpha": 2.0},
}
LOGISTIC = "sklearn.linear_model:LogisticRegression"


def table_of(n: int, labels: tuple[Any, ...] = ("no", "yes"), seed: int = 0) -> pd.DataFrame:
    """A table with a number, a hole in it, and a category; the target hangs on both."""
    rng = stream(seed, "table")
    age, city = rng.uniform(20, 80, n).round(1), rng.choice(["Bern", "Oslo", "Rome"], n)
    risk = age / 100 + (city == "Rome") * 0.4
    target = np.array(labels, dtype=object)[(risk > np.median(risk)).astype(int)]
    table = pd.DataFrame({"age": age, "city": city, "sick": pd.Series(target).infer_objects(), "cost": risk * 1000})
    table.loc[3, "age"] = np.nan
    return table


def trained(family: str, table: pd.DataFrame) -> StoredModel:
    task: Task = "regression" if "Ridge" in family else "classification"
    target, other = ("cost", "sick") if task == "regression" else ("sick", "cost")
    schema = describe(table, target, task=task, drop=[other])
    model = AnyEstimator.named(family).train(FAMILIES[family], encode(table, schema), Alone(), 0).model
    return StoredModel(model, family, schema, FAMILIES[family])


def packed(stored: StoredModel) -> bytes:
    return pack(stored.model, family=stored.family, schema=stored.schema, config=stored.config)


@pytest.fixture(scope="module")
def logistic() -> bytes:
    return packed(trained(LOGISTIC, table_of(40)))


def with_header(data: bytes, **changes: Any) -> bytes:
    files = members_of(data, 1000)
    header = {**json.loads(files["flora.json"]), **changes}
    kept = {k: v for k, v in header.items() if v is not ...}
    return archive_of({**files, "flora.json": json.dumps(kept).encode()})


@pytest.mark.parametrize("family", FAMILIES)
class TestRoundTrip:
    def test_the_model_comes_back(self, family: str) -> None:
        table = table_of(40)
        stored = trained(family, table)
        again = unpack(packed(stored))
        assert (again.family, again.schema, again.config) == (stored.family, stored.schema, stored.config)
        pd.testing.assert_frame_equal(again.predict_table(table), stored.predict_table(table))
        assert packed(again) == packed(stored)

    def test_every_party_writes_the_same_bytes(self, family: str) -> None:
        tables = [table_of(40), table_of(53, seed=1)]
        whole = trained(family, pd.concat(tables, ignore_index=True)).schema

        def share(table: pd.DataFrame) -> Any:
            def run(collective: Any) -> bytes:
                rows = encode(table, whole)
                model: SoftVote = AnyEstimator.named(family).train(FAMILIES[family], rows, collective, 0).model
                return pack(model, family=family, schema=whole, config=FAMILIES[family])

            return run

        one, other = in_step([share(table) for table in tables])
        assert one == other
        assert len(unpack(one).predict_table(tables[1])) == 53


class TestPredictTable:
    def test_columns_go_by_name_and_others_are_ignored(self, logistic: bytes) -> None:
        stored, table = unpack(logistic), table_of(25, seed=5)
        expected = stored.predict_table(table)
        shuffled = table[["cost", "city", "age"]].assign(extra="x")
        pd.testing.assert_frame_equal(stored.predict_table(shuffled), expected)
        assert list(expected.columns) == ["prediction", "probability_no", "probability_yes"]
        np.testing.assert_allclose(expected[["probability_no", "probability_yes"]].sum(axis=1), 1)
        assert (expected["prediction"] == table["sick"]).mean() > 0.8
        assert ((expected["probability_yes"] > 0.5) == (expected["prediction"] == "yes")).all()

    def test_unheard_of_categories_and_holes_get_a_prediction(self, logistic: bytes) -> None:
        table = pd.DataFrame({"age": [30.0, None], "city": ["Paris", None]}, index=[7, 9])
        found = unpack(logistic).predict_table(table)
        assert found.index.tolist() == [7, 9]
        assert found["prediction"].isin(["no", "yes"]).all()

    @pytest.mark.parametrize("labels", [(0, 1), (False, True), (3, 17), ("a", "b")])
    def test_labels_keep_their_type(self, labels: tuple[Any, ...]) -> None:
        table = table_of(40, labels)
        found = unpack(packed(trained(LOGISTIC, table))).predict_table(table)
        assert set(found["prediction"]) == set(labels)
        assert found["prediction"].dtype == table["sick"].dtype
        assert f"probability_{labels[1]}" in found

    def test_numbers_are_numbers_and_have_no_probabilities(self) -> None:
        table = table_of(40)
        found = trained("sklearn.linear_model:Ridge", table).predict_table(table)
        assert list(found.columns) == ["prediction"]
        assert np.corrcoef(found["prediction"], table["cost"])[0, 1] > 0.9

    def test_a_missing_column_and_an_empty_table_are_refused(self, logistic: bytes) -> None:
        stored = unpack(logistic)
        with pytest.raises(DataError, match="column 'city' is missing"):
            stored.predict_table(table_of(5).drop(columns="city"))
        with pytest.raises(DataError, match=r"at least one row .*\(0, 4\)"):
            stored.predict_table(table_of(5).iloc[:0])


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "part"),
        [
            ({"format": "flora-trials"}, "flora.json: expected 'flora-model' version 1, got ('flora-trials', 1)"),
            ({"format": ...}, "got (None, 1)"),
            ({"version": 2}, "expected 'flora-model' version 1, got ('flora-model', 2)"),
            ({"family": ...}, "flora.json: it lacks the field 'family'"),
            ({"config": ...}, "flora.json: it lacks the field 'config'"),
            ({"config": [1]}, "flora.json: config must be a JSON object"),
            ({"config": {"C": None}}, "flora.json: config.C must be"),
            ({"schema": {}}, "a schema is a JSON object"),
            ({"family": 5}, "flora.json: family must be text, got 5"),
            ({"author": "me"}, "unknown field 'author'"),
            ({"family": "forest"}, "or package.module:Estimator, got 'forest'"),
            ({"family": "sklearn.linear_model:Ridge"}, "must hold a Ridge"),
        ],
    )
    def test_a_header_that_says_something_else(self, logistic: bytes, changes: Mapping[str, Any], part: str) -> None:
        with pytest.raises(InputError) as caught:
            unpack(with_header(logistic, **changes))
        assert part in str(caught.value)

    @pytest.mark.parametrize("content", [b"[1]", b"{", b"\xff", b"[" * 100_000])
    def test_a_header_that_is_none(self, content: bytes) -> None:
        with pytest.raises(InputError, match=r"flora.json: "):
            unpack(archive_of({"flora.json": content}))

    def test_what_is_no_archive_or_no_model(self, logistic: bytes) -> None:
        for data in (b"", b"hello", logistic[:-30], logistic[100:]):
            with pytest.raises(InputError, match=r"not a (zip archive|model's file)"):
                unpack(data)
        with pytest.raises(InputError, match=r"it has no flora.json"):
            unpack(archive_of({"weights.json": b"{}"}))

    def test_a_byte_that_was_changed(self, logistic: bytes) -> None:
        place = logistic.index(b'"rows"')
        with pytest.raises(InputError, match="not a zip archive that can be read"):
            unpack(logistic[:place] + b'"Rows"' + logistic[place + 6 :])

    def test_damage_anywhere_is_refused_or_does_no_harm(self, logistic: bytes) -> None:
        rng, table = stream(0, "damage"), table_of(10)
        expected = unpack(logistic).predict_table(table)
        for place in rng.integers(0, len(logistic), 150):
            damaged = bytearray(logistic)
            damaged[place] ^= 1 << int(rng.integers(8))
            with contextlib.suppress(InputError):
                pd.testing.assert_frame_equal(unpack(bytes(damaged)).predict_table(table), expected)

    @pytest.mark.parametrize("name", ["../escape", "a/b", "/root", "a\\b"])
    def test_folders(self, logistic: bytes, name: str) -> None:
        with pytest.raises(InputError, match="no folders"):
            unpack(archive_of({**members_of(logistic, 1000), name: b""}))

    def test_too_many_files(self) -> None:
        with pytest.raises(InputError, match="at most 1000 files of different names, got 1001"):
            unpack(archive_of({f"{k}": b"" for k in range(1001)}))

    def test_two_files_of_one_name(self) -> None:
        data = archive_of({"flora.json": b"{}", "flora.jsoN": b"{}"}).replace(b"jsoN", b"json")
        with pytest.raises(InputError, match="different names, got 2"):
            unpack(data)

    def test_a_file_that_unpacks_to_too_much(self) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("zeros", bytes(257 * 2**20))
        with pytest.raises(InputError, match="at most 268435456 bytes unpacked, got 269484032"):
            unpack(buffer.getvalue())

    def test_a_file_that_lies_about_its_size(self) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("zeros", bytes(123_456))
        lie = buffer.getvalue().replace((123_456).to_bytes(4, "little"), (7).to_bytes(4, "little"))
        with pytest.raises(InputError, match="not a zip archive that can be read"):
            unpack(lie)

    def test_a_model_too_large_is_not_written(self) -> None:
        class Large:
            def predict(self, X: Any) -> Any: ...
            def predict_proba(self, X: Any) -> Any: ...
            def files(self) -> Mapping[str, bytes]:
                return {f"{k}": b"" for k in range(1000)}

        schema = trained(LOGISTIC, table_of(40)).schema
        with pytest.raises(InputError, match=r"got 1001 files and \d+ bytes"):
            pack(Large(), family=LOGISTIC, schema=schema, config={})


class TestTrust:
    def test_a_package_that_only_the_file_names_is_not_imported(
        self, logistic: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "trojan.py").write_text("raise RuntimeError('the trojan runs')\n")
        monkeypatch.syspath_prepend(tmp_path)
        data = with_header(logistic, family="trojan:Estimator")
        with pytest.raises(InputError, match=r"to load it is to run the package 'trojan'.*say --trust trojan"):
            unpack(data)
        with pytest.raises(InputError, match="the trojan runs"):
            unpack(data, allow=["trojan"])

    def test_a_name_that_only_begins_like_scikit_learn_is_another_package(self, logistic: bytes) -> None:
        with pytest.raises(InputError, match="--trust sklearnx"):
            unpack(with_header(logistic, family="sklearnx.linear_model:Ridge"))

    def test_what_is_no_name_of_a_package_is_nothing_to_trust(self, logistic: bytes) -> None:
        for family in ("\x00sklearn.linear_model:Ridge", " sklearn.linear_model:Ridge"):
            with pytest.raises(InputError, match=r"(family must be .* printable|package.module:Class, got ' sklearn)"):
                unpack(with_header(logistic, family=family))


class TestReadModel:
    def test_reads_what_was_written(self, logistic: bytes, tmp_path: Path) -> None:
        (tmp_path / "model.flora").write_bytes(logistic)
        assert read_model(tmp_path / "model.flora").config == {"C": 0.5}

    def test_errors_name_the_file(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"nothing.flora: no such file"):
            read_model(tmp_path / "nothing.flora")
        (tmp_path / "text.flora").write_text("text")
        with pytest.raises(InputError, match=r"text.flora: not a zip archive"):
            read_model(tmp_path / "text.flora")
