"""Work in a copy of this process: what comes back, what is raised, and what stays behind."""

import sys

import pytest

from flora.cli.processes import apart
from flora.errors import FloraError, InputError


def test_the_text_comes_back_and_what_was_loaded_does_not() -> None:
    def work() -> str:
        sys.modules["loaded_for_once"] = sys
        return "three columns"

    assert apart(work) == "three columns"
    assert "loaded_for_once" not in sys.modules


def test_an_error_comes_back_as_what_it_was() -> None:
    def wrong() -> str:
        raise InputError("target 'z' is not in the table")

    with pytest.raises(InputError, match="target 'z' is not in the table"):
        apart(wrong)


def test_a_copy_that_fails_otherwise_is_an_error_here(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FloraError, match="ended without an answer"):
        apart(lambda: str(1 / 0))
    assert "ZeroDivisionError" in capfd.readouterr().err
