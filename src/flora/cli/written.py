"""What a command says of the folder that it wrote."""

from pathlib import Path

from flora.cli.printing import note, print_line
from flora.outcome.explain import trained_words
from flora.outcome.folder import REPORT
from flora.program.result import Result


def show_written(result: Result, out: Path) -> None:
    """Say what was trained, and where all of it is."""
    print_line(" ".join(filter(None, (trained_words(result), result.training))))
    parts = ["result.json", *([result.model] if result.model else []), *([] if result.private else ["trials"])]
    beside = f"{', '.join(parts[:-1])} and {parts[-1]} are" if len(parts) > 1 else f"{parts[0]} is"
    note(f"Written: {out / REPORT} to look at; {beside} beside it")
