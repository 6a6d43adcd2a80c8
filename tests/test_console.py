"""What a person sees."""

import io
from collections.abc import Iterator
from dataclasses import replace
from threading import Event

import pytest
from rich.console import Console

from flora.console import progress_bars, show_result, time_left, work_bar
from flora.recommendation import Recommendation
from flora.result import aggregate_document
from flora.surface import SurfaceChoice
from flora.verdict import Gain, Verdict
from tests.test_result import aggregation, trials

CONFIG = {"C": 2.0, "gamma": 0.1, "tol": 1e-3}


def shown(*names: str, verdict: Verdict | None, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    parties = [trials(name, 0.25) for name in names]
    found = aggregation(*parties, recommendation=Recommendation(CONFIG, 0.1, 0.02), verdict=verdict)
    show_result(aggregate_document(found, SurfaceChoice(), "mean", 0), console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(("gain", "words"), [(0.05, "Use these."), (-0.05, "Keep the defaults")])
def test_the_verdict_is_in_plain_words(gain: float, words: str) -> None:
    text = shown("north", verdict=Verdict(Gain(gain, 0.01), "predicted"))
    assert words in text
    assert f"{gain:+.4f} ± 0.0100 (standard error, predicted)" in text
    assert "No default config is known" in shown("north", verdict=None)


def test_a_gain_that_the_surface_predicts_too_is_said_to_be_one() -> None:
    text = " ".join(shown("north", verdict=Verdict(Gain(0.01, 0.02), "measured and predicted")).split())
    assert "Use these: the surface predicts a gain beyond its error, and the measured one agrees." in text
    assert "+0.0100 ± 0.0200 (standard error, measured and predicted)" in text


def test_names_are_text_and_not_markup() -> None:
    text = shown("[red]ward[/red]", "[/]", verdict=None)
    assert "[red]ward[/red]" in text
    assert "[/]" in text


def test_bars_show_in_a_terminal_and_nowhere_else() -> None:
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=90)
        with progress_bars(["[b]a", "b"], console) as report:
            report("[b]a", 3, 10)
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert ("3/10" in text and "[b]a" in text) == terminal
        assert terminal or text == ""


def test_a_bar_over_others_work_tells_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flora.console.SECONDS", 0.01)
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=90)
        looks = iter(range(3))
        seen = Event()

        def work(looks: Iterator[int] = looks, seen: Event = seen) -> tuple[float, float]:
            done = next(looks, None)
            if done is None:
                seen.set()
            return 8.0, 2.0 if done is None else float(done)

        with work_bar("table svm", work, console):
            assert not terminal or seen.wait(10)
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert ("table svm" in text and " 25%" in text and "left " in text) == terminal
        assert terminal or text == ""


def test_the_time_left_is_as_long_as_what_was_done_says() -> None:
    assert time_left(3600, 2, 3) == "1:30:00"
    assert time_left(3600, 2, 0) == "0:00:00"
    assert time_left(5, 0, 3) == time_left(5, 1, None) == "-:--:--"


def test_numbers_fit_into_eighty_columns() -> None:
    party = replace(trials("a", 0.25), rows=45_312)
    console = Console(file=io.StringIO(), width=80)
    found = aggregation(party, recommendation=Recommendation(CONFIG, 0.1, 0.02), verdict=None)
    document = aggregate_document(found, SurfaceChoice(), "mean", 0)
    measured = {"recommended_loss": 0.123, "recommended_loss_error": 0.012, "gain": 0.01, "gain_error": 0.002}
    losses = {"default_loss": 0.133, "default_loss_error": 0.011}
    document["parties"] = [{**document["parties"][0], **losses, **measured}]
    show_result(document, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text
    assert "+0.010 ± 0.002" in text


def test_candidates_are_shown_and_who_disagrees_if_anybody_does() -> None:
    found = aggregation(trials("[b]a", 0.25), recommendation=Recommendation(CONFIG, 0.1, 0.02), verdict=None)
    document = aggregate_document(found, SurfaceChoice(), "mean", 0)
    default = {"config": {**CONFIG, "C": 1.0}, **Gain(0.0, 0.0).to_json()}
    document["candidates"] = [default, {"config": CONFIG, **Gain(0.012, 0.004).to_json()}]

    def text(**diagnosis: object) -> str:
        console = Console(file=io.StringIO(), width=80)
        show_result({**document, "parties": [{**document["parties"][0], **diagnosis}] * 7}, console)
        return " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]

    assert "default 1 0.1 0.001 +0.0000 ± 0.0000" in text()
    assert "chosen 2 0.1 0.001 +0.0120 ± 0.0040" in text()
    assert "far from the other parties" not in text(distance=0.4, disagrees=False)
    line = "note: gains far from the other parties', in standard errors: [b]a (+3.2), [b]a (+3.2)"
    assert line in text(distance=3.21, disagrees=True)
    assert "[b]a (+3.2) and 2 more" in text(distance=3.21, disagrees=True)
    slow = {"config": {**CONFIG, "C": 3.0}, "keeps_up": False, **Gain(0.02, 0.004).to_json()}
    assert "more slowly" not in text()
    document["candidates"].append(slow)
    assert "note: candidate 2 gains more, but learns more slowly than the default: a training on all rows" in text()
    document["candidates"].append({**slow, "config": {**CONFIG, "C": 4.0}})
    assert "note: candidates 2, 3 gain more, but learn more slowly than the default" in text()
    document["candidates"][2:] = [{**slow, **Gain(0.01, 0.004).to_json()}]  # the chosen one gains more
    assert "more slowly" not in text()
    document["candidates"] = []
    assert "Candidates" not in text()
