"""What a person sees of the judge: a table of cells, one of rules, and CSV."""

import csv
import io
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from flora_lab.judge.datasets import declared
from flora_lab.judge.judge import Line, Summary, Versus
from flora_lab.judge.rules import APLM, DEFAULT

NOISE = "*"


def show(lines: Sequence[Line], summaries: Sequence[Summary], console: Console) -> None:
    """Print each cell's regrets, then each rule over all cells."""
    console.print(_cells(lines))
    if not all(line.counts for line in lines):
        left_out = "its regrets mean little, and are left out of quartiles and comparison"
        console.print(f"{NOISE} the gap is within its noise: {left_out}", highlight=False)
    console.print(_rules(summaries))
    console.print(
        "Against the default: won, tied (within the standard error), lost; mean and worst gain, in percent.",
        highlight=False,
    )


def _cells(lines: Sequence[Line]) -> Table:
    title = "Relative regret: 0 the best of a search on all rows, 1 the default. Gap in percent."
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    rules = [name for name in lines[0].scores if name != DEFAULT]
    table.add_column("", no_wrap=True)
    table.add_column("gap", justify="right", no_wrap=True)
    for header in rules:
        table.add_column(header, justify="right", min_width=max(5, *map(len, header.split())))
    for line in lines:
        gap = f"{100 * line.gap.estimate:.1f}±{100 * line.gap.error:.1f}{'' if line.counts else NOISE}"
        regrets = [line.scores[name].regret for name in rules]
        table.add_row(_name(line), gap, *("-" if regret is None else f"{regret:.2f}" for regret in regrets))
    return table


def _name(line: Line) -> str:
    cell = line.cell
    how = "" if cell.split == "iid" else f" {cell.split}"
    return f"{cell.family} {cell.dataset} p={cell.parties}{how} s={cell.seed}{' liar' if cell.liar else ''}"


def _rules(summaries: Sequence[Summary]) -> Table:
    counted = summaries[0].cells if summaries else 0
    title = f"Over {counted} cells with a gap beyond noise"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("", no_wrap=True)
    for header in ("median", "quartiles", "W/T/L", "gain", "worst", f"minus {APLM}", "95 %", "Wilcoxon p"):
        table.add_column(header, justify="right", no_wrap=True)
    for summary in summaries:
        low, middle, high = (f"{q:.2f}" for q in summary.quartiles) if summary.quartiles else ("-", "-", "-")
        outcomes = f"{summary.wins}/{summary.ties}/{summary.losses}"
        gains = (f"{100 * gain:+.2f}" for gain in (summary.gain, summary.lowest_gain))
        table.add_row(summary.rule, middle, f"{low} {high}", outcomes, *gains, *_versus(summary))
    return table


def _versus(summary: Summary) -> tuple[str, str, str]:
    found: Versus | None = summary.versus_aplm
    if found is None or summary.rule == APLM:
        return "", "", ""
    return f"{found.median:+.2f}", f"{found.low:+.2f} {found.high:+.2f}", f"{found.p_value:.3f}"


def to_csv(lines: Sequence[Line]) -> str:
    """Return a row for each cell: its gap, and each rule's regret and outcome."""
    out = io.StringIO()
    writer = csv.writer(out)
    rules = list(lines[0].scores)
    keys = ("dataset", "family", "parties", "split", "seed", "liar")
    head = [*keys, "use", "rows", "gap", "gap error", "gap beyond noise"]
    writer.writerow([*head, *(f"regret {name}" for name in rules), *(f"outcome {name}" for name in rules)])
    for line in lines:
        known = [*(getattr(line.cell, key) for key in keys), declared(line.cell.dataset).use, line.rows]
        scores = [line.scores[name] for name in rules]
        gap = [line.gap.estimate, line.gap.error, line.counts]
        writer.writerow([*known, *gap, *(s.regret for s in scores), *(s.outcome for s in scores)])
    return out.getvalue()
