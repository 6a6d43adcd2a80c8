"""Models as files: what is in them, and what is not trusted when they come back."""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from skops.io import dumps

from flora.core.archive import archive_of, members_of
from flora.errors import InputError
from flora.models.estimator.family import AnyEstimator, SoftVote
from tests.models.estimator.test_family import LOGISTIC, alone, made


def edited(archive: bytes, edit: Any) -> bytes:
    members = members_of(archive, 1000)
    document = json.loads(members["schema.json"])
    edit(document)
    return archive_of({**members, "schema.json": json.dumps(document).encode()})


class TestLoad:
    ROWS = made(47)

    @pytest.fixture
    def files(self) -> dict[str, bytes]:
        return dict(alone(LOGISTIC, self.ROWS).files())

    def load(self, files: Mapping[str, bytes]) -> SoftVote:
        return AnyEstimator.named(LOGISTIC).load(files, self.ROWS.schema)

    def test_gives_the_model_back(self, files: dict[str, bytes]) -> None:
        found, trained = self.load(files), alone(LOGISTIC, self.ROWS)
        assert np.array_equal(found.predict(self.ROWS.X), trained.predict(self.ROWS.X))
        assert found.files() == files

    @pytest.mark.parametrize(
        ("module", "name", "loader"),
        [
            ("os", "system", "FunctionNode"),
            ("numpy", "memmap", "LossNode"),  # a class, but its constructor would write a file
            ("numpy", "save", "FunctionNode"),
            ("sklearn.base", "clone", "FunctionNode"),  # the right package, but a function
            ("subprocess", "Popen", "ConstructorFromReduceNode"),
        ],
    )
    def test_what_only_the_file_names_is_not_trusted(
        self, files: dict[str, bytes], module: str, name: str, loader: str
    ) -> None:
        empty = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": []}
        node = {"__module__": module, "__class__": name, "__loader__": loader, "content": empty}

        def plant(document: dict[str, Any]) -> None:
            document["content"]["content"]["coef_"] = {**node, "__reduce__": {"args": empty}}

        files["party-000.skops"] = edited(files["party-000.skops"], plant)
        with pytest.raises(InputError, match=rf"party-000.skops: may hold .*, got {module}.{name}"):
            self.load(files)

    def test_a_model_of_another_kind_is_refused(self, files: dict[str, bytes]) -> None:
        files["party-000.skops"] = dumps(GaussianNB().fit(self.ROWS.X, self.ROWS.y))
        with pytest.raises(InputError, match=r"must hold a LogisticRegression, got a GaussianNB"):
            self.load(files)

    @pytest.mark.parametrize("content", [b"", b"no zip", archive_of({}), archive_of({"schema.json": b"[]"})])
    def test_what_is_no_model_is_refused(self, files: dict[str, bytes], content: bytes) -> None:
        files["party-000.skops"] = content
        with pytest.raises(InputError, match=r"not a (zip archive|model) that"):
            self.load(files)

    @pytest.mark.parametrize("rows", [[], [0], [-3], [True], [-1.5], ["7"], 5, None])
    def test_weights_are_numbers_of_rows(self, files: dict[str, bytes], rows: Any) -> None:
        files["weights.json"] = json.dumps({"rows": rows}).encode()
        with pytest.raises(InputError, match=r"weights.json: rows must be"):
            self.load(files)

    def test_there_is_one_file_for_each_party(self, files: dict[str, bytes]) -> None:
        files["weights.json"] = b'{"rows": [5, 6]}'
        with pytest.raises(InputError, match=r"a vote of 2 parties has a model of each, and .party-001.skops. is"):
            self.load(files)

    def test_an_archive_that_unpacks_to_too_much_is_refused(self, files: dict[str, bytes]) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("zeros.npy", bytes(257 * 2**20))
        files["party-000.skops"] = buffer.getvalue()
        with pytest.raises(InputError, match="at most 268435456 bytes unpacked, got 269484032"):
            self.load(files)


def test_the_stored_form_is_named_by_its_contents() -> None:
    archive = alone(LOGISTIC, made(47)).files()["party-000.skops"]
    members = members_of(archive, 1000)
    assert len(members) > 3
    for name, content in members.items():
        assert name in ("schema.json", hashlib.sha256(content).hexdigest() + ".npy")
    assert b"__id__" not in members["schema.json"]
