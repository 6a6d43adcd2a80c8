"""How far a search is: lines, as scikit-learn's searches print them, or in a notebook a table, drawn in its place."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from threading import Lock
from typing import Any

Display = Callable[[str], None]


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel; IPython is asked only where somebody has imported it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


@dataclass
class NotebookProgress:
    """The parties' searches, each with a bar."""

    display: Display
    done: dict[str, tuple[int, int]] = field(default_factory=dict)
    words: str = ""
    _lock: Any = field(default_factory=Lock)

    def report(self, party: str, done: int, total: int) -> None:
        """Take a party's word on its search."""
        with self._lock:
            self.done[party] = (done, total)
            self.display(self.html)

    def say(self, text: str) -> None:
        """Show a sentence below."""
        with self._lock:
            self.words = text
            self.display(self.html)

    @property
    def html(self) -> str:
        """What is shown now."""
        rows = "".join(
            f"<tr><th>{escape(party)}</th><td><progress max='{total}' value='{done}'></progress></td>"
            f"<td>{done} of {total} trials</td></tr>"
            for party, (done, total) in self.done.items()
        )
        return f"<table>{rows}</table><div>{escape(self.words)}</div>"


@dataclass(frozen=True)
class Lines:
    """A line for each party, or for each trial, as ``verbose`` wants it."""

    verbose: int

    def report(self, party: str, done: int, total: int) -> None:
        """Take a party's word on its search."""
        if self.verbose > 1 or done == total:
            self.say(f"{party}: {done} of {total} trials")

    def say(self, text: str) -> None:
        """Print a line."""
        if self.verbose:
            print(f"[FloraSearchCV] {text}", flush=True)  # noqa: T201  (as scikit-learn's searches do)


def progress_of(verbose: int) -> Lines | NotebookProgress:
    """Return what shows how far a search is, where ``verbose`` wants it."""
    if not verbose or not in_notebook():
        return Lines(verbose)
    from IPython import display

    html: Callable[[str], Any] = display.HTML
    handle: Any = display.display(html(""), display_id=True)  # type: ignore[no-untyped-call]
    return NotebookProgress(lambda text: handle.update(html(text)))
