"""HTML that is escaped by construction: text becomes markup only through :func:`element`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

NONE = "–"


class Html(str):
    """Text that is markup already; every other text is escaped."""

    __slots__ = ()


def element(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element; ``class_`` and ``aria_label`` are written ``class`` and ``aria-label``.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Html:
    """Return the children one after the other, escaped where they are plain text."""
    return Html("".join(child if isinstance(child, Html) else escape(str(child)) for child in children))


def table(caption: str, head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Html:
    """Return a table with a caption; the first cell of each row is its header. It scrolls where it is too wide."""
    header = element("tr", *(element("th", cell, scope="col") for cell in head))
    body = [element("tr", element("th", row[0], scope="row"), *(element("td", c) for c in row[1:])) for row in rows]
    whole = element("table", element("caption", caption), element("thead", header), element("tbody", *body))
    return element("div", whole, class_="scroll", role="region", aria_label=caption, tabindex="0")


def folded(summary: str, *children: Any) -> Html:
    """Return what is shown when the reader asks for it."""
    return element("details", element("summary", summary), *children)


def chart(identity: str, title: str, description: str, *, kind: str = "wide") -> Html:
    """Return the place of a chart, with words for who does not see it."""
    place = element("div", id=identity, class_="chart", role="img", aria_label=f"{title}. {description}")
    return element("figure", element("figcaption", title), place, class_=kind)


def chooser(identity: str, label: str, options: Sequence[str], *, chosen: int = 0, kind: str) -> Html:
    """Return a labelled choice of one of the options; its value is the option's place."""
    entries = [
        element("option", text, value=place, **({"selected": "selected"} if place == chosen else {}))
        for place, text in enumerate(options)
    ]
    return element("label", label, " ", element("select", *entries, id=identity, class_=kind), for_=identity)


def section(identity: str, title: str, *children: Any) -> Html:
    """Return a section under a heading of the second level."""
    return element("section", element("h2", title, id=f"{identity}-title"), *children, id=identity)


def script_data(identity: str, data: Any) -> Html:
    r"""Return JSON for the page's script: no text in it can end the element or open another.

    >>> script_data("d", "</script>")
    '<script type="application/json" id="d">"\\u003c/script\\u003e"</script>'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII: no U+2028 either
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return element("script", Html(text), type="application/json", id=identity)


def number(value: Any) -> str:
    """Return a value for a person: numbers with four digits.

    >>> number(0.123456), number(1234567), number(None), number(True), number("rbf")
    ('0.1235', '1234567', '–', 'true', 'rbf')
    """
    if value is None:
        return NONE
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return f"{value:+.4f}" if 1e-3 <= abs(value) < 1e4 else f"{value:+.3g}"


def with_error(loss: float | None, error: float | None) -> str:
    """Return a loss with its standard error, as far as they are known."""
    if loss is None or error is None:
        return number(loss)
    return f"{loss:.4g}\u00a0±\u00a0{error:.2g}"


def config_text(config: Mapping[str, Any]) -> str:
    """Return a config in one line."""
    return ", ".join(f"{name} = {number(value)}" for name, value in config.items())
