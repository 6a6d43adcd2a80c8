"""What a command says of the folder that it wrote."""

from pathlib import Path

from flora.cli.printing import note, print_line
from flora.outcome.explain import trained_words
from flora.outcome.folder import REPORT
from flora.program.result import Result


def show_written(result: Result, out: Path) -> None:
    """Say what was trained, and where all of it is."""
    print_line(" ".join(filter(None, (trained_words(result), result.training))))
    beside = ", ".join(filter(None, ("result.json", result.model)))
    note(f"Written: {out / REPORT} to look at; {beside} and trials are beside it")
