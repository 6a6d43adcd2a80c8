from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest

from flora.engines.nvflare.foreground import Foreground
from flora.errors import FloraError


@pytest.fixture
def foreground(tmp_path: Path) -> Foreground:
    """A foreground that is open."""
    opened = Foreground(tmp_path)
    opened.open()
    return opened


def never() -> bool:
    return False


def asked(foreground: Foreground) -> tuple[str, str]:
    while (question := foreground.question()) is None:
        sleep(0.01)
    return question


def test_lines_come_once_and_in_order(foreground: Foreground) -> None:
    assert foreground.lines(0) == ([], 0)
    foreground.say("one")
    foreground.say("two\nlines")
    lines, place = foreground.lines(0)
    assert lines == ["one", "two\nlines"]
    assert foreground.lines(place) == ([], place)
    foreground.say("three")
    assert foreground.lines(place)[0] == ["three"]


@pytest.mark.parametrize("yes", [True, False])
def test_a_question_waits_for_its_answer(foreground: Foreground, yes: bool) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(foreground.ask, "all of it?", never)
        name, text = asked(foreground)
        assert text == "all of it?"
        foreground.answer("another question", yes=not yes)
        assert not waiting.done()
        foreground.answer(name, yes=yes)
        assert waiting.result(timeout=5) is yes
    assert foreground.question() is None


def test_a_question_that_was_answered_is_not_asked_again_when_its_answer_has_gone(foreground: Foreground) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(foreground.ask, "one?", never)
        foreground.answer(asked(foreground)[0], yes=True)
        assert waiting.result(timeout=5)
    foreground.answer("another", yes=True)
    assert foreground.question() is None


def test_the_answer_of_an_earlier_question_counts_for_nothing(foreground: Foreground) -> None:
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(foreground.ask, "one?", never)
        name, _ = asked(foreground)
        foreground.answer(name, yes=True)
        assert first.result(timeout=5)
        second = pool.submit(foreground.ask, "two?", never)
        while asked(foreground)[0] == name:
            sleep(0.01)
        assert not second.done()
        foreground.answer(asked(foreground)[0], yes=False)
        assert not second.result(timeout=5)


def test_a_stopped_run_does_not_wait(foreground: Foreground) -> None:
    with pytest.raises(FloraError, match="stopped before there was an answer"):
        foreground.ask("?", lambda: True)


def test_to_open_it_again_forgets_all(foreground: Foreground) -> None:
    foreground.say("old")
    foreground.answer("old", yes=True)
    foreground.open()
    assert foreground.lines(0) == ([], 0)
    assert foreground.question() is None
