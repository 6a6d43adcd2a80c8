"""The paper's seven datasets, from a folder or from OpenML, checked to be what the paper says they are."""

import os
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from flora.errors import DataError
from flora.table import read_table

TARGET = "target"


class Dataset(NamedTuple):
    """What a dataset must be. The paper counts sonar's class as a column; ours are features."""

    openml: int
    rows: int
    features: int
    classes: tuple[int, int]  # rows with target 0 and 1
    positive: str  # OpenML's label of the rows with target 1
    remark: str = ""


DATASETS = {
    "eeg-eye-state": Dataset(1471, 14_980, 14, (8257, 6723), "2"),
    "electricity": Dataset(151, 45_312, 8, (26_075, 19_237), "UP"),
    "heart-statlog": Dataset(53, 270, 13, (150, 120), "present"),
    "oil-spill": Dataset(311, 937, 49, (896, 41), "1"),
    "pc3": Dataset(1050, 1563, 37, (1403, 160), "True"),
    "pollen": Dataset(871, 3848, 5, (1924, 1924), "P", "its label is the row number: any regret is noise"),
    "sonar": Dataset(40, 208, 60, (111, 97), "Rock"),
}


def load(name: str, place: Path | None = None) -> pd.DataFrame:
    """Return a dataset with its columns and ``target`` of 0 and 1, from a folder or from OpenML."""
    if name not in DATASETS:
        raise DataError(f"the dataset must be one of {list(DATASETS)}, got {name!r}")
    table = _from_folder(name, place) if place else _from_openml(name)
    _check(name, table)
    return table


def folder(given: Path | None) -> Path | None:
    """Return the folder of the datasets, ``given`` or ``$FLORA_DATA``, as any process finds it; None is OpenML."""
    place = given or os.environ.get("FLORA_DATA")
    return Path(place).absolute() if place else None


def _from_folder(name: str, folder: Path) -> pd.DataFrame:
    for suffix in (".csv", ".csv.gz"):
        if (folder / f"{name}{suffix}").is_file():
            return read_table(folder / f"{name}{suffix}")
    raise DataError(f"{folder}: has neither {name}.csv nor {name}.csv.gz")


def _from_openml(name: str) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    dataset = DATASETS[name]
    try:
        found = fetch_openml(data_id=dataset.openml, as_frame=True, parser="auto")
    except Exception as error:  # no network, or OpenML's fault, in many ways
        raise DataError(
            f"{name}: OpenML's dataset {dataset.openml} cannot be fetched ({type(error).__name__}: {error!s:.100}); "
            "name a folder with --data DIR or $FLORA_DATA"
        ) from error
    numbers: pd.DataFrame = found.data.apply(pd.to_numeric)
    return numbers.assign(**{TARGET: (found.target.astype(str) == dataset.positive).astype(int)})


def _check(name: str, table: pd.DataFrame) -> None:
    dataset = DATASETS[name]
    if TARGET not in table.columns:
        raise DataError(f"{name}: need a column {TARGET!r}, columns are {list(table.columns)[:12]}")
    shape = (len(table), len(table.columns) - 1)
    if shape != (dataset.rows, dataset.features):
        raise DataError(
            f"{name}: need {dataset.rows} rows and {dataset.features} features, got {shape[0]} and {shape[1]}"
        )
    sizes = tuple(int((table[TARGET] == label).sum()) for label in (0, 1))
    if sizes != dataset.classes:
        raise DataError(f"{name}: need classes of {dataset.classes} rows, got {sizes}")
