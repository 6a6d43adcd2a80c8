"""A bar over work that others do, with the time that is left."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

SECONDS = 2.0  # between two looks


@contextmanager
def work_bar(what: str, work: Callable[[], tuple[float, float]], console: Console) -> Iterator[None]:
    """Show one bar over work that others do, with an estimate of the time left; nothing where there is no terminal.

    ``work`` tells how much there is and how much of it is done, and is asked every few seconds.
    """
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), _TimeLeft())
    over = Event()
    with Progress(*columns, console=console) as bars:
        total, before = work()
        task = bars.add_task(what, total=total, before=before)
        bars.update(task, completed=before)

        def look() -> None:
            while not over.wait(SECONDS):
                bars.update(task, completed=work()[1])

        watcher = Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            bars.update(task, completed=work()[1])


class _TimeLeft(ProgressColumn):
    """The time left, if the rest goes as fast as what was done since the start: rich itself looks back 30 seconds."""

    def render(self, task: Task) -> Text:
        """Return hours, minutes and seconds."""
        return Text(f"left {time_left(task.elapsed or 0.0, task.completed - task.fields['before'], task.remaining)}")


def time_left(seconds: float, done: float, rest: float | None) -> str:
    """Return how long the rest will take, as what was done took ``seconds``.

    >>> time_left(600, 1, 7), time_left(600, 0, 7)
    ('1:10:00', '-:--:--')
    """
    return "-:--:--" if done <= 0 or rest is None else str(timedelta(seconds=round(seconds * rest / done)))
