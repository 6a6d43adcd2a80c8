"""The page of a run that goes on: its steps, its parties, and the surface as it forms."""

from collections.abc import Sequence

from flora.outcome.forming import Forming
from flora.outcome.live import SILENT, Live, LiveParty, LiveStep
from flora.outcome.numbers import counted, decimals, number, plain
from flora.outcome.report import charts
from flora.outcome.report.assembly import document, part, policy
from flora.outcome.report.heat import chosen_axes, colour_key, drawn_map, map_data
from flora.outcome.report.markup import Html, element, join, table
from flora.outcome.report.plot import symbols
from flora.outcome.report.sections import legend
from flora.problem.trials import PartyTrials

_MARKS = (("mark plain", "★", "the minimum now"), ("mark plain", "✖", "the default"))
WAITING = "No run goes on there now. This page shows one as soon as it begins its search."


def live_page(name: str) -> str:
    """Return the empty page, which asks its own server, and nobody else, how far the run is."""
    script = part("live.js")
    body = element(
        "body",
        symbols(),
        element(
            "header", element("h1", f"A run under way: {name}"), element("p", id="line", class_="soft", role="status")
        ),
        element("main", element("div", id="steps"), element("div", id="surface"), id="main", class_="live"),
        element("noscript", element("p", "This page needs JavaScript: it asks every second how far the run is.")),
        element("script", Html(script)),
    )
    return document(f"{name}: FLoRA, under way", policy(script, connect="; connect-src 'self'"), body)


def line(live: Live | None) -> str:
    """Return how far a run is, in a sentence."""
    if live is None:
        return WAITING
    if live.silence > SILENT:
        return f"No sign of life for {live.silence:.0f} s: the run was stopped, and the same command goes on with it."
    return _words(live.steps[-1]) if live.steps else "The run begins."


def _words(step: LiveStep) -> str:
    far = f", {step.done} of {step.total}" if step.total > 1 and " of " not in step.words else ""
    inside = f", {step.inside}" if step.inside else ""
    left = "" if step.left is None else f", about {step.left:.0f} s left"
    return f"{step.words}{far}{inside}, {step.seconds:.0f} s{left}"


def steps(live: Live, trials: Sequence[PartyTrials]) -> Html:
    """Return what is done, and how far each party is."""
    listed = [
        element("li", _words(step), class_="done" if step.ended else "now", aria_current=None if step.ended else "step")
        for step in live.steps
    ]
    known = {party.party: party for party in trials}
    digits = decimals(party.best.error for party in trials)
    rows = [_party(party, known.get(party.name), digits) for party in live.parties]
    scoring = live.plan.scoring if live.plan else "the scoring"
    head = ["party", "search", "trials", "loss of the default", "lowest loss so far"]
    caption = f"The parties (a loss is that of {scoring}: lower is better)"
    return join(
        [
            element("section", element("h2", "Steps"), element("ol", *listed, class_="steps")),
            element("section", element("h2", "Parties"), table(caption, head, rows, numbers=3)),
        ]
    )


def _party(party: LiveParty, found: PartyTrials | None, digits: int) -> list[object]:
    share = party.done / party.total if party.total else 0.0
    bar = element("progress", max=1, value=f"{share:.3f}", aria_label=f"search of {party.name}")
    count = f"{party.done} of {party.total}" if party.total else "–"
    default = found.default.loss if found and found.default else None
    best = found.best.loss if found else None
    state = join([bar, f" {party.state}" * bool(party.state)])
    return [party.name, state, count, plain(default, digits), plain(best, digits)]


def surface(found: Forming | None) -> Html:
    """Return the surface so far, over the two HPs that matter most in it."""
    heading = element("h2", "The surface so far")
    if found is None or found.survey is None:
        return element(
            "section",
            heading,
            element(
                "p",
                "It is drawn from a party's first few trials on; across machines, when its search has ended.",
            ),
        )
    run = found.survey
    best = ", ".join(f"{name} {number(value)}" for name, value in run.measured.items())
    words = (
        f"Learnt from {counted(found.count, 'pair', 'pairs')} of config and loss, of "
        f"{counted(len(run.trials), 'party', 'parties')}. Its minimum now: {best}. "
        "It will change, and nothing is confirmed yet."
    )
    if len(run.axes) < 2:
        drawn = [charts.panel_grid(charts.slices(run, run.slices()))]
    else:
        data = map_data(run)
        drawn = [element("figure", drawn_map(run, data, chosen_axes(run))), colour_key(data["edges"])]
    return element("section", heading, element("p", words), *drawn, legend(run, _MARKS))
