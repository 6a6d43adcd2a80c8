"""The map of the surface over two HPs: a picture for each two, which the page's script can exchange."""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.outcome.numbers import number
from flora.outcome.report.analysis import Matrix, SurfaceView
from flora.outcome.report.axes import Axis, short
from flora.outcome.report.charts import drawn, party_kind, party_symbol
from flora.outcome.report.markup import Html, element
from flora.outcome.report.plot import Side, lines, mark, plot, share

# Bands end at these quantiles of what all maps show: the good region, a small share of them, has most of the colours.
QUANTILES = (0.0, 0.02, 0.05, 0.1, 0.17, 0.26, 0.38, 0.52, 0.68, 0.84, 1.0)
COLOURS = (  # from good to bad: ten of cividis, which all eyes tell apart, also in print
    *("fee838", "e5cf52", "c8b866", "aea371", "968f77"),
    *("7d7c78", "666970", "4f576c", "31446b", "00224e"),
)
PIXELS = 160


def bands(maps: dict[tuple[int, int], Matrix]) -> list[float]:
    """Return the losses between the bands of colour, ends included."""
    values = np.concatenate([losses.ravel() for losses in maps.values()])
    return [float(edge) for edge in np.quantile(values, QUANTILES)]


def picture(losses: Matrix, across: Axis, up: Axis, places: tuple[list[float], list[float]], edges: list[float]) -> str:
    """Return a map as the address of a picture: losses are (up, across), the picture's first row is the top."""
    fine = _finer(_finer(losses, across, places[0]).T, up, places[1]).T
    indices = np.clip(np.searchsorted(edges, fine, side="right") - 1, 0, len(COLOURS) - 1)
    return png(indices[::-1].astype(np.uint8))


def _finer(losses: Matrix, axis: Axis, places: list[float]) -> Matrix:
    """Return rows that are finer along their columns: in between where the HP has an order, else in steps."""
    if not axis.ordered:
        return np.repeat(losses, max(1, PIXELS // losses.shape[1]), axis=1)
    to = np.linspace(0, 1, PIXELS)
    return np.array([np.interp(to, places, row) for row in losses])


def png(indices: NDArray[np.uint8]) -> str:
    """Return a picture of the palette's colours as a data address."""
    height, width = indices.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    palette = b"".join(bytes.fromhex(colour) for colour in COLOURS)
    rows = b"".join(b"\0" + row.tobytes() for row in indices)
    chunks = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    whole = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)
    return f"data:image/png;base64,{base64.b64encode(whole).decode()}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def chosen_axes(run: SurfaceView) -> tuple[int, int]:
    """Return the two HPs that matter most, in their order: these are drawn first."""
    names = run.space.names
    totals = [run.importance[names.index(axis.parameter.name)].total for axis in run.axes]
    first, second = sorted(sorted(range(len(totals)), key=lambda k: -totals[k])[:2])
    return first, second


def map_data(run: SurfaceView) -> dict[str, Any]:
    """Return all that the page's script needs to draw another two HPs."""
    grids, maps = run.map_grids(), run.maps()
    places = [axis.places(grid) for axis, grid in zip(run.axes, grids, strict=True)]
    edges = bands(maps)
    count = len(run.trials)
    configs = [run.measured, *([run.space.default] if run.space.default else [])]
    names = [axis.parameter.name for axis in run.axes]
    return {
        "names": names,
        "ticks": [[[round(x, 4), label] for x, label in axis.ticks] for axis in run.axes],
        "grids": [[round(x, 4) for x in grid] for grid in places],
        "labels": [[number(value) for value in grid] for grid in grids],
        "losses": {f"{i},{j}": [[float(f"{z:.4g}") for z in row] for row in m] for (i, j), m in maps.items()},
        "pictures": {
            f"{i},{j}": picture(losses, run.axes[i], run.axes[j], (places[i], places[j]), edges)
            for (i, j), losses in maps.items()
        },
        "edges": edges,
        "marks": [[round(axis.places([c[n]])[0], 4) for axis, n in zip(run.axes, names, strict=True)] for c in configs],
        "trials": [
            [
                [round(x, 4) for x in axis.apart([t.config[name] for t in drawn(party, run.path, count)])]
                for axis, name in zip(run.axes, names, strict=True)
            ]
            for party in run.trials
        ],
    }


def drawn_map(run: SurfaceView, data: dict[str, Any], axes: tuple[int, int]) -> Html:
    """Return the map over two HPs, the first across, with all parties' trials."""
    i, j = axes
    across, up = (Side(short(data["names"][k], 40), run.axes[k].ticks) for k in axes)
    image = element("image", width=1000, height=1000, href=data["pictures"][f"{i},{j}"], preserveAspectRatio="none")
    count = len(run.trials)
    groups = [
        element(
            "g",
            *(mark(party_symbol(k, count), x, y) for x, y in zip(at[i], at[j], strict=True)),
            class_=f"party {party_kind(k, count)}",
            data_party=k,
        )
        for k, at in enumerate(data["trials"])
    ]
    marks = [
        mark(symbol, at[i], at[j], class_="config", data_tip=words)
        for symbol, words, at in zip(
            ("star", "cross"), ("the recommendation", "the default"), data["marks"], strict=False
        )
    ]
    words = "Brighter is better. The star is the recommendation, the cross the default. A table of the map follows."
    return plot("map", across, up, lines(image), *groups, *marks[::-1], words=words, height=420)


def colour_key(edges: list[float]) -> Html:
    """Return which colour stands for which losses."""
    swatches = [
        element("rect", x=share(k / len(COLOURS)), y=0, width=share(1 / len(COLOURS)), height=12, fill=f"#{colour}")
        for k, colour in enumerate(COLOURS)
    ]
    anchors = {0: "start", len(COLOURS): "end"}
    texts = [
        element(
            "text", f"{edge:.3g}", x=share(k / len(COLOURS)), y=26, class_="tick", text_anchor=anchors.get(k, "middle")
        )
        for k, edge in enumerate(edges)
        if k % 2 == 0
    ]
    return element(
        "figure",
        element("figcaption", "Predicted loss: each colour is a share of the map, the best ones the smallest"),
        element("svg", *swatches, *texts, width="100%", height=32, overflow="visible", aria_hidden="true"),
        class_="key",
    )
