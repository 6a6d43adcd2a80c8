"""How far a run is, step by step: bars in a terminal, and elsewhere a line every few seconds."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from flora.core.workers import Map
from flora.problem.messages import Confirm, Reply, Search, Step, Train
from flora.problem.plan import SearchPlan
from flora.problem.private_messages import ConfirmPrivately, SearchPrivately
from flora.program.drive import Ask
from flora.program.status import RunStatus

A = TypeVar("A")
B = TypeVar("B")
SECONDS = 10.0  # between two lines, where there is no terminal
MOST_BARS = 12  # with more parties there is one bar for all
WORDS = {
    "describe": "columns",
    "search": "search",
    "confirm": "confirmation: configs measured",
    "certify": "certificate",
    "search-privately": "search",
    "survey": "sums of surfaces",
    "confirm-privately": "confirmation: configs measured",
    "train": "training",
}
SEARCHES, CONFIRMATIONS = (Search.name, SearchPrivately.name), (Confirm.name, ConfirmPrivately.name)
COUNTED = (*SEARCHES, *CONFIRMATIONS)  # steps in which parties say how far they are
BETWEEN = "the aggregator decides"


@dataclass
class Stage:
    """One step of a run, or what the aggregator does between two."""

    name: str
    words: str
    total: int | None = None  # None: nobody knows beforehand
    done: dict[str, int] = field(default_factory=dict)  # by party
    began: float = field(default_factory=time.monotonic)
    seconds: float | None = None  # once it has ended
    passes: int = 1  # of the training under way: how often it goes through its iterations
    passed: int = 0
    iterations: tuple[int, int] = (0, 0)  # of the pass under way: done, and at most; 0, if nobody knows
    budget: float | None = None  # the seconds that it may take, where somebody said so

    @property
    def count(self) -> int:
        """What is done, at all parties together."""
        return sum(self.done.values())

    @property
    def reached(self) -> float:
        """The same, with what is done of the training under way."""
        done, most = self.iterations
        return self.count + min((self.passed + (done / most if most else 0.0)) / self.passes, 1.0)

    @property
    def inside(self) -> str:
        """How far the training under way is, in words."""
        return iterations(*self.iterations)

    def line(self) -> str:
        """Return how far it is, in words, with an estimate of what is left where there is one."""
        far = f" {self.count} of {self.total}" if self.total and self.name != Train.name else ""
        inside = f", {self.inside}" if self.inside else ""
        left = "" if self.left is None else f", about {self.left:.0f} s left"
        return f"{self.words}{far}{inside}, {self.taken:.0f} s{left}"

    @property
    def taken(self) -> float:
        """The seconds since it began; those of all trainings, where it is one of them."""
        return time.monotonic() - self.began if self.seconds is None else self.seconds

    @property
    def left(self) -> float | None:
        """The seconds that are left, by what was done so far and the budget; None where nobody can say."""
        if self.seconds is not None or not self.total or not 0 < self.reached < self.total:
            return None
        by_counts = self.taken * (self.total - self.reached) / self.reached
        if self.budget is None:
            return by_counts
        return min(by_counts, self.budget - self.taken) if self.taken < self.budget else None


def iterations(done: int, most: int) -> str:
    """Return how far a training is, in words: ``most`` is 0 where nobody knows."""
    return f"iteration {done}{f' of at most {most}' if most else ''}" if done else ""


class RunProgress:
    """Follows a run: who asks and who computes tells it, and ``show`` is told of each change."""

    def __init__(self, parties: Sequence[str], show: Callable[[Stage], None]) -> None:
        self.parties, self.show = tuple(parties), show
        self.stage = Stage("", "begins")
        self.past: list[Stage] = []  # steps that have ended; all trainings are one
        self.plan: SearchPlan | None = None
        self.trained = 0
        self._inside: dict[str, tuple[int, int]] = {}  # iterations of the training under way, by party
        self._elsewhere: tuple[str, int] | None = None  # the step of a run that another machine drives
        self._lock = Lock()

    def report(self, party: str, done: int, total: int) -> None:
        """Take a party's word on its search."""
        with self._lock:
            if self.stage.name in SEARCHES:
                self.stage.done[party] = done
                self.stage.total = total * len(self.parties)
                self.show(self.stage)

    def trains(self, party: str, done: int, most: int) -> None:
        """Take a party's word on the training under way."""
        with self._lock:
            if self.stage.name == Train.name:
                self._inside[party] = (done, most)
                self._now_inside()

    def asking(self, ask: Ask) -> Ask:
        """Return the same engine, of whose steps is told."""

        def told(step: Step) -> list[Reply]:
            self._begin(step)
            replies = list(ask(step))
            self._end()
            return replies

        return told

    def counting(self, party: str, spread: Map) -> Map:
        """Return the same map of a party, whose calls are counted: each measures one config."""

        def counted(function: Callable[[A], B], items: Sequence[A]) -> list[B]:
            answers = spread(function, items)
            with self._lock:
                if self.stage.name in CONFIRMATIONS:
                    self.stage.done[party] = self.stage.done.get(party, 0) + 1
                    self.show(self.stage)
            return answers

        return counted

    def follow(self, status: RunStatus) -> None:
        """Take the aggregator's word on a run that it drives: the step, its number, and each party's counts."""
        now = status.step, status.number
        if now != self._elsewhere:
            if self._elsewhere is not None:
                self._end()
            self._elsewhere = now
            if now[0] == Train.name:
                self._begin_training(status.training, status.fold, status.folds, status.passes)
            else:
                self._enter(Stage(now[0], WORDS.get(now[0], now[0])))
        counts = {name: (party.done, party.total) for name, party in status.parties.items()}
        most = max((total for _, total in counts.values()), default=0)
        if now[0] == Train.name and any(done for done, _ in counts.values()):
            with self._lock:
                self._inside = counts
                self._now_inside()
        if now[0] in COUNTED and most:
            with self._lock:
                self.stage.done = {name: done for name, (done, total) in counts.items() if total}
                self.stage.total = most * len(counts)
                self.show(self.stage)

    def _begin(self, step: Step) -> None:
        if isinstance(step, Train):
            self._begin_training(self.trained + 1, step.fold, step.folds, step.passes)
            return
        self.plan = step.plan if isinstance(step, Search) else self.plan  # of a private search nobody looks at pairs
        total = (len(step.configs) + 1) * len(self.parties) if isinstance(step, Confirm | ConfirmPrivately) else None
        seconds = step.plan.seconds if isinstance(step, Search) else None
        budget = None if seconds is None else seconds * len(self.parties)  # at most: jobs let parties search at once
        self._enter(Stage(step.name, WORDS.get(step.name, step.name), total, budget=budget))

    def _now_inside(self) -> None:
        """Take over what the first party says that is furthest; where all are back at the start, a pass has ended."""
        furthest = max(self._inside.values())
        self.stage.passed += furthest[0] < self.stage.iterations[0]
        self.stage.iterations = furthest
        self.show(self.stage)

    def _begin_training(self, place: int, fold: int, folds: int, passes: int) -> None:
        """Count the trainings: two in each fold of a comparison, or one where nothing is compared, and the last."""
        self.trained = place
        each = 2 if fold == (self.trained - 1) // 2 else 1
        total = each * folds + 1 if folds else self.trained
        words = f"training {self.trained} of {total}" if total > 1 else f"training {self.trained}"
        before = [stage for stage in self.past if stage.name == Train.name]
        self.past = [stage for stage in self.past if stage.name != Train.name]
        began = before[0].began if before else time.monotonic()
        self._inside = {}
        self._enter(Stage(Train.name, words, total, {"": self.trained - 1}, began, passes=max(passes, 1)))

    def _end(self) -> None:
        with self._lock:
            ended = self.stage
            if ended.name == Train.name:
                ended.done, ended.passed, ended.iterations = {"": self.trained}, 0, (0, 0)
            ended.seconds = time.monotonic() - ended.began
            self.past.append(ended)
            self.show(ended)
        self._enter(Stage("", BETWEEN))

    def _enter(self, stage: Stage) -> None:
        with self._lock:
            self.stage = stage
            self.show(stage)


@contextmanager
def run_progress(parties: Sequence[str], console: Console, *, quiet: bool = False) -> Iterator[RunProgress]:
    """Show how far a run is: bars in a terminal, elsewhere a line every ten seconds, nothing where that is wished."""
    if quiet:
        yield RunProgress(parties, lambda _: None)
    elif console.is_terminal:
        with _bars(parties, console) as found:
            yield found
    else:
        with _lines(parties, console) as found:
            yield found


class _WhatIsLeft(TimeRemainingColumn):
    """What is left by the counts; nothing where a budget of seconds ends a search before its trials do."""

    def render(self, task: Task) -> Text:
        return super().render(task) if task.fields["budget"] is None else Text()


@contextmanager
def _bars(parties: Sequence[str], console: Console) -> Iterator[RunProgress]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"), TimeElapsedColumn())
    with Progress(*columns, _WhatIsLeft(), console=console) as bars:
        tasks: dict[tuple[str, str], int] = {}

        def bar(stage: Stage, party: str, done: float, total: int | None, count: str = "") -> None:
            key = (f"{stage.began}", party)
            if key not in tasks:
                words = f"{stage.words} at {escape(party)}" if party else stage.words
                tasks[key] = bars.add_task(words, total=total, count="", budget=stage.budget)
            said = count or (f"{done:g}/{total}" if total else "")
            bars.update(tasks[key], completed=done, total=total, count=said)  # type: ignore[arg-type]
            if not party:  # trainings share a bar
                bars.update(tasks[key], description=stage.words)  # type: ignore[arg-type]

        def show(stage: Stage) -> None:
            for key, task in tasks.items():  # what has ended stands still, and the aggregator's pauses go
                if key[0] != f"{stage.began}":
                    bars.stop_task(task)  # type: ignore[arg-type]
                    bars.update(task, visible=bars.tasks[task].description != BETWEEN)  # type: ignore[arg-type]
            if stage.name in SEARCHES and len(parties) <= MOST_BARS:
                for party, done in stage.done.items():
                    bar(stage, party, done, (stage.total or 0) // len(parties) or None)
            else:
                bar(stage, "", stage.reached, stage.total, stage.inside)

        yield RunProgress(parties, show)


@contextmanager
def _lines(parties: Sequence[str], console: Console) -> Iterator[RunProgress]:
    over = Event()
    found = RunProgress(parties, lambda _: None)

    def tell() -> None:
        while not over.wait(SECONDS):
            console.print(found.stage.line(), markup=False, highlight=False, soft_wrap=True)

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield found
    finally:
        over.set()
        teller.join()
