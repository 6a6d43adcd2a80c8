"""The report in a real browser: it draws, answers, asks the network for nothing, and fits the phone and paper."""

from pathlib import Path
from typing import Any

import pytest

from flora.outcome.report import page
from flora.problem.space import SearchSpace
from tests.browser.conftest import Open
from tests.outcome.report.cases import EVIL, EVIL_PARTY, aggregated, tuned

pytestmark = pytest.mark.browser

ONE_HP = SearchSpace.from_json({"C": {"type": "real", "range": [0, 1]}})
MARKS = ".scatterlayer .points path, .scatterlayer .js-line, .barlayer path, .heatmaplayer image"
DRAWN = f"charts => charts.map(chart => [chart.id, chart.querySelectorAll('{MARKS}').length])"
MAP = """() => {
    const map = document.getElementById("map");
    return {
        titles: [map.layout.xaxis.title.text, map.layout.yaxis.title.text],
        ticks: [...map.querySelectorAll(".xtick text")].map(text => text.textContent),
        picture: map.querySelector(".heatmaplayer image").getAttribute("href"),
        table: document.getElementById("map-table").textContent,
    };
}"""


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of very different runs, as files."""
    runs = {
        "tuned": tuned(["north", "south", "west"]),
        "aggregated": aggregated(["only"], ONE_HP),
        "hostile": tuned([EVIL_PARTY, "b" * 200], EVIL),
        "many": tuned([f"clinic-{k:02d}" for k in range(50)], surface="sgm", count=6),
    }
    folder = tmp_path_factory.mktemp("reports")
    for name, case in runs.items():
        (folder / f"{name}.html").write_text(page(*case), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in runs}


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["tuned", "aggregated", "hostile", "many"])
def test_draws_every_chart_in_silence_without_network_or_overflow(
    opened: Open, files: dict[str, Path], name: str, width: int
) -> None:
    found = opened(files[name], width)
    assert found.said == []
    assert found.requested == [files[name].as_uri()]
    drawn: list[tuple[str, int]] = found.page.eval_on_selector_all(".chart", DRAWN)
    assert drawn
    assert [chart for chart, marks in drawn if marks == 0] == []
    assert found.page.evaluate("() => document.documentElement.scrollWidth") == width
    ends = "charts => charts.map(chart => chart.querySelector('.main-svg').getBoundingClientRect().right)"
    assert max(found.page.eval_on_selector_all(".chart", ends)) <= width


class TestMap:
    def test_follows_the_two_choices(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"]).page
        found.select_option("#map-across", label="C")
        found.select_option("#map-up", label="depth")
        before: dict[str, Any] = found.evaluate(MAP)
        assert before["titles"] == ["C", "depth"]
        found.select_option("#map-across", label="kernel")
        after: dict[str, Any] = found.evaluate(MAP)
        assert after["titles"] == ["kernel", "depth"]
        assert after["ticks"] == ["rbf", "poly", "sigmoid"]
        assert after["picture"] != before["picture"]
        assert after["table"] != before["table"]

    def test_the_same_choice_twice_makes_them_change_places(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"]).page
        found.select_option("#map-across", label="C")
        found.select_option("#map-up", label="depth")
        found.select_option("#map-across", label="depth")
        assert found.evaluate(MAP)["titles"] == ["depth", "C"]

    def test_the_choices_work_by_keyboard(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"]).page
        found.select_option("#map-across", label="C")
        found.focus("#map-across")
        found.keyboard.press("k")
        assert found.evaluate(MAP)["titles"][0] == "kernel"


class TestParties:
    FAINT = "() => document.getElementById('trials-0').data.map(trace => trace.opacity)"

    def test_one_of_few_can_be_chosen(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"]).page
        assert found.evaluate(self.FAINT)[:3] == [0.85, 0.85, 0.85]
        found.select_option("#party", label="south")
        assert found.evaluate(self.FAINT)[:3] == [0.12, 0.85, 0.12]
        assert found.eval_on_selector("#map-party", "select => select.selectedOptions[0].textContent") == "south"

    def test_one_of_many_can_be_chosen(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["many"]).page
        found.select_option("#party", label="clinic-07")
        assert found.evaluate(self.FAINT)[:2] == [0.12, 0.85]
        assert found.evaluate("() => document.getElementById('trials-0').data[1].x.length") == 6


class TestColours:
    BACK = "() => getComputedStyle(document.body).backgroundColor"
    INK = "() => getComputedStyle(document.querySelector('#importance-bars .xtick text')).fill"

    def test_follow_light_and_dark(self, opened: Open, files: dict[str, Path]) -> None:
        from playwright.sync_api import expect

        found = opened(files["tuned"], 1280, "dark").page
        assert found.evaluate(self.BACK) == "rgb(20, 23, 26)"
        assert found.evaluate(self.INK) == "rgb(236, 239, 241)"
        found.emulate_media(color_scheme="light")
        assert found.evaluate(self.BACK) == "rgb(255, 255, 255)"
        expect(found.locator("#importance-bars .xtick text").first).to_have_css("fill", "rgb(26, 26, 26)")


class TestPaper:
    def test_is_light_and_narrow(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"], 1280, "dark").page
        found.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        widths = "charts => charts.map(c => c.querySelector('.main-svg').getBoundingClientRect().width)"
        assert max(found.eval_on_selector_all(".chart", widths)) <= 690
        assert found.evaluate(TestColours.INK) == "rgb(26, 26, 26)"
        found.evaluate("() => dispatchEvent(new Event('afterprint'))")
        assert max(found.eval_on_selector_all(".chart", widths)) > 690
        assert found.evaluate(TestColours.INK) == "rgb(236, 239, 241)"

    def test_can_be_printed(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"])
        assert found.page.pdf(format="A4").startswith(b"%PDF")
        assert found.said == []


def test_the_first_stop_of_the_keyboard_leads_to_the_answer(opened: Open, files: dict[str, Path]) -> None:
    found = opened(files["tuned"]).page
    found.keyboard.press("Tab")
    assert found.evaluate("() => document.activeElement.textContent") == "Skip to the answer"
    found.keyboard.press("Enter")
    assert found.evaluate("() => location.hash") == "#answer"
