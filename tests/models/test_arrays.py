import io

import numpy as np
import pytest

from flora.errors import InputError
from flora.models.arrays import document_of, document_to_bytes, floats_of, floats_to_bytes


def test_floats_come_back_exactly_and_give_the_same_bytes() -> None:
    values = np.random.default_rng(0).normal(size=(3, 5)) * 1e-7
    files = {"w.npy": floats_to_bytes(values)}
    assert np.array_equal(floats_of(files, "w.npy", (3, 5)), values)
    assert floats_to_bytes(np.asfortranarray(values)) == files["w.npy"]


def test_documents_come_back_exactly_and_give_the_same_bytes() -> None:
    document = {"a": 0.1 + 0.2, "b": [1, 1e-300]}
    files = {"d.json": document_to_bytes(document)}
    assert document_of(files, "d.json") == document
    assert document_to_bytes(dict(reversed(document.items()))) == files["d.json"]


def _pickled() -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "not a file of numbers"),
        (b"junk", "not a file of numbers"),
        (_pickled(), "not a file of numbers"),
        (floats_to_bytes(np.zeros(3)), r"shape \(2,\), got float64 \(3,\)"),
        (floats_to_bytes(np.array([0.0, np.nan])), "finite"),
    ],
)
def test_a_reader_refuses_what_is_not_the_expected_array(data: bytes, rule: str) -> None:
    with pytest.raises(InputError, match=f"w.npy: .*{rule}"):
        floats_of({"w.npy": data}, "w.npy", (2,))


@pytest.mark.parametrize("data", [b"[1]", b"{", b"\xff"])
def test_a_reader_refuses_what_is_not_a_document(data: bytes) -> None:
    with pytest.raises(InputError, match=r"d\.json"):
        document_of({"d.json": data}, "d.json")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"no file 'w\.npy', only"):
        floats_of({}, "w.npy", (2,))
