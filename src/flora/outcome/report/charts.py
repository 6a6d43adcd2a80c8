"""The charts of a report: trials, slices and best regions along each HP, the parties' agreement, importance."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from flora.outcome.numbers import number
from flora.outcome.report.analysis import Slice, SurfaceView
from flora.outcome.report.axes import Axis, round_ticks, short
from flora.outcome.report.markup import Html, element
from flora.outcome.report.plot import (
    SYMBOLS,
    Extent,
    Side,
    bar,
    lines,
    mark,
    plot,
    polyline,
    strip,
    upright,
)
from flora.problem.path import Path
from flora.problem.trials import PartyTrials, Trial

MOST_MARKS = len(SYMBOLS)  # parties that can be told apart by colour and shape; more are grey until one is chosen
MOST_TRIALS = 1_200  # drawn in all
WIDE = 12  # columns of the grid of panels


def panels(count: int) -> list[int]:
    """Return how many of the grid's twelve columns each of so many panels takes, so that no row has a gap.

    >>> panels(1), panels(4), panels(5), panels(7)
    ([12], [6, 6, 6, 6], [4, 4, 4, 6, 6], [4, 4, 4, 6, 6, 6, 6])
    """
    if count == 1:
        return [WIDE]
    pairs = next(pairs for pairs in range(3) if (count - 2 * pairs) % 3 == 0) if count != 2 else 1
    return [4] * (count - 2 * pairs) + [6] * (2 * pairs)


def panel_grid(charts: Sequence[tuple[str, Html]]) -> Html:
    """Return panels, each under its title."""
    figures = [
        element("figure", element("figcaption", title), chart, class_=f"panel wide-{wide}")
        for (title, chart), wide in zip(charts, panels(len(charts)), strict=True)
    ]
    return element("div", *figures, class_="panels")


def party_kind(place: int, parties: int) -> str:
    """Return the class of a party's marks: its colour is the style's affair."""
    return f"p{place}" if parties <= MOST_MARKS else "grey"


def party_symbol(place: int, parties: int) -> int:
    """Return the outline of a party's marks."""
    return place if parties <= MOST_MARKS else 0


def fits(party: PartyTrials, path: Path | None) -> list[Trial]:
    """Return a party's trials, one for each fit: the best of those that one fit passed through."""
    if path is None:
        return list(party.trials)
    best: dict[str, Trial] = {}
    for trial in party.trials:
        key = repr(sorted((name, value) for name, value in trial.config.items() if name != path.name))
        if key not in best or trial.loss < best[key].loss:
            best[key] = trial
    return list(best.values())


def drawn(party: PartyTrials, path: Path | None, parties: int) -> list[Trial]:
    """Return the trials that are drawn: evenly over the search where they are very many, the best one among them."""
    found, most = fits(party, path), max(10, MOST_TRIALS // parties)
    if len(found) <= most:
        return found
    even = {int(k) for k in np.linspace(0, len(found) - 1, most)}
    best = min(found, key=lambda trial: trial.loss)
    return [trial for k, trial in enumerate(found) if k in even or trial is best]


def loss_scale(run: SurfaceView) -> Extent:
    """Return the range of the trials' losses; a failed fit's loss of thousands would leave nothing to be seen."""
    losses = sorted(trial.loss for party in run.trials for trial in party.trials)
    wild = losses[-1] > 10 * abs(losses[0]) + 1
    return Extent.over([losses[0], losses[int(0.98 * (len(losses) - 1))] if wild else losses[-1]])


def trials(run: SurfaceView, place: int) -> Html:
    """Return the losses of all parties' trials along one HP."""
    axis, scale, count = run.axes[place], loss_scale(run), len(run.trials)
    name = axis.parameter.name
    groups = []
    for k, party in enumerate(run.trials):
        shown = drawn(party, run.path, count)
        best = min(range(len(shown)), key=lambda j: shown[j].loss)
        xs, ys = axis.apart([t.config[name] for t in shown]), scale.places([t.loss for t in shown])
        symbol = party_symbol(k, count)
        marks = [mark(symbol, x, y) for x, y in zip(xs, ys, strict=True)]
        ring = element("circle", cx=f"{100 * xs[best]:.4g}%", cy=f"{100 * (1 - ys[best]):.4g}%", r=8, class_="best")
        groups.append(element("g", *marks, ring, class_=f"party {party_kind(k, count)}", data_party=k))
    words = f"Losses of the parties' trials along {name}; a table of their best and default losses is above."
    up = Side("loss", round_ticks(scale.low, scale.high, 4))
    return plot(
        f"trials-{place}", Side(short(name, 40), axis.few_ticks), up, *uprights(run, axis), *groups, words=words
    )


def uprights(run: SurfaceView, axis: Axis) -> list[Html]:
    """Return lines at the recommendation and, dashed, at the default."""
    name = axis.parameter.name
    known = [(run.measured, "chosen"), *([(run.space.default, "default")] if run.space.default else [])]
    return [upright(x, f"at {kind}") for config, kind in known for x in axis.places([config[name]])]


def slices(run: SurfaceView, pieces: Sequence[Slice]) -> list[tuple[str, Html]]:
    """Return the surface along each HP, with one standard deviation of the belief either side, under its title."""
    lows = [float((piece.losses - piece.errors).min()) for piece in pieces]
    highs = [float((piece.losses + piece.errors).max()) for piece in pieces]
    scale = Extent.over([*lows, *highs])
    up = Side("predicted loss", round_ticks(scale.low, scale.high, 4))
    return [(f"Along {short(p.axis.parameter.name, 40)}", _slice(run, p, k, scale, up)) for k, p in enumerate(pieces)]


def _slice(run: SurfaceView, piece: Slice, place: int, scale: Extent, up: Side) -> Html:
    axis, xs = piece.axis, piece.axis.places(piece.values)
    middle = scale.places(piece.losses)
    low, high = scale.places(piece.losses - piece.errors), scale.places(piece.losses + piece.errors)
    lowest = int(piece.losses.argmin())
    words = f"Lowest near {number(piece.values[lowest])}, with a predicted loss of {piece.losses[lowest]:.3g}."
    if axis.ordered:
        band = polyline([*xs, *xs[::-1]], [*low, *high[::-1]], "band", closed=True)
        marks = [lines(band, polyline(xs, middle, "curve"))]
    else:
        marks = [_upright_bar(x, a, b) for x, a, b in zip(xs, low, high, strict=True)]
        marks += [mark(0, x, y, class_="dot") for x, y in zip(xs, middle, strict=True)]
    across = Side(short(axis.parameter.name, 40), axis.few_ticks)
    return plot(f"slice-{place}", across, up, *uprights(run, axis), *marks, words=words)


def _upright_bar(x: float, low: float, high: float) -> Html:
    return element(
        "line", x1=f"{100 * x:.4g}%", x2=f"{100 * x:.4g}%", y1=f"{100 * (1 - low):.4g}%",
        y2=f"{100 * (1 - high):.4g}%", class_="error",
    )  # fmt: skip


def regions(run: SurfaceView) -> list[tuple[str, Html]]:
    """Return where each party's own surface is lowest, along each HP, under its title."""
    best, names = run.best_regions(), run.compared_names
    found = []
    for k, axis in enumerate(run.axes):
        values = [[config[axis.parameter.name] for config in party] for party in best]
        found.append((f"Along {short(axis.parameter.name, 40)}", _region(run, axis, k, values, names)))
    return found


def _region(run: SurfaceView, axis: Axis, place: int, values: Sequence[Sequence[Any]], names: Sequence[str]) -> Html:
    count = len(names)
    ys = [1 - (k + 0.5) / count for k in range(count)]
    marks: list[Html] = []
    for party, y in zip(values, ys, strict=True):
        if axis.ordered:
            low, middle, high = np.quantile(axis.places(party), [0.1, 0.5, 0.9])
            marks += [bar(low, high, y, "region"), mark(0, float(middle), y, class_="dot")]
        else:
            for value, often in Counter(party).most_common(20):
                x = axis.places([value])[0]
                radius = 2 + 5 * math.sqrt(often / len(party))
                at = {"cx": f"{100 * x:.4g}%", "cy": f"{100 * (1 - y):.4g}%"}
                marks.append(element("circle", **at, r=f"{radius:.1f}", class_="dot"))
    labels = [(y, short(name, 11)) for y, name in zip(ys, names, strict=True)] if count <= 30 else []
    across, words = Side(short(axis.parameter.name, 40), axis.few_ticks), "The table below has the numbers."
    height = max(90, min(20 * count, 460))
    return plot(f"region-{place}", across, Side("", labels), *uprights(run, axis), *marks, words=words, height=height)


def region_text(axis: Axis, values: Sequence[Any]) -> str:
    """Return the best region of a party along one HP in words: the middle 80 % of the numbers, or the shares."""
    if axis.ordered:
        low, high = np.quantile(np.array(values, dtype=float), [0.1, 0.9], method="nearest")
        return f"{number(float(low))} to {number(float(high))}"
    common = Counter(values).most_common(3)
    return ", ".join(f"{short(number(value), 40)} {count / len(values):.0%}" for value, count in common)


def agreement(run: SurfaceView) -> Html:
    """Return the rank correlation of each two parties' surfaces, as cells that are darker where they agree."""
    matrix, names = run.agreement(), run.compared_names
    count = len(names)
    size = 1 / count
    cells = []
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            at = {"x": f"{100 * j * size:.4g}%", "y": f"{100 * i * size:.4g}%"}
            tip = f"{short(names[i], 60)} and {short(names[j], 60)}: {value:.2f}"
            shade = {"width": f"{100 * size:.4g}%", "height": f"{100 * size:.4g}%", **correlation_colour(float(value))}
            cells.append(element("rect", **at, **shade, data_tip=tip))
            if count <= MOST_MARKS:
                middle = {"x": f"{100 * (j + 0.5) * size:.4g}%", "y": f"{100 * (i + 0.5) * size:.4g}%"}
                text = "–" if math.isnan(value) else f"{value:.2f}"
                kind = "cell strong" if abs(value) > 0.6 else "cell"
                cells.append(element("text", text, **middle, dy=4, text_anchor="middle", class_=kind))
    places = [(k + 0.5) * size for k in range(count)]
    shown = count <= 30
    below = 11 if count <= 4 else 8  # a phone has room for so many letters under each square
    across = Side("", [(x, short(name, below)) for x, name in zip(places, names, strict=True)] if count <= 10 else [])
    up = Side("", [(1 - x, short(name, 11)) for x, name in zip(places, names, strict=True)] if shown else [])
    words = "Rank correlation of the parties' surfaces: 1 means that they rank all configs alike."
    return plot("agreement-map", across, up, *cells, words=words, height=max(110, min(34 * count, 460)))


def correlation_colour(value: float) -> dict[str, str]:
    """Return how a cell is filled: blue the more two agree, orange the more they are of opposite minds."""
    if math.isnan(value):
        return {"class_": "unknown"}
    return {"class_": "agree" if value >= 0 else "oppose", "fill_opacity": f"{abs(value):.2f}"}


def importance_strip(alone: float, total: float, most: float) -> Html:
    """Return a bar of what an HP makes alone and, lighter, together with others."""
    first, second = alone / most, total / most
    return strip(
        element("rect", x=0, y=5, width=f"{100 * first:.4g}%", height=12, class_="alone"),
        element(
            "rect", x=f"{100 * first:.4g}%", y=5, width=f"{100 * (second - first):.4g}%", height=12, class_="joint"
        ),
    )


def trial_texts(run: SurfaceView) -> list[list[str]]:
    """Return what is said of each drawn trial, by party."""
    names = [axis.parameter.name for axis in run.axes][:6]
    count = len(run.trials)
    return [[_trial_text(party.party, trial, names) for trial in drawn(party, run.path, count)] for party in run.trials]


def _trial_text(party: str, trial: Trial, names: Sequence[str]) -> str:
    shown = [f"{short(name, 24)} = {short(number(trial.config[name]), 24)}" for name in names]
    return "\n".join([short(party, 60), f"loss {trial.loss:.4g}", *shown])
