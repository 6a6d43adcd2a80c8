"""The paper's tables and ours, as a person sees them."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from flora_lab.paper.as_published import SPLIT
from flora_lab.paper.compare import Entry
from flora_lab.paper.ours import COLUMNS, COUNTED
from flora_lab.paper.published import SURFACES
from flora_lab.tables import middle, number, table_of_numbers


def show(document: Mapping[str, Any], console: Console) -> None:
    """Print a table, and how much of it is not there."""
    entries = document["rows"]
    if document["table"] == "aggregate":
        console.print(_aggregate(entries))
    elif entries:
        console.print((_testbed if document["table"] == "testbed" else _comparison)(entries, document["protocol"]))
        for remark in dict.fromkeys(f"{entry['dataset']}: {entry['remark']}" for entry in entries if entry["remark"]):
            console.print(remark, highlight=False)
    if document.get("missing"):
        where = f"table {document['table']} ({document['protocol']})"
        console.print(f"{where}: {len(document['missing'])} rows are not there yet", highlight=False)


def _aggregate(entries: Sequence[Entry]) -> Table:
    """Return the aggregate statistics, with the printed value where it differs."""
    table = Table(title="Relative regret: computed, and as printed", title_justify="left", box=SIMPLE_HEAD)
    for header in ("", "surface", "mean ± dev.", "quartiles", "W/T/L", "Wilcoxon, p"):
        table.add_column(header, no_wrap=True)
    for entry in entries:
        computed, printed = statistics(entry["computed"]), entry["printed"] and statistics(entry["printed"])
        table.add_row(entry["group"], entry["surface"], *computed)
        if printed and computed != printed:
            other = [theirs if ours != theirs else "" for ours, theirs in zip(computed, printed, strict=True)]
            table.add_row("", "printed", *other, style="dim")
    return table


def _comparison(entries: Sequence[Entry], protocol: str) -> Table:
    """Return our medians over splits, and below them the published numbers."""
    title = f"Percent, and relative regret: medians over splits and draws ({protocol})"
    scores = {"baseline": 1, "best": 1, "gamma": 2}
    regrets = [name for name in COLUMNS if name in SURFACES or any(entry["regret"][name] for entry in entries)]
    heads = ["counted" if name == COUNTED else name for name in regrets]
    table = table_of_numbers(title, ("splits", "base", "best", "gamma", *heads), fold=True)
    for entry in entries:
        ours = [middle(entry[name], digits) for name, digits in scores.items()]
        ours += [middle(entry["regret"][name], 2) for name in regrets]
        table.add_row(_row_name(entry), str(entry["splits"]), *ours)
        theirs = entry["published"]
        printed = [number(theirs.get(name), digits) for name, digits in scores.items()]
        printed += [number(theirs.get("regret", {}).get(name), 2) for name in regrets]
        table.add_row("  published", "", *printed, style="dim")
    return table


def _testbed(entries: Sequence[Entry], protocol: str) -> Table:
    """Return the same of real federated trainings."""
    title = f"Balanced accuracy on held-out rows, percent: medians over splits ({protocol})"
    scores = list(entries[0]["score"])
    table = table_of_numbers(title, ("splits", "base", *scores))
    for entry in entries:
        name = f"{entry['dataset']} {entry['parties']} x {entry['rows']} rows"
        ours = [entry["baseline"], *(entry["score"][name] for name in scores)]
        table.add_row(name, str(entry["splits"]), *(middle(each, 1) for each in ours))
        theirs = entry["published"]
        printed = [theirs["baseline"], *(theirs["score"][name] for name in scores)]
        table.add_row("  published", "", *(number(each, 1) for each in printed), style="dim")
    return table


def _row_name(entry: Entry) -> str:
    settings = {"p": entry["parties"], "T": entry["trials"], "T'": entry["send"]}
    varied = [f"{name}={value}" for name, value in settings.items() if value and (name, value) != ("p", 3)]
    varied += [entry[name] for name, usual in (("split", SPLIT), ("box", "published")) if entry[name] != usual]
    return " ".join([entry["family"], entry["dataset"], *varied])


def statistics(found: Mapping[str, Any]) -> list[str]:
    """Return statistics as they are shown: mean and deviation, quartiles, wins, test; medians over replications."""
    return [
        f"{found['mean']['median']:.2f} ± {found['deviation']['median']:.2f}",
        " ".join(f"{quartile['median']:.2f}" for quartile in found["quartiles"]),
        "/".join(f"{count['median']:g}" for count in found["wins"]),
        f"{found['statistic']['median']:g}, {found['p']['median']:.5f}",
    ]


def reach(found: Mapping[str, Any]) -> list[str]:
    """Return the lowest and the highest mean, number of wins and p-value over replications."""
    ends = ((found["mean"], ".2f"), (found["wins"][0], "g"), (found["p"], ".5f"))
    return [f"{each['low']:{form}}–{each['high']:{form}}" for each, form in ends]
