"""What a person sees."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from flora.aggregator.recommend import Recommendation
from flora.aggregator.verdict import Basis, Verdict
from flora.outcome.console import progress_bars, show_evaluation, show_result
from flora.outcome.evaluation import Evaluation, Figure
from flora.problem.trials import Gain
from flora.program.party_result import MeasuredGain
from flora.program.request import Request
from flora.program.result import Result, result_of
from flora.program.result_parts import CandidateResult, ModelScore, StatedGain
from flora.program.single_shot import Outcome
from tests.program.test_result import CONFIG, aggregation, trials


def stated(*names: str, verdict: Verdict | None = None) -> Result:
    parties = [trials(name, 0.25) for name in names]
    found = aggregation(*parties, recommendation=Recommendation(CONFIG, CONFIG, 0.1, 0.02), verdict=verdict)
    return result_of(Outcome(found), Request(), {})


def printed(result: Result) -> str:
    console = Console(file=io.StringIO(), width=80)
    show_result(result, console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def shown(*names: str, verdict: Verdict | None) -> str:
    return printed(stated(*names, verdict=verdict))


def test_a_note_is_one_line_however_long_it_is() -> None:
    long = f"a, b: {'one value only in many columns, ' * 10}and no more"
    assert f"\nnote: {long}\n" in printed(replace(stated("north"), notes=(long,)))


@pytest.mark.parametrize(
    ("gain", "basis", "words"),
    [
        (
            0.05,
            "trained",
            "+0.048, from +0.034 to +0.066 (90% interval). A gain is shown",
        ),
        (0.01, "trained", "A gain is likely, but not shown"),
        (0.05, "predicted", "A gain is likely, but not shown"),
        (0.001, "measured", "Keep the defaults. Expected gain in accuracy: 0.000, from -0.015 to +0.017"),
        (-0.05, "measured", "The recommendation is shown to be no better."),
    ],
)
def test_the_verdict_is_in_plain_words(gain: float, basis: Basis, words: str) -> None:
    verdict = Verdict(Gain(gain, 0.01), basis)
    text = " ".join(shown("north", verdict=verdict).split())
    assert words in text
    assert "No default config is known" in shown("north", verdict=None)
    assert ("settle" in text) == (verdict.grade != "shown")


@pytest.mark.parametrize(("gain", "green"), [(0.05, True), (0.01, False), (0.001, False), (-0.05, True)])
def test_nothing_is_green_that_is_not_shown(gain: float, green: bool) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    show_result(stated("north", verdict=Verdict(Gain(gain, 0.01), "trained")), console)
    assert ("\x1b[1;32m" in console.file.getvalue()) == green  # type: ignore[attr-defined]


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


def test_numbers_fit_into_eighty_columns() -> None:
    result = stated("a")
    measured = replace(
        result.parties[0],
        rows=45_312,
        default_loss=0.133,
        default_loss_error=0.011,
        recommended_loss=0.123,
        recommended_loss_error=0.012,
        measured=MeasuredGain(0.01, 0.002, None, False, None, None),
    )
    text = printed(replace(result, parties=(measured,)))
    assert "…" not in text
    assert "45312" in text
    assert "0.133 ± 0.011" in text
    assert "0.123 ± 0.012" in text
    assert "+0.010 ± 0.002" in text


def candidate(change: dict[str, float], gain: float, error: float, *, keeps_up: bool = True) -> CandidateResult:
    config = {**CONFIG, **change}
    return CandidateResult(config, config, keeps_up, StatedGain.of(Gain(gain, error)))


DEFAULT, CHOSEN = candidate({"C": 1.0}, 0.0, 0.0), candidate({}, 0.012, 0.004)


def text_with(*candidates: CandidateResult) -> str:
    return " ".join(printed(replace(stated("a"), candidates=candidates)).split())


def test_candidates_are_shown() -> None:
    text = text_with(DEFAULT, CHOSEN)
    assert "default 1 0.1 0.001 0" in text
    assert "1 (chosen) 2 0.1 0.001 +0.0120 ± 0.0040" in text
    assert "Candidates" not in text_with()


def test_who_disagrees_is_named_if_anybody_does() -> None:
    result = stated("[b]a")

    def text(distance: float, *, disagrees: bool) -> str:
        measured = MeasuredGain(0.01, 0.002, distance, disagrees, CONFIG, "use")
        return " ".join(printed(replace(result, parties=(replace(result.parties[0], measured=measured),) * 7)).split())

    assert "far from the other parties" not in text(0.4, disagrees=False)
    line = "note: gains far from the other parties', in standard errors: [b]a (+3.2), [b]a (+3.2)"
    assert line in text(3.21, disagrees=True)
    assert "[b]a (+3.2) and 2 more" in text(3.21, disagrees=True)


def test_who_gains_more_and_was_passed_over_is_named() -> None:
    slow = candidate({"C": 3.0}, 0.02, 0.004, keeps_up=False)
    slower = candidate({"C": 4.0}, 0.02, 0.004, keeps_up=False)
    assert "more slowly" not in text_with(DEFAULT, CHOSEN)
    words = "note: candidate 2: gains more, but learns more slowly than the default: a training on all rows"
    assert words in text_with(DEFAULT, CHOSEN, slow)
    words = "note: candidates 2, 3: gains more, but learns more slowly than the default"
    assert words in text_with(DEFAULT, CHOSEN, slow, slower)
    behind = candidate({"C": 3.0}, 0.01, 0.004, keeps_up=False)  # the chosen one gains more
    assert "more slowly" not in text_with(DEFAULT, CHOSEN, behind)


def test_an_evaluation_stands_beside_what_the_run_measured() -> None:
    file = io.StringIO()
    found = Evaluation(90, (Figure("accuracy", 0.8, 0.01),), in_training=ModelScore(0.9, 0.02, 5, 0.7))
    show_evaluation(found, Console(file=file, width=100))
    assert "left out: this config had 0.9000 ± 0.0200, the default 0.7000" in file.getvalue()
