"""What was tried: the (HP, loss) pairs. This is all that leaves a party before the one training."""

import hashlib
import json
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from flora.core.codec import checks_itself, has_form, read_fields, to_json
from flora.core.documents import Format
from flora.core.rules import Amount, Count, Measure, Name, check
from flora.errors import InputError, TrialsError
from flora.problem.imported_trials import Columns, pairs_of_csv, pairs_of_study
from flora.problem.schema import Label
from flora.problem.score_range import fault_of_loss
from flora.problem.space import Config, SearchSpace

if TYPE_CHECKING:
    import optuna

MOST_TRIALS = 10_000
LOOKALIKES = str.maketrans(  # Cyrillic and Greek letters, and the Latin ones that they look like in either case
    "авекмнорстухіјѕԁһԛԝαβεζηικμνορτυχ", "abekmhopctyxijsdhqwabezhikmnoptyx"
)
FORMAT = Format("flora-trials", error=TrialsError)


@dataclass(frozen=True)
class Trial:
    """One (HP, loss) pair. It carries no rows, no gradients and no model."""

    config: Config
    loss: Measure
    error: Amount | None = None  # the loss's standard error over the folds
    folds: Count | None = None
    rows: Count | None = None  # rows used

    def __post_init__(self) -> None:
        check(self, TrialsError)


@dataclass(frozen=True)
class FailedTrial:
    """A config whose training failed. The reason is the error's class: its text may quote a row."""

    config: Config
    reason: Name

    def __post_init__(self) -> None:
        check(self, TrialsError)


@dataclass(frozen=True)
class PartyTrials:
    """What one party tried, over one space and scoring."""

    party: Name
    rows: Count | None
    space: SearchSpace
    scoring: Name
    trials: tuple[Trial, ...]
    failed: tuple[FailedTrial, ...] = ()
    family: Name | None = None
    task: Name | None = None
    positive: Label | None = None  # the class that the scoring asks for, where the plan says so

    def __post_init__(self) -> None:
        check_party_name(self.party)
        check(self, TrialsError)
        if not 1 <= len(self.trials) + len(self.failed) <= MOST_TRIALS:
            tried = len(self.trials) + len(self.failed)
            raise TrialsError(f"party {self.party!r}: need 1 to {MOST_TRIALS} trials, got {tried}")
        for name, configs in (("trials", [t.config for t in self.trials]), ("failed", [t.config for t in self.failed])):
            for k, config in enumerate([] if self.space.surely_holds(configs) else configs):
                try:
                    self.space.check(config)
                except InputError as error:
                    raise TrialsError(f"{name}[{k}]: {error}") from error

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

    def checked_scores(self) -> Self:
        """Return these trials, or raise where a loss is none that the scoring can give: of another sign, in percent."""
        losses = [trial.loss for trial in self.trials]
        if losses and not any(fault_of_loss(self.scoring, end) for end in (min(losses), max(losses))):
            return self
        for k, trial in enumerate(self.trials):
            if fault := fault_of_loss(self.scoring, trial.loss):
                raise TrialsError(f"trials[{k}]: {fault}")
        return self

    def to_document(self) -> dict[str, Any]:
        """Return all that leaves the party, as JSON's types."""
        header = {name: getattr(self, name) for name in ("party", "rows", "family", "task", "scoring")}
        if self.positive is not None:
            header["positive"] = self.positive
        document = {
            **header,
            "space": self.space,
            "space_digest": self.space.digest,
            "trials": self.trials,
            "failed": self.failed,
        }
        return {"format": FORMAT.name, "version": FORMAT.version, **to_json(document)}

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Read what :meth:`to_document` wrote."""
        if not isinstance(document, dict):
            raise TrialsError(f"a file of trials is a JSON object, got {document!r:.40}")
        stated = document.get("format", FORMAT.name), document.get("version", FORMAT.version)
        if stated != (FORMAT.name, FORMAT.version):  # inside of another document; a file's were looked at before
            raise TrialsError(f"expected {FORMAT.name!r} version {FORMAT.version}, got {stated!r:.80}")
        rest = {key: value for key, value in document.items() if key not in ("format", "version", "space_digest")}
        found = read_fields(cls, rest)
        if document.get("space_digest") != found.space.digest:
            raise TrialsError(f"space_digest does not match the space, got {document.get('space_digest')!r:.80}")
        return found.checked_scores()

    def to_json(self) -> str:
        """Return the file that leaves the party."""
        return json.dumps(self.to_document(), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "trials") -> Self:
        """Read a file of trials that somebody else wrote; ``source`` names it in errors."""
        document = FORMAT.document(text, source)
        try:
            return cls.from_document(document)
        except InputError as error:
            raise TrialsError(f"{source}: {error}") from error

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file of trials from disk."""
        return cls.from_json(FORMAT.file(Path(path)), source=str(path))

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        space: SearchSpace,
        *,
        scoring: str = "score",
        party: str | None = None,
        rows: int | None = None,
        columns: Columns = Columns(),  # noqa: B008
    ) -> Self:
        """Read HP columns and a ``loss`` or ``score`` column, or those of ``columns``, and ``error`` where it is there.

        What no score of ``scoring`` can be is refused. The party's rows are given, or the most of the rows' column. A
        line without a loss, or that Optuna says failed or was pruned, is a failed trial.
        """
        path = Path(path)
        pairs = pairs_of_csv(path, space, lambda score: loss_of(scoring, score), columns)
        try:
            done = [(pair, pair.loss) for pair in pairs if pair.loss is not None]
            trials = tuple(Trial(pair.config, loss, pair.error, rows=pair.rows) for pair, loss in done)
            failed = tuple(FailedTrial(pair.config, "failed") for pair in pairs if pair.loss is None)
            rows = rows if rows is not None else max((t.rows for t in trials if t.rows), default=None)
            name = party or Path(path.name.removesuffix(".gz")).stem
            return cls(name, rows, space, scoring, trials, failed).checked_scores()
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
        found = cls(
            party if party is not None else study.study_name,
            rows,
            space or SearchSpace.from_json(distributions),
            scoring,
            tuple(Trial(config, loss) for config, loss in pairs),
            tuple(FailedTrial(config, "failed") for config in failed),
        )
        return found.checked_scores()


@dataclass(frozen=True)
class Gain:
    """How much lower the loss is than the default's (how much higher the score), with its standard error."""

    estimate: float
    error: float
    degrees: float | None = None  # of freedom, of Student's t; None where the error is as good as known

    @property
    def low(self) -> float:
        """One standard error below the estimate."""
        return self.estimate - self.error

    @property
    def high(self) -> float:
        """One standard error above the estimate."""
        return self.estimate + self.error

    def to_json(self) -> dict[str, float]:
        """Return the estimate and the ends of its interval of one standard error."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high, "standard_error": self.error}


def paired_gain(default: Sequence[float], losses: Sequence[float]) -> Gain:
    """Return how much lower losses are than the default's on the same folds.

    The error allows for the folds' shared training rows (Nadeau and Bengio 2003).
    """
    gains = np.subtract(default, losses)
    count = len(gains)
    error = math.sqrt((1 / count + 1 / (count - 1)) * float(np.var(gains, ddof=1)))
    return Gain(float(np.mean(gains)), error, count - 1)


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


def check_party_names(names: Iterable[str]) -> None:
    """Raise where two parties of one run have the same name, or names that look the same."""
    for (look, one), (other_look, other) in pairwise(sorted((_look(name), name) for name in names)):
        if one == other:
            raise TrialsError(f"party names must differ, {one!r} comes twice")
        if look == other_look:
            rule = "by more than case, blanks and letters that look alike"
            raise TrialsError(f"party names must differ {rule}, got {one!a:.80} and {other!a:.80}")


def _look(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().translate(LOOKALIKES).split())


checks_itself(Trial)
checks_itself(FailedTrial)
has_form(PartyTrials, PartyTrials.to_document, PartyTrials.from_document)
