"""What a person sees: progress bars, and a result as tables."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from flora.core.naming import some_of
from flora.outcome.explain import (
    behind_words,
    candidate_rows,
    edge_words,
    gain_words,
    grade_words,
    grown_words,
    private_words,
    same_as_default,
    score_words,
    settle_words,
)
from flora.outcome.narrow import whole
from flora.outcome.numbers import SPACE, decimals, signed_with_error, with_error
from flora.program.party_result import MeasuredGain, PartyResult
from flora.program.result import Result
from flora.program.scoring import OF_ONE_CLASS, scoring_words

if TYPE_CHECKING:
    from flora.outcome.evaluation import Evaluation
    from flora.party.local_search.search import Progress as Report


@contextmanager
def progress_bars(parties: Sequence[str], console: Console) -> "Iterator[Report]":
    """Show a bar for each party's search; nothing where the output is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bars:
        tasks = {party: bars.add_task(f"search at {escape(party)}", total=None) for party in parties}

        def report(party: str, done: int, total: int) -> None:
            bars.update(tasks[party], completed=done, total=total)

        yield report


def show_result(result: Result, console: Console, aside: Console | None = None) -> None:
    """Print the answer: the config, what each party gains, and the verdict; notes go to ``aside`` where it is given."""
    _show(_configs(result), console)
    if result.private is None:
        _show(_parties(result), console)
    else:
        console.print(f"Private search: {private_words(result)}", highlight=False, soft_wrap=True)
    if result.candidates:
        _show(_candidates(result), console)
    for words in filter(None, (grown_words(result), behind_words(result), edge_words(result))):
        console.print(f"note: {escape(words)}", highlight=False, soft_wrap=True)
    far = [(party.name, party.measured) for party in result.parties if party.measured and party.measured.disagrees]
    if far:
        console.print(_disagreement(far), highlight=False, soft_wrap=True)
    for note in result.notes:
        (aside or console).print(f"note: {escape(note)}", highlight=False, soft_wrap=True)
    console.print(_verdict(result), highlight=False, soft_wrap=True)


def _show(table: Table, console: Console) -> None:
    """Print a table below its title, which may be wider than the table is."""
    console.print(f"[italic]{table.title}[/italic]", highlight=False)
    table.title = None
    console.print(whole(table, console.width))


def _configs(result: Result) -> Table:
    table = Table("HP", title="Hyper-parameters", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    use = result.verdict == "use"  # what is to be used is bold, and nothing else
    for header, bold in (("default", result.verdict == "keep-defaults"), ("recommended", use)):
        table.add_column(header, justify="right", style="bold" if bold else "")
    for name, value in result.config.items():
        table.add_row(escape(name), _value((result.default or {}).get(name)), _value(value))
    return table


def _parties(result: Result) -> Table:
    how = "measured on fresh folds" if result.measured else "as sent"
    title = f"Loss at each party ({escape(result.scored)}, {how})"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("party")
    columns = ["default", "recommended", "gain"] if result.measured else ["best", "default"]
    for header in ("rows", "trials", *columns):
        table.add_column(header, justify="right", no_wrap=True)
    digits = decimals([error for party in result.parties for error in _errors(party)])
    for party in result.parties:
        default = _loss(party.default_loss, party.default_loss_error, digits)
        if party.measured:
            recommended = _loss(party.recommended_loss, party.recommended_loss_error, digits)
            gain = signed_with_error(party.measured.gain, party.measured.gain_error, digits)
            cells = [default, recommended, gain.replace(SPACE, " ")]
        else:
            cells = [_loss(party.best_loss, party.best_loss_error, digits), default]
        table.add_row(escape(party.name), _value(party.rows), str(party.trials), *cells)
    return table


def _errors(party: PartyResult) -> list[float | None]:
    measured = [party.measured.gain_error] if party.measured else []
    return [party.default_loss_error, party.recommended_loss_error, *measured]


def _candidates(result: Result) -> Table:
    title = "Candidates, measured by all parties beside the default"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for name in result.config:
        table.add_column(escape(name), justify="right")
    table.add_column("gain", justify="right", no_wrap=True)
    for row in candidate_rows(result):
        used = row.chosen and result.verdict == "use"
        table.add_row(
            row.role,
            *(escape(row.values[name]) for name in result.config),
            row.gain.replace(SPACE, " "),
            style="bold" if used else None,
        )
    return table


def _disagreement(far: Sequence[tuple[str, MeasuredGain]]) -> str:
    shown = some_of([f"{escape(name)} ({measured.distance:+.1f})" for name, measured in far])
    return f"note: gains far from the other parties', in standard errors: {shown}"


def _verdict(result: Result) -> str:
    gain = result.expected_gain
    if result.verdict is None or gain is None:
        return "No default config is known, so no gain over it can be stated."
    if same_as_default(result):
        return " ".join(
            filter(None, ("[bold yellow]Keep the defaults[/bold yellow].", grade_words(result), score_words(result)))
        )
    colour = "green" if result.grade == "shown" else "yellow"  # nothing is green that is not shown
    words = {"use": "Use these", "keep-defaults": "Keep the defaults"}[result.verdict]
    stated = f"[bold {colour}]{words}[/bold {colour}]. {escape(gain_words(result))}"
    return " ".join(filter(None, (stated, grade_words(result), settle_words(result), score_words(result))))


def show_evaluation(found: "Evaluation", console: Console) -> None:
    """Print how good a model is on new rows: scores, confusion, calibration."""
    by = f", which count by {found.weight}" if found.weight else ""
    scores = Table("score", title=escape(f"On {found.rows} rows{by}"), title_justify="left", box=SIMPLE_HEAD)
    scores.add_column("value", justify="right", no_wrap=True)
    for figure in found.figures:
        error = "" if figure.error is None else f" ± {figure.error:.4f}"
        asked = found.positive if figure.scoring in OF_ONE_CLASS else None
        scores.add_row(escape(scoring_words(figure.scoring, asked)), f"{figure.score:.4f}{error}")
    _show(scores, console)
    if found.confusion:
        _show(_confusion(found), console)
    if found.calibration:
        _show(_calibration(found), console)
    if found.in_training:
        known = found.in_training
        value = f"{known.score:.4f} ± {known.standard_error:.4f}, the default {known.default_score:.4f}"
        console.print(f"In the run, on rows that trainings left out: this config had {value}.", highlight=False)


def _confusion(found: "Evaluation") -> Table:
    table = Table(title="Rows by true class (down) and predicted class", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("")
    for label in found.classes:
        table.add_column(escape(str(label)), justify="right")
    for label, line in zip(found.classes, found.confusion, strict=True):
        table.add_row(escape(str(label)), *map(str, line))
    return table


def _calibration(found: "Evaluation") -> Table:
    title = f"Calibration: expected error {found.calibration_error:.3f}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for header in ("rows", "confidence", "right"):
        table.add_column(header, justify="right")
    for each in found.calibration:
        table.add_row(str(each.rows), f"{each.confidence:.3f}", f"{each.right:.3f}")
    return table


def _loss(loss: float | None, error: float | None, digits: int) -> str:
    return "-" if loss is None else with_error(loss, error, digits).replace(SPACE, " ")


def _value(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))
