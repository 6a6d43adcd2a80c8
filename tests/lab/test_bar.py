"""The bar over the laboratory's work."""

import io
from collections.abc import Iterator
from threading import Event

import pytest
from rich.console import Console

from flora_lab.bar import time_left, work_bar


def test_a_bar_over_others_work_tells_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flora_lab.bar.SECONDS", 0.01)
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
