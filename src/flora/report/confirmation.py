"""What the confirmation round and the trainings add to a report: the candidates, who disagrees, what was trained."""

from collections.abc import Mapping
from typing import Any

from flora.aggregation import path_of_trials
from flora.report.analysis import Study
from flora.report.markup import NONE, Html, config_text, element, folded, number, signed, table
from flora.result import behind_words, grown_words, past_range
from flora.size_law import MANY

DECISIONS = {"use": "use these", "keep-defaults": "keep the defaults"}


def basis(document: Mapping[str, Any]) -> str:
    """Return where the expected gain comes from, in a sentence."""
    if document["verdict_basis"] == "predicted":
        return "No party was asked again: this is what the surface predicts, not a measurement."
    asked = "Every party measured the default and the candidates on fresh folds"
    if document.get("objective") == "worst":
        return f"{asked}; what counts is the loss of the party that is worst off."
    trimmed = ", and the fifth of them at either end is left out" if len(document["parties"]) >= MANY else ""
    return f"{asked}; parties count by their rows{trimmed}."


def candidates(document: Mapping[str, Any]) -> list[Html]:
    """Return the candidates that all parties measured, with their gains over the default."""
    found = document.get("candidates") or []
    if not found:
        return []
    names = list(document["config"])
    rows = [
        [
            _role(k, candidate["config"] == document["config"]),
            *(number(candidate["config"][name]) for name in names),
            f"{signed(candidate['estimate'])}\u00a0±\u00a0{candidate['standard_error']:.2g}",
        ]
        for k, candidate in enumerate(found)
    ]
    words = (
        "The aggregator's best and mutually different configs, each measured by every party beside the default. A "
        "candidate is shown at its best place along what a fit passes through; so is the default. With the best of "
        "several noisy gains comes some luck."
    )
    for more in filter(None, (grown_words(document), behind_words(document))):
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


def without_each(run: Study) -> list[Html]:
    """Return how far each party is from the others, and what they choose without it; nothing if none was measured."""
    entries = [entry for entry in run.document["parties"] if entry.get("distance") is not None]
    if not entries:
        return []
    far = [entry["name"] for entry in entries if entry["disagrees"]]
    if far:
        sentence = f"Further from the others' gains than chance would have it: {', '.join(far)}."
    else:
        sentence = "No party's gain is further from the others' than chance would have it."
    rows = [
        [
            entry["name"],
            f"{entry['distance']:+.1f}",
            "yes" if entry["disagrees"] else "no",
            DECISIONS.get(entry["verdict_without"], NONE),
            config_text(entry["config_without"]),
        ]
        for entry in entries
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


def trained(document: Mapping[str, Any]) -> list[Html]:
    """Return what was trained: once, or as often as was asked for."""
    if not document.get("model"):
        return [element("p", "No federated model was trained in this run.")]
    trainings = document.get("trainings") or []
    chosen = [f"{name} = {number(document['trained_config'][name])}" for name in document.get("chosen_in_training", [])]
    past = f" ({past})" if (past := past_range(document)) else ""
    inside = f"{' and '.join(chosen)} was chosen inside the training, by rows held out{past}. " if chosen else ""
    note = document.get("training") or ""
    if len(trainings) < 2:
        return [element("p", f"One federated model was trained. {inside}", note)]
    names = list(document["config"])
    rows = [
        [k + 1, *(number(each["config"][name]) for name in names), number(each["held_loss"])]
        for k, each in enumerate(trainings)
    ]
    kept = f"{len(trainings)} federated models were trained, and the one with the lowest loss was kept. {inside}"
    caption = "Trainings, with the loss on rows that the parties held out of a first pass"
    return [element("p", kept, note), table(caption, ["training", *names, "loss"], rows)]


def confirm_rows(run: Study) -> list[list[Any]]:
    """Return what left each party in the confirmation round."""
    found = run.document.get("candidates") or []
    if not found:
        return []
    path = path_of_trials(run.trials)
    along = f", at {len(path.stops)} values of {path.name} each" if path else ""
    words = f"of the default and of {_counted(len(found) - 1)}{along}; gains are paired differences from the default"
    return [["confirm", "config, loss, error, folds, rows, gain, gain_error", words]]


def _counted(count: int) -> str:
    return f"{count} candidate{'s' * (count != 1)}"


def train_rows(document: Mapping[str, Any]) -> list[list[Any]]:
    """Return what left each party in the training, or in several."""
    if not document.get("model"):
        return []
    rows = [["train", "sums over all parties", document.get("training") or NONE]]
    if document.get("chosen_in_training"):
        names = " and ".join(document["chosen_in_training"])
        rows.append(["train", "sums over all parties", f"losses on held-out rows, to choose {names}"])
    if any(each["held_loss"] is not None for each in document.get("trainings") or []):
        rows.append(["train", "held_loss", "the first pass's loss on a third of its rows, one number a training"])
    return [*rows, ["train", "the model and its config", "the same at every party"]]
