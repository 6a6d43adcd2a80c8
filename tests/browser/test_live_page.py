"""The page of a run that goes on in a real browser: it follows the run, asks nobody else, and ends as the report."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from flora.cli.watch import served
from flora.outcome.live import Live, LiveParty, LiveStep
from flora.outcome.report import page
from flora.problem.plan import SearchPlan
from flora.problem.trials import PartyTrials
from flora.program.request import Request
from tests.outcome.report.cases import EVIL_PARTY, tuned

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


class Staged:
    """A run whose progress the test decides."""

    name = "run"

    def __init__(self) -> None:
        self.result, self.sent = tuned([EVIL_PARTY, "south"])
        plan = SearchPlan("svm", "classification", self.sent[0].space, self.sent[0].scoring)
        parties = [LiveParty(party.party, 3, 9) for party in self.sent]
        step = LiveStep("search", 4.0, ended=False, done=6, total=18, left=8.0)
        self.now: Live | None = Live.of(Request(), plan, parties, [step])

    def live(self) -> Live | None:
        return self.now

    def trials(self, live: Live) -> list[PartyTrials]:
        return list(self.sent)

    def report(self) -> str | None:
        return page(self.result, self.sent)


@pytest.mark.parametrize("width", [1280, 400])
def test_it_follows_the_run_in_silence_and_ends_as_the_report(browser: "Browser", width: int) -> None:
    run, said, asked = Staged(), [], []
    with served(run, port=0) as address:
        context = browser.new_context(viewport={"width": width, "height": 900})
        shown = context.new_page()
        shown.on("console", lambda message: said.append(message.text))
        shown.on("pageerror", lambda error: said.append(str(error)))
        shown.on("request", lambda request: asked.append(request.url))
        shown.goto(address)
        shown.wait_for_selector("#map use")
        assert shown.text_content("#line") == "search, 6 of 18, 4 s, about 8 s left"
        assert EVIL_PARTY in str(shown.text_content("#steps"))  # as text, not as markup
        assert shown.evaluate("() => document.documentElement.scrollWidth") == width
        assert run.now is not None
        run.now = replace(run.now, steps=(*run.now.steps, LiveStep("training 1 of 11", 1.0, ended=False, total=11)))
        shown.wait_for_function("() => document.getElementById('line').textContent.startsWith('training 1 of 11')")
        run.now = None
        shown.wait_for_selector("#answer")
        context.close()
    assert said == []
    assert {url.removeprefix(address) for url in asked} <= {"", "now"} | {
        url for url in asked if url.startswith("data:")
    }


def test_a_server_that_has_ended_is_said(browser: "Browser") -> None:
    context = browser.new_context()
    shown = context.new_page()
    with served(Staged(), port=0) as address:
        shown.goto(address)
        shown.wait_for_selector("#steps li")
    shown.wait_for_function("() => document.getElementById('line').textContent.includes('has ended')")
    context.close()
