"""What each party saw, and the surface that was learnt from it."""

from collections.abc import Sequence
from typing import Any

from flora.aggregator.surfaces import surface_kind
from flora.outcome.explain import grown_words
from flora.outcome.numbers import NONE, decimals, number, signed_with_error, with_error
from flora.outcome.report.analysis import Analysis, Slice, SurfaceView
from flora.outcome.report.charts import MOST_MARKS, MOST_TRIALS, fits, panel_grid, party_kind, slices, trials
from flora.outcome.report.confirmation import candidates, gains, trained
from flora.outcome.report.glossary import term
from flora.outcome.report.heat import chosen_axes, colour_key, drawn_map
from flora.outcome.report.markup import Html, chooser, element, folded, section, table
from flora.outcome.report.plot import SYMBOLS
from flora.program.party_result import PartyResult
from flora.program.result import Result


def evidence(result: Result) -> Html:
    """Return what the answer rests on: the gains, the candidates, the trainings; nothing where there is none of it."""
    parts = [*gains(result), *candidates(result), *trained(result)]
    return section("evidence", "What the answer rests on", *parts) if parts else Html("")


def parties(run: Analysis) -> Html:
    """Return what each party saw: a table, and its trials along each HP."""
    entries = run.result.parties
    choice = chooser("party", "Show the trials of", ["all parties", *(e.name for e in entries)], kind="party")
    panels = [(f"Along {axis.parameter.name}", trials(run, k)) for k, axis in enumerate(run.axes)]
    best = [[party.party, *(number(party.best.config[name]) for name in run.space.names)] for party in run.trials]
    return section(
        *("parties", "What each party saw"),
        _losses(run),
        element("p", *_heterogeneity(run.result.gamma_p)),
        element("h3", "The parties' trials"),
        element("p", *_trial_words(run)),
        element("div", choice, class_="controls"),
        legend(run),
        panel_grid(panels),
        folded(
            "Each party's best config",
            table("The trial with the lowest loss", ["party", *run.space.names], best, numbers=len(run.space.names)),
        ),
    )


def _losses(run: Analysis) -> Html:
    """Return each party's losses, and its gain where it measured one."""
    result = run.result
    measured = result.measured
    head = ["party", "rows", "trials", "failed", "best loss", "default", *(["recommended", "gain"] if measured else [])]
    digits = decimals([error for entry in result.parties for error in _errors(entry)])
    rows = []
    for entry in result.parties:
        cells = [
            with_error(entry.best_loss, entry.best_loss_error, digits),
            with_error(entry.default_loss, entry.default_loss_error, digits),
        ]
        if measured:
            cells.append(with_error(entry.recommended_loss, entry.recommended_loss_error, digits))
            seen = entry.measured
            cells.append(NONE if seen is None else signed_with_error(seen.gain, seen.gain_error, digits))
        rows.append([entry.name, number(entry.rows), entry.trials, entry.failed_trials, *cells])
    caption = f"Losses at each party (a loss is {_loss_of(result.scored)}: lower is better)"
    words = "± is one standard error over the folds. A best loss is that of the folds it was searched on: it flatters."
    fresh = " Default and recommended were measured on fresh folds." if measured else ""
    whole = table(caption, head, rows, numbers=len(head) - 1)
    return element("div", whole, element("p", words + fresh, class_="soft"))


def _errors(entry: PartyResult) -> list[float | None]:
    gain = entry.measured.gain_error if entry.measured else None
    return [entry.best_loss_error, entry.default_loss_error, entry.recommended_loss_error, gain]


def _loss_of(scoring: str) -> str:
    return f"−{scoring}" if scoring.startswith("neg_") else f"1 − {scoring}"


def _heterogeneity(gamma: Any) -> list[Any]:
    name = term("gamma_p", "γp")
    if gamma is None:
        return [name, ", the paper's measure of how much the parties differ, is not defined here: a best loss is 1 or "
                "more."]  # fmt: skip
    words = ": the paper's measure of how much the parties' best scores differ. 1 is not at all."
    return [name, f" = {float(gamma):.3g}{words}"]


MARKS = (  # the class, the sign and the words of each
    ("mark plain", "│", "recommended (★ on the map)"),
    ("mark plain", "┆", "default (✖ on the map)"),
    ("mark plain", "◯", "the best trial of a party"),
)


def legend(run: SurfaceView, first: Sequence[tuple[str, str, str]] = MARKS) -> Html:
    """Return what the marks mean; those of the parties come last."""
    count, marks = len(run.trials), list(first)
    if count <= MOST_MARKS:
        named = zip(run.trials, SYMBOLS, strict=False)
        marks += [(f"mark {party_kind(k, count)}", glyph, party.party) for k, (party, glyph) in enumerate(named)]
    else:
        marks.append(("mark grey", "●", f"a trial of one of the {count} parties; choose a party to see its own"))
    items = [
        element("li", element("span", glyph, class_=kind, aria_hidden="true"), text) for kind, glyph, text in marks
    ]
    return element("ul", *items, class_="legend")


def _trial_words(run: SurfaceView) -> list[Any]:
    words: list[Any] = [
        "Each mark is a ",
        term("trial"),
        ": the loss that a party measured for a ",
        term("config"),
        ".",
    ]
    if run.path:
        words += [f" A fit passes through values of {run.path.name} (its ", term("path"), "): it is drawn at its best."]
    if len(run.axes) < len(run.space.names):
        words.append(f" Drawn are the {len(run.axes)} most important of {len(run.space.names)} hyper-parameters.")
    most = max(10, MOST_TRIALS // len(run.trials))
    if any(len(fits(party, run.path)) > most for party in run.trials):
        words.append(f" Drawn are about {most} trials of each party, evenly over its search, with its best one.")
    return words


def surface(run: Analysis, pieces: Sequence[Slice], data: dict[str, Any] | None) -> Html:
    """Return the map over two HPs, and the slices through the recommendation."""
    result = run.result
    grown = grown_words(result)
    words = (
        f"is what the aggregator believes the federated loss to be, learnt from the parties' trials alone: "
        f"{surface_kind(result.surface).words} ("
    )
    name = term("APLM, MPLM, SGM, SGM+U", result.surface.upper())
    error = decimals([result.predicted_loss_error])
    predicted = with_error(result.predicted_loss, result.predicted_loss_error, error)
    return section(
        *("surface", "The loss surface"),
        element(
            "p",
            "The ",
            term("surface"),
            " ",
            words,
            name,
            f", by {result.regressor}). At the recommendation it predicts a loss of {predicted}.",
        ),
        *([element("p", f"{grown}. What is drawn are losses on a party's rows.", class_="soft")] if grown else []),
        *drawn_surface(run, data),
        element("h3", "Slices through the recommendation"),
        element(
            "p",
            "A ",
            term("slice"),
            " varies one hyper-parameter, all others are as recommended. The band is one standard deviation.",
        ),
        panel_grid(slices(run, pieces)),
        folded("The slices in numbers", *(_slice_table(piece) for piece in pieces)),
    )


def drawn_surface(run: SurfaceView, data: dict[str, Any] | None) -> list[Html]:
    """Return the map with its choices, its key and its numbers; a sentence where there is one HP only."""
    if data is None:
        return [element("p", "There is one hyper-parameter, so the slice below is the whole surface.")]
    names, axes = data["names"], chosen_axes(run)
    entries = ["all parties", *(party.party for party in run.trials)]
    caption = "Predicted loss at values of the two chosen hyper-parameters"
    numbers = element("table", element("caption", caption), element("tbody", id="map-table"))
    figure = element(
        "figure", element("figcaption", "Map of the predicted loss, with the trials"), drawn_map(run, data, axes)
    )
    return [
        element("p", "Choose any two hyper-parameters; the others are as recommended. Brighter is better."),
        element(
            "div",
            chooser("map-across", "Across", names, chosen=axes[0], kind="hp"),
            chooser("map-up", "Up", names, chosen=axes[1], kind="hp"),
            chooser("map-party", "Trials of", entries, kind="party"),
            class_="controls",
        ),
        figure,
        colour_key(data["edges"]),
        legend(run),
        folded(
            "The map in numbers",
            element("div", numbers, class_="table scroll", role="region", tabindex="0", aria_label=caption),
        ),
    ]


def _slice_table(piece: Slice) -> Html:
    every = max(1, len(piece.values) // 10)
    named = list(zip(piece.values, piece.losses, piece.errors, strict=True))[::every]
    digits = decimals(float(error) for _, _, error in named)
    rows = [[number(value), with_error(float(loss), float(error), digits)] for value, loss, error in named]
    head = ["value", "predicted loss ± standard deviation"]
    return table(f"Along {piece.axis.parameter.name}", head, rows, numbers=2)


def hint() -> Html:
    """Return what is said where scripts do not run."""
    words = "Without JavaScript the map shows its first two hyper-parameters only; all else is here."
    return element("noscript", element("p", words))
