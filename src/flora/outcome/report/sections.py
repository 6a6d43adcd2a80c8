"""The first half of a report: the answer, what each party saw, and the surface."""

from collections.abc import Sequence
from typing import Any

from flora.aggregator.surfaces import surface_kind
from flora.outcome.explain import grade_words, grown_words, same_as_default, score_words, settle_words
from flora.outcome.report.analysis import Analysis, Slice
from flora.outcome.report.charts import MOST_MARKS, MOST_TRIALS, SYMBOLS, lines, rounded
from flora.outcome.report.confirmation import basis, candidates, trained
from flora.outcome.report.markup import (
    NONE,
    Html,
    chart,
    chooser,
    element,
    folded,
    number,
    section,
    signed,
    table,
    with_error,
)
from flora.program.result import PartyResult, Result


def answer(run: Analysis) -> Html:
    """Return the answer: what to do, what it gains, and the two configs."""
    result = run.result
    box = element("div", element("p", _verdict(result), class_="verdict"), *_gain(result), class_=_box_class(result))
    default, used = result.default or {}, result.trained_config
    head = ["hyper-parameter", "default", "recommended", *(["trained with"] if used else [])]
    rows = [
        [
            name,
            number(default.get(name)),
            element("strong", number(value)),
            *([number(used[name])] if used else []),
        ]
        for name, value in result.config.items()
    ]
    parts = [box, table("The two configs", head, rows), *trained(result)]
    if result.measured:
        words = "A dot for each party with one standard error either side, and all parties together on top."
        parts.append(chart("gains", "Gain at each party, measured on folds that the search has not seen", words))
    parts += candidates(result)
    if result.notes:
        parts += [element("h3", "Worth knowing"), element("ul", *(element("li", note) for note in result.notes))]
    return section("answer", "The answer", *parts)


def _box_class(result: Result) -> str:
    """Return the box's class: it is green where the gain is shown, and nowhere else."""
    if result.verdict is None:
        return "answer"
    return "answer use" if result.grade == "shown" else "answer keep-defaults"


def _verdict(result: Result) -> str:
    if result.verdict == "use":
        return "Use the recommended hyper-parameters."
    if result.verdict == "keep-defaults":
        return "Keep the defaults."
    return "Try the recommended hyper-parameters; there is no default to compare them with."


def _gain(result: Result) -> list[Html]:
    gain, scoring = result.expected_gain, result.scoring
    loss = f"The surface predicts a loss of {number(result.predicted_loss)} ± "
    predicted = element("p", f"{loss}{number(result.predicted_loss_error)} at the recommendation.", class_="soft")
    if gain is None:
        return [element("p", "No default config is known, so no gain over it can be stated."), predicted]
    score = [element("p", words)] if (words := score_words(result)) else []
    if same_as_default(result):
        return [*score, element("p", f"{grade_words(result)} {basis(result)}"), predicted]
    amount = (
        f"Expected gain in {scoring}: {signed(gain.estimate)}, between {signed(gain.low)} and "
        f"{signed(gain.high)} ({gain.level:.0%} interval)."
    )
    reasons = " ".join(filter(None, (grade_words(result), settle_words(result), basis(result))))
    return [*score, element("p", amount), element("p", reasons), predicted]


def parties(run: Analysis) -> Html:
    """Return what each party saw: a table, and its trials along each HP."""
    result = run.result
    entries = result.parties
    measured = result.measured
    head = ["party", "rows", "trials", "failed", "best loss", "default", *(["recommended", "gain"] if measured else [])]
    rows = [
        [
            *(entry.name, number(entry.rows), entry.trials, entry.failed_trials),
            *(
                with_error(entry.best_loss, entry.best_loss_error),
                with_error(entry.default_loss, entry.default_loss_error),
            ),
            *(
                [with_error(entry.recommended_loss, entry.recommended_loss_error), _party_gain(entry)]
                if measured
                else []
            ),
        ]
        for entry in entries
    ]
    choice = chooser("party", "Show the trials of", ["all parties", *(e.name for e in entries)], kind="party")
    words = (
        "Loss of each party's trials against this hyper-parameter; the table above has their best and default losses."
    )
    panels = [
        chart(f"trials-{k}", f"Trials along {axis.parameter.name}", words, kind="panel")
        for k, axis in enumerate(run.axes)
    ]
    best = [[party.party, *(number(party.best.config[name]) for name in run.space.names)] for party in run.trials]
    return section(
        *("parties", "What each party saw"),
        element("p", _heterogeneity(result.gamma_p)),
        table(f"Losses at each party (a loss is {_loss_of(result.scoring)})", head, rows),
        element("p", _loss_note(measured), class_="soft"),
        element("div", choice, class_="controls"),
        legend(run),
        *_few(run),
        element("div", *panels, class_="panels"),
        folded("Each party's best config", table("The trial with the lowest loss", ["party", *run.space.names], best)),
    )


def _party_gain(entry: PartyResult) -> str:
    measured = entry.measured
    return NONE if measured is None else f"{signed(measured.gain)}\u00a0±\u00a0{measured.gain_error:.2g}"


def _loss_of(scoring: str) -> str:
    return f"−{scoring}" if scoring.startswith("neg_") else f"1 − {scoring}"


def _loss_note(measured: bool) -> str:
    best = "± is one standard error over the folds. A best loss is that of the folds it was searched on: it flatters."
    return f"{best} Default and recommended were measured on fresh folds." if measured else best


def _heterogeneity(gamma: Any) -> str:
    if gamma is None:
        return "γp, the paper's measure of how much the parties differ, is not defined here: a best loss is 1 or more."
    return (
        f"γp = {number(float(gamma))}: the paper's measure of how much the parties' best losses differ. "
        "1 is not at all; the larger it is, the more they differ."
    )


def legend(run: Analysis) -> Html:
    """Return what the marks mean."""
    count = len(run.trials)
    marks = [("mark mark-plain", "│", "recommended (★ on the map)"), ("mark mark-plain", "┆", "default (✖ on the map)")]
    marks.append(("mark mark-plain", "◯", "the best trial of a party"))
    if count <= MOST_MARKS:
        named = zip(run.trials, SYMBOLS.values(), strict=False)
        marks += [(f"mark mark-{k}", glyph, party.party) for k, (party, glyph) in enumerate(named)]
    else:
        marks.append(("mark", "●", f"a trial of one of the {count} parties; choose a party to see its own"))
    items = [
        element("li", element("span", glyph, class_=kind, aria_hidden="true"), text) for kind, glyph, text in marks
    ]
    return element("ul", *items, class_="legend")


def _few(run: Analysis) -> list[Html]:
    notes = []
    if len(run.axes) < len(run.space.names):
        notes.append(f"Drawn are the {len(run.axes)} most important of {len(run.space.names)} hyper-parameters.")
    most = max(10, MOST_TRIALS // len(run.trials))
    if any(len(party.trials) > most for party in run.trials):
        notes.append(f"Drawn are about {most} trials of each party, evenly over its search, with its best one.")
    return [element("p", " ".join(notes), class_="soft")] if notes else []


def surface(run: Analysis, slices: Sequence[Slice]) -> Html:
    """Return the map over two HPs, and the slices through the recommendation."""
    result = run.result
    grown = grown_words(result)
    words = (
        f"What the aggregator believes the federated loss to be, learnt from the parties' trials alone: "
        f"{surface_kind(result.surface).words}. The regressor: {result.regressor}."
    )
    panels = [
        chart(f"slice-{k}", f"Along {piece.axis.parameter.name}", _slice_words(piece), kind="panel")
        for k, piece in enumerate(slices)
    ]
    return section(
        *("surface", "The loss surface"),
        element("p", words),
        *([element("p", f"{grown}. What is drawn are losses on a party's rows.", class_="soft")] if grown else []),
        *_map(run),
        element("h3", "Slices through the recommendation"),
        element("p", "One hyper-parameter varies, all others are as recommended. The band is one standard deviation."),
        element("div", *panels, class_="panels"),
        folded("The slices in numbers", *(_slice_table(piece) for piece in slices)),
    )


def _map(run: Analysis) -> list[Html]:
    names = [axis.parameter.name for axis in run.axes]
    if len(names) < 2:
        return [element("p", "There is one hyper-parameter, so the slice below is the whole surface.")]
    ranked = sorted(range(len(names)), key=lambda k: -run.importance[run.space.names.index(names[k])].total)
    first, second = sorted(ranked[:2])
    entries = ["all parties", *(party.party for party in run.trials)]
    title = "Map of the predicted loss, with all parties' trials"
    words = "Brighter is better. The star is the recommendation, the cross the default. A table of the map follows."
    caption = "Predicted loss at values of the two chosen hyper-parameters"
    numbers = element("table", element("caption", caption), element("tbody", id="map-table"))
    return [
        element("p", "Choose any two hyper-parameters; the others are as recommended. Brighter is better."),
        element(
            "div",
            chooser("map-across", "Across", names, chosen=first, kind="hp"),
            chooser("map-up", "Up", names, chosen=second, kind="hp"),
            chooser("map-party", "Trials of", entries, kind="party"),
            class_="controls",
        ),
        chart("map", title, words),
        legend(run),
        folded(
            "The map in numbers",
            element("div", numbers, class_="scroll", role="region", tabindex="0", aria_label=caption),
        ),
    ]


def _slice_words(piece: Slice) -> str:
    lowest = int(piece.losses.argmin())
    return f"Lowest near {number(piece.values[lowest])}, with a predicted loss of {piece.losses[lowest]:.4g}."


def _slice_table(piece: Slice) -> Html:
    every = max(1, len(piece.values) // 10)
    named = list(zip(piece.values, rounded(piece.losses), rounded(piece.errors), strict=True))[::every]
    rows = [[number(value), number(loss), number(error)] for value, loss, error in named]
    return table(f"Along {piece.axis.parameter.name}", ["value", "predicted loss", "standard deviation"], rows)


def trial_data(run: Analysis) -> dict[str, Any]:
    """Return what the panels of trials share: their range of losses, and the lines on each."""
    losses = sorted(trial.loss for party in run.trials for trial in party.trials)
    # A failed fit may have a loss of thousands: the eye needs the range where configs are told apart.
    wild = losses[-1] > 10 * abs(losses[0]) + 1
    highest = losses[int(0.98 * (len(losses) - 1))] if wild else losses[-1]
    margin = 0.06 * (highest - losses[0]) or 0.01
    return {"lossRange": [losses[0] - margin, highest + margin], "lines": [lines(run, axis) for axis in run.axes]}


def hint() -> Html:
    """Return what is said where scripts do not run."""
    return element(
        "noscript", element("p", "The charts need JavaScript; all tables but the map's are here without it.")
    )
