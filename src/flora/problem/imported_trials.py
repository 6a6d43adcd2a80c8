"""(HP, loss) pairs that a party already has: in a CSV file or an Optuna study."""

import csv
import gzip
import io
import math
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flora.core.documents import MIB, MOST_BYTES, contents
from flora.core.rules import one_line
from flora.errors import SpaceError, TrialsError
from flora.problem.parameters import Boolean, Categorical, Integer, Parameter, Value
from flora.problem.space import Config, SearchSpace

if TYPE_CHECKING:
    import optuna

LossOf = Callable[[float], float]
MOST_LINES = 10_000  # of a file: as many as there may be trials
SEPARATORS = (",", ";", "\t", "|")  # of two that make as many columns, the first
NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)? ?%?")  # with a decimal comma
PREFIXES = (
    "params_",
    "param_",
    "params.",
    "config/",
)  # of an HP's name: Optuna's, scikit-learn's, MLflow's, Ray Tune's
USUAL = ("loss", "score", "mean_test_score")  # names of outcomes; the last is that of scikit-learn's cv_results_
NEVER_ENDED = ("RUNNING", "WAITING")  # states that Optuna writes of trials that say nothing
NOT_DONE = ("FAIL", "PRUNED")  # and of trials that have no loss of their own
NO_LOSS = ("", "nan")  # what scikit-learn and Optuna write in place of one
MOST_UNPACKED = 64 * MIB  # of a file that was packed


@dataclass(frozen=True)
class Columns:
    """Which columns of a CSV file say what. None: the usual names."""

    loss: str | None = None
    score: str | None = None
    negate: bool = False  # the numbers have the other sign
    rows: str | None = None  # the rows of each trial

    def __post_init__(self) -> None:
        if self.loss is not None and self.score is not None:
            raise TrialsError(
                f"a file has a loss or a score, got --loss-column {self.loss} and --score-column {self.score}"
            )


@dataclass(frozen=True)
class Pair:
    """What one line of a file says; without a loss the trial has failed."""

    config: Config
    loss: float | None
    error: float | None = None  # the loss's standard error
    rows: int | None = None


def pairs_of_csv(path: Path, space: SearchSpace, loss_of: LossOf, columns: Columns = Columns()) -> list[Pair]:  # noqa: B008
    """Return the pair of each line of a CSV file with a header; the file may be packed (gzip).

    Its cells are apart by whatever of :data:`SEPARATORS` makes most columns of the header.
    """
    try:
        text = _text(path)
        separator = max(SEPARATORS, key=text.partition("\n")[0].count)
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
        reader.fieldnames = [_known_name(name.strip(), space) for name in reader.fieldnames or []]
        outcome = _check_columns(path, list(reader.fieldnames), space, columns)
        pairs: list[Pair] = []
        for line in reader:
            if len(pairs) == MOST_LINES:
                raise TrialsError(f"{path}: has more than {MOST_LINES} trials")
            place, cells = f"{path}, line {reader.line_num}", line if separator == "," else _with_points(line, space)
            state = _state(cells, space)
            if state in NEVER_ENDED or (state in NOT_DONE and not _whole(cells, space)):
                continue
            pairs.append(_pair(place, cells, space, outcome, loss_of, columns))
    except (UnicodeDecodeError, csv.Error) as error:
        raise TrialsError(f"{path}: not a CSV file in UTF-8 ({error})") from error
    return pairs


def _known_name(name: str, space: SearchSpace) -> str:
    """Return a column's name; that of an HP may have a prefix."""
    bare = next((name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)), name)
    return bare if bare in space.names and name not in space.names else name


def _state(line: Mapping[Any, Any], space: SearchSpace) -> str:
    """Return the state that Optuna gave the trial, if it wrote the file."""
    return (line.get("state") or "").strip() if "state" not in space.names else ""


def _whole(line: Mapping[Any, Any], space: SearchSpace) -> bool:
    """Whether the trial had all of its HPs: one that failed early may not."""
    return all((line[name] or "").strip() for name in space.names)


def _with_points(line: Mapping[Any, Any], space: SearchSpace) -> dict[Any, Any]:
    """Return a line with points where its numbers have decimal commas: no comma keeps its cells apart."""
    words = {p.name for p in space.parameters if isinstance(p, Categorical)}
    return {
        name: cell.replace(",", ".")
        if name not in words and isinstance(cell, str) and NUMBER.fullmatch(cell.strip())
        else cell
        for name, cell in line.items()
    }


def _text(path: Path) -> str:
    """Return a file's text, unpacked where its first bytes say that it is packed."""
    data = contents(path, MOST_BYTES, TrialsError)
    if data.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(io.BytesIO(data)) as file:
                data = file.read(MOST_UNPACKED + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise TrialsError(f"{path}: not a gzip file that can be read ({error})") from error
        if len(data) > MOST_UNPACKED:
            raise TrialsError(f"{path}: has at most {MOST_UNPACKED} bytes unpacked")
    return data.decode("utf-8-sig")


def _check_columns(path: Path, names: list[str], space: SearchSpace, columns: Columns) -> str:
    """Return the column of losses or scores; an HP may bear the usual name too, and then it is the HP."""
    if not names:
        raise TrialsError(f"{path}: the file is empty, expected a header with the HPs and 'loss' or 'score'")
    for name in space.names:
        if name not in names:
            raise TrialsError(f"{path}: no column for the HP {name!r}, columns are {_listed(names)}")
    outcome = _outcome(path, names, space, columns)
    for name in filter(None, (*space.names, outcome, "error", columns.rows)):
        if names.count(name) > 1:
            raise TrialsError(f"{path}: column names must differ, {name!r} comes twice")
    if columns.rows is not None and columns.rows not in names:
        raise TrialsError(f"{path}: no column {columns.rows!r} (--rows), columns are {_listed(names)}")
    return outcome


def _outcome(path: Path, names: list[str], space: SearchSpace, columns: Columns) -> str:
    named = columns.loss or columns.score
    if named is not None:
        if named not in names or named in space.names:
            raise TrialsError(f"{path}: no column {named!r} beside the HPs, columns are {_listed(names)}")
        return named
    found = [name for name in USUAL if name in names and name not in space.names]
    if len(found) != 1:
        advice = "or name one with --loss-column or --score-column"
        raise TrialsError(f"{path}: need a column 'loss' or a column 'score', {advice}; columns are {_listed(names)}")
    return found[0]


def _listed(names: list[str]) -> str:
    return one_line(f"{[name[:80] for name in names[:40]]}")


def _pair(
    place: str, line: Mapping[Any, Any], space: SearchSpace, outcome: str, loss_of: LossOf, columns: Columns
) -> Pair:
    if None in line:  # where csv puts what has no column: a decimal comma, say, has moved the values
        raise TrialsError(f"{place}: has more values than the header has columns")
    config = {p.name: _value(place, p, line[p.name]) for p in space.parameters}
    try:
        space.check(config)
    except SpaceError as problem:
        raise TrialsError(f"{place}: {problem}") from problem
    rows = None if columns.rows is None else _rows(place, columns.rows, line[columns.rows])
    if _state(line, space) in NOT_DONE or (line[outcome] is not None and line[outcome].strip().lower() in NO_LOSS):
        return Pair(config, None, rows=rows)
    measured = _share(place, outcome, line[outcome]) * (-1.0 if columns.negate else 1.0)
    error = _number(place, "error", line["error"]) if line.get("error") and "error" not in space.names else None
    if error is not None and error < 0:
        raise TrialsError(f"{place}: error must be at least 0, got {error}")
    is_loss = outcome == columns.loss or (columns.score is None and outcome == "loss")
    loss = measured if is_loss else loss_of(measured)
    return Pair(config, loss, error, rows)


def _share(place: str, name: str, text: str | None) -> float:
    """Return a number; with a percent sign behind it, as 87.5%, a hundredth of it."""
    bare = (text or "").strip()
    return _number(place, name, bare[:-1]) / 100 if bare.endswith("%") else _number(place, name, text)


def _rows(place: str, name: str, text: str | None) -> int:
    number = _number(place, name, text)
    if number < 1 or number != int(number):
        raise TrialsError(f"{place}: {name} must be a whole number of rows, got {text!r:.40}")
    return int(number)


def _value(place: str, parameter: Parameter, text: str | None) -> Value:
    text = (text or "").strip()
    if isinstance(parameter, Boolean):
        truths = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
        if text.lower() not in truths:
            raise TrialsError(f"{place}: {parameter.name} must be true or false, got {text!r:.40}")
        return truths[text.lower()]
    if isinstance(parameter, Categorical):
        for means in (_is_word, _is_number):
            for value in parameter.values:
                if means(value, text):
                    return value
        known = f"{list(parameter.values)!r:.200}"
        raise TrialsError(one_line(f"{place}: {parameter.name} must be one of {known}, got {text!r:.40}"))
    number = _number(place, parameter.name, text)
    return int(number) if isinstance(parameter, Integer) and number == int(number) else number


def _is_word(value: Value, text: str) -> bool:
    return str(value).strip() == text


def _is_number(value: Value, text: str) -> bool:
    """Whether the text is the value as pandas writes whole numbers beside blanks: 100.0."""
    return isinstance(value, int) and not isinstance(value, bool) and text.removesuffix(".0") == str(value)


def _number(place: str, name: str, text: str | None) -> float:
    try:
        number = float(text or "")
    except ValueError:
        raise TrialsError(f"{place}: {name} must be a number, got {text!r:.40}") from None
    if not math.isfinite(number):
        raise TrialsError(f"{place}: {name} must be finite, got {text!r:.40}")
    return number


def pairs_of_study(
    study: "optuna.Study", loss_of: LossOf
) -> tuple[dict[str, Any], list[tuple[Config, float]], list[Config]]:
    """Return the distributions, the (config, loss) pairs and the failed configs of an Optuna study."""
    from optuna.study import StudyDirection
    from optuna.trial import TrialState

    if len(study.directions) != 1:
        raise TrialsError(f"study {study.study_name!r}: need one objective, got {len(study.directions)}")
    to_loss = loss_of if study.direction == StudyDirection.MAXIMIZE else float
    done = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    if not done:
        raise TrialsError(f"study {study.study_name!r}: need at least one finished trial, got none")
    distributions = dict(done[0].distributions)
    whole = [t for t in done if t.distributions == distributions]
    if len(whole) < len(done):
        raise TrialsError(f"study {study.study_name!r}: all trials must share one search space, and they do not")
    failed = study.get_trials(deepcopy=False, states=[TrialState.FAIL])
    return (
        distributions,
        [(t.params, to_loss(float(t.value or 0.0))) for t in whole],
        [t.params for t in failed if t.distributions == distributions],
    )
