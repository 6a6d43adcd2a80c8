"""The command line, as the tests of commands run it."""

from collections.abc import Callable

import pytest

from flora.cli.main import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def flora(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line and return the exit code and what was printed."""

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exit_:  # argparse leaves this way
            code = int(exit_.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
