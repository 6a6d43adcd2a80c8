"""The whole page: a strict policy, the style, the sections, the data and the script."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from flora.outcome.report import charts, evidence, sections
from flora.outcome.report.analysis import Analysis
from flora.outcome.report.certificate import certificate
from flora.outcome.report.markup import Html, element, join, script_data
from flora.problem.trials import PartyTrials
from flora.program.result import Result

CONTENTS = {
    "answer": "The answer",
    "parties": "What each party saw",
    "surface": "The loss surface",
    "agreement": "Agreement",
    "importance": "Importance",
    "cost": "Cost",
    "certificate": "Certificate",
    "disclosure": "What left each party",
    "reproduction": "How to reproduce it",
}


def page(result: Result, trials: Sequence[PartyTrials]) -> str:
    """Return the report of a run: one HTML page that asks the network for nothing.

    Args:
        result: The run's ``result.json``.
        trials: The trials that it was made from; the surface is learnt again from them, by the run's seed.

    Raises:
        InputError: If these are not the trials that the result was made from.
    """
    run = Analysis.of(result, trials)
    slices = run.slices()
    body = [
        sections.answer(run),
        sections.parties(run),
        sections.surface(run, slices),
        evidence.agreement(run),
        evidence.importance(run),
        evidence.cost(run),
        certificate(run),
        evidence.disclosure(run),
        evidence.reproduction(run),
    ]
    data = {
        "figures": _figures(run, slices),
        "trials": charts.drawn_trials(run),
        "map": charts.map_data(run),
        "mostMarks": charts.MOST_MARKS,
        "highlight": charts.VERMILION,
        **sections.trial_data(run),
    }
    return _whole(run, join(body), script_data("report-data", data))


def _figures(run: Analysis, slices: Sequence[Any]) -> dict[str, Any]:
    figures = {f"slice-{k}": figure for k, figure in enumerate(charts.slices(run, slices))}
    figures["importance-bars"] = charts.importance(run)
    gains, agreement = charts.gains(run.result), charts.agreement(run)
    if gains:
        figures["gains"] = gains
    if agreement:
        figures["agreement-map"] = agreement
        figures |= {f"region-{k}": figure for k, figure in enumerate(charts.regions(run))}
    return figures


def _whole(run: Analysis, body: Html, data: Html) -> str:
    from plotly.offline import get_plotlyjs

    library, script = str(get_plotlyjs()), _part("script.js")
    result = run.result
    count = len(run.trials)
    subject = f"{result.family or 'a model'}, {result.scoring}, {count} {'party' if count == 1 else 'parties'}"
    head = element(
        "head",
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_policy(library, script)}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="referrer" content="no-referrer">'),
        element("title", f"FLoRA report: {subject}"),
        element("style", Html(_part("style.css"))),
    )
    links = [element("li", element("a", title, href=f"#{identity}")) for identity, title in CONTENTS.items()]
    banner = element(
        "header",
        element("h1", "Hyper-parameters for one federated training"),
        element("p", f"FLoRA's report of a run: {subject}, seed {result.seed}.", class_="soft"),
        element("nav", element("ul", *links), aria_label="Contents"),
        sections.hint(),
    )
    skip = element("a", "Skip to the answer", href="#answer", class_="skip")
    footer = element("footer", element("p", f"Made by FLoRA {result.versions.get('flora', '')}."))
    scripts = join([data, element("script", Html(library)), element("script", Html(script))])
    main = element("main", body, id="main")
    whole = element("html", head, element("body", skip, banner, main, footer, scripts), lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def _policy(*scripts: str) -> str:
    """Return a policy that lets these scripts run and no other, and lets nothing be fetched."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    images = "img-src data: blob:"  # Plotly draws a map as a picture, and saves one on demand
    rest = "base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; {images}; {rest}"


def _part(name: str) -> str:
    return files("flora.outcome.report").joinpath(name).read_text(encoding="utf-8")
