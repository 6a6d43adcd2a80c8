"""What a party allows: its own file ``local/flora.json``, which no step can widen.

The file is a JSON object; each key may be left out, and then its default holds. No file at all means all defaults.

- ``families``: the kinds of model, ``hgb``, ``svm``, ``mlp`` or a ``package.module:Estimator`` (the first three)
- ``scorings``: scikit-learn's scorers (those below, none of which is one row's)
- ``most_trials``: the trials of one search, and the configs of one confirmation or certificate (100)
- ``most_seconds``: how long one step may compute (86400)
- ``fewest_rows``: with fewer rows the party answers nothing (40)
- ``certificate``: whether sketches of the rows and learning curves may leave (false)
- ``pairs``: ``"as-is"``, ``{"rounded": DIGITS}``, ``{"best": COUNT}``, or both of these in one object; ``"never"``:
  only a private search is answered (``"as-is"``)
- ``epsilon``: how much all sums of private searches together may tell of this party; with it no search without
  noise is answered (any)
- ``data``: the party's own table, with ``path``, ``target`` and ``drop``, and where they are not found out by
  themselves ``sep``, ``decimal``, ``encoding``, ``missing``, ``dates`` and ``auto``; it never leaves (none)
- ``fewest_parties``: sums are made with at least so many parties, this one among them (2)
- ``unmasked_sums``: whether the aggregator may see what this party adds to a sum (false)
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

from flora.core.codec import FLAT, has_form, read, read_fields, to_document
from flora.core.documents import MIB, contents, parse
from flora.core.rules import Count, Rule, Sentence, Total, check, whole
from flora.errors import ConsentError, InputError
from flora.models import FAMILIES
from flora.party.tables.format import TableFormat
from flora.problem.messages import REPLIES, Certify, Confirm, Describe, Reply, Search, SearchReply, Step
from flora.problem.privacy import Epsilon
from flora.problem.private_messages import ConfirmPrivately, ConfirmPrivatelyReply, Survey, SurveyReply
from flora.problem.schema import Schema
from flora.problem.sketch import FEWEST_QUANTILES, ROWS_PER_QUANTILE, Sketch
from flora.problem.space import SearchSpace
from flora.problem.trials import MOST_TRIALS

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
NEVER = "never"
MOST_DIGITS = 17  # a float has no more
_NEVER_ROUNDED = (Mapping, SearchSpace, Schema, Sketch)  # a config is what was asked for; a sketch is rounded already


@dataclass(frozen=True)
class Pairs:
    """What of the pairs of configs and losses leaves: significant digits of each loss, and T', the best so many."""

    rounded: Annotated[int, whole(1, MOST_DIGITS)] | None = None
    best: Annotated[int, whole(1, MOST_TRIALS)] | None = None
    never: bool = False  # none leaves: only a private search is answered

    def __post_init__(self) -> None:
        check(self)


def _pairs_to_json(pairs: Pairs) -> Any:
    if pairs.never:
        return NEVER
    stated = {name: value for name, value in vars(pairs).items() if value is not None and name != NEVER}
    return stated or "as-is"


def _pairs_from_json(document: Any) -> Pairs:
    if document == "as-is":
        return Pairs()
    if document == NEVER:
        return Pairs(never=True)
    if not isinstance(document, dict) or not document:
        raise InputError('it is "as-is", "never", or an object with "rounded": DIGITS or "best": COUNT or both')
    return read_fields(Pairs, document)


has_form(Pairs, _pairs_to_json, _pairs_from_json)


@dataclass(frozen=True)
class DataSource:
    """Where the party's own rows are."""

    path: str
    target: str
    drop: tuple[str, ...] = ()
    format: TableFormat = field(default=TableFormat(), metadata=FLAT)

    def __post_init__(self) -> None:
        check(self)
        for name in ("path", "target"):
            if not getattr(self, name):
                raise InputError(f"{name} must be text, got none")


@dataclass(frozen=True)
class Consent:
    """What one party allows. The defaults are the strictest that let the default run through as it is."""

    families: tuple[Sentence, ...] | None = tuple(FAMILIES)  # None: any
    scorings: tuple[Sentence, ...] | None = SCORINGS  # None: any
    most_trials: Count = 100
    most_seconds: Annotated[float, Rule("a number above 0", lambda value: value > 0)] = 86_400
    fewest_rows: Total = FEWEST_ROWS
    certificate: bool = False
    pairs: Pairs = Pairs()
    data: DataSource | None = None
    fewest_parties: Total = 2
    unmasked_sums: bool = False
    epsilon: Epsilon | None = None  # of all private searches together; None: any, and without noise, too

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def of_everything(cls) -> Self:
        """Return what the parties of one process allow each other: there is nobody to refuse anything to."""
        unlimited = cls(None, None, MOST_TRIALS, sys.float_info.max, 0, certificate=True)
        return replace(unlimited, fewest_parties=0, unmasked_sums=True)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a party's file; where there is none, the defaults hold."""
        path = Path(path)
        if not path.exists():
            return cls()
        try:
            return cls.from_json(parse(contents(path, MIB)))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: not a JSON file that can be read ({error})") from error

    @classmethod
    def from_json(cls, document: Any) -> Self:
        """Return the consent that a file's JSON states."""
        found = read(cls, document)
        for name in ("families", "scorings"):  # None is any: so much is said to a program, never by a null in a file
            if getattr(found, name) is None:
                raise InputError(f"{name} must be a list, got None")
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the file's JSON, with nothing left out but a table and an epsilon that it does not name."""
        optional = ("data", "epsilon")
        return {key: value for key, value in to_document(self).items() if key not in optional or value is not None}

    def check(self, step: Step) -> None:
        """Raise :class:`ConsentError` where a step asks for more than this party allows."""
        if isinstance(step, Describe):
            return
        if isinstance(step, Certify) and not self.certificate:
            raise ConsentError("this party sends no sketch of its rows, and the certificate asks for one")
        if isinstance(step, Search | Confirm | Certify) and (self.pairs.never or self.epsilon is not None):
            raise ConsentError(
                "no pair of this party leaves it, and this step asks for losses of its own: --private asks for sums"
            )
        exact = isinstance(step, ConfirmPrivately) or (isinstance(step, Survey) and step.epsilon is None)
        if exact and self.epsilon is not None:
            raise ConsentError(f"this party's search leaves under noise alone: say --epsilon, at most {self.epsilon:g}")
        _check_among("the model", step.plan.family, self.families)
        _check_among("the scoring", step.plan.scoring, self.scorings)
        self._check_count("trials", step.plan.trials)
        if isinstance(step, Certify | Confirm | ConfirmPrivately):
            self._check_count("configs to be measured", len(step.configs))

    def check_rows(self, rows: int) -> None:
        """Raise where the party has too few rows; how many it has is not said."""
        if rows < self.fewest_rows:
            raise ConsentError(f"this party takes part with at least {self.fewest_rows} rows, and it has fewer")

    def check_sums(self, parties: int, *, masked: bool) -> None:
        """Raise where sums are to be made with too few parties, or without masks."""
        if parties < self.fewest_parties:
            raise ConsentError(
                f"this party adds up with at least {self.fewest_parties} parties, and {parties} are to take part"
            )
        if not masked and not self.unmasked_sums:
            raise ConsentError("this party's sums leave under masks alone, and they are asked for without")

    def check_seconds(self, seconds: float) -> None:
        """Raise where a step has computed for longer than is allowed."""
        if seconds > self.most_seconds:
            raise ConsentError(
                f"this party computes for at most {self.most_seconds:g} seconds a step, and they are over"
            )

    def apply(self, step: Step, reply: Reply) -> Reply:
        """Return what may leave of a reply: the best pairs only, and rounded, where this party wants it so."""
        if not isinstance(reply, REPLIES[step.name]):
            raise ConsentError(f"a {type(reply).__name__} is no reply to {step.name!r}")
        digits = self.pairs.rounded
        if isinstance(reply, SearchReply):
            reply = self._fewer_pairs(reply)
            notes = (f"it rounds losses to {digits} digits",) if digits is not None else ()
            reply = replace(reply, notes=(*reply.notes, *notes))
        if isinstance(reply, SurveyReply | ConfirmPrivatelyReply):  # the same sums from all parties
            return reply
        left: Reply = _rounded(reply, digits)
        return left

    def _fewer_pairs(self, reply: SearchReply) -> SearchReply:
        best = self.pairs.best
        if best is None or reply.trials is None or len(reply.trials.trials) <= best:
            return reply
        notes = (*reply.notes, f"it lets only its best {best} pairs leave")
        return replace(reply, trials=reply.trials.keep_best(best), notes=notes)

    def describe(self) -> str:
        """Return the consent in sentences, for the person who answers for it."""
        best, digits = self.pairs.best, self.pairs.rounded
        pairs = "All pairs of a config and its loss leave" if best is None else f"The best {best} pairs leave"
        rounding = " as they are" if digits is None else f" with losses rounded to {digits} digits"
        if self.pairs.never or self.epsilon is not None:
            pairs, rounding = "No pair of a config and its loss leaves; in a private search sums over parties do", ""
        masks = ", with masks or without" if self.unmasked_sums else " and leave under masks alone"
        sketches = "leave if a certificate is asked for" if self.certificate else "do not leave"
        noise = "" if self.epsilon is None else f" Sums of searches have noise: an epsilon of {self.epsilon:g} in all."
        return "\n".join(
            [
                f"Models that may be trained: {_listed(self.families)}.",
                f"Scorings that may be asked for: {_listed(self.scorings)}.",
                f"A search has at most {self.most_trials} trials; a step takes at most {self.most_seconds:g} seconds.",
                f"With fewer than {self.fewest_rows} rows this party answers nothing.",
                f"{pairs}{rounding}.{noise}",
                f"Sums are made with at least {self.fewest_parties} parties{masks}.",
                f"Sketches of the rows and learning curves {sketches}.",
            ]
        )

    def _check_count(self, what: str, asked: int) -> None:
        if asked > self.most_trials:
            raise ConsentError(f"this party allows at most {self.most_trials} {what}, and {asked} are asked for")


def _check_among(what: str, asked: str, allowed: tuple[str, ...] | None) -> None:
    if allowed is not None and asked not in allowed:
        raise ConsentError(
            f"{what} must be one that this party allows ({_listed(allowed)}), and {asked!r:.80} is asked for"
        )


def _listed(allowed: tuple[str, ...] | None) -> str:
    return "any" if allowed is None else ", ".join(allowed) or "none"


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
