from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest

from flora.engines.nvflare.foreground import Foreground
from flora.errors import FloraError


@pytest.fixture
def desk(tmp_path: Path) -> Foreground:
    """A desk that is open."""
    opened = Foreground(tmp_path / "desk")
    opened.open()
    return opened


def never() -> bool:
    return False


def asked(desk: Foreground) -> tuple[str, str]:
    while (question := desk.question()) is None:
        sleep(0.01)
    return question


def test_lines_come_once_and_in_order(desk: Foreground) -> None:
    assert desk.lines(0) == ([], 0)
    desk.say("one")
    desk.say("two\nlines")
    lines, place = desk.lines(0)
    assert lines == ["one", "two\nlines"]
    assert desk.lines(place) == ([], place)
    desk.say("three")
    assert desk.lines(place)[0] == ["three"]


@pytest.mark.parametrize("yes", [True, False])
def test_a_question_waits_for_its_answer(desk: Foreground, yes: bool) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(desk.ask, "all of it?", never)
        name, text = asked(desk)
        assert text == "all of it?"
        desk.answer("another question", yes=not yes)
        assert not waiting.done()
        desk.answer(name, yes=yes)
        assert waiting.result(timeout=5) is yes
    assert desk.question() is None


def test_the_answer_of_an_earlier_question_counts_for_nothing(desk: Foreground) -> None:
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(desk.ask, "one?", never)
        name, _ = asked(desk)
        desk.answer(name, yes=True)
        assert first.result(timeout=5)
        second = pool.submit(desk.ask, "two?", never)
        while asked(desk)[0] == name:
            sleep(0.01)
        assert not second.done()
        desk.answer(asked(desk)[0], yes=False)
        assert not second.result(timeout=5)


def test_a_stopped_run_does_not_wait(desk: Foreground) -> None:
    with pytest.raises(FloraError, match="stopped before there was an answer"):
        desk.ask("?", lambda: True)


def test_to_open_it_again_forgets_all(desk: Foreground) -> None:
    desk.say("old")
    desk.answer("old", yes=True)
    desk.open()
    assert desk.lines(0) == ([], 0)
    assert desk.question() is None
