"""The laboratory's command line."""

import pytest

from flora.errors import FloraError, InputError
from flora_lab import main as lab
from flora_lab.main import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_may_be_typed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    assert f"flora-lab {command}" in capsys.readouterr().out


@pytest.mark.parametrize("typed", [[], ["nonsense"], ["paper", "nonsense"], ["judge", "--parties", "x"]])
def test_what_cannot_be_parsed_gets_one_line(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(typed)
    assert left.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (InputError("no such thing"), 2, "flora-lab: error: no such thing\n"),
        (FloraError("it broke"), 1, "flora-lab: it broke\n"),
        (
            KeyboardInterrupt(),
            1,
            "flora-lab: stopped; what is done is kept, the same command goes on from here\n",
        ),
    ],
)
def test_errors_have_one_line_and_a_code(
    error: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Command:
        def add_arguments(self, parser: object) -> None: ...

        def run(self, parsed: object) -> None:
            raise error

    monkeypatch.setattr(lab, "import_module", lambda name: Command())
    assert main(["pack"]) == code
    assert capsys.readouterr().err == words
