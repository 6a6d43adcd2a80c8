"""The details of a run: how far parties agree, what matters, the cost, what left each party, how to do it again."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flora.outcome.numbers import NONE, bytes_words, counted, number, signed
from flora.outcome.report.analysis import MOST_LEFT_OUT, Analysis
from flora.outcome.report.charts import agreement as agreement_chart
from flora.outcome.report.charts import importance_strip, panel_grid, region_text, regions
from flora.outcome.report.confirmation import confirm_rows, train_rows, without_each
from flora.outcome.report.glossary import term
from flora.outcome.report.markup import Html, element, folded, section, table
from flora.problem.schema import Schema
from flora.program.result import DECIDED, Result


def agreement(run: Analysis) -> Html:
    """Return how far the parties agree, and what is recommended without each of them; nothing for one party."""
    names = run.compared_names
    if len(names) < 2:
        return Html("")
    matrix = run.agreement()
    upper = matrix[np.triu_indices(len(names), 1)]
    known = upper[~np.isnan(upper)]
    best = run.best_regions()
    rows = [
        [name, *(region_text(axis, [config[axis.parameter.name] for config in party]) for axis in run.axes)]
        for name, party in zip(names, best, strict=True)
    ]
    title = element("figcaption", "Rank correlation of the parties' surfaces")
    return section(
        *("agreement", "Agreement of the parties"),
        element("p", *_agreement_sentence(known), _compared_words(len(names), len(run.trials))),
        element("figure", title, agreement_chart(run), class_="matrix"),
        folded("The correlations in numbers", _correlations(names, matrix)),
        element("h3", "Each party's own best region"),
        element("p", _REGION_WORDS, " The line is the recommendation, dashed the default."),
        panel_grid(regions(run)),
        folded(
            "The best regions in numbers",
            table("Where each party's surface is lowest", ["party", *(a.parameter.name for a in run.axes)], rows),
        ),
        element("h3", "The recommendation without each party"),
        *_left_out(run),
    )


_REGION_WORDS = (
    "Where the best tenth of a party's own surface lies: the dot is its median, the bar holds the middle 80 %; "
    "of values without an order, a dot's size is its share."
)


def _agreement_sentence(known: Any) -> list[Any]:
    if not len(known):
        return ["The parties' surfaces are flat: they rank no config above another."]
    mean, low = float(known.mean()), float(known.min())
    judgement = "agree well" if mean > 0.7 else "agree in part" if mean > 0.3 else "hardly agree"
    numbers = f" of two parties' surfaces is {mean:.2f}, the lowest {low:.2f} (1 is full agreement, 0 none)."
    return [
        f"On which configs are better, the parties {judgement}: the mean ",
        term("rank correlation"),
        numbers,
    ]


def _compared_words(compared: int, parties: int) -> str:
    if compared == parties:
        return ""
    return f" Of {parties:,} parties, {compared} that are evenly spaced by name are compared here."


def _correlations(names: list[str], matrix: Any) -> Html:
    cells = [[NONE if math.isnan(r) else f"{r:.2f}" for r in row] for row in matrix]
    if len(names) <= 12:
        rows = [[name, *row] for name, row in zip(names, cells, strict=True)]
        return table("Rank correlations", ["party", *names], rows, numbers=len(names), kind="scroll")
    others = np.where(np.eye(len(names), dtype=bool), np.nan, matrix)
    rows = [[name, *_mean_and_lowest(row)] for name, row in zip(names, others, strict=True)]
    return table("Rank correlation with the other parties", ["party", "mean", "lowest"], rows, numbers=2)


def _mean_and_lowest(row: Any) -> list[str]:
    known = row[~np.isnan(row)]
    return [f"{known.mean():.2f}", f"{known.min():.2f}"] if len(known) else [NONE, NONE]


def _left_out(run: Analysis) -> list[Html]:
    measured = without_each(run)
    if measured:
        return measured
    found = run.left_out()
    if not found:
        words = f"Not computed for more than {MOST_LEFT_OUT} parties: each takes a search of its own."
        return [element("p", words)]
    head = ["without", *run.space.names, "worse by"]
    rows = [[name, *(number(a.config[n]) for n in run.space.names), signed(worse, 4)] for name, a, worse in found]
    widest = max(worse for _, _, worse in found)
    words = (
        "The surface is learnt from the other parties alone and minimised again. The last column is how much worse the "
        f"surface of all parties finds that config than the recommendation; at most {signed(widest, 4)}."
    )
    full = ["(none)", *(number(run.config[name]) for name in run.space.names), signed(0.0, 4)]
    return [element("p", words), table("Recommendations", head, [full, *rows], numbers=len(head) - 1)]


def importance(run: Analysis) -> Html:
    """Return how much each HP matters to the surface."""
    named = sorted(zip(run.space.names, run.importance, strict=True), key=lambda pair: -pair[1].total)
    most = max((value.total for _, value in named), default=1.0) or 1.0
    rows = [
        [name, importance_strip(value.alone, value.total, most), f"{value.alone:.0%}", f"{value.total:.0%}"]
        for name, value in named
    ]
    return section(
        *("importance", "Importance of each hyper-parameter"),
        element(
            "p",
            "The share of the surface's variation over the whole space that a hyper-parameter makes alone (the full "
            "bar), and together with the others (to the light end): its ",
            term("Sobol index"),
            ", by sampling. One that matters little there may still matter near the optimum: see the slices.",
        ),
        table("Importance", ["", "", "alone", "with others"], rows, numbers=2, kind="few strips"),
    )


def cost(run: Analysis) -> Html:
    """Return what the run cost in time, trials, bytes and trainings."""
    entries = {entry.name: entry for entry in run.result.parties}
    tried = sum(entry.trials + entry.failed_trials for entry in run.result.parties)
    sizes = {party.party: len(party.to_json().encode()) for party in run.trials}
    trained = len(run.result.trainings)
    saved = (
        f"{counted(tried, 'trial')} were made inside {counted(len(run.trials), 'party', 'parties')}. "
        "Trying each of them on all parties' rows "
        f"would have taken {tried} federated trainings; this run took {trained}."
    )
    left = f"As trials, {bytes_words(sum(sizes.values()))} left the parties in all."
    rows = [[n, entries[n].trials, entries[n].failed_trials, f"{size:,}"] for n, size in sizes.items()]
    each = table(
        "Trials and bytes of each party", ["party", "trials", "failed", "bytes of its trials"], rows, numbers=3
    )
    return section(
        *("cost", "Cost"),
        element("p", saved),
        element("p", left, " What the training exchanged, sums over all parties, is not counted here." * bool(trained)),
        *timing(run.result),
        folded("Trials and bytes of each party", each),
    )


def timing(result: Result) -> list[Html]:
    """Return how long each step took, where that is known."""
    steps = [[_STEPS.get(step, step), f"{value:.1f}"] for step, value in result.seconds.items()]
    caption = "Seconds of each step, over all parties"
    return [table(caption, ["step", "seconds"], steps, numbers=1)] if steps else []


_STEPS = {
    "describe": "describe the columns",
    "search": "search locally",
    "confirm": "confirm on fresh folds",
    "certify": "sketch the data, and learn from fewer rows",
    "train": "train the federated model",
    "search-privately": "search locally",
    "survey": "add up the parties' surfaces",
    "confirm-privately": "confirm on fresh folds, and add up",
}


_MASKS = (
    " Between machines a party's share of a sum leaves under masks: the aggregator sees the sum over all parties, "
    "and each party's audit log says with whom it added up."
)


def disclosure(run: Analysis) -> Html:
    """Return what left each party, field by field."""
    result = run.result
    rows = [*schema_rows(result.schema), *_search_rows(run)]
    rows += confirm_rows(run)
    if result.certificate:
        words = "averages of at least 10 rows along random directions; sums, minima and maxima of columns"
        rows += [["certify", "sketch", words]]
        rows += [["certify", "curves: rows, loss, error", "of the default and the recommendation, on fewer rows"]]
    rows += train_rows(result)
    kept = "Rows, predictions and the text of errors did not leave a party."
    return left(result, [party.party for party in run.trials], rows, kept)


def left(result: Result, names: Sequence[str], rows: Sequence[Sequence[Any]], kept: str) -> Html:
    """Return the fields that left each of these parties, and what was ``kept``."""
    notes = [["any", "notes", "the sentences under the answer"]] if result.notes else []
    beside = "Of what is here, its columns, notes and shares of sums left a party that could not search too"
    others = [element("p", f"{beside}. {note}.") for note in result.notes if "cannot search" in note]
    return section(
        *("disclosure", "What left each party"),
        element("p", f"The same fields left each of the {len(names)} parties: {', '.join(names)}."),
        *others,
        table("Field by field", ["step", "field", "in this run"], [*rows, *notes]),
        element("p", kept, _MASKS),
    )


def schema_rows(schema: Schema | None) -> list[list[Any]]:
    """Return what left each party of its columns."""
    if schema is None:
        return []
    kinds = ", ".join(f"{column.name} ({column.kind})" for column in schema.columns)
    texts = [column for column in schema.columns if column.categories]
    lists = "; ".join(f"{column.name}: {', '.join(column.categories)}" for column in texts)
    given = "not where the consortium gave the schema"
    return [
        ["describe", "columns", f"{kinds}; target {schema.target} ({given})"],
        ["describe", "categories of text columns", f"{lists} ({given})" if lists else "none"],
        ["describe", "classes", ", ".join(map(str, schema.classes)) or "none"],
        ["describe", "rows", "the number of rows"],
    ]


def _search_rows(run: Analysis) -> list[list[Any]]:
    first = run.trials[0]
    header = f"its name, its rows, {first.family or 'no family'}, {first.task or 'no task'}, {first.scoring}"
    reasons = sorted({trial.reason for party in run.trials for trial in party.failed})
    count = sum(len(party.trials) for party in run.trials)
    return [
        ["search", "party, rows, family, task, scoring", header],
        ["search", "space, space_digest", f"{', '.join(run.space.names)}: their ranges and defaults"],
        ["search", "trials: config, loss, error, folds, rows", f"{count} in all, as on the panels and the map"],
        ["search", "failed: config, reason", f"the error's class: {', '.join(reasons)}" if reasons else "none failed"],
    ]


def reproduction(result: Result) -> Html:
    """Return how to do the run again, and how to check that it is the same."""
    command = result.command
    told = [element("pre", element("code", command))] if command else []
    decided = {name: value for name in DECIDED if (value := getattr(result, name)) is not None}
    digests = [["space", _digest(result.space_digest)]]
    digests += [
        [f"trials of {entry.name}", _digest(entry.trials_digest)] for entry in result.parties if entry.trials_digest
    ]
    if result.model_digest:
        digests.append([str(result.model), _digest(result.model_digest)])
    versions = result.versions.items()
    return section(
        *("reproduction", "How to reproduce it"),
        element("p", "The same rows, settings, seed and versions give the same digests."),
        *told,
        table("What decided the run", ["setting", "value"], [[name, number(value)] for name, value in decided.items()]),
        table("Versions", ["library", "version"], [[name, str(value)] for name, value in versions]),
        folded("Digests (SHA-256)", table("Digests", ["of", "SHA-256"], digests)),
        folded("The search space", element("pre", element("code", _space(result)))),
        element("p", "Recommended: ", element("code", json.dumps(dict(result.config)))),
    )


def _space(result: Result) -> str:
    """Return the space as JSON, a line for each HP."""
    lines = [f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in result.space.to_json().items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _digest(value: Any) -> Html:
    return element("span", value, class_="digest")
