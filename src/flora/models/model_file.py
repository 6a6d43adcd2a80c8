"""The federated model as one file: a zip archive of ``flora.json`` and the model's own files, without pickle.

Every party ends with the same bytes, so nothing in it hangs on the party, the time or the versions of libraries.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from flora.core.archive import MOST_BYTES, archive_of, members_of
from flora.core.codec import to_document
from flora.core.documents import MIB, Format
from flora.core.naming import cut
from flora.core.rules import Sentence, check
from flora.errors import DataError, InputError
from flora.models import family_of
from flora.models.family import Model
from flora.models.rows import category_of, encode_features
from flora.problem.schema import Schema, check_several
from flora.problem.space import Config

HEADER = "flora.json"
FORMAT = Format("flora-model", most=32 * MIB)
MOST_FILES = 1000


@dataclass(frozen=True)
class Header:
    """What a model's file says of the model."""

    family: Sentence
    config: Config
    schema: Schema

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class StoredModel:
    """A federated model, and what is needed to use it on a table."""

    model: Model
    family: str
    schema: Schema
    config: Config

    def unseen(self, table: pd.DataFrame) -> list[str]:
        """Return a sentence for each column with categories that the model has not seen: they count as missing."""
        found = []
        for column in self.schema.columns:
            if column.kind != "categorical" or column.name not in table.columns:
                continue
            present = table[column.name].dropna()
            new = present[~present.map(category_of).isin(set(column.categories))]
            if len(new):
                shown = ", ".join(cut(category_of(value)) for value in new.unique()[:3])
                many = f"{len(new)} of {len(table)} rows"
                found.append(f"column {column.name!r}: {many} have categories new to the model, such as {shown}")
        return found

    def predict_table(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a column ``prediction`` and, where there are probabilities, ``probability_<class>`` for each class.

        Columns go by name. The target and columns that the model does not know are ignored.
        """
        if table.empty:
            raise DataError(f"need at least one row and one column, got a table of the shape {table.shape}")
        X = encode_features(table.rename(columns=str), self.schema)
        answers, classes = self.model.predict(X), self.schema.classes
        values = [classes[place] for place in answers.astype(np.intp)] if classes else answers
        predictions = pd.DataFrame({"prediction": values}, index=table.index)
        probabilities = self.model.predict_proba(X)
        if probabilities is not None:
            for place, label in enumerate(classes):
                predictions[f"probability_{label}"] = probabilities[:, place]
        return predictions


def pack(model: Model, *, family: str, schema: Schema, config: Config) -> bytes:
    """Return the model's file: the same bytes for the same model."""
    header = {"format": FORMAT.name, "version": FORMAT.version, **to_document(Header(family, config, schema))}
    document = json.dumps(header, indent=1, sort_keys=True, allow_nan=False) + "\n"
    files = {**model.files(), HEADER: document.encode()}
    size = sum(map(len, files.values()))
    if len(files) > MOST_FILES or size > MOST_BYTES:
        limit = f"at most {MOST_FILES} files and {MOST_BYTES} bytes"
        raise InputError(f"a model's file holds {limit}, got {len(files)} files and {size} bytes: take a smaller model")
    return archive_of(files)


def unpack(data: bytes, *, allow: Sequence[str] = ()) -> StoredModel:
    """Return the model of a file that somebody else may have written.

    Args:
        data: what :func:`pack` returned.
        allow: packages beside scikit-learn whose estimators the file may name: to load one is to import it.
    """
    files = members_of(data, MOST_FILES)
    for name in files:
        if not name or "/" in name or "\\" in name:
            raise InputError(f"a model's file has no folders in it, got {name!r:.80}")
    if HEADER not in files:
        raise InputError(f"not a model's file: it has no {HEADER}")
    header = FORMAT.record(Header, files.pop(HEADER), HEADER)
    family, schema = header.family, header.schema
    _check_family(family, allow)
    if schema.task == "classification":
        check_several(schema.target, schema.classes)
    return StoredModel(family_of(family).load(files, schema), family, schema, header.config)


def read_model(path: str | Path, *, allow: Sequence[str] = ()) -> StoredModel:
    """Read a model's file; ``allow`` as in :func:`unpack`."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.stat().st_size > 2 * MOST_BYTES:  # the names of its files take some bytes too
        raise InputError(f"{path}: a model's file has at most {2 * MOST_BYTES} bytes, got {path.stat().st_size}")
    try:
        return unpack(path.read_bytes(), allow=allow)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _check_family(family: str, allow: Sequence[str]) -> None:
    """Raise if to load the family is to import a package that nobody here has named."""
    package = family.partition(":")[0].split(".")[0]
    if ":" in family and not package.isidentifier():
        raise InputError(f"{HEADER}: the family must be package.module:Class, got {family!r:.80}")
    if ":" in family and package not in ("sklearn", *allow):
        raise InputError(
            f"the file holds a {family!r:.80}, and to load it is to run the package {package!r:.80}; "
            f"if you trust that package, say --trust {package:.80}"
        )
