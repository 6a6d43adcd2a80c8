"""What is not plain from a result's numbers, in words."""

import math
from dataclasses import dataclass

from flora.aggregator.verdict import SHOWN, quantile
from flora.models.class_weights import BALANCE
from flora.outcome.numbers import SPACE, counted, decimals, number, plain, signed, signed_with_error, with_error
from flora.problem.privacy import Ledger
from flora.problem.space import Real
from flora.program.result import Result

MORE_FOLDS = 10  # that are proposed to settle a gain: yet more of the same rows tell no more
MOST_TIMES = 10  # the rows, as far as a number of them is said

TRAINED_BOTH = "Federated trainings of both configs would settle it: --trainings 11."
MEASURED_BOTH = "Measurements of both configs at every party, on the same folds, would settle it."  # a study's CSV

MEANINGS = {
    ("use", "shown"): "A gain is shown: chance alone would show as much in at most 5 of 100 runs.",
    ("use", "likely"): "A gain is likely, but not shown: chance alone would show as much in up to 20 of 100 runs.",
    ("keep-defaults", "shown"): "The recommendation is shown to be no better.",
    ("keep-defaults", "likely"): "The recommendation is likely no better.",
    ("keep-defaults", "not shown"): "A gain is not shown: chance alone may well show as much.",
}
SOURCES = {
    "trained": "It was measured on federated models, which left out a part of every party's rows in turn.",
    "measured": "It was measured by each party on its own rows, at a party's size; no federated models were compared.",
    "predicted": "It was predicted by the surface alone; no party measured it.",
}
UNLEARNT = (
    "Models of the recommendation are not shown to predict better than a guess that looks at no column, and what "
    "these seem to gain may be chance."
)
SLOW = "gains more, but learns more slowly than the default: a training on all rows may not get far enough"
CLOSE = "gains more, but by less than an error: the surface's minimum is taken"
EDGE = 0.02  # of an HP's range, on its scale
SHARES = (BALANCE, "max_features")  # from 0 to 1: there is no wider range


def grade_words(result: Result) -> str:
    """Return how sure the verdict is and where it comes from, in sentences; none where there is no verdict."""
    if result.verdict is None or result.grade is None or result.evidence is None:
        return ""
    if same_as_default(result):
        return "Nothing better than the defaults was found."
    if result.verdict == "keep-defaults" and not result.evidence.learns:
        return f"{UNLEARNT} {SOURCES[result.evidence.basis]}"
    many = result.evidence.chosen_from
    best = many > 1 and result.evidence.basis != "trained"
    more = f" It is the best of {many} configs, and the grade counts that." if best else ""
    return f"{MEANINGS[result.verdict, result.grade]} {SOURCES[result.evidence.basis]}{more}"


def private_words(result: Result) -> str:
    """Return what a private search let be known, and what it did not; none of another."""
    found = result.private
    if found is None:
        return ""
    if found.ledger is not None:
        return (
            f"no party's pairs of hyper-parameters and losses left it. The mean of {found.parties} parties' surfaces "
            f"is known at {found.points:,} points, under noise. {noise_words(found.ledger)} Who gains, who loses and "
            "who disagrees is not known, and no candidate was measured again."
        )
    gains = f", and of their gains at {counted(len(result.candidates) - 1, 'candidate')}" if result.candidates else ""
    return (
        f"no party's pairs of hyper-parameters and losses left it. The mean of {found.parties} parties' surfaces is "
        f"known at {found.points:,} points{gains}; no party's own, so who gains, who loses and who disagrees is not "
        "known, and no party's outlying gain is left out."
    )


def noise_words(ledger: Ledger) -> str:
    """Return what is promised of a search under noise, and of what it is not."""
    return (
        f"Of any one party it tells an epsilon of {ledger.epsilon:g} (delta {ledger.delta:g}) while {ledger.honest} of "
        f"{ledger.parties} parties keep their shares of the noise to themselves. Trainings have no noise, and nothing "
        "is promised of single rows."
    )


def settle_words(result: Result) -> str:
    """Return what would settle a gain that is not shown; none where it is settled, or there is nothing to settle."""
    if result.evidence is None or result.grade == "shown" or same_as_default(result) or result.evidence.gain <= 0:
        return ""
    if result.evidence.basis != "trained":
        return TRAINED_BOTH if result.family else MEASURED_BOTH
    if not result.evidence.learns:
        return "More rows, or columns that tell more, would."
    done = len(result.trainings)
    if times_more_rows(result, MORE_FOLDS) <= 1:
        more = 2 * MORE_FOLDS + 1
        seconds = result.seconds.get("train", 0.0) * (more - done) / max(done, 1)
        return f"--trainings {more} may settle it (about {time_words(seconds)} more)."
    times = times_more_rows(result)
    if times > MOST_TIMES:
        return f"Neither more trainings nor {MOST_TIMES} times the rows would settle so small a difference."
    return f"More trainings would hardly settle it; about {times:.1f} times the rows may."


def times_more_rows(result: Result, folds: int | None = None) -> float:
    """Return how many times the rows would show a gain as the one that was seen, in so many folds or as many as now.

    More folds of the same rows make an error hardly smaller, and surer: of J folds each has a J-th of the rows, so
    (1 / J + 1 / (J - 1)) times J is 2.25 with 5, 2.11 with 10, and 2 with any number.
    """
    gain, seen, now = result.expected_gain, result.evidence, (len(result.trainings) - 1) // 2
    if gain is None or seen is None or seen.degrees_of_freedom is None or not seen.gain or now < 2:
        return math.inf
    wanted = folds or now
    if wanted < now:
        return math.inf
    error = gain.standard_error * math.sqrt((1 + wanted / (wanted - 1)) / (1 + now / (now - 1)))
    needed = -quantile(SHOWN / seen.chosen_from, seen.degrees_of_freedom + wanted - now) * error
    return (needed / seen.gain) ** 2


def time_words(seconds: float) -> str:
    """Return a time in round words.

    >>> time_words(8), time_words(200), time_words(9000)
    ('8 s', '3 minutes', '2.5 hours')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def score_words(result: Result) -> str:
    """Return how good the model is, in a sentence; none where no federated models were judged."""
    found = result.model_score
    if found is None:
        return ""
    digits = decimals([found.standard_error])
    score = with_error(found.score, found.standard_error, digits).replace(SPACE, " ")
    beside = f"; the defaults have {plain(found.default_score, digits)}" if result.verdict == "use" else ""
    guess = "" if found.guess_score is None else f"; a guess has {plain(found.guess_score, digits)}"
    return (
        f"The model's {result.scored} is {score} (standard error), by {found.folds} federated trainings that each "
        f"left out a part of all rows{beside}{guess}."
    )


def gain_words(result: Result) -> str:
    """Return the expected gain with its interval, rounded to its error; none where there is none to state."""
    gain = result.expected_gain
    if gain is None or same_as_default(result):
        return ""
    digits = decimals([gain.standard_error])
    low, high = signed(gain.low, digits), signed(gain.high, digits)
    return (
        f"Expected gain in {result.scored}: {signed(gain.estimate, digits)}, from {low} to {high} "
        f"({gain.level:.0%} interval)."
    )


def edge_words(result: Result) -> str:
    """Return which HPs are recommended at an end of their range, and what to do about it; none where none is."""
    found = []
    for parameter in result.space.parameters:
        name, value = parameter.name, result.measured_config[parameter.name]
        settled = name in result.chosen_in_training or value == (result.default or {}).get(name)
        if settled or not isinstance(parameter, Real):
            continue
        place = float(parameter.encode([value])[0, 0])
        end = parameter.low if place < 0.5 else parameter.high
        if min(place, 1 - place) < EDGE and not (name in SHARES and end in (0, 1)):
            found.append(f"{name} = {value:.4g} is at the {'lower' if place < 0.5 else 'upper'} end of its range")
    return f"{', '.join(found)}: a wider one (--space) may hold a better value" if found else ""


def same_as_default(result: Result) -> bool:
    """Whether the recommendation is the default."""
    return result.config == result.default


def past_range(result: Result) -> str:
    """Return words for a training that chose more than a party searches; none where it did not."""
    tops = {parameter.name: parameter.high for parameter in result.space.parameters if isinstance(parameter, Real)}
    config = result.trained_config or {}
    past = [name for name in result.chosen_in_training if float(config[name]) > tops[name]]
    return "past the range that each party searches: the rows of all carry more" if past else ""


def grown_words(result: Result) -> str:
    """Return words for what the recommendation has more of than what the parties measured; none where it is that."""
    grown = [
        f"{name} = {value:.4g} on a party's rows stands for {result.config[name]:.4g} on those of all"
        for name, value in result.measured_config.items()
        if value != result.config[name]
    ]
    return f"More rows need more: {', '.join(grown)}" if grown else ""


def passed_over(result: Result) -> dict[int, str]:
    """Return why candidates that gain more than the chosen one were passed over, by their place."""
    found = result.candidates
    gain = max((each.gain.estimate for each in found if each.config == result.config), default=math.inf)
    return {
        k: CLOSE if each.keeps_up else SLOW
        for k, each in enumerate(found)
        if each.gain.estimate > gain and each.config != result.config
    }


def behind_words(result: Result) -> str:
    """Return words for candidates that gain more than the chosen one and were passed over, if any were."""
    reasons: dict[str, list[str]] = {}
    for place, reason in passed_over(result).items():
        reasons.setdefault(reason, []).append(str(place))
    return "; ".join(
        f"{'candidate' if len(places) == 1 else 'candidates'} {', '.join(places)}: {reason}"
        for reason, places in reasons.items()
    )


@dataclass(frozen=True)
class CandidateRow:
    """A line of the candidates' table."""

    role: str
    values: dict[str, str]
    gain: str
    why: str
    chosen: bool = False


def candidate_rows(result: Result) -> list[CandidateRow]:
    """Return the candidates' table: the default itself, then what was measured beside it, and why which was taken."""
    if not result.candidates or result.default is None:
        return []
    first, digits = result.candidates[0], decimals(each.gain.standard_error for each in result.candidates[1:])
    values = {name: number(value) for name, value in result.default.items()}
    others = [name for name in result.default if first.config[name] != result.default[name]]
    beside = bool(others) and first.gain.standard_error > 0  # its best place on the path is a candidate of its own
    if others and not beside:
        values |= {name: f"{values[name]} (measured at {number(first.measured[name])})" for name in others}
    # A recommendation that is the default with another place on its path is a line of its own.
    own = result.config == first.config and not beside
    why = "nothing measured gains more" if own else "all gains are beside it"
    rows = [CandidateRow("default", values, "0", why, own)]
    reasons = passed_over(result)
    for place, each in enumerate(result.candidates):
        if place == 0 and not beside:
            continue
        chosen = each.config == result.config
        number_of = str(place) if place else f"default, its {' and '.join(others)} free"
        role = (
            (f"{number_of} (chosen)" if result.verdict != "keep-defaults" else f"{number_of} (best)")
            if chosen
            else number_of
        )
        shown = {name: number(value) for name, value in each.config.items()}
        gain = signed_with_error(each.gain.estimate, each.gain.standard_error, digits)
        rows.append(CandidateRow(role, shown, gain, _why(result, chosen, reasons.get(place)), chosen))
    return rows


def _why(result: Result, chosen: bool, reason: str | None) -> str:
    if not chosen:
        return reason or "gains less"
    if result.verdict == "keep-defaults":
        return "gains most, but the gain is not shown: it is not used"
    return "the surface's minimum, and no other gains more beyond its error" if passed_over(result) else "gains most"


def trained_words(result: Result) -> str:
    """Return what the model was trained with, in a sentence."""
    if result.trained_config is None:
        return "No federated model was trained."
    named = "the recommendation" if result.verdict == "use" else "the defaults"
    chosen = [f"{name} = {result.trained_config[name]}" for name in result.chosen_in_training]
    inside = f", and {' and '.join(chosen)} chosen inside the training" if chosen else ""
    if past := past_range(result):
        inside += f" ({past})"
    return f"The federated model was trained with {named}{inside}."
