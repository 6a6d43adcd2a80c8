"""What was tried: the (HP, loss) pairs. This is all that leaves a party before the one training."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from flora.errors import InputError, TrialsError
from flora.parameters import is_finite
from flora.space import Config, SearchSpace
from flora.space_formats import load_json
from flora.trial_imports import pairs_of_csv, pairs_of_study

if TYPE_CHECKING:
    import optuna

MOST_TRIALS = 10_000
MOST_BYTES = 16 * 2**20
MOST_ROWS = 2**53  # a float holds every count up to here
FORMAT, VERSION = "flora-trials", 1


@dataclass(frozen=True)
class Trial:
    """One (HP, loss) pair. It carries no rows, no gradients and no model."""

    config: Config
    loss: float
    error: float | None = None  # the loss's standard error over the folds
    folds: int | None = None
    rows: int | None = None  # rows used

    def __post_init__(self) -> None:
        if not is_finite(self.loss):
            raise TrialsError(f"loss must be a finite number, got {self.loss!r:.40} for {_short(self.config)}")
        if self.error is not None and not (is_finite(self.error) and self.error >= 0):
            raise TrialsError(f"error must be a finite number >= 0, got {self.error!r:.40} for {_short(self.config)}")
        _check_count("folds", self.folds)
        _check_count("rows", self.rows)


@dataclass(frozen=True)
class FailedTrial:
    """A config whose training failed. The reason is the error's class: its text may quote a row."""

    config: Config
    reason: str


@dataclass(frozen=True)
class PartyTrials:
    """What one party tried, over one space and scoring."""

    party: str
    rows: int | None
    space: SearchSpace
    scoring: str
    trials: tuple[Trial, ...]
    failed: tuple[FailedTrial, ...] = ()
    family: str | None = None
    task: str | None = None

    def __post_init__(self) -> None:
        check_party_name(self.party)
        _check_count("rows", self.rows)
        if not 1 <= len(self.trials) + len(self.failed) <= MOST_TRIALS:
            tried = len(self.trials) + len(self.failed)
            raise TrialsError(f"party {self.party!r}: need 1 to {MOST_TRIALS} trials, got {tried}")
        named = {f"trials[{k}]": t.config for k, t in enumerate(self.trials)}
        named |= {f"failed[{k}]": t.config for k, t in enumerate(self.failed)}
        for place, config in named.items():
            try:
                self.space.check(config)
            except InputError as error:
                raise TrialsError(f"{place}: {error}") from error

    @property
    def default(self) -> Trial | None:
        """The trial of the default config, if it was sent."""
        return next((t for t in self.trials if self.space.is_default(t.config)), None)

    @property
    def best(self) -> Trial:
        """The trial with the lowest loss, the first of equals."""
        if not self.trials:
            raise TrialsError(f"party {self.party!r}: every trial failed")
        return min(self.trials, key=lambda trial: trial.loss)

    @property
    def digest(self) -> str:
        """The SHA-256 of the file that leaves the party."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def keep_best(self, count: int) -> Self:
        """Return the ``count`` trials with the lowest losses, in the order of the search (the paper's T')."""
        kept = sorted(range(len(self.trials)), key=lambda k: (self.trials[k].loss, k))[:count]
        return replace(self, trials=tuple(self.trials[k] for k in sorted(kept)), failed=())

    def to_json(self) -> str:
        """Return the file that leaves the party."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "party": self.party,
            "rows": self.rows,
            "family": self.family,
            "task": self.task,
            "scoring": self.scoring,
            "space": self.space.to_json(),
            "space_digest": self.space.digest,
            "trials": [{**vars(trial), "config": dict(trial.config)} for trial in self.trials],
            "failed": [{"config": dict(trial.config), "reason": trial.reason} for trial in self.failed],
        }
        return json.dumps(document, indent=1, allow_nan=False, default=_plain) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "trials") -> Self:
        """Read a file of trials that somebody else wrote; ``source`` names it in errors."""
        size = len(text) if isinstance(text, bytes) else len(text.encode(errors="replace"))
        if size > MOST_BYTES:
            raise TrialsError(f"{source}: a file of trials has at most {MOST_BYTES} bytes, got {size}")
        try:
            return cls._from_document(_parse(text))
        except RecursionError as error:  # shallow enough to be read, too deep to be shown in a message
            raise TrialsError(f"{source}: nested too deep") from error
        except InputError as error:
            raise TrialsError(f"{source}: {error}") from error

    @classmethod
    def _from_document(cls, document: Any) -> Self:
        _check_keys("the file", document, {*_HEADER, "failed"})
        if document["format"] != FORMAT or document["version"] != VERSION or document["version"] is True:
            found = f"{document['format']!r:.40} version {document['version']!r:.40}"
            raise TrialsError(f"expected {FORMAT!r} version {VERSION}, got {found}")
        space = SearchSpace.from_json(_mapping("space", document["space"]))
        if document["space_digest"] != space.digest:
            raise TrialsError(f"space_digest does not match the space, got {document['space_digest']!r:.80}")
        return cls(
            party=_text(document, "party"),
            rows=document["rows"],
            space=space,
            scoring=_text(document, "scoring"),
            trials=tuple(_trial(k, entry) for k, entry in enumerate(_list(document, "trials"))),
            failed=tuple(_failed_trial(k, entry) for k, entry in enumerate(_list(document, "failed"))),
            family=_optional_text(document, "family"),
            task=_optional_text(document, "task"),
        )

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file of trials from disk."""
        path = Path(path)
        if not path.is_file():
            raise TrialsError(f"{path}: no such file")
        if path.stat().st_size > MOST_BYTES:
            raise TrialsError(f"{path}: a file of trials has at most {MOST_BYTES} bytes, got {path.stat().st_size}")
        return cls.from_json(path.read_bytes(), source=str(path))

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        space: SearchSpace,
        *,
        scoring: str = "score",
        party: str | None = None,
        rows: int | None = None,
    ) -> Self:
        """Read HP columns and a ``loss`` or ``score`` column; an ``error`` column is taken where there is one."""
        path = Path(path)
        pairs = pairs_of_csv(path, space, lambda score: loss_of(scoring, score))
        try:
            trials = tuple(Trial(config, loss, error) for config, loss, error in pairs)
            return cls(party if party is not None else path.stem, rows, space, scoring, trials)
        except InputError as error:
            raise TrialsError(f"{path}: {error}") from error

    @classmethod
    def from_optuna(
        cls,
        study: "optuna.Study",
        *,
        scoring: str = "score",
        party: str | None = None,
        rows: int | None = None,
        space: SearchSpace | None = None,
    ) -> Self:
        """Take a finished Optuna study; what it maximised is read as a score, what it minimised as a loss."""
        distributions, pairs, failed = pairs_of_study(study, lambda score: loss_of(scoring, score))
        return cls(
            party if party is not None else study.study_name,
            rows,
            space or SearchSpace.from_json(distributions),
            scoring,
            tuple(Trial(config, loss) for config, loss in pairs),
            tuple(FailedTrial(config, "failed") for config in failed),
        )


def loss_of(scoring: str, score: float) -> float:
    """Return the loss of a scikit-learn score: ``1 - score``, or ``-score`` for the ``neg_`` ones.

    >>> loss_of("balanced_accuracy", 0.75), loss_of("neg_mean_squared_error", -4.0)
    (0.25, 4.0)
    """
    return -score if scoring.startswith("neg_") else 1 - score


def check_party_name(name: Any) -> None:
    """Raise unless ``name`` can be a party's: 1 to 200 printable characters."""
    if not isinstance(name, str) or not 1 <= len(name) <= 200 or not name.isprintable():
        raise TrialsError(f"a party's name is 1 to 200 printable characters, got {name!r:.80}")


_HEADER = {"format", "version", "party", "rows", "family", "task", "scoring", "space", "space_digest", "trials"}


def _parse(text: str | bytes) -> Any:
    try:
        return load_json(text)
    except ValueError as error:  # truncated, not UTF-8, a number of 5,000 digits, nested too deep
        raise TrialsError(f"not a JSON file of trials ({error})") from error


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as JSON's type."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r:.40} has no place in a file of trials")


def _trial(index: int, entry: Any) -> Trial:
    _check_keys(f"trials[{index}]", entry, {"config", "loss", "error", "folds", "rows"})
    try:
        return Trial(_mapping("config", entry["config"]), entry["loss"], entry["error"], entry["folds"], entry["rows"])
    except InputError as error:
        raise TrialsError(f"trials[{index}]: {error}") from error


def _failed_trial(index: int, entry: Any) -> FailedTrial:
    _check_keys(f"failed[{index}]", entry, {"config", "reason"})
    try:
        return FailedTrial(_mapping("config", entry["config"]), _text(entry, "reason"))
    except InputError as error:
        raise TrialsError(f"failed[{index}]: {error}") from error


def _check_keys(place: str, entry: Any, keys: set[str]) -> None:
    if not isinstance(entry, dict):
        raise TrialsError(f"{place} must be a JSON object, got {entry!r:.40}")
    for key in sorted(keys - set(entry)):
        raise TrialsError(f"{place} lacks the field {key!r}")
    for key in sorted(set(entry) - keys):
        raise TrialsError(f"{place} has the unknown field {key!r:.40}")


def _mapping(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TrialsError(f"{key} must be a JSON object, got {value!r:.40}")
    return value


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    if not isinstance(document[key], list):
        raise TrialsError(f"{key} must be a list, got {document[key]!r:.40}")
    if len(document[key]) > MOST_TRIALS:
        raise TrialsError(f"{key} must have at most {MOST_TRIALS} entries, got {len(document[key])}")
    return list(document[key])


def _text(document: Mapping[str, Any], key: str) -> str:
    text = document[key]
    if not isinstance(text, str) or len(text) > 200 or not text.isprintable():
        raise TrialsError(f"{key} must be text of at most 200 printable characters, got {text!r:.40}")
    return text


def _optional_text(document: Mapping[str, Any], key: str) -> str | None:
    return None if document[key] is None else _text(document, key)


def _check_count(name: str, value: Any) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_ROWS):
        raise TrialsError(f"{name} must be a whole number of at least 1 and at most 2^53, got {value!r:.40}")


def _short(config: Config) -> str:
    return f"{dict(config)!r:.200}"
