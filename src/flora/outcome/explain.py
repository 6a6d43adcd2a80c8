"""What is not plain from a result's numbers, in words."""

from flora.problem.space import Real
from flora.program.result import Result


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
    if len(result.trainings) > 1:
        named = f"the best of {len(result.trainings)} trainings"
    chosen = [f"{name} = {result.trained_config[name]}" for name in result.chosen_in_training]
    inside = f", and {' and '.join(chosen)} chosen inside the training" if chosen else ""
    if past := past_range(result):
        inside += f" ({past})"
    return f"The federated model was trained with {named}{inside}."
