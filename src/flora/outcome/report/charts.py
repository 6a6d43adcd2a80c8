"""The charts' data, as Plotly reads it. Colours of text and lines are the page's, which knows light from dark."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from flora.outcome.report.analysis import Analysis, Slice
from flora.outcome.report.axes import Axis, plain, short
from flora.outcome.report.markup import config_text, number, signed
from flora.problem.space import Config, Real
from flora.problem.trials import PartyTrials, Trial
from flora.program.result import Result

Figure = dict[str, Any]
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")  # Okabe and Ito's, for all eyes
BLUE, VERMILION, GREY = COLOURS[0], COLOURS[1], "#808080"
SYMBOLS = {  # of Plotly, and the letter that looks like it
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "triangle-up": "▲",
    "triangle-down": "▼",
    "cross": "✚",
    "triangle-left": "◀",
    "triangle-right": "▶",
}
MOST_MARKS = len(SYMBOLS)  # parties that can be told apart by colour and shape; more are grey until one is chosen
MOST_TRIALS = 2_000  # drawn in all
ROW = 22  # pixels


def mark(place: int, parties: int) -> tuple[str, str]:
    """Return the colour and the symbol of a party."""
    if parties > MOST_MARKS:
        return GREY, "circle"
    return COLOURS[place % len(COLOURS)], list(SYMBOLS)[place]


def gains(result: Result) -> Figure | None:
    """Return what each party gains, with its standard error, and all together; None where nothing was measured."""
    entries = [(entry.name, entry.measured) for entry in result.parties if entry.measured]
    if not entries or result.expected_gain is None:
        return None
    gain = result.expected_gain
    names = ["all parties", *(name for name, _ in entries)]
    estimates = [gain.estimate, *(measured.gain for _, measured in entries)]
    errors = [gain.standard_error, *(measured.gain_error for _, measured in entries)]
    places = list(range(len(names)))
    texts = [f"{short(n, 60)}: {signed(g)} ± {e:.2g}" for n, g, e in zip(names, estimates, errors, strict=True)]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": estimates,
        "y": places,
        "error_x": {"type": "data", "array": errors, "thickness": 1.5, "color": GREY},
        "marker": {
            "color": [VERMILION, *[BLUE] * len(entries)],
            "symbol": ["diamond", *["circle"] * len(entries)],
            "size": [13, *[9] * len(entries)],
            "opacity": 1,
        },
        "text": [plain(text) for text in texts],
        "hovertemplate": "%{text}<extra></extra>",
    }
    across = {"title": {"text": plain(f"gain in {result.scoring} over the default")}, "zeroline": True}
    return {"data": [trace], "layout": {"xaxis": across, **_by_party(names)}}


def slices(run: Analysis, slices: Sequence[Slice]) -> list[Figure]:
    """Return the surface along each HP, with one standard deviation of the belief either side."""
    lows = [float((s.losses - s.errors).min()) for s in slices]
    highs = [float((s.losses + s.errors).max()) for s in slices]
    margin = 0.05 * (max(highs) - min(lows)) or 0.01
    up = {"title": {"text": "predicted loss"}, "range": [min(lows) - margin, max(highs) + margin]}
    return [
        {"data": _slice_traces(s), "layout": {"xaxis": s.axis.layout(), "yaxis": up, "shapes": lines(run, s.axis)}}
        for s in slices
    ]


def _slice_traces(piece: Slice) -> list[dict[str, Any]]:
    places, losses, errors = piece.axis.places(piece.values), piece.losses, piece.errors
    named = zip(piece.values, losses, errors, strict=True)
    texts = [plain(f"{short(number(v), 60)}: {loss:.4g} ± {error:.2g}") for v, loss, error in named]
    line = {"type": "scatter", "x": places, "y": rounded(losses), "text": texts, "line": {"color": BLUE, "width": 2}}
    line["hovertemplate"] = "%{text}<extra></extra>"
    if not isinstance(piece.axis.parameter, Real):
        bars = {"type": "data", "array": rounded(errors), "color": GREY}
        return [{**line, "mode": "markers", "marker": {"color": BLUE, "size": 10}, "error_y": bars}]
    edge = {"type": "scatter", "x": places, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    low = {**edge, "y": rounded(losses - errors)}
    high = {**edge, "y": rounded(losses + errors), "fill": "tonexty", "fillcolor": "rgba(86,180,233,0.3)"}
    return [low, high, {**line, "mode": "lines"}]


def regions(run: Analysis) -> list[Figure]:
    """Return where each party's own surface is lowest, along each HP."""
    best = run.best_regions()
    names = [party.party for party in run.trials]
    return [
        {
            "data": [_region(axis, [[config[axis.parameter.name] for config in party] for party in best], names)],
            "layout": {"xaxis": axis.layout(), **_by_party(names), "shapes": lines(run, axis)},
        }
        for axis in run.axes
    ]


def _region(axis: Axis, values: Sequence[Sequence[Any]], names: Sequence[str]) -> dict[str, Any]:
    common = {"type": "scatter", "mode": "markers", "hovertemplate": "%{text}<extra></extra>"}
    if isinstance(axis.parameter, Real):
        low, middle, high = np.quantile([axis.places(party) for party in values], [0.1, 0.5, 0.9], axis=1)
        bars = {"type": "data", "symmetric": False, "array": rounded(high - middle), "color": BLUE, "thickness": 4}
        bars |= {"arrayminus": rounded(middle - low), "width": 0}
        texts = [plain(f"{short(n, 60)}: {region_text(axis, party)}") for n, party in zip(names, values, strict=True)]
        marker = {"color": BLUE, "size": 9}
        x, y = rounded(middle), list(range(len(names)))
        return {**common, "x": x, "y": y, "error_x": bars, "marker": marker, "text": texts}
    shares = [(k, v, n / len(party)) for k, party in enumerate(values) for v, n in Counter(party).most_common(20)]
    sizes = [6 + 14 * share for _, _, share in shares]
    texts = [plain(f"{short(names[k], 60)}: {short(number(v), 40)} {share:.0%}") for k, v, share in shares]
    x, y = axis.places([v for _, v, _ in shares]), [k for k, _, _ in shares]
    return {**common, "x": x, "y": y, "marker": {"color": BLUE, "size": sizes, "opacity": 0.7}, "text": texts}


def region_text(axis: Axis, values: Sequence[Any]) -> str:
    """Return the best region of a party along one HP in words: the middle 80 % of the numbers, or the shares."""
    if isinstance(axis.parameter, Real):
        low, high = np.quantile(np.array(values, dtype=float), [0.1, 0.9], method="nearest")
        return f"{number(float(low))} to {number(float(high))}"
    common = Counter(values).most_common(3)
    return ", ".join(f"{short(number(value), 40)} {count / len(values):.0%}" for value, count in common)


def agreement(run: Analysis) -> Figure | None:
    """Return the rank correlation of each two parties' surfaces; None for one party."""
    if len(run.trials) < 2:
        return None
    matrix, names = run.agreement(), [party.party for party in run.trials]
    count = len(names)
    cells = [[None if math.isnan(r) else round(float(r), 3) for r in row] for row in matrix]
    labelled = {"texttemplate": "%{z:.2f}"} if count <= MOST_MARKS else {}
    pairs = [[plain(f"{short(a, 60)} and {short(b, 60)}") for b in names] for a in names]
    trace = {
        "type": "heatmap",
        "z": cells,
        "zmin": -1,
        "zmax": 1,
        "colorscale": [[0, COLOURS[5]], [0.5, "#f7f7f7"], [1, BLUE]],
        "colorbar": {"title": {"text": "rank<br>correlation"}, "thickness": 12},
        "hovertext": pairs,
        "hovertemplate": "%{hovertext}: %{z:.2f}<extra></extra>",
        **labelled,
    }
    rows = _by_party(names)
    across = {key: value for key, value in rows["yaxis"].items() if key not in ("range",)}
    height = max(300, min(900, count * 26 + 120))
    layout = {**rows, "xaxis": {**across, "side": "bottom", "tickangle": -45}, "height": height}
    return {"data": [trace], "layout": layout}


def importance(run: Analysis) -> Figure:
    """Return the importance of each drawn HP, the most important first."""
    known = dict(zip(run.space.names, run.importance, strict=True))
    names = sorted((axis.parameter.name for axis in run.axes), key=lambda name: -known[name].total)
    places = list(range(len(names)))
    alone = [known[name].alone for name in names]
    joint = [known[name].total - known[name].alone for name in names]
    common = {"type": "bar", "orientation": "h", "y": places, "hovertemplate": "%{x:.0%}"}
    traces = [
        {**common, "x": rounded(np.array(alone)), "name": "alone", "marker": {"color": BLUE}},
        {
            **common,
            "x": rounded(np.array(joint)),
            "name": "with others",
            "marker": {"color": COLOURS[5], "pattern": {"shape": "/", "fgcolor": "#000000", "fillmode": "overlay"}},
        },
    ]
    across = {"title": {"text": "share of the surface's variance"}, "tickformat": ".0%", "rangemode": "tozero"}
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    layout = {"barmode": "stack", "showlegend": True, "legend": legend, "xaxis": across, **_by_party(names)}
    return {"data": traces, "layout": {**layout, "height": len(names) * 34 + 130}}


def drawn_trials(run: Analysis) -> list[dict[str, Any]]:
    """Return each party's trials for the panels and the map: a sample of them where they are very many."""
    most = max(10, MOST_TRIALS // len(run.trials))
    return [_party_marks(run, place, party, most) for place, party in enumerate(run.trials)]


def _party_marks(run: Analysis, place: int, party: PartyTrials, most: int) -> dict[str, Any]:
    trials = _thinned(party, most)
    colour, symbol = mark(place, len(run.trials))
    names = [axis.parameter.name for axis in run.axes]
    return {
        "name": plain(short(party.party, 60)),
        "color": colour,
        "symbol": symbol,
        "at": [
            rounded(np.array(axis.places([t.config[n] for t in trials])))
            for axis, n in zip(run.axes, names, strict=True)
        ],
        "loss": rounded(np.array([trial.loss for trial in trials])),
        "text": [_trial_text(trial, names) for trial in trials],
        "best": min(range(len(trials)), key=lambda k: trials[k].loss),
    }


def _trial_text(trial: Trial, names: Sequence[str]) -> str:
    shown = {short(name): short(number(trial.config[name])) for name in names[:6]}
    return "<br>".join([f"loss {trial.loss:.4g}", *(plain(f"{name} = {value}") for name, value in shown.items())])


def _thinned(party: PartyTrials, most: int) -> list[Trial]:
    """Return at most about ``most`` trials: the best one, the default, and others evenly over the search."""
    if len(party.trials) <= most:
        return list(party.trials)
    even = {int(k) for k in np.linspace(0, len(party.trials) - 1, most)}
    return [t for k, t in enumerate(party.trials) if k in even or t is party.best or t is party.default]


def map_data(run: Analysis) -> dict[str, Any]:
    """Return what the map is drawn from: grids for each two HPs, and where the default and the answer lie."""
    grids, maps = run.map_grids(), run.maps()
    configs: list[Config] = [run.measured, *([run.result.default] if run.result.default else [])]
    return {
        "axes": [axis.layout() for axis in run.axes],
        "grids": [rounded(np.array(axis.places(g))) for axis, g in zip(run.axes, grids, strict=True)],
        "labels": [[number(value) for value in grid] for grid in grids],
        "losses": {f"{i},{j}": [rounded(row) for row in losses] for (i, j), losses in maps.items()},
        "low": min((float(m.min()) for m in maps.values()), default=0.0),
        "high": max((float(m.max()) for m in maps.values()), default=1.0),
        "marks": [[axis.places([config[axis.parameter.name]])[0] for axis in run.axes] for config in configs],
        "marktexts": [plain(config_text(config)[:300]) for config in configs],
    }


def lines(run: Analysis, axis: Axis) -> list[dict[str, Any]]:
    """Return lines at the recommendation and, dashed, at the default."""
    name = axis.parameter.name
    known = [(run.measured, "solid"), *([(run.result.default, "dash")] if run.result.default else [])]
    shape = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "layer": "above"}
    return [
        {**shape, "x0": x, "x1": x, "line": {"dash": dash, "width": 1.5}}
        for config, dash in known
        for x in axis.places([config[name]])
    ]


def rounded(values: Any) -> list[float]:
    """Return numbers with five digits: enough for the eye, and a small page."""
    return [float(f"{value:.5g}") for value in values]


def _by_party(names: Sequence[str]) -> dict[str, Any]:
    """Return the layout of a chart with a row for each name, the first on top."""
    return {
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(names))),
            "ticktext": [plain(short(name)) for name in names],
            "range": [len(names) - 0.4, -0.6],
            "automargin": True,
            "zeroline": False,
        },
        "height": len(names) * ROW + 110,
    }
