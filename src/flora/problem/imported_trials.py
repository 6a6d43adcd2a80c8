"""(HP, loss) pairs that a party already has: in a CSV file or an Optuna study."""

import csv
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flora.errors import SpaceError, TrialsError
from flora.problem.parameters import Boolean, Categorical, Integer, Parameter, Value
from flora.problem.space import Config, SearchSpace

if TYPE_CHECKING:
    import optuna

LossOf = Callable[[float], float]
Pair = tuple[Config, float, float | None]  # config, loss, standard error of the loss


def pairs_of_csv(path: Path, space: SearchSpace, loss_of: LossOf) -> list[Pair]:
    """Return the pair of each line of a CSV file with a header."""
    if not path.is_file():
        raise TrialsError(f"{path}: no such file")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            outcome = _check_columns(path, list(reader.fieldnames or []), space)
            return [_pair(f"{path}, line {reader.line_num}", line, space, outcome, loss_of) for line in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise TrialsError(f"{path}: not a CSV file in UTF-8 ({error})") from error


def _check_columns(path: Path, columns: list[str], space: SearchSpace) -> str:
    """Return which of ``loss`` and ``score`` the file has; an HP may bear that name too, and then it is the HP."""
    if not columns:
        raise TrialsError(f"{path}: the file is empty, expected a header with the HPs and 'loss' or 'score'")
    for name in space.names:
        if name not in columns:
            raise TrialsError(f"{path}: no column for the HP {name!r}, columns are {columns}")
    outcomes = [name for name in ("loss", "score") if name in columns and name not in space.names]
    if len(outcomes) != 1:
        raise TrialsError(f"{path}: need a column 'loss' or a column 'score', columns are {columns}")
    for name in (*space.names, *outcomes, "error"):
        if columns.count(name) > 1:
            raise TrialsError(f"{path}: column names must differ, {name!r} comes twice")
    return outcomes[0]


def _pair(place: str, line: Mapping[Any, Any], space: SearchSpace, outcome: str, loss_of: LossOf) -> Pair:
    if None in line:  # where csv puts what has no column: a decimal comma, say, has moved the values
        raise TrialsError(f"{place}: has more values than the header has columns")
    config = {p.name: _value(place, p, line[p.name]) for p in space.parameters}
    try:
        space.check(config)
    except SpaceError as problem:
        raise TrialsError(f"{place}: {problem}") from problem
    measured = _number(place, outcome, line[outcome])
    error = _number(place, "error", line["error"]) if line.get("error") and "error" not in space.names else None
    if error is not None and error < 0:
        raise TrialsError(f"{place}: error must be at least 0, got {error}")
    return config, measured if outcome == "loss" else loss_of(measured), error


def _value(place: str, parameter: Parameter, text: str | None) -> Value:
    if isinstance(parameter, Boolean):
        known = {"true": True, "1": True, "false": False, "0": False}
        if str(text).lower() not in known:
            raise TrialsError(f"{place}: {parameter.name} must be true or false, got {text!r:.40}")
        return known[str(text).lower()]
    if isinstance(parameter, Categorical):
        for value in parameter.values:
            if str(value) == text:
                return value
        raise TrialsError(f"{place}: {parameter.name} must be one of {list(parameter.values)}, got {text!r:.40}")
    number = _number(place, parameter.name, text)
    return int(number) if isinstance(parameter, Integer) and number == int(number) else number


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
