"""The whole page: a strict policy, the style, the sections, the data and the script."""

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from flora.outcome.numbers import counted
from flora.outcome.report import details, private, sections
from flora.outcome.report.analysis import Analysis
from flora.outcome.report.answer import answer
from flora.outcome.report.certificate import certificate
from flora.outcome.report.charts import trial_texts
from flora.outcome.report.glossary import words
from flora.outcome.report.heat import map_data
from flora.outcome.report.markup import Html, element, join, script_data
from flora.outcome.report.plot import symbols
from flora.problem.trials import PartyTrials
from flora.program.result import Result

if TYPE_CHECKING:
    from flora.outcome.evaluation import Evaluation

HEADING = re.compile(r'<h2 id="([a-z]+)-title">([^<]*)</h2>')


def page(result: Result, trials: Sequence[PartyTrials], tested: "Evaluation | None" = None) -> str:
    """Return the report of a run: one HTML page that asks the network for nothing.

    Args:
        result: The run's ``result.json``.
        trials: The trials that it was made from; the surface is learnt again from them, by the run's seed.
        tested: What came of the model on rows that no party had, if there were any.

    Raises:
        InputError: If these are not the trials that the result was made from.
    """
    if result.private is not None:
        return private_page(result, tested)
    run = Analysis.of(result, trials)
    drawn = map_data(run) if len(run.axes) > 1 else None
    body = [
        answer(result, sum(len(party.to_json().encode()) for party in trials), tested),
        sections.evidence(result),
        sections.parties(run),
        sections.surface(run, run.slices(), drawn),
        details.agreement(run),
        details.importance(run),
        details.cost(run),
        certificate(run),
        details.disclosure(run),
        details.reproduction(result),
        words(),
    ]
    return _titled(result, body, {"map": drawn, "texts": trial_texts(run)})


def private_page(result: Result, tested: "Evaluation | None" = None) -> str:
    """Return the report of a private search: there is nothing to draw of single parties, and it says so."""
    body = [
        answer(result, tested=tested),
        sections.evidence(result),
        private.sums(result),
        private.cost(result),
        private.disclosure(result),
        details.reproduction(result),
        words(),
    ]
    return _titled(result, body, {"map": None, "texts": []})


def _titled(result: Result, body: Sequence[Html], data: object) -> str:
    subject = f"{result.family or 'a model'}, {result.scored}, {counted(len(result.parties), 'party', 'parties')}"
    head = f"FLoRA's report of a run: {subject}, seed {result.seed}."
    foot = f"Made by FLoRA {result.versions.get('flora', '')}."
    return whole(f"FLoRA report: {subject}", head, join(body), data, foot)


def whole(title: str, subtitle: str, body: Html, data: object, foot: str) -> str:
    """Return a page with a title, a list of its sections beside them, and what its script needs."""
    script = part("script.js")
    links = [
        element("li", element("a", Html(name), href=f"#{identity}")) for identity, name in HEADING.findall(str(body))
    ]
    banner = element(
        "header",
        element("h1", "Hyper-parameters for one federated training"),
        element("p", subtitle, class_="soft"),
        sections.hint(),
    )
    skip = element("a", "Skip to the answer", href="#answer", class_="skip")
    contents = element("nav", element("ul", *links), aria_label="Contents")
    main = element("main", body, id="main")
    layout = element("div", contents, main, class_="layout")
    scripts = join([script_data("report-data", data), element("script", Html(script))])
    footer = element("footer", element("p", foot))
    inner = element("body", symbols(), skip, banner, layout, footer, scripts)
    return document(title, policy(script), inner)


def document(title: str, allowed: str, body: Html) -> str:
    """Return a document of HTML with the style; a policy says what it is ``allowed``."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=allowed),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Html(part("style.css"))),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def policy(*scripts: str, connect: str = "") -> str:
    """Return a policy that lets these scripts run and no other, and lets nothing be fetched but as told."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    rest = "img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; {rest}{connect}"


def part(name: str) -> str:
    """Return a file that stands beside this one."""
    return files("flora.outcome.report").joinpath(name).read_text(encoding="utf-8")
