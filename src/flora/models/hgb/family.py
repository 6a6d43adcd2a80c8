"""Histogram gradient boosting: LightGBM, trained by all parties as if their rows lay in one table.

Each leaf's histograms are summed over the parties, on bin edges that all parties share, so every party grows the same
trees however the rows are spread. For a regression they are the trees of the pooled rows up to rounding. For classes
one difference remains: to hold ``min_samples_leaf``, LightGBM's distributed trainer estimates a leaf's rows from its
share of the second derivatives, where its serial one counts them; neither is the better model.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, Self

import lightgbm as lgb
import numpy as np
from lightgbm.basic import LightGBMError
from numpy.typing import NDArray

from flora.core.collective import Collective, Floats
from flora.errors import InputError, SpaceError
from flora.models.family import Held, Scores, Trained
from flora.models.hgb.edges import Edges, agree_on_edges
from flora.models.hgb.lightgbm_network import connected
from flora.models.hgb.stand_ins import with_stand_ins
from flora.models.hgb.tree_count import best_tree_count
from flora.models.rows import Rows
from flora.models.scored import score_of
from flora.problem.family import OWN
from flora.problem.schema import Schema, Task
from flora.problem.space import Config, Integer, Real, SearchSpace, Value
from flora.randomness import derived_seed

MODEL_FILE = "model.txt"


class _Setting(NamedTuple):
    lightgbm: str
    default: Value


# What a config may name is a closed table: LightGBM has parameters that name files, machines or another objective.
_SETTINGS = {
    "max_iter": _Setting("num_iterations", 100),
    "learning_rate": _Setting("learning_rate", 0.1),
    "min_samples_leaf": _Setting("min_data_in_leaf", 20),
    "l2_regularization": _Setting("lambda_l2", 0.0),
    "max_leaf_nodes": _Setting("num_leaves", 31),
    "max_depth": _Setting("max_depth", -1),
    "max_features": _Setting("feature_fraction_bynode", 1.0),
    "max_bins": _Setting("max_bin", 255),
}
_SETTINGS |= {setting.lightgbm: setting for setting in _SETTINGS.values()} | {
    name: _Setting(name, default)
    for name, default in {
        "lambda_l1": 0.0,
        "min_sum_hessian_in_leaf": 1e-3,
        "min_gain_to_split": 0.0,
        "feature_fraction": 1.0,
        "bagging_fraction": 1.0,
        "bagging_freq": 0,
        "extra_trees": False,
        "path_smooth": 0.0,
        "max_delta_step": 0.0,
        "cat_l2": 10.0,
        "cat_smooth": 10.0,
        "max_cat_threshold": 32,
        "max_cat_to_onehot": 4,
    }.items()
}
_ALWAYS = {
    "verbosity": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
    "feature_pre_filter": False,  # it would drop columns by min_data_in_leaf
}


@dataclass(frozen=True)
class GradientBoosting:
    """The family ``hgb``: scikit-learn's HistGradientBoosting by its HPs' names, LightGBM by its trainer."""

    name: str = "hgb"
    tasks: frozenset[Task] = frozenset({"classification", "regression"})
    note: str = (
        "The parties sum the histograms of each leaf and grow the same trees, as if their rows lay in one table."
    )
    passes_through: frozenset[str] = frozenset({"max_iter", "num_iterations"})
    grows: frozenset[str] = frozenset()

    def spaces(self, task: Task) -> Mapping[str, SearchSpace]:
        """Return the paper's space, with scikit-learn's defaults."""
        parameters = (
            Integer("max_iter", 10, 200),
            Real("learning_rate", 1e-3, 1.0, "log"),
            Integer("min_samples_leaf", 1, 40),
            Real("l2_regularization", 1e-4, 1.0, "log"),
        )
        return {OWN: SearchSpace(parameters, self.defaults([parameter.name for parameter in parameters], task))}

    def defaults(self, names: Sequence[str], task: Task) -> Config:  # noqa: ARG002  (the same for all tasks)
        """Return LightGBM's defaults of the named HPs."""
        return {name: _setting(name).default for name in names}

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        """Fit on ``train`` alone, with LightGBM's own bins, and score on ``test`` after each number of trees."""
        trees = [_params(step, train.schema, seed)["num_iterations"] for step in (config, *path)]
        params = {**_params(config, train.schema, seed), "num_iterations": max(trees)}
        dataset = lgb.Dataset(
            train.X, train.y, params=params, categorical_feature=list(train.schema.categorical), free_raw_data=True
        )
        booster = lgb.Booster(params, dataset)
        for _ in range(params["num_iterations"]):
            if booster.update():
                break
        scores = [score_of(BoostedTrees(booster, train.schema, count), test, scoring) for count in trees]
        return list(zip((config, *path), scores, strict=True))

    def rehearse(self, config: Config, rows: Rows, seed: int) -> None:
        """Do nothing: only sums leave a party."""

    def train(
        self, config: Config, rows: Rows, collective: Collective, seed: int, held: Held | None = None
    ) -> "Trained[BoostedTrees]":
        """Train with all parties: agree on the edges by counts, then let LightGBM sum histograms.

        With rows held out the model is cut after the number of trees that does best on them.
        """
        params = _params(config, rows.schema, seed)
        edges = agree_on_edges(rows.X, _categories(rows.schema), collective, most=params["max_bin"] - 1)
        start = _start(rows, collective)
        text = with_stand_ins(
            collective,
            partial(_grown, rows, edges, start, params),
            partial(_grown, _one_row(rows, params), edges, start, params),
        )
        model = BoostedTrees.from_text(_on_raw_values(text, edges, start), rows.schema)
        if held is None:
            return Trained(model, config)
        count = best_tree_count(model.booster, held, collective)
        name = "num_iterations" if "num_iterations" in config else "max_iter"
        return Trained(model.cut(count), {**config, name: count})

    def load(self, files: Mapping[str, bytes], schema: Schema) -> "BoostedTrees":
        """Return the model of ``model.txt``."""
        if MODEL_FILE not in files:
            raise InputError(f"a model of the family hgb is in {MODEL_FILE}, got {sorted(files)}")
        return BoostedTrees.from_text(files[MODEL_FILE].decode(), schema)


@dataclass(frozen=True)
class BoostedTrees:
    """A LightGBM model on raw feature values, with categories as their codes."""

    booster: lgb.Booster
    schema: Schema
    trees: int | None = None  # only the first so many iterations; else all

    @classmethod
    def from_text(cls, text: str, schema: Schema) -> Self:
        """Read LightGBM's own text format."""
        try:
            booster = lgb.Booster(model_str=text)
        except LightGBMError as error:
            raise InputError(f"{MODEL_FILE}: not a LightGBM model ({error})") from error
        if booster.num_feature() != len(schema.columns):
            raise InputError(
                f"{MODEL_FILE}: the schema has {len(schema.columns)} columns, the model {booster.num_feature()}"
            )
        return cls(booster, schema)

    def cut(self, count: int) -> Self:
        """Return the model of the first ``count`` iterations alone."""
        return self.from_text(self.booster.model_to_string(num_iteration=count), self.schema)

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return places in the list of classes, or real numbers: (n, d) -> (n,)."""
        probabilities = self.predict_proba(X)
        return self._raw(X) if probabilities is None else probabilities.argmax(axis=1)

    def predict_proba(self, X: Floats) -> Floats | None:
        """Return each class's probability, (n, d) -> (n, classes); None for a regression."""
        if self.schema.task == "regression":
            return None
        found = self._raw(X)
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found

    def files(self) -> Mapping[str, bytes]:
        """Return ``model.txt``, which LightGBM itself can read too."""
        return {MODEL_FILE: self.booster.model_to_string().encode()}

    def _raw(self, X: Floats) -> Floats:
        return np.asarray(self.booster.predict(X, num_iteration=self.trees, num_threads=1))


def _params(config: Config, schema: Schema, seed: int) -> dict[str, Any]:
    """Return LightGBM's parameters for a config; what the config leaves out is at its default."""
    params: dict[str, Any] = {}
    for name, value in config.items():
        setting = _setting(name)
        if setting.lightgbm in params:
            raise SpaceError(f"{name}: the config names {setting.lightgbm} twice, got {dict(config)}")
        params[setting.lightgbm] = _cast(name, value, setting.default)
    defaults = {setting.lightgbm: setting.default for setting in _SETTINGS.values()}
    params = {**defaults, **params}
    # LightGBM's own 100 would keep parties of a few hundred rows from ever splitting on a category.
    params["min_data_per_group"] = params["min_data_in_leaf"]
    return {**params, **_ALWAYS, **_objective(schema), "seed": derived_seed(seed, "hgb")}


def _setting(name: str) -> "_Setting":
    """Return an HP of the closed table: LightGBM has others that name files, machines or another objective."""
    if name not in _SETTINGS:
        raise SpaceError(f"{name}: the family hgb has no such HP, it has {sorted(_SETTINGS)}")
    return _SETTINGS[name]


def _cast(name: str, value: Value, default: Value) -> Value:
    if isinstance(value, str) or (not isinstance(default, float) and value != type(default)(value)):
        raise SpaceError(f"{name}: must be of the type of its default {default!r}, got {value!r}")
    return type(default)(value)


def _objective(schema: Schema) -> dict[str, Any]:
    if schema.task == "regression":
        return {"objective": "regression"}
    if len(schema.classes) == 2:
        return {"objective": "binary"}
    return {"objective": "multiclass", "num_class": len(schema.classes)}


def _categories(schema: Schema) -> list[int]:
    return [len(column.categories) for column in schema.columns]


def _start(rows: Rows, collective: Collective) -> Floats:
    """Return the scores before the first tree: the pooled mean, log-odds, or logarithms of the classes' shares.

    LightGBM's own ``boost_from_average`` takes the mean of the parties' means, whatever their numbers of rows.
    """
    if rows.schema.task == "regression":
        total, count = collective.allreduce(np.array([rows.y.sum(), len(rows)], dtype=np.float64))
        return np.array([total / count])
    counts = collective.allreduce(np.bincount(rows.y, minlength=len(rows.schema.classes)).astype(np.float64))
    scores = np.log(np.maximum(counts / counts.sum(), 1e-15))  # LightGBM's own floor
    return np.asarray(scores[1:] - scores[:1] if len(scores) == 2 else scores)


def _grown(rows: Rows, edges: Edges, start: Floats, params: Mapping[str, Any], collective: Collective) -> str:
    """Return LightGBM's text of the trees that are grown together, on bin numbers."""
    dataset = _binned(rows, edges, params).set_init_score(np.repeat(start, len(rows)))
    together = {"tree_learner": "data", "pre_partition": True, "num_machines": collective.size}
    with connected(collective) as network:
        booster = lgb.Booster({**params, **together}, dataset)
        network.check()
        for _ in range(params["num_iterations"]):
            finished = booster.update()
            network.check()
            if finished:
                break
        text: str = booster.model_to_string()
    return text


def _one_row(rows: Rows, params: Mapping[str, Any]) -> Rows:
    """Return one row, as often as it takes for LightGBM's bagging to leave two of it."""
    return rows.take(np.zeros(int(np.ceil(2 / params["bagging_fraction"])), dtype=np.int64))


def _binned(rows: Rows, edges: Edges, params: Mapping[str, Any]) -> lgb.Dataset:
    """Return a party's rows as bin numbers, in a dataset whose bins come from made-up rows: the same at all parties."""
    made_up = edges.every_bin()
    settings = {
        **params,
        "max_bin": 2 * len(made_up) + 3,  # room for all: LightGBM gives zero and NaN bins of their own
        "min_data_in_bin": 1,
        "enable_bundle": False,
        "is_enable_sparse": False,
    }
    options = {"params": settings, "categorical_feature": list(rows.schema.categorical)}
    reference = lgb.Dataset(made_up, np.zeros(len(made_up)), **options).construct()
    return lgb.Dataset(edges.bins(rows.X), rows.y, reference=reference, **options).construct()


def _on_raw_values(text: str, edges: Edges, start: Floats) -> str:
    """Return the model with real edges for bin numbers, its start in its first trees, and no list of parameters."""
    head, *trees = re.split(r"^(?=Tree=\d+$)", text[: text.index("\nparameters:")], flags=re.MULTILINE)
    kept = [line for line in head.splitlines() if not line.startswith("tree_sizes=")]  # LightGBM counts them anew
    head = "\n".join(_feature_infos(line, edges) if line.startswith("feature_infos=") else line for line in kept)
    starts = [*start.tolist(), *[0.0] * len(trees)]
    return head + "\n\n" + "".join(map(_tree_on_raw_values, trees, repeat(edges), starts))


def _feature_infos(line: str, edges: Edges) -> str:
    infos = line.removeprefix("feature_infos=").split()
    for k, column in enumerate(edges.columns):
        if not edges.categories[k]:
            infos[k] = f"[{float(column[0])!r}:{float(column[-1])!r}]" if len(column) else "none"
    return "feature_infos=" + " ".join(infos)


def _tree_on_raw_values(tree: str, edges: Edges, start: float) -> str:
    fields = dict(line.split("=", 1) for line in tree.splitlines() if "=" in line)
    features, thresholds = fields["split_feature"].split(), fields["threshold"].split()
    new = {"threshold": [_threshold(t, edges.columns[int(f)]) for f, t in zip(features, thresholds, strict=True)]}
    if fields["num_leaves"] == "1":
        new["leaf_count"] = ["0"]  # LightGBM writes the party's own number of rows here
    if start:
        for name in ("leaf_value", "internal_value"):
            new[name] = [repr(start + float(value)) for value in fields[name].split()]
    for name, values in new.items():
        tree = re.sub(f"^{name}=.*$", f"{name}={' '.join(values)}", tree, flags=re.MULTILINE)
    return tree


def _threshold(threshold: str, edges: Floats) -> str:
    """Return a split's threshold on raw values; what is no bin number (a list of categories, infinity) stays."""
    place = float(threshold)
    return repr(float(edges[int(place)])) if place < len(edges) else threshold
