"""The end of a run: its folder is written, and what is in it is shown."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from flora.cli.options import WorkOptions
from flora.cli.plain import print_line
from flora.cli.printing import messages, note
from flora.outcome.console import show_result
from flora.outcome.explain import trained_words
from flora.outcome.folder import REPORT, RunFolder
from flora.problem.trials import PartyTrials
from flora.program.result import Result


def finish(
    folder: RunFolder, result: Result, trials: Sequence[PartyTrials], model: bytes, work: WorkOptions
) -> dict[str, Any]:
    """Write what a run found out, and show it."""
    result = replace(result, command=work.typed)
    folder.finish(result, trials, model)
    if not work.json:
        show_result(result, Console(), messages)
        show_written(result, work.out)
    return result.to_document()


def show_written(result: Result, out: Path) -> None:
    """Say what was trained, and where all of it is."""
    print_line(" ".join(filter(None, (trained_words(result), result.training))))
    parts = ["result.json", *([result.model] if result.model else []), *([] if result.private else ["trials"])]
    beside = f"{', '.join(parts[:-1])} and {parts[-1]} are" if len(parts) > 1 else f"{parts[0]} is"
    note(f"Written: {out / REPORT} to look at; {beside} beside it")
