"""What the confirmation round and the trainings add to a report: the candidates, who disagrees, what was trained."""

from typing import Any

from flora.outcome.explain import behind_words, edge_words, grown_words, past_range
from flora.outcome.report.analysis import Analysis
from flora.outcome.report.markup import NONE, Html, config_text, element, folded, number, signed, table
from flora.problem.size_law import MANY
from flora.program.result import Result

DECISIONS = {"use": "use these", "keep-defaults": "keep the defaults"}


def basis(result: Result) -> str:
    """Return where the expected gain comes from, in a sentence."""
    if not result.measured:
        return "No party was asked again: what the surface predicts is not a measurement."
    asked = "Every party measured the default and the candidates on fresh folds"
    if result.objective == "worst":
        return f"{asked}; what counts is the loss of the party that is worst off."
    trimmed = ", and the fifth of them at either end is left out" if len(result.parties) >= MANY else ""
    return f"{asked}; parties count by their rows{trimmed}."


def candidates(result: Result) -> list[Html]:
    """Return the candidates that all parties measured, with their gains over the default."""
    found = result.candidates
    if not found:
        return []
    names = list(result.config)
    rows = [
        [
            _role(k, candidate.config == result.config),
            *(number(candidate.config[name]) for name in names),
            f"{signed(candidate.gain.estimate)}\u00a0±\u00a0{candidate.gain.standard_error:.2g}",
        ]
        for k, candidate in enumerate(found)
    ]
    words = (
        "The aggregator's best and mutually different configs, each measured by every party beside the default. A "
        "candidate is shown at its best place along what a fit passes through; so is the default."
    )
    for more in filter(None, (grown_words(result), behind_words(result), edge_words(result))):
        words += f" {more[0].upper()}{more[1:]}."
    return [
        folded(
            "Candidates and the default",
            element("p", words),
            table("Gain over the default, over all parties", ["candidate", *names, "gain"], rows),
        )
    ]


def _role(place: int, chosen: bool) -> str:
    name = f"candidate {place}" if place else "default"
    return f"{name} (chosen)" if chosen else name


def without_each(run: Analysis) -> list[Html]:
    """Return how far each party is from the others, and what they choose without it; nothing if none was measured."""
    entries = [(e.name, e.measured) for e in run.result.parties if e.measured and e.measured.distance is not None]
    if not entries:
        return []
    far = [name for name, entry in entries if entry.disagrees]
    if far:
        sentence = f"Further from the others' gains than chance would have it: {', '.join(far)}."
    else:
        sentence = "No party's gain is further from the others' than chance would have it."
    rows = [
        [
            name,
            f"{entry.distance:+.1f}",
            "yes" if entry.disagrees else "no",
            DECISIONS.get(entry.verdict_without or "", NONE),
            config_text(entry.config_without or {}),
        ]
        for name, entry in entries
    ]
    head = ["without", "distance", "disagrees", "the others say", "and recommend"]
    words = (
        "The distance is that of a party's measured gain from the others' mean, in standard errors. The others choose "
        "among the same candidates, by their own measurements."
    )
    return [
        element("p", sentence),
        element("p", words, class_="soft"),
        table("Each party beside the others", head, rows),
    ]


def trained(result: Result) -> list[Html]:
    """Return what was trained: once, or as often as was asked for."""
    if result.trained_config is None:
        return [element("p", "No federated model was trained in this run.")]
    trainings = result.trainings
    chosen = [f"{name} = {number(result.trained_config[name])}" for name in result.chosen_in_training]
    past = f" ({past})" if (past := past_range(result)) else ""
    inside = f"{' and '.join(chosen)} was chosen inside the training, by rows held out{past}. " if chosen else ""
    note = result.training or ""
    if len(trainings) < 2:
        return [element("p", f"One federated model was trained. {inside}", note)]
    names = list(result.config)
    rows = [
        [
            k + 1,
            *(number(each.config[name]) for name in names),
            NONE if each.fold is None else each.fold + 1,
            number(each.held_loss),
        ]
        for k, each in enumerate(trainings)
    ]
    words = (
        f"{len(trainings) - 1} federated trainings compared the default and the recommendation, each without a fold of "
        f"every party's rows, and the last one, on all rows, made the model. {inside}"
    )
    caption = "Trainings, with the loss on the rows that each left out"
    trainings_table = table(caption, ["training", *names, "fold left out", "loss"], rows)
    return [element("p", words, note), folded("The trainings one by one", trainings_table)]


def confirm_rows(run: Analysis) -> list[list[Any]]:
    """Return what left each party in the confirmation round."""
    found = run.result.candidates
    if not found:
        return []
    path = run.path
    along = f", at {len(path.stops)} values of {path.name} each" if path else ""
    words = f"of the default and of {_counted(len(found) - 1)}{along}; gains are paired differences from the default"
    return [["confirm", "config, loss, error, folds, rows, gain, gain_error", words]]


def _counted(count: int) -> str:
    return f"{count} candidate{'s' * (count != 1)}"


def train_rows(result: Result) -> list[list[Any]]:
    """Return what left each party in the training, or in several."""
    if not result.model:
        return []
    rows = [["train", "sums over all parties", result.training or NONE]]
    if result.chosen_in_training:
        names = " and ".join(result.chosen_in_training)
        rows.append(["train", "sums over all parties", f"losses on held-out rows, to choose {names}"])
    if any(each.fold is not None for each in result.trainings):
        words = "of how often each class was taken for which, or of losses, on the fold that a training left out"
        rows.append(["train", "sums over all parties", f"{words}; no model of it"])
    if any(each.fold is None and each.held_loss is not None for each in result.trainings):
        rows.append(["train", "held_loss", "the first pass's loss on a third of its rows, one number"])
    return [*rows, ["train", "the model and its config", "the same at every party"]]
