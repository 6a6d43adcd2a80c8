"""What is not plain from a result's numbers, in words."""

import math

from flora.problem.space import Real
from flora.program.result import Result

MOST_TRAININGS = 101  # that are proposed to settle a gain

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
EDGE = 0.02  # of an HP's range, on its scale


def grade_words(result: Result) -> str:
    """Return how sure the verdict is and where it comes from, in sentences; none where there is no verdict."""
    if result.verdict is None or result.grade is None or result.evidence is None:
        return ""
    if same_as_default(result):
        return "Nothing better than the defaults was found."
    many = result.evidence.chosen_from
    best = many > 1 and result.evidence.basis != "trained"
    counted = f" It is the best of {many} configs, and the grade counts that." if best else ""
    return f"{MEANINGS[result.verdict, result.grade]} {SOURCES[result.evidence.basis]}{counted}"


def settle_words(result: Result) -> str:
    """Return what would settle a gain that is not shown; none where it is settled, or there is nothing to settle."""
    if result.evidence is None or result.grade == "shown" or same_as_default(result) or result.evidence.gain <= 0:
        return ""
    if result.evidence.basis != "trained":
        return "Federated trainings of both configs would settle it: --trainings 11."
    done = len(result.trainings)
    seconds = result.seconds.get("train", 0.0) * (more_trainings(result) - done) / max(done, 1)
    if more_trainings(result) > MOST_TRAININGS:
        return "More trainings would hardly settle so small a difference; more rows might."
    return f"--trainings {more_trainings(result)} may settle it (about {time_words(seconds)} more)."


def more_trainings(result: Result) -> int:
    """Return how many trainings would show a gain of this size, if it is there: an error falls with their root."""
    gain, seen, folds = result.expected_gain, result.evidence, (len(result.trainings) - 1) // 2
    if gain is None or seen is None or not seen.gain:
        return MOST_TRAININGS + 1
    times = (1.7 * gain.standard_error / seen.gain) ** 2  # 1.7: Student's t at 95 %, of many folds
    return 2 * max(2 * folds, math.ceil(times * folds)) + 1


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
    beside = f"; the defaults have {found.default_score:.4g}" if result.verdict == "use" else ""
    return (
        f"The model's {result.scoring} is {found.score:.4g} ± {found.standard_error:.2g} (standard error), by "
        f"{found.folds} federated trainings that each left out a part of all rows{beside}."
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
        if min(place, 1 - place) < EDGE:
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


def behind_words(result: Result) -> str:
    """Return words for candidates that gain more than the chosen one and were passed over, if any were."""
    found = result.candidates
    gain = max((each.gain.estimate for each in found if each.config == result.config), default=0.0)
    behind = [str(k) for k, each in enumerate(found) if not each.keeps_up and each.gain.estimate > gain]
    if not behind:
        return ""
    which = f"candidate {behind[0]} gains" if len(behind) == 1 else f"candidates {', '.join(behind)} gain"
    slower = "learns" if len(behind) == 1 else "learn"
    return f"{which} more, but {slower} more slowly than the default: a training on all rows may not get far enough"


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
