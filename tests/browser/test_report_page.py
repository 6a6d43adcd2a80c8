"""The report in a real browser: it draws, answers, asks the network for nothing, and fits the phone and paper."""

from pathlib import Path
from typing import Any

import pytest

from flora.outcome.report import page
from flora.problem.space import SearchSpace
from tests.browser.conftest import Open
from tests.outcome.report.cases import EVIL, EVIL_PARTY, aggregated, tuned

pytestmark = pytest.mark.browser

THREE_HPS = SearchSpace.from_json(
    {name: {"type": "real", "space": "log", "range": [1e-5, 0.1]} for name in ("gamma", "tol", "alpha")}
)
LONG_HP = "learning_rate_of_the_second_optimiser_with_a_very_long_name"
LONG = SearchSpace.from_json({LONG_HP: {"type": "real", "space": "log", "range": [1e-5, 0.1], "default": 1e-3}})
ONE_HP = SearchSpace.from_json({"C": {"type": "real", "range": [0, 1]}})
MARKS = "use, path, rect, circle, image"
DRAWN = f"charts => charts.map(chart => [chart.id, chart.querySelectorAll('{MARKS}').length])"
MAP = """() => {
    const map = document.getElementById("map");
    const texts = (kind) => [...map.querySelectorAll(kind)].map(text => text.textContent);
    const star = map.querySelector('[href="#star"]');
    return {
        titles: [texts(".across .axis")[0], texts(".up .axis")[0]],
        ticks: texts(".across .tick"),
        picture: map.querySelector("image").getAttribute("href"),
        turned: map.querySelector("image").getAttribute("transform"),
        star: [star.getAttribute("x"), star.getAttribute("y")],
        table: document.getElementById("map-table").textContent,
    };
}"""


DOTS = """dots => dots.map(dot => {
    const box = dot.getBoundingClientRect(), line = dot.ownerSVGElement.getBoundingClientRect();
    return (box.left + box.right) / 2 - line.left - parseFloat(dot.getAttribute("x")) / 100 * line.width;
})"""


BROKEN = r"""() => {
    document.querySelectorAll("details").forEach(part => part.open = true);
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const match = node.data.match(/[+-]?[\d.]+\s*±\s*[\d.]+/), range = document.createRange();
        if (!match) continue;
        range.setStart(node, match.index);
        range.setEnd(node, match.index + match[0].length);
        if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) found.push(match[0]);
    }
    return found;
}"""
TOUCHING = """charts => charts.flatMap(chart => {
    const boxes = [...chart.querySelectorAll(".across .tick")].map(tick => tick.getBoundingClientRect());
    return boxes.slice(1).filter((box, k) => box.left < boxes[k].right + 2).map(() => chart.id);
})"""


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of very different runs, as files."""
    runs = {
        "tuned": tuned(["north", "south", "west"]),
        "aggregated": aggregated(["only"], ONE_HP),
        "narrow": aggregated(["north", "south"], THREE_HPS),
        "hostile": tuned([EVIL_PARTY, "b" * 200], EVIL),
        "long": tuned(["north", "south"], LONG),
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
    ends = "charts => charts.map(chart => chart.getBoundingClientRect().right)"
    assert max(found.page.eval_on_selector_all(".chart", ends)) <= width


@pytest.mark.parametrize("width", [1280, 700, 400])
@pytest.mark.parametrize("name", ["tuned", "many"])
def test_no_number_parts_from_its_error(opened: Open, files: dict[str, Path], name: str, width: int) -> None:
    found = opened(files[name], width).page
    assert found.evaluate(BROKEN) == []
    assert "±" in found.inner_text("#evidence")


def test_no_label_runs_into_the_next_one_on_paper(opened: Open, files: dict[str, Path]) -> None:
    found = opened(files["narrow"], 680).page  # as wide as a page of paper without its margins
    found.emulate_media(media="print")
    assert found.eval_on_selector_all(".panels .chart", TOUCHING) == []


def test_a_gains_dot_stands_where_the_gain_is(opened: Open, files: dict[str, Path]) -> None:
    """All of it: a larger dot that is scaled about a wrong place stands beside its line."""
    aside: list[float] = opened(files["tuned"], 1280).page.eval_on_selector_all("td .dot.all, td .dot.own", DOTS)
    assert len(aside) == 4
    assert max(map(abs, aside)) < 1


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
        after = found.evaluate(MAP)
        assert after["titles"] == ["depth", "C"]
        assert after["turned"].startswith("matrix(0 -1 -1 0")

    def test_the_choices_work_by_keyboard(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"]).page
        found.select_option("#map-across", label="C")
        found.focus("#map-across")
        found.keyboard.press("k")
        assert found.evaluate(MAP)["titles"][0] == "kernel"


class TestParties:
    OPACITY = "groups => groups.map(group => Number(getComputedStyle(group).opacity))"

    @pytest.mark.parametrize(("name", "party", "place"), [("tuned", "south", 1), ("many", "clinic-07", 7)])
    def test_one_can_be_chosen(self, opened: Open, files: dict[str, Path], name: str, party: str, place: int) -> None:
        found = opened(files[name]).page
        assert set(found.eval_on_selector_all("#trials-0 .party", self.OPACITY)) == {1}
        found.select_option("#party", label=party)
        faint = found.eval_on_selector_all("#trials-0 .party", self.OPACITY)
        assert [k for k, opacity in enumerate(faint) if opacity == 1] == [place]
        assert found.eval_on_selector("#map-party", "select => select.selectedOptions[0].textContent") == party


class TestTips:
    def test_a_mark_says_whose_trial_it_is(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"]).page
        found.locator("#trials-0 .party use").first.hover(force=True)
        assert found.text_content("#tip").startswith("north\nloss ")  # type: ignore[union-attr]

    def test_a_word_is_explained_to_the_keyboard_too(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"]).page
        found.focus("#surface .term")
        assert found.is_visible("#tip")
        assert "prediction of the federated loss" in str(found.text_content("#tip"))


class TestPhone:
    def test_shows_the_answer_and_the_rest_by_its_headings(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"], 400).page
        unfolded = "all => all.filter(fold => fold.open).map(fold => fold.parentElement.id)"
        assert found.eval_on_selector_all("details.section", unfolded) == ["answer"]
        found.click("#parties summary")
        assert found.is_visible("#trials-0")
        assert found.evaluate("() => document.documentElement.scrollWidth") == 400


class TestColours:
    BACK = "() => getComputedStyle(document.body).backgroundColor"
    INK = "() => getComputedStyle(document.querySelector('#slice-0 .tick')).fill"

    def test_follow_light_and_dark(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"], 1280, "dark").page
        assert (found.evaluate(self.BACK), found.evaluate(self.INK)) == ("rgb(20, 23, 26)", "rgb(170, 178, 186)")
        found.emulate_media(color_scheme="light")
        assert (found.evaluate(self.BACK), found.evaluate(self.INK)) == ("rgb(255, 255, 255)", "rgb(83, 91, 100)")


class TestPaper:
    def test_is_light_and_shows_all_evidence(self, opened: Open, files: dict[str, Path]) -> None:
        found = opened(files["tuned"], 1280, "dark").page
        closed = "all => all.filter(fold => !fold.open).length"
        assert found.eval_on_selector_all("details", closed) > 0
        found.emulate_media(media="print", color_scheme="dark")
        found.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        assert found.evaluate(TestColours.BACK) == "rgb(255, 255, 255)"
        assert found.eval_on_selector_all("details", closed) == 0
        assert found.is_visible("text=Gain over the default, over all parties")
        assert found.is_visible("#map-table")
        found.evaluate("() => dispatchEvent(new Event('afterprint'))")
        assert found.eval_on_selector_all("details", closed) > 0

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


def test_the_reasons_beside_the_candidates_keep_their_room(opened: Open, tmp_path: Path) -> None:
    names = ("max_iter", "learning_rate", "min_samples_leaf", "l2_regularization", "class_balance")
    real = {"type": "real", "space": "log", "range": [1e-5, 0.1], "default": 0.001}
    space = SearchSpace.from_json(dict.fromkeys(names, real))
    path = tmp_path / "wide.html"
    path.write_text(page(*tuned(["north", "south"], space)), encoding="utf-8")
    tab = opened(path, 1280).page
    widths = tab.eval_on_selector_all("td.words", "cells => cells.map(cell => cell.getBoundingClientRect().width)")
    assert widths
    assert min(widths) >= 120


def test_a_phone_shows_the_values_of_a_hyper_parameter_whatever_its_name(opened: Open, files: dict[str, Path]) -> None:
    page = opened(files["long"], width=400).page
    ends = "cells => cells.map(cell => cell.getBoundingClientRect().right)"
    assert max(page.locator("[aria-label=Hyper-parameters] td").evaluate_all(ends)) <= 400
