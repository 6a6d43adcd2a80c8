"""What a person sees of the judge: a table of cells, one of rules, and CSV."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from flora_lab.datasets import declared
from flora_lab.judge.record import KEYS
from flora_lab.judge.rules import APLM, DEFAULT
from flora_lab.judge.score import ScoredCell, ScoredRule
from flora_lab.tables import number, table_of_numbers

NOISE = "*"


def show(cells: Sequence[ScoredCell], rules: Sequence[ScoredRule], console: Console) -> None:
    """Print each cell's regrets, then each rule over all cells."""
    console.print(_cells(cells))
    if not all(cell.counts for cell in cells):
        left_out = "its regrets mean little, and are left out of quartiles and comparison"
        console.print(f"{NOISE} the gap is within its noise: {left_out}", highlight=False)
    console.print(_rules(rules))
    console.print(
        "Against the default: won, tied (within the standard error), lost; mean and worst gain, in percent. "
        f"Against {APLM}: the median of the datasets' medians, its interval and p-value over datasets.",
        highlight=False,
    )


def _cells(cells: Sequence[ScoredCell]) -> Table:
    title = "Relative regret: 0 the best of a search on all rows, 1 the default. Gap in percent."
    table = table_of_numbers(title, ["gap"], width=None)
    rules = [name for name in cells[0].scores if name != DEFAULT]
    for header in rules:
        table.add_column(header, justify="right", min_width=max(5, *map(len, header.split())))
    for cell in cells:
        gap = f"{100 * cell.gap.estimate:.1f}±{100 * cell.gap.error:.1f}{'' if cell.counts else NOISE}"
        table.add_row(_name(cell), gap, *(number(cell.scores[name].regret, 2) for name in rules))
    return table


def _name(scored: ScoredCell) -> str:
    cell = scored.cell
    how = "" if cell.split == "iid" else f" {cell.split}"
    return f"{cell.family} {cell.dataset} p={cell.parties}{how} s={cell.seed}{' liar' if cell.liar else ''}"


def _rules(rules: Sequence[ScoredRule]) -> Table:
    counted = f"{rules[0].cells} cells of {rules[0].datasets} datasets" if rules else "no cells"
    heads = ("median", "quartiles", "W/T/L", "gain", "worst", f"minus {APLM}", "95 %", "Wilcoxon p")
    table = table_of_numbers(f"Over {counted} with a gap beyond noise", heads, width=None)
    for rule in rules:
        low, middle, high = (number(q, 2) for q in rule.quartiles or (None, None, None))
        outcomes = f"{rule.wins}/{rule.ties}/{rule.losses}"
        gains = (f"{100 * gain:+.2f}" for gain in (rule.gain, rule.lowest_gain))
        table.add_row(rule.rule, middle, f"{low} {high}", outcomes, *gains, *_versus(rule))
    return table


def _versus(rule: ScoredRule) -> tuple[str, str, str]:
    found = rule.versus_aplm
    if found is None or rule.rule == APLM:
        return "", "", ""
    return f"{found.median:+.2f}", f"{found.low:+.2f} {found.high:+.2f}", f"{found.p_value:.3f}"


def csv_lines(cells: Sequence[ScoredCell]) -> list[dict[str, Any]]:
    """Return a line for each cell: its gap, and each rule's regret and outcome."""
    return [
        {
            **{key: getattr(scored.cell, key) for key in KEYS},
            "use": declared(scored.cell.dataset).use,
            "rows": scored.rows,
            **{"gap": scored.gap.estimate, "gap error": scored.gap.error, "gap beyond noise": scored.counts},
            "regret": {name: score.regret for name, score in scored.scores.items()},
            "outcome": {name: score.outcome for name, score in scored.scores.items()},
        }
        for scored in cells
    ]
