"""What a party allows: its own file ``local/flora.json``, which no step can widen.

The file is a JSON object; each key may be left out, and then its default holds. No file at all means all defaults.

- ``families``: the kinds of model, ``hgb``, ``svm``, ``mlp`` or a ``package.module:Estimator`` (the first three)
- ``scorings``: scikit-learn's scorers (those below, none of which is one row's)
- ``most_trials``: the trials of one search, and the configs of one confirmation or certificate (100)
- ``most_seconds``: how long one step may compute (86400)
- ``fewest_rows``: with fewer rows the party answers nothing (40)
- ``certificate``: whether sketches of the rows and learning curves may leave (false)
- ``pairs``: ``"as-is"``, ``{"rounded": DIGITS}``, ``{"best": COUNT}``, or both of these in one object (``"as-is"``)
- ``data``: the party's own table, with ``path``, ``target`` and ``drop``; it never leaves (none)
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Self

from flora.errors import ConsentError, InputError
from flora.federation import Reply, Step, StepName
from flora.plan import SearchPlan
from flora.schema import Schema
from flora.sketch import FEWEST_QUANTILES, ROWS_PER_QUANTILE, Sketch
from flora.space import SearchSpace
from flora.space_formats import load_json
from flora.trials import MOST_TRIALS
from flora.wire import check_step

FAMILIES = ("hgb", "svm", "mlp")
SCORINGS = (  # no scorer that tells of a single row, as max_error does
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "neg_log_loss",
    "roc_auc",
    "r2",
    "neg_mean_absolute_error",
    "neg_mean_squared_error",
    "neg_root_mean_squared_error",
)
FEWEST_ROWS = FEWEST_QUANTILES * ROWS_PER_QUANTILE  # with fewer, not even a sketch leaves
MOST_DIGITS = 17  # a float has no more
MOST_BYTES = 2**20
LEAVES: dict[StepName, tuple[str, ...]] = {  # what a reply may hold besides party, rows and notes
    "describe": ("schema",),
    "search": ("trials",),
    "confirm": ("confirmations",),
    "certify": ("sketch", "curves"),
    "train": ("model", "trained", "held_loss"),
}
_NEVER_ROUNDED = (Mapping, SearchSpace, Schema, Sketch)  # a config is what was asked for; a sketch is rounded already


@dataclass(frozen=True)
class DataSource:
    """Where the party's own rows are."""

    path: str
    target: str
    drop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Consent:
    """What one party allows. The defaults are the strictest that let the default run through as it is."""

    families: tuple[str, ...] = FAMILIES
    scorings: tuple[str, ...] = SCORINGS
    most_trials: int = 100
    most_seconds: float = 86_400
    fewest_rows: int = FEWEST_ROWS
    certificate: bool = False
    digits: int | None = None  # significant ones of each loss and error that leaves; None: all
    best: int | None = None  # T': how many of the best pairs leave; None: all
    data: DataSource | None = None

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a party's file; where there is none, the defaults hold."""
        path = Path(path)
        try:
            if path.stat().st_size > MOST_BYTES:
                raise InputError(f"{path}: has at most {MOST_BYTES} bytes, got {path.stat().st_size}")
            return cls.from_json(load_json(path.read_bytes()))
        except FileNotFoundError:
            return cls()
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: not a JSON file that can be read ({error})") from error

    @classmethod
    def from_json(cls, document: Any) -> Self:
        """Return the consent that a file's JSON states."""
        _check_keys("the file", document, set(_READERS))
        stated: dict[str, Any] = {}
        for key, value in document.items():
            stated |= _READERS[key](key, value)
        return cls(**stated)

    def to_json(self) -> dict[str, Any]:
        """Return the file's JSON, with nothing left out."""
        pairs = {k: v for k, v in (("rounded", self.digits), ("best", self.best)) if v is not None}
        data = None if self.data is None else {**vars(self.data), "drop": list(self.data.drop)}
        same = ("most_trials", "most_seconds", "fewest_rows", "certificate")
        return {
            "families": list(self.families),
            "scorings": list(self.scorings),
            **{key: getattr(self, key) for key in same},
            "pairs": pairs or "as-is",
            **({} if data is None else {"data": data}),
        }

    def check(self, step: Step) -> None:
        """Raise :class:`ConsentError` where a step asks for more than this party allows."""
        check_step(step)
        if step.name == "certify" and not self.certificate:
            raise ConsentError("this party sends no sketch of its rows, and the certificate asks for one")
        if step.name == "describe":
            return
        plan = SearchPlan.from_json(step.payload["plan"])
        _check_among("the model", plan.family, self.families)
        _check_among("the scoring", plan.scoring, self.scorings)
        self._check_count("trials", plan.trials)
        self._check_count("configs to be measured", len(step.payload.get("configs", ())))

    def check_rows(self, rows: int) -> None:
        """Raise where the party has too few rows; how many it has is not said."""
        if rows < self.fewest_rows:
            raise ConsentError(f"this party takes part with at least {self.fewest_rows} rows, and it has fewer")

    def check_seconds(self, seconds: float) -> None:
        """Raise where a step has computed for longer than is allowed."""
        if seconds > self.most_seconds:
            raise ConsentError(
                f"this party computes for at most {self.most_seconds:g} seconds a step, and they are over"
            )

    def apply(self, step: Step, reply: Reply) -> Reply:
        """Return what may leave of a reply: the best pairs only, and rounded, where this party wants it so."""
        for field in fields(reply):
            known = ("party", "rows", "notes", *LEAVES[step.name])
            if field.name not in known and getattr(reply, field.name) != field.default:
                raise ConsentError(f"a reply to {step.name!r} holds no {field.name!r}, and this one did")
        trials, notes = reply.trials, list(reply.notes)
        if trials is not None and self.best is not None and len(trials.trials) > self.best:
            trials = trials.keep_best(self.best)
            notes.append(f"it lets only its best {self.best} pairs leave")
        if trials is not None and self.digits is not None:
            notes.append(f"it rounds losses to {self.digits} digits")
        left: Reply = _rounded(replace(reply, trials=trials, notes=tuple(notes)), self.digits)
        return left

    def describe(self) -> str:
        """Return the consent in sentences, for the person who answers for it."""
        pairs = "All pairs of a config and its loss leave" if self.best is None else f"The best {self.best} pairs leave"
        rounding = "as they are" if self.digits is None else f"with losses rounded to {self.digits} digits"
        sketches = "leave if a certificate is asked for" if self.certificate else "do not leave"
        return "\n".join(
            [
                f"Models that may be trained: {', '.join(self.families) or 'none'}.",
                f"Scorings that may be asked for: {', '.join(self.scorings) or 'none'}.",
                f"A search has at most {self.most_trials} trials; a step takes at most {self.most_seconds:g} seconds.",
                f"With fewer than {self.fewest_rows} rows this party answers nothing.",
                f"{pairs} {rounding}.",
                f"Sketches of the rows and learning curves {sketches}.",
            ]
        )

    def _check_count(self, what: str, asked: int) -> None:
        if asked > self.most_trials:
            raise ConsentError(f"this party allows at most {self.most_trials} {what}, and {asked} are asked for")


def _check_among(what: str, asked: str, allowed: tuple[str, ...]) -> None:
    if asked not in allowed:
        listed = ", ".join(allowed) or "none"
        raise ConsentError(f"{what} must be one that this party allows ({listed}), and {asked!r:.80} is asked for")


def _rounded(value: Any, digits: int | None) -> Any:
    """Return a record with every float in it rounded to significant digits: those of fields to come too."""
    if digits is None or isinstance(value, _NEVER_ROUNDED):
        return value
    if isinstance(value, float):
        near = float(f"{value:.{digits}g}")
        return near if math.isfinite(near) else math.copysign(sys.float_info.max, value)
    if isinstance(value, tuple):
        return tuple(_rounded(part, digits) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _rounded(getattr(value, f.name), digits) for f in fields(value)})
    return value


def _check_keys(place: str, value: Any, known: set[str]) -> None:
    if not isinstance(value, dict):
        raise InputError(f"{place} must be a JSON object, got {value!r:.40}")
    for key in value:
        if key not in known:
            raise InputError(f"{place} has the unknown key {key!r:.40}, it may have {sorted(known)}")


def _texts(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, list) or not all(isinstance(text, str) and text.isprintable() for text in value):
        raise InputError(f"{key} must be a list of texts, got {value!r:.80}")
    return {key: tuple(value)}


def _count(key: str, value: Any, most: int = 2**53) -> dict[str, Any]:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InputError(f"{key} must be a whole number from 1 to {most}, got {value!r:.40}")
    return {key: value}


def _seconds(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 2**53:
        raise InputError(f"{key} must be a number above 0, got {value!r:.40}")
    return {key: value}


def _yes_or_no(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, bool):
        raise InputError(f"{key} must be true or false, got {value!r:.40}")
    return {key: value}


def _pairs(key: str, value: Any) -> dict[str, Any]:
    if value == "as-is":
        return {}
    _check_keys(f'{key} (which is "as-is", or an object)', value, {"rounded", "best"})
    limits = {"rounded": ("digits", MOST_DIGITS), "best": ("best", MOST_TRIALS)}
    if not value:
        raise InputError(f'{key} must be "as-is", or say "rounded": DIGITS or "best": COUNT')
    return {limits[k][0]: _count(f"{key}.{k}", v, limits[k][1])[f"{key}.{k}"] for k, v in value.items()}


def _data(key: str, value: Any) -> dict[str, Any]:
    _check_keys(key, value, {"path", "target", "drop"})
    for name in ("path", "target"):
        if not isinstance(value.get(name), str) or not value[name]:
            raise InputError(f"{key}.{name} must be text, got {value.get(name)!r:.40}")
    (drop,) = _texts(f"{key}.drop", value.get("drop", [])).values()
    return {key: DataSource(value["path"], value["target"], drop)}


_READERS = {
    "families": _texts,
    "scorings": _texts,
    "most_trials": _count,
    "most_seconds": _seconds,
    "fewest_rows": _count,
    "certificate": _yes_or_no,
    "pairs": _pairs,
    "data": _data,
}
