"""HTML that is escaped by construction: text becomes markup only through :func:`element`."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

FEW_COLUMNS = 3  # a table of so many fits a phone as it is; a wider one becomes a card for each row
SINGLE = ("line", "rect", "use", "path", "image", "circle", "meta")  # elements without content


class Html(str):
    """Text that is markup already; every other text is escaped."""

    __slots__ = ()


def element(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element; ``class_`` and ``aria_label`` are written ``class`` and ``aria-label``; None is left out.

    >>> element("p", "a < b", class_="note"), element("line", x1="5%", id=None)
    ('<p class="note">a &lt; b</p>', '<line x1="5%"/>')
    """
    written = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in SINGLE and not children:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Html:
    """Return the children one after the other, escaped where they are plain text."""
    return Html("".join(child if isinstance(child, Html) else escape(str(child)) for child in children))


def table(
    caption: str,
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    numbers: int = 0,
    words: int = 0,
    kind: str | None = None,
) -> Html:
    """Return a table with a caption; the first cell of each row is its header.

    Args:
        caption: What it shows.
        head: The heads of the columns.
        rows: The cells.
        numbers: How many of the last columns are numbers: they end at the same place.
        words: How many columns follow the numbers.
        kind: How it fits a phone: as "cards", or by a "scroll" with a cue; by the number of its columns.
    """
    last = len(head) - words
    kinds = ["number" if last - numbers <= place < last else None for place in range(len(head))]
    kinds[last:] = ["words"] * words
    heads = [element("th", _breakable(cell), scope="col", class_=k) for cell, k in zip(head, kinds, strict=True)]
    header = element("tr", *heads)
    labels = [None, *(_plain_text(cell) for cell in head[1:])]
    body = [
        element(
            "tr",
            element("th", _breakable(row[0]), scope="row", class_=kinds[0]),
            *(
                element("td", cell, class_=k, data_label=label)
                for cell, k, label in zip(row[1:], kinds[1:], labels[1:], strict=True)
            ),
        )
        for row in rows
    ]
    kind = kind or ("cards" if len(head) > FEW_COLUMNS else "few")
    whole = element("table", element("caption", caption), element("thead", header), element("tbody", *body))
    return element("div", whole, class_=f"table {kind}", role="region", aria_label=caption, tabindex="0")


def _breakable(cell: Any) -> Any:
    """Return the head of a column or row that may go on in a second line after each stroke of its name: max_iter."""
    if isinstance(cell, Html) or "_" not in str(cell):
        return cell
    return Html("_<wbr/>".join(map(escape, str(cell).split("_"))))


def _plain_text(cell: Any) -> str:
    return cell.split(">", 1)[1].rsplit("<", 1)[0] if isinstance(cell, Html) and cell.startswith("<") else str(cell)


def folded(summary: str, *children: Any) -> Html:
    """Return what is shown when the reader asks for it, and on paper."""
    return element("details", element("summary", summary), *children)


def chooser(identity: str, label: str, options: Sequence[str], *, chosen: int = 0, kind: str) -> Html:
    """Return a labelled choice of one of the options; its value is the option's place."""
    entries = [
        element("option", text, value=place, selected="selected" if place == chosen else None)
        for place, text in enumerate(options)
    ]
    return element("label", label, " ", element("select", *entries, id=identity, class_=kind), for_=identity)


def section(identity: str, title: str, *children: Any) -> Html:
    """Return a section under a heading of the second level; the reader can fold it."""
    heading = element("summary", element("h2", title, id=f"{identity}-title"))
    return element("section", element("details", heading, *children, open="open", class_="section"), id=identity)


def script_data(identity: str, data: Any) -> Html:
    r"""Return JSON for the page's script: no text in it can end the element or open another.

    >>> script_data("d", "</script>")
    '<script type="application/json" id="d">"\\u003c/script\\u003e"</script>'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII: no U+2028 either
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return element("script", Html(text), type="application/json", id=identity)
