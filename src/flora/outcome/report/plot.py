"""Charts as SVG that no script need draw: places are shares of the plot, so that text keeps its size at any width.

Colours are the page's, by class: light, dark and paper are the style's affair.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flora.outcome.report.axes import Ticks
from flora.outcome.report.markup import Html, element, join

SYMBOLS = {  # their outlines about the origin, and the letter that looks like each
    "●": "M4.2,0A4.2,4.2 0 1 1 -4.2,0A4.2,4.2 0 1 1 4.2,0Z",
    "■": "M-3.7,-3.7H3.7V3.7H-3.7Z",
    "◆": "M0,-5L5,0L0,5L-5,0Z",
    "▲": "M0,-4.8L4.8,3.8H-4.8Z",
    "▼": "M0,4.8L4.8,-3.8H-4.8Z",
    "✚": "M-1.6,-4.8H1.6V-1.6H4.8V1.6H1.6V4.8H-1.6V1.6H-4.8V-1.6H-1.6Z",
    "◀": "M-4.8,0L3.8,-4.8V4.8Z",
    "▶": "M4.8,0L-3.8,-4.8V4.8Z",
}
STAR = "M0,-12L2.9,-4L11.4,-3.7L4.7,1.5L7.1,9.7L0,5L-7.1,9.7L-4.7,1.5L-11.4,-3.7L-2.9,-4Z"
CROSS = "M-8,-5L-5,-8L0,-3L5,-8L8,-5L3,0L8,5L5,8L0,3L-5,8L-8,5L-3,0Z"


@dataclass(frozen=True)
class Side:
    """One side of a plot: its title, and ticks at places from 0 to 1."""

    title: str
    ticks: Ticks = field(default_factory=list)


def share(place: float) -> str:
    """Return a place as a share of the plot.

    >>> share(0.12345)
    '12.35%'
    """
    return f"{100 * place:.4g}%"


def symbols() -> Html:
    """Return the outlines that marks refer to, once for a page."""
    paths = [element("path", d=outline, id=f"m{k}") for k, outline in enumerate(SYMBOLS.values())]
    paths += [element("path", d=STAR, id="star"), element("path", d=CROSS, id="cross")]
    return element("svg", element("defs", *paths), class_="symbols", aria_hidden="true", width=0, height=0)


def plot(identity: str, across: Side, up: Side, *marks: Any, words: str, height: int = 190) -> Html:
    """Return a plot with its axes; the marks lie in it, drawn in their order."""
    inside = element("svg", *grid(across, up), *marks, width="100%", height=height, overflow="visible")
    return element("div", inside, id=identity, class_="chart", role="img", aria_label=words)


def grid(across: Side, up: Side) -> list[Html]:
    """Return the lines, labels and titles of the two axes."""
    return [
        element("g", *_across(across), class_="across"),
        element("g", *_up(up), class_="up"),
    ]


def _across(side: Side) -> list[Html]:
    found = [element("line", x1=share(x), x2=share(x), y1=0, y2="100%", class_="grid") for x, _ in side.ticks]
    found += [
        element("text", label, x=share(x), y="100%", dy=16, class_="tick", text_anchor="middle")
        for x, label in side.ticks
    ]
    return [*found, element("text", side.title, x="50%", y="100%", dy=34, class_="axis", text_anchor="middle")]


def _up(side: Side) -> list[Html]:
    found = [element("line", x1=0, x2="100%", y1=share(1 - y), y2=share(1 - y), class_="grid") for y, _ in side.ticks]
    found += [
        element("text", label, x=0, dx=-6, y=share(1 - y), dy=4, class_="tick", text_anchor="end")
        for y, label in side.ticks
    ]
    return [*found, element("text", side.title, x=0, y=0, dx=-44, dy=-9, class_="axis")]


def mark(symbol: int | str, x: float, y: float, **attributes: Any) -> Html:
    """Return one mark."""
    name = f"#m{symbol}" if isinstance(symbol, int) else f"#{symbol}"
    return element("use", href=name, x=share(x), y=share(1 - y), **attributes)


def upright(x: float, kind: str) -> Html:
    """Return a line from top to bottom."""
    return element("line", x1=share(x), x2=share(x), y1=0, y2="100%", class_=kind)


def bar(x0: float, x1: float, y: float, kind: str) -> Html:
    """Return a line along the plot, as of an interval."""
    return element("line", x1=share(x0), x2=share(x1), y1=share(1 - y), y2=share(1 - y), class_=kind)


def lines(*paths: Html) -> Html:
    """Return paths whose places run from 0 to 1,000, stretched over the plot; their strokes are not."""
    return element(
        "svg", *paths, viewBox="0 0 1000 1000", preserveAspectRatio="none", width="100%", height="100%",
        overflow="visible",
    )  # fmt: skip


def polyline(xs: Sequence[float], ys: Sequence[float], kind: str, *, closed: bool = False) -> Html:
    """Return a line through points, or the area that they enclose."""
    points = [f"{1000 * x:.1f},{1000 * (1 - y):.1f}" for x, y in zip(xs, ys, strict=True)]
    return element("path", d=f"M{'L'.join(points)}{'Z' * closed}", class_=kind, vector_effect="non-scaling-stroke")


def strip(*marks: Any, kind: str = "strip", tip: str | None = None) -> Html:
    """Return the chart of one row of a table, on a scale that the rows share."""
    return element(
        "svg", join(marks), width="100%", height=22, overflow="visible", class_=kind, data_tip=tip, aria_hidden="true"
    )


@dataclass(frozen=True)
class Extent:
    """A range of numbers as places from 0 to 1."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Sequence[float], margin: float = 0.06) -> "Extent":
        """Return the range of some numbers, with a margin."""
        low, high = min(values), max(values)
        more = margin * (high - low) or 0.01 * abs(high) or 0.01
        return cls(low - more, high + more)

    def place(self, value: float) -> float:
        """Return where a number lies; what is outside lies at an end."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def places(self, values: Iterable[float]) -> list[float]:
        """Return where numbers lie."""
        return [self.place(float(value)) for value in values]
