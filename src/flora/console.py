"""What a person sees: progress bars, and a result as tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from flora.result import behind_words, grown_words
from flora.search import Progress as Report

SECONDS = 2.0  # between two looks at work that others do


@contextmanager
def progress_bars(parties: Sequence[str], console: Console) -> Iterator[Report]:
    """Show a bar for each party's search; nothing where the output is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bars:
        tasks = {party: bars.add_task(f"search at {escape(party)}", total=None) for party in parties}

        def report(party: str, done: int, total: int) -> None:
            bars.update(tasks[party], completed=done, total=total)

        yield report


@contextmanager
def work_bar(what: str, work: Callable[[], tuple[float, float]], console: Console) -> Iterator[None]:
    """Show one bar over work that others do, with an estimate of the time left; nothing where there is no terminal.

    ``work`` tells how much there is and how much of it is done, and is asked every few seconds.
    """
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), _TimeLeft())
    over = Event()
    with Progress(*columns, console=console) as bars:
        total, before = work()
        task = bars.add_task(what, total=total, before=before)
        bars.update(task, completed=before)

        def look() -> None:
            while not over.wait(SECONDS):
                bars.update(task, completed=work()[1])

        watcher = Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            bars.update(task, completed=work()[1])


class _TimeLeft(ProgressColumn):
    """The time left, if the rest goes as fast as what was done since the start: rich itself looks back 30 seconds."""

    def render(self, task: Task) -> Text:
        """Return hours, minutes and seconds."""
        return Text(f"left {time_left(task.elapsed or 0.0, task.completed - task.fields['before'], task.remaining)}")


def time_left(seconds: float, done: float, rest: float | None) -> str:
    """Return how long the rest will take, as what was done took ``seconds``.

    >>> time_left(600, 1, 7), time_left(600, 0, 7)
    ('1:10:00', '-:--:--')
    """
    return "-:--:--" if done <= 0 or rest is None else str(timedelta(seconds=round(seconds * rest / done)))


def show_result(document: Mapping[str, Any], console: Console) -> None:
    """Print the answer: the config, what each party gains, and the verdict."""
    console.print(_configs(document))
    console.print(_parties(document))
    if document["candidates"]:
        console.print(_candidates(document))
    for words in filter(None, (grown_words(document), behind_words(document))):
        console.print(f"note: {escape(words)}", highlight=False, soft_wrap=True)
    far = [party for party in document["parties"] if party.get("disagrees")]
    if far:
        console.print(_disagreement(far), highlight=False, soft_wrap=True)
    for note in document.get("notes", []):
        console.print(f"note: {escape(note)}", highlight=False)
    console.print(_verdict(document), highlight=False, soft_wrap=True)


def show_aggregate(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print the paper's aggregate statistics: computed from its cells, with the printed value where it differs."""
    table = Table(title="Relative regret: computed, and as printed", title_justify="left", box=SIMPLE_HEAD)
    for header in ("", "surface", "mean ± dev.", "quartiles", "W/T/L", "Wilcoxon, p"):
        table.add_column(header, no_wrap=True)
    for row in rows:
        computed, printed = statistics(row["computed"]), statistics(row["printed"])
        table.add_row(row["group"], row["surface"], *computed)
        if computed != printed:
            other = [theirs if ours != theirs else "" for ours, theirs in zip(computed, printed, strict=True)]
            table.add_row("", "printed", *other, style="dim")
    console.print(table)


def show_comparison(entries: Sequence[Mapping[str, Any]], protocol: str, console: Console) -> None:
    """Print a table of the paper: our medians over splits, and below them the published numbers."""
    title = f"Percent, and relative regret: medians over splits ({protocol})"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    regrets = list(entries[0]["regret"])
    table.add_column("", overflow="fold")
    for header in ("splits", "base", "best", "gamma", *regrets):
        table.add_column(header, no_wrap=True, justify="right", min_width=5)
    for entry in entries:
        ours = [_middle(entry["baseline"], 1), _middle(entry["best"], 1), _middle(entry["gamma"], 2)]
        table.add_row(_row_name(entry), str(entry["splits"]), *ours, *(_middle(entry["regret"][n], 2) for n in regrets))
        theirs = entry["published"]
        printed = [_number(theirs.get("baseline"), 1), _number(theirs.get("best"), 1), _number(theirs.get("gamma"), 2)]
        printed += [_number(theirs.get("regret", {}).get(name), 2) for name in regrets]
        table.add_row("  published", "", *printed, style="dim")
    console.print(table)
    _show_remarks(entries, console)


def show_testbed(entries: Sequence[Mapping[str, Any]], protocol: str, console: Console) -> None:
    """Print the table of real federated trainings: our medians over splits, and below them the published numbers."""
    title = f"Balanced accuracy on held-out rows, percent: medians over splits ({protocol})"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    scores = list(entries[0]["score"])
    table.add_column("", no_wrap=True)
    for header in ("splits", "base", *scores):
        table.add_column(header, no_wrap=True, justify="right", min_width=5)
    for entry in entries:
        name = f"{entry['dataset']} {entry['parties']} x {entry['rows']} rows"
        ours = [_middle(entry["baseline"], 1), *(_middle(entry["score"][n], 1) for n in scores)]
        table.add_row(name, str(entry["splits"]), *ours)
        theirs = entry["published"]
        printed = [_number(theirs["baseline"], 1), *(_number(theirs["score"][n], 1) for n in scores)]
        table.add_row("  published", "", *printed, style="dim")
    console.print(table)
    _show_remarks(entries, console)


def _show_remarks(entries: Sequence[Mapping[str, Any]], console: Console) -> None:
    for remark in dict.fromkeys(f"{entry['dataset']}: {entry['remark']}" for entry in entries if entry["remark"]):
        console.print(remark, highlight=False)


def _row_name(entry: Mapping[str, Any]) -> str:
    settings = {"p": entry["parties"], "T": entry["trials"], "T'": entry["send"]}
    varied = [f"{name}={value}" for name, value in settings.items() if value and (name, value) != ("p", 3)]
    varied += [entry[name] for name, usual in (("split", "iid"), ("box", "published")) if entry[name] != usual]
    return " ".join([entry["family"], entry["dataset"], *varied])


def _middle(spread: Mapping[str, float] | None, digits: int) -> str:
    return _number(None if spread is None else spread["median"], digits)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def statistics(summary: Mapping[str, Any]) -> list[str]:
    """Return a summary of regrets as it is shown: mean and deviation, quartiles, wins, test."""
    return [
        f"{summary['mean']:.2f} ± {summary['deviation']:.2f}",
        " ".join(f"{quartile:.2f}" for quartile in summary["quartiles"]),
        "/".join(map(str, summary["wins"])),
        f"{summary['test'][0]:g}, {summary['test'][1]:.5f}",
    ]


def _configs(document: Mapping[str, Any]) -> Table:
    table = Table("HP", "default", "recommended", title="Hyper-parameters", title_justify="left", box=SIMPLE_HEAD)
    for name, value in document["config"].items():
        default = (document["default"] or {}).get(name)
        table.add_row(escape(name), _value(default), f"[bold]{_value(value)}[/bold]")
    return table


def _parties(document: Mapping[str, Any]) -> Table:
    measured = any("gain" in party for party in document["parties"])
    how = "measured on fresh folds" if measured else "as sent"
    title = f"Loss at each party ({escape(document['scoring'])}, {how})"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("party")
    for header in ("rows", "trials", *(["default", "recommended", "gain"] if measured else ["best", "default"])):
        table.add_column(header, justify="right", no_wrap=True)
    for party in document["parties"]:
        cells = [escape(party["name"]), _value(party["rows"]), str(party["trials"])]
        if measured:
            cells += [_loss(party, "default_loss"), _loss(party, "recommended_loss"), _gain(party)]
        else:
            cells += [_loss(party, "best_loss"), _loss(party, "default_loss")]
        table.add_row(*cells)
    return table


def _candidates(document: Mapping[str, Any]) -> Table:
    title = "Candidates, measured by all parties beside the default"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("")
    for name in document["config"]:
        table.add_column(escape(name), justify="right")
    table.add_column("gain", justify="right", no_wrap=True)
    for place, candidate in enumerate(document["candidates"]):
        chosen = candidate["config"] == document["config"]
        role = "chosen" if chosen else str(place) if place else "default"
        gain = f"{candidate['estimate']:+.4f} ± {candidate['standard_error']:.4f}"
        values = [_value(candidate["config"][name]) for name in document["config"]]
        table.add_row(role, *values, gain, style="bold" if chosen else None)
    return table


def _disagreement(far: Sequence[Mapping[str, Any]]) -> str:
    shown = [f"{escape(party['name'])} ({party['distance']:+.1f})" for party in far[:5]]
    more = f" and {len(far) - 5} more" if len(far) > 5 else ""
    return f"note: gains far from the other parties', in standard errors: {', '.join(shown)}{more}"


def _verdict(document: Mapping[str, Any]) -> str:
    if document["verdict"] is None:
        return "No default config is known, so no gain over it can be stated."
    gain = document["expected_gain"]
    words = {
        "use": "[bold green]Use these[/bold green]",
        "keep-defaults": "[bold yellow]Keep the defaults[/bold yellow]: no gain beyond its standard error",
    }[document["verdict"]]
    if document["verdict_basis"] == "measured and predicted":
        words += ": the surface predicts a gain beyond its error, and the measured one agrees"
    return (
        f"{words}. Expected gain in {escape(document['scoring'])}: {gain['estimate']:+.4f} ± "
        f"{gain['standard_error']:.4f} (standard error, {document['verdict_basis']})."
    )


def _loss(party: Mapping[str, Any], name: str) -> str:
    loss, error = party[name], party[f"{name}_error"]
    if loss is None:
        return "-"
    return f"{loss:.3f}" if error is None else f"{loss:.3f} ± {error:.3f}"


def _gain(party: Mapping[str, Any]) -> str:
    return f"{party['gain']:+.3f} ± {party['gain_error']:.3f}"


def _value(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))
