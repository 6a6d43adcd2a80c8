"""The page of results: every table that is stored, beside the paper's, as Markdown. It is a function of the store."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from flora.problem.path import ENOUGH
from flora_lab.cells import Cell, Protocol
from flora_lab.machine import machines_in
from flora_lab.paper.aggregate import against_aplm, aggregated
from flora_lab.paper.as_published import SEED, SPLIT
from flora_lab.paper.compare import PERCENT, SMALL_GAP, Entry, entries_of
from flora_lab.paper.contents import QUICK, THOROUGH, THOROUGH_TESTBED, cells_of, datasets_of
from flora_lab.paper.ours import COLUMNS, FLORA, OURS, Row, in_words, regrets_of, scores_of
from flora_lab.paper.parts import parts_of
from flora_lab.paper.published import COMPARISON, SURFACES
from flora_lab.paper.reproduced import reproduced
from flora_lab.paper.rows import DRAWS
from flora_lab.paper.show import reach, statistics
from flora_lab.paper.stored import StoredRows
from flora_lab.tables import markdown, number, with_quartiles

TITLES = {
    "hgb": "HGB, 3 parties",
    "svm": "SVM, 3 parties",
    "mlp": "MLP, 3 parties",
    "aggregate": "Aggregate over datasets",
    "parties": "HGB and the number of parties",
    "rounds": "The number of trials T at each party",
    "communication": "The number of trials T' that each party sends, of T",
    "testbed": "Testbed: real federated trainings of HGB",
}
HEADS = [name.upper() for name in SURFACES]
WIDTH = 120

HOW = f"""\
A number of ours is the median over splits and draws, with the quartiles behind it where they differ; the published one
is of one split and one draw. Split k has the seed {SEED} + k, and the first is the authors' own. A draw is a seed of
the surface's forests: there are {DRAWS} for each row. Accuracies are balanced, in percent. *Baseline* is the default
config; *best* is the best of the centralised search, on the folds it was searched on, which flatters it; the *honest*
ones are both on fresh folds. *PMin* and *PMax* are the worst and the best party's own best. Below a surface stands its
relative regret: 0 is the best, 1 the baseline. The line *trainings* counts the federated trainings that random search
needs to match the surface's one, on average.

Two columns are FLoRA's own. *flora* is what `flora tune --space paper` would train, had its parties searched as the
authors' did: from the same pairs its aggregator proposes candidates of APLM, all parties measure them on fresh folds,
and the verdict comes from five pairs of trainings, each without a fold of every party's rows. With the verdict *keep*
the default is trained: its regret is 1, and it counts as a tie. *default, trees counted* is the default config with the
number of trees that a third of the training rows chooses, as a FLoRA training does by itself from {ENOUGH:,} rows on;
*flora* has its trees counted there, and only there. *flora, one training* takes the verdict of `--trainings 1`, by what
the parties measured; *flora's choice* is what is chosen, whatever the verdict. Models, folds and scores are those of
the other columns. The surfaces have {DRAWS} draws, FLoRA's answer has one.

The federated training is emulated by a pooled one, but for the testbed. Rows are dealt out as the authors did
(`{SPLIT}`), or parties are not alike: with `dirichlet:ALPHA` the classes' shares differ, with `column:NAME` a party has
a quantile of a feature. Folds, scaling, models and seeds are the authors' with every split
(`lab/flora_lab/paper/as_published.py`). With the *wide* box the parties search more than the published space, as in
much of the paper; a recommendation always lies in the published one. Pollen's label is the row number, so any regret on
it is noise; so is one where best and baseline differ by less than {100 * SMALL_GAP:g} points."""


def page(results: Path, tables: Sequence[str]) -> str:
    """Return the page of the tables, of all that is in ``results``."""
    stored = StoredRows.read(results)
    sections = [f"## {TITLES[table]}\n\n" + "\n\n".join(_table(table, stored)) for table in tables]
    return "\n\n".join([_head(stored, results), *sections]) + "\n"


def _head(stored: StoredRows, results: Path) -> str:
    machines = [
        f"{m['cores']} cores ({m['processor']}), {m['memory_gib']} GiB of memory, {m['platform']}"
        for m in machines_in(results)
    ]
    versions = [f"{name} {' and '.join(found)}" for name, found in stored.versions.items()]
    said = [
        f"- Machine: {'; '.join(machines) or 'not noted'}.",
        f"- Versions: {', '.join(versions) or 'none'}.",
        *(f"- Protocol `{name}`: {_in_words(name)}." for name in stored.protocols),
    ]
    lines = [fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in said]
    made = "<!-- Made from the files in results/ by `flora-lab paper all --stored --markdown docs/results.md`. -->"
    rerun = "The tables were computed by `flora-lab paper`; [paper.md](paper.md) says how to rerun and extend it."
    return "\n\n".join(["# The paper's tables, rerun", made, rerun, "\n".join(lines), HOW])


def _in_words(protocol: str) -> str:
    words = {
        "T": "{} trials of TPE at each party",
        "k": "{}-fold cross-validation",
        "c": "{} centralised trials",
        "r": "{} random trainings",
    }
    quick = " (quick)" if protocol in (QUICK.name, Protocol(QUICK.trials, QUICK.folds).name) else ""
    return ", ".join(words[part[0]].format(part[1:]) for part in protocol.split("-")) + quick


def _table(table: str, stored: StoredRows) -> Iterator[str]:
    if table == "testbed":
        yield from _testbed(stored.beds)
        return
    if table == "aggregate":
        yield "From the paper's own cells; what the paper prints otherwise is in brackets:"
        yield _statistics(aggregated())
    paper = {_key(vars(cell)): cell for cell in cells_of(table)}
    rows = [row for row in stored.rows if _key(row) in paper]
    for protocol, box in _groups(rows, THOROUGH):
        group = [row for row in rows if (row["protocol"], row["box"]) == (protocol, box)]
        yield f"### `{protocol.name}`, {box} box"
        if table == "aggregate":
            yield from _aggregate(group)
        else:
            yield from _comparison(group, paper, protocol, whole=table in COMPARISON)
            yield from parts_of(group)
            yield from reproduced(group) if table in COMPARISON else ()
        there = {_key(row) for row in group if row["split"] == SPLIT}
        yield from _absent([_name(cell) for key, cell in paper.items() if key not in there])


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("family", "dataset", "parties", "trials", "send"))


def _groups(rows: Sequence[Row], paper: Protocol) -> list[tuple[Protocol, str]]:
    """Return the protocols and boxes; the paper's own is always there, to say what is missing of it."""
    found = {(row["protocol"], row["box"]) for row in rows} | {(paper, "published")}
    return sorted(found, key=lambda group: (group[0] != paper, group[0].name, group[1]))


def _name(cell: Cell) -> str:
    varied = {"p": cell.parties if cell.parties != 3 else None, "T": cell.trials, "T'": cell.send}
    return " ".join([cell.family, cell.dataset, *(f"{name}={value}" for name, value in varied.items() if value)])


def _absent(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield fill(f"Not there yet, of the paper's rows: {', '.join(names)}.", WIDTH, break_on_hyphens=False)


def _comparison(
    rows: Sequence[Row], paper: Mapping[tuple[Any, ...], Cell], protocol: Protocol, *, whole: bool
) -> Iterator[str]:
    """Yield a table: each row of the paper, below it ours, those that are not IID next to those that are."""
    scores = ["baseline", "best", "honest baseline", "honest best", "PMin", "PMax"] if whole else []
    own = [name for name in OURS if any(scores_of(row, name) for row in rows)]
    lines, remarks = [], []
    for key, cell in paper.items():
        entries = sorted(entries_of(cell.family, [row for row in rows if _key(row) == key]), key=_order)
        if entries:
            theirs = _published(entries[0]["published"], whole=whole)
            lines.append([_name(cell), "published", *theirs, *[""] * len(own)])
        for entry in entries:
            lines.append(["", f"{entry['split']}, {_seeds(entry)}", *_ours(entry, own, whole=whole)])
            if whole:
                counts = [_count(entry["trainings"][name], protocol.random or 0) for name in SURFACES]
                lines.append(["", "trainings", *[""] * (len(scores) + 1), *counts, *[""] * len(own)])
        remarks += [f"{_name(cell)} ({entry['split']}): {entry['remark']}." for entry in entries if entry["remark"]]
    if lines:
        yield markdown(["", "", *scores, "gamma_p", *HEADS, *own], lines)
    if remarks:
        yield "\n".join(f"- {remark}" for remark in remarks)


def _order(entry: Entry) -> tuple[bool, str]:
    return entry["split"] != SPLIT, entry["split"]


def _published(theirs: Entry, *, whole: bool) -> list[str]:
    scores = [number(theirs.get(key), 1) for key in PERCENT] if whole else []
    return [*scores, number(theirs["gamma"], 2), *(number(theirs["regret"][name], 2) for name in SURFACES)]


def _ours(entry: Entry, own: Sequence[str], *, whole: bool) -> list[str]:
    scores = [with_quartiles(entry[key], 1) for key in PERCENT] if whole else []
    regrets = {name: with_quartiles(entry["regret"][name], 2) for name in (*SURFACES, *own)}
    if entry["verdicts"]["answers"]:
        regrets[FLORA] += f", {in_words(entry['verdicts'])}"
    return [*scores, with_quartiles(entry["gamma"], 2), *regrets.values()]


def _aggregate(rows: Sequence[Row]) -> Iterator[str]:
    """Yield our own statistics, for each way to deal rows out."""
    for split in sorted({row["split"] for row in rows}, key=lambda split: (split != SPLIT, split)):
        dealt = [row for row in rows if row["split"] == split]
        entries = aggregated(dealt)
        if entries:
            yield f"{split}: ours over datasets, the median of all replications, and the paper's one in brackets:"
            yield _statistics(entries)
            yield "The same: from the lowest to the highest of the replications (splits times draws)."
            lines = [
                [e["group"], _head_of(e["surface"]), str(e["cells"]), str(e["replications"]), *reach(e["computed"])]
                for e in entries
            ]
            yield markdown(["", "", "cells", "replications", "mean", "wins", "p"], lines)
            yield from _against_aplm(dealt)
            yield from _cells(dealt)


def _against_aplm(rows: Sequence[Row]) -> Iterator[str]:
    found = against_aplm(rows)
    if found:
        yield fill(
            f"Regret minus APLM's where the gap is {100 * SMALL_GAP:g} points or more. A family's dataset counts once, "
            "with the median over its splits. The interval of 95 % is a bootstrap's over datasets, p is Wilcoxon's, "
            "two-sided, without a correction for several columns.",
            WIDTH,
        )
        lines = [
            [_head_of(name), str(v.datasets), f"{v.median:+.2f}", f"{v.low:+.2f} to {v.high:+.2f}", f"{v.p_value:.3f}"]
            for name, v in found.items()
        ]
        yield markdown(["", "datasets", "median", "95 %", "p"], lines)


def _cells(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the regrets of the paper's own split, draw by draw: those that its statistics follow from."""
    own = sorted((row for row in rows if row["seed"] == SEED), key=lambda row: (row["family"], row["dataset"]))
    lines = [
        [f"{row['family']} {row['dataset']}", *(" ".join(f"{r:.3f}" for r in regrets_of(row, n)) for n in COLUMNS)]
        for row in own
    ]
    if lines:
        yield f"The regrets with the seed {SEED}, draw by draw, from which the statistics follow:"
        yield markdown(["", *HEADS, *OURS], lines)


def _statistics(entries: Sequence[Entry]) -> str:
    lines = []
    for entry in entries:
        ours, printed = statistics(entry["computed"]), entry["printed"]
        theirs = statistics(printed) if printed else ours
        beside = [a if a == b else f"{a} ({b})" for a, b in zip(ours, theirs, strict=True)]
        lines.append([entry["group"], _head_of(entry["surface"]), *beside])
    return markdown(["", "", "mean ± deviation", "quartiles", "wins/ties/losses", "Wilcoxon, p"], lines)


def _head_of(column: str) -> str:
    return column.upper() if column in SURFACES else column


def _testbed(beds: Sequence[Row]) -> Iterator[str]:
    yield "Balanced accuracy, in percent, on held-out rows that no party trained on; no part of it is emulated."
    for protocol, box in _groups(beds, THOROUGH_TESTBED):
        group = [row for row in beds if (row["protocol"], row["box"]) == (protocol, box)]
        yield f"### `{protocol.name}`, {box} box"
        entries = {entry["dataset"]: entry for entry in entries_of("testbed", group)}
        lines = []
        for dataset in filter(entries.get, datasets_of("testbed")):
            entry, theirs = entries[dataset], entries[dataset]["published"]
            printed = [theirs["baseline"], *theirs["score"].values()]
            ours = [entry["baseline"], *entry["score"].values()]
            sizes = f"{dataset}, {entry['parties']} x {entry['rows']} rows"
            lines.append([sizes, "published", *(number(value, 1) for value in printed)])
            lines.append(["", f"ours, {_seeds(entry)}", *(with_quartiles(value, 1) for value in ours)])
        if lines:
            yield markdown(["", "", "baseline", *HEADS], lines)
        yield from (f"- {dataset}: {entry['remark']}." for dataset, entry in entries.items() if entry["remark"])
        yield from _absent([dataset for dataset in datasets_of("testbed") if dataset not in entries])


def _seeds(entry: Entry) -> str:
    """Return how many splits there are, and the seeds, unless they are the first ones."""
    seeds, first = entry["seeds"], list(range(SEED, SEED + entry["splits"]))
    count = f"{len(seeds)} split{'s' if len(seeds) > 1 else ''}"
    return count if seeds == first else f"{count} (seeds {', '.join(map(str, seeds))})"


def _count(spread: Mapping[str, float], random: int) -> str:
    return f"> {random}" if spread["median"] > random else f"{spread['median']:.0f}"
