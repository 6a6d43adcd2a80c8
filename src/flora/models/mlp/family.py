"""Multi-layer perceptrons with one hidden layer.

A party searches with scikit-learn's own training. The parties train together by federated averaging: in each round
every party trains on from the same weights, then the weights are averaged by rows, until the parties' validation rows
see no gain. Rare classes may count more (``class_balance``), by the counts of all rows that train. What only an
aggregator has, a party tries out on a federation that it deals from its own rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.core.collective import Alone, Collective
from flora.errors import InputError
from flora.models.class_weights import BALANCE, class_factors, weighed
from flora.models.encoded_fold import EncodedFold
from flora.models.encoding import fit_encoding
from flora.models.family import Held, Scores, Trained
from flora.models.mlp.epochs import FEWEST_HELD, fitted_networks
from flora.models.mlp.federated_averaging import AGGREGATOR, Part, average, learners_of
from flora.models.mlp.perceptron import PerceptronModel
from flora.models.rows import Rows
from flora.models.scored import score_of
from flora.models.sums import added
from flora.problem.family import FEDERATED, OWN, PAPER
from flora.problem.parameters import Parameter
from flora.problem.schema import Schema, Task
from flora.problem.size_law import times_more
from flora.problem.space import Config, Integer, Real, SearchSpace
from flora.randomness import derived_seed, stream

SETTINGS: dict[str, Any] = {  # the paper's three, then what it fixes; scikit-learn's defaults where it is silent
    "hidden_layer_sizes": 100,
    "alpha": 1e-4,
    "learning_rate_init": 1e-3,
    "activation": "relu",
    "batch_size": 200,
    "beta_1": 0.9,
    "beta_2": 0.999,
    "epsilon": 1e-8,
    "max_iter": 200,
    "n_iter_no_change": 10,
    "tol": 1e-4,
    "validation_fraction": 0.1,
    BALANCE: 0.0,
    **AGGREGATOR,
}
VIRTUAL_PARTIES = 3  # in the federation that a party deals from its own rows
FEWEST_DEALT = 15  # rows of a virtual party, so that it has some to validate on


@dataclass(frozen=True)
class Perceptron:
    """The family ``mlp``."""

    name = "mlp"
    tasks: frozenset[Task] = frozenset({"classification", "regression"})
    note = (
        "Federated averaging: in each round every party trains on its own rows (one epoch, unless local_epochs says "
        "otherwise), the weights are averaged by rows, and the parties' own validation rows say when to stop."
    )
    passes_through: frozenset[str] = frozenset({"max_iter"})
    grows: frozenset[str] = frozenset()

    def spaces(self, task: Task) -> Mapping[str, SearchSpace]:
        """Return the paper's space and baseline, and the same with HPs that it leaves out.

        They are the weight of classes and, in a space of their own, the HPs that only an aggregator has.
        """
        paper: tuple[Parameter, ...] = (
            Integer("hidden_layer_sizes", 50, 200),
            Real("alpha", 1e-5, 10, "log"),
            Real("learning_rate_init", 1e-5, 1e-1, "log"),
        )
        aggregator = (Integer("local_epochs", 1, 5, "log"), Real("server_learning_rate", 0.1, 3.0, "log"))
        own = (*paper, Real(BALANCE, 0.0, 1.0)) if task == "classification" else paper
        ranges = {OWN: own, PAPER: paper, FEDERATED: (*own, *aggregator)}
        return {
            name: SearchSpace(found, self.defaults([parameter.name for parameter in found], task))
            for name, found in ranges.items()
        }

    def defaults(self, names: Sequence[str], task: Task) -> Config:  # noqa: ARG002  (the same for both)
        """Return the defaults of the named HPs."""
        settings = _settings({name: SETTINGS.get(name, "") for name in names})
        return {name: settings[name] for name in names}

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        """Return the scores of scikit-learn's own network, or of an emulated federation's.

        It is the latter where the config names an HP that only an aggregator has.
        """
        settings, steps = _settings(config), (config, *path)
        rounds = [_settings(step)["max_iter"] for step in steps]
        if AGGREGATOR.keys() & config.keys():
            models = emulated(config, train, dealt(train, seed), seed, rounds)
            scores = [score_of(model, test, scoring) for model in models]
        else:
            fold = EncodedFold.recalled(train, test)
            counted = weighed(train, class_factors(train, settings[BALANCE], Alone()))
            networks = fitted_networks(settings, fold.train, counted, derived_seed(seed, "mlp"), rounds)
            unseen = replace(test, X=fold.test)
            scores = [score_of(network, unseen, scoring) for network in networks]
        return list(zip(steps, scores, strict=True))

    def rehearse(self, config: Config, rows: Rows, seed: int) -> None:
        """Do nothing: only sums leave a party."""

    def train(
        self, config: Config, rows: Rows, collective: Collective, seed: int, held: Held | None = None
    ) -> Trained[PerceptronModel]:
        """Train one network with all parties. Where rows are held out, they choose the round."""
        settings, place = _settings({**_patience(collective.size), **config}), collective.rank
        parts = {place: _held_out(rows, settings, place, seed) if held is None else (rows, held.rows)}
        ((model, chosen),) = _trained(settings, rows, parts, collective, seed, [settings["max_iter"]])
        reported = {"max_iter": chosen} if held is not None and "max_iter" in config else {}
        return Trained(model, {**config, **reported})

    def load(self, files: Mapping[str, bytes], schema: Schema) -> PerceptronModel:
        """Return the model that :meth:`PerceptronModel.files` wrote."""
        return PerceptronModel.from_files(files, schema)


def emulated(
    config: Config, rows: Rows, shares: Sequence[NDArray[np.intp]], seed: int, rounds: Sequence[int] | None = None
) -> list[PerceptronModel]:
    """Return what a federation trains in this one process, after each number of rounds.

    Args:
        config: Some HPs.
        rows: Of all its parties.
        shares: The places of each party's rows.
        seed: Decides as in :meth:`Perceptron.train`.
        rounds: The numbers of rounds; without them, the config's ``max_iter``.
    """
    settings = _settings({**_patience(len(shares)), **config})
    parts = {k: _held_out(rows.take(share), settings, k, seed) for k, share in enumerate(shares)}
    found = _trained(settings, rows, parts, Alone(), seed, rounds or [settings["max_iter"]])
    return [model for model, _ in found]


def dealt(rows: Rows, seed: int) -> list[NDArray[np.intp]]:
    """Return the places of each virtual party's rows: dealt in turn from a shuffle, class by class."""
    parties = max(1, min(VIRTUAL_PARTIES, len(rows) // FEWEST_DEALT))
    order = stream(seed, "mlp", "deal").permutation(len(rows))
    if rows.schema.classes:
        order = order[np.argsort(rows.y[order], kind="stable")]
    return [np.sort(order[k::parties]) for k in range(parties)]


def _trained(
    settings: Mapping[str, Any],
    rows: Rows,
    parts: Mapping[int, tuple[Rows, Rows]],
    collective: Collective,
    seed: int,
    rounds: Sequence[int],
) -> list[tuple[PerceptronModel, int]]:
    """Return the model after each number of rounds, and the round that made it.

    Args:
        settings: All HPs.
        rows: This process's rows, which the encoding and the target's scale are fitted to.
        parts: The rows to train on and to validate on, by their parties' places.
        collective: Joins this process to the others.
        seed: Decides the first weights and the order of the rows.
        rounds: The numbers of rounds.
    """
    schema, encoding = rows.schema, fit_encoding(rows, collective)
    center, scale = _target_scale(rows, collective)
    factors = class_factors(rows, settings[BALANCE], collective)

    def scaled(part: Rows) -> Part:
        y = (part.y - center) / scale if schema.task == "regression" else part.y
        return Part(encoding(part.X), y, weighed(part, factors).weights)

    both = {place: (scaled(kept), scaled(held)) for place, (kept, held) in parts.items()}
    learners = learners_of(settings, both, schema, collective)
    return [
        (PerceptronModel(encoding, learners.own[0].layers(stand.weights), schema.task, center, scale), stand.round)
        for stand in average(learners, settings, collective, seed, rounds)
    ]


def _held_out(rows: Rows, settings: Mapping[str, Any], place: int, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to validate on: none, where they would be too few."""
    held = round(len(rows) * settings["validation_fraction"])
    order = stream(seed, "mlp", "validation", place).permutation(len(rows))
    first = held if held >= FEWEST_HELD else 0
    return rows.take(order[first:]), rows.take(order[:first])


def _target_scale(rows: Rows, collective: Collective) -> tuple[float, float]:
    """Return the mean and the standard deviation of all parties' targets; (0, 1) for classes."""
    if rows.schema.task == "classification":
        return 0.0, 1.0
    own = 1.0 if rows.weights is None else rows.weights
    if rows.weights is None:
        count = float(collective.add_integers(np.array([len(rows)]))[0])
    else:
        count = float(added(np.array([rows.weight]), collective)[0])
    mean = float(added(np.array([np.sum(own * rows.y)]), collective)[0] / count)
    (square,) = added(np.array([np.sum(own * (rows.y - mean) ** 2)]), collective)
    return mean, math.sqrt(square / count) or 1.0


def _patience(parties: int) -> Config:
    """Return the rounds without a gain that end a training, unless a config says: many parties get less far in each."""
    return {"n_iter_no_change": round(SETTINGS["n_iter_no_change"] * times_more(parties))}


def _settings(config: Config) -> dict[str, Any]:
    unknown = sorted(set(config) - set(SETTINGS))
    if unknown:
        raise InputError(f"mlp: in federated training only {', '.join(SETTINGS)} can be tuned, got {unknown[0]!r}")
    settings = {**SETTINGS, **config}
    for name in ("max_iter", "local_epochs"):
        if not isinstance(settings[name], int) or isinstance(settings[name], bool) or settings[name] < 1:
            raise InputError(f"mlp: {name} must be a whole number of at least 1, got {settings[name]!r:.40}")
    rate = settings["server_learning_rate"]
    if not isinstance(rate, float | int) or isinstance(rate, bool) or not 0 < rate < math.inf:
        raise InputError(f"mlp: server_learning_rate must be a number above 0, got {rate!r:.40}")
    if isinstance(settings[BALANCE], bool | str) or not 0 <= settings[BALANCE] <= 1:
        raise InputError(f"mlp: {BALANCE} must be a number between 0 and 1, got {settings[BALANCE]!r:.40}")
    return settings
