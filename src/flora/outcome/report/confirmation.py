"""What the confirmation round and the trainings add to a report: gains, candidates, who disagrees, what was trained."""

from typing import Any

from flora.outcome.explain import (
    behind_words,
    candidate_rows,
    grown_words,
    past_range,
    same_as_default,
)
from flora.outcome.numbers import NONE, counted, decimals, number, plain, signed_with_error
from flora.outcome.report.analysis import Analysis
from flora.outcome.report.markup import Html, element, folded, table
from flora.outcome.report.plot import Extent, share, strip
from flora.problem.size_law import MANY
from flora.program.result import Result

DECISIONS = {"use": "use these", "keep-defaults": "keep the defaults"}


def basis(result: Result) -> str:
    """Return where the parties' gains come from, in a sentence."""
    if not result.measured:
        return "No party was asked again: what the surface predicts is not a measurement."
    if result.private is not None:
        return (
            "Every party measured the default and the candidates on fresh folds, and the sums over all parties are "
            "known alone; parties count by their rows, and none is left out."
        )
    asked = "Every party measured the default and the candidates on fresh folds"
    if result.objective == "worst":
        return f"{asked}; what counts is the loss of the party that is worst off."
    trimmed = ", and the fifth of them at either end is left out" if len(result.parties) >= MANY else ""
    return f"{asked}; parties count by their rows{trimmed}."


def gains(result: Result) -> list[Html]:
    """Return the gain that the verdict rests on and, apart from it, what each party measured on its own."""
    gain, seen = result.expected_gain, result.evidence
    entries = [(party.name, party.measured) for party in result.parties if party.measured]
    if not entries or gain is None or seen is None or same_as_default(result):
        return []
    ends = [end for _, one in entries for end in (one.gain - one.gain_error, one.gain + one.gain_error)]
    scale = Extent.over([0.0, gain.low, gain.high, *ends])
    digits = decimals([gain.standard_error, *(one.gain_error for _, one in entries)])
    together = _gain_strip(scale, gain.estimate, (gain.low, gain.high), "all")
    first = [["all parties", together, signed_with_error(gain.estimate, None, digits)]]
    rows = [
        [
            name,
            _gain_strip(scale, one.gain, (one.gain - one.gain_error, one.gain + one.gain_error), "own"),
            signed_with_error(one.gain, one.gain_error, digits),
        ]
        for name, one in entries
    ]
    trained = seen.basis == "trained"
    words = (
        "What the verdict rests on is the first table. The second is each party's own view, of models at its size on "
        "its rows: it says who may gain more and who less, and not how much the federated model gains."
        if trained
        else f"The gain of all parties is made of the parties' own measurements. {basis(result)}"
    )
    heads = ["", f"gain in {result.scored}; the upright line is no gain", "gain"]
    over = f"Over all parties, with its {gain.level:.0%} interval"
    source = "federated models of both configs" if trained else "of the parties' measurements"
    own = "At each party, by its own measurement on its own rows, with one standard error"
    return [
        element("h3", "The gain, and each party's own measurement"),
        element("p", words),
        table(f"{over}: {source}", heads, first, numbers=1, kind="few strips"),
        table(own, heads, rows, numbers=1, kind="few strips"),
    ]


def _gain_strip(scale: Extent, value: float, ends: tuple[float, float], kind: str) -> Html:
    zero = share(scale.place(0.0))
    low, high = (share(scale.place(end)) for end in ends)
    return strip(
        element("line", x1=zero, x2=zero, y1=-3, y2=25, class_="zero"),
        element("line", x1=low, x2=high, y1=11, y2=11, class_="error"),
        element("use", href="#m2" if kind == "all" else "#m0", x=share(scale.place(value)), y=11, class_=f"dot {kind}"),
    )


def candidates(result: Result) -> list[Html]:
    """Return the candidates that all parties measured, with their gains over the default, and why which was taken."""
    found = candidate_rows(result)
    if not found:
        return []
    names = list(result.config)
    rows = [
        [
            element("strong", row.role) if row.chosen and result.verdict == "use" else row.role,
            *(row.values[name] for name in names),
            row.gain,
            row.why,
        ]
        for row in found
    ]
    words = "The aggregator's best and mutually different configs, each measured by every party beside the default."
    if any("measured at" in value for row in found for value in row.values.values()):
        words += (
            " What one fit passes through is compared at its best place, the default's too: the training counts it."
        )
    for more in filter(None, (grown_words(result), behind_words(result))):
        words += f" {more[0].upper()}{more[1:]}."
    head = ["candidate", *names, "gain", "why"]
    return [
        element("h3", "Candidates and the default"),
        element("p", words),
        table(
            "Gain over the default, over all parties, with one standard error",
            head,
            rows,
            numbers=len(names) + 1,
            words=1,
        ),
    ]


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
    names = list(run.config)
    rows = [
        [
            name,
            f"{entry.distance:+.1f}",
            "yes" if entry.disagrees else "no",
            DECISIONS.get(entry.verdict_without or "", NONE),
            *(number((entry.config_without or {}).get(hp)) for hp in names),
        ]
        for name, entry in entries
    ]
    head = ["without", "distance", "disagrees", "the others say", *names]
    words = (
        "The distance is that of a party's measured gain from the others' mean, in standard errors. The others choose "
        "among the same candidates, by their own measurements."
    )
    return [
        element("p", sentence),
        element("p", words, class_="soft"),
        folded("Each party beside the others", table("Each party beside the others", head, rows, numbers=len(names))),
    ]


def trained(result: Result) -> list[Html]:
    """Return what was trained: once, or as often as was asked for."""
    if result.trained_config is None:
        return []
    trainings = result.trainings
    chosen = [f"{name} = {number(result.trained_config[name])}" for name in result.chosen_in_training]
    past = f" ({past})" if (past := past_range(result)) else ""
    inside = f"{' and '.join(chosen)} was chosen inside the training, by rows held out{past}. " if chosen else ""
    note = result.training or ""
    title = element("h3", "The training")
    if len(trainings) < 2:
        return [title, element("p", f"One federated model was trained. {inside}", note)]
    names = list(result.config)
    digits = decimals([result.model_score.standard_error] if result.model_score else [])
    rows = [
        [
            k + 1,
            *(number(each.config[name]) for name in names),
            NONE if each.fold is None else each.fold + 1,
            plain(each.held_loss, digits),
        ]
        for k, each in enumerate(trainings)
    ]
    words = (
        f"{len(trainings) - 1} federated trainings compared the default and the recommendation, each without a fold of "
        f"every party's rows, and the last one, on all rows, made the model. {inside}"
    )
    caption = "Trainings, with the loss on the rows that each left out"
    head = ["training", *names, "fold left out", "loss"]
    trainings_table = table(caption, head, rows, numbers=len(head) - 1)
    return [title, element("p", words, note), folded("The trainings one by one", trainings_table)]


def confirm_rows(run: Analysis) -> list[list[Any]]:
    """Return what left each party in the confirmation round."""
    found = run.result.candidates
    if not found:
        return []
    path = run.path
    along = f", at {len(path.stops)} values of {path.name} each" if path else ""
    others = counted(len(found) - 1, "candidate")
    words = f"of the default and of {others}{along}; gains are paired differences from the default"
    return [["confirm", "config, loss, error, folds, rows, gain, gain_error", words]]


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
