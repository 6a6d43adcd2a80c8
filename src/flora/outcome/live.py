"""How far a run is, in a file of its folder while it goes on, for who looks on: ``flora report --watch``."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from flora.aggregator.surface import SurfaceChoice
from flora.core.codec import to_document
from flora.core.documents import Format
from flora.core.files import write_whole
from flora.core.rules import Amount, Name, Sentence, Total, check
from flora.errors import InputError
from flora.outcome.progress import SEARCHES, RunProgress, Stage
from flora.problem.plan import SearchPlan
from flora.program.request import Request

FILE = "live.json"
FORMAT = Format("flora-live", most=2**20)
SECONDS = 1.0  # between two looks at a run
BEAT = 5.0  # a run under way writes at least so often
SILENT = 60.0  # who has not written for so long is no longer at work; a busy machine may hold a run up


@dataclass(frozen=True)
class LiveParty:
    """How far one party is with its search."""

    name: Name
    done: Total = 0
    total: Total = 0
    state: Sentence = ""  # across machines: at work, has answered, gives no sign of life


@dataclass(frozen=True)
class LiveStep:
    """One step: ended, or under way where nobody knows its end."""

    words: Sentence
    seconds: Amount
    ended: bool
    done: Total = 0
    total: Total = 0
    left: Amount | None = None  # seconds, at a guess
    inside: Sentence = ""  # how far the training under way is


@dataclass(frozen=True)
class Live:
    """A run that goes on."""

    family: Sentence
    surface: SurfaceChoice
    seed: Total
    parties: tuple[LiveParty, ...]
    steps: tuple[LiveStep, ...]
    written: Amount  # seconds since 1970
    plan: SearchPlan | None = None  # from the search on

    def __post_init__(self) -> None:
        check(self)

    @property
    def silence(self) -> float:
        """The seconds since the run last gave a sign of life."""
        return max(time.time() - self.written, 0.0)

    @classmethod
    def of(
        cls, request: Request, plan: SearchPlan | None, parties: Sequence[LiveParty], steps: Sequence[LiveStep]
    ) -> "Live":
        """Return how far a request is now."""
        now = time.time()
        return cls(request.family, request.surface, request.seed, tuple(parties), tuple(steps), now, plan)

    @classmethod
    def read(cls, run: Path) -> "Live | None":
        """Return what a run's folder says; None where no run goes on there."""
        file = run / FILE
        try:
            return FORMAT.record(cls, FORMAT.file(file), str(file)) if file.is_file() else None
        except (OSError, InputError):  # it has ended in this moment
            return None


def seen(progress: RunProgress, request: Request) -> Live:
    """Return how far a run is that is followed here."""
    stages = [*progress.past, *([progress.stage] if progress.stage.seconds is None else [])]
    search = next((stage for stage in stages if stage.name in SEARCHES), None)
    each = (search.total or 0) // len(progress.parties) if search else 0
    parties = [LiveParty(name, search.done.get(name, 0) if search else 0, each) for name in progress.parties]
    return Live.of(request, progress.plan, parties, [_step(stage) for stage in stages])


def _step(stage: Stage) -> LiveStep:
    left = None if stage.left is None else round(stage.left, 1)
    ended, total = stage.seconds is not None, stage.total or 0
    return LiveStep(stage.words, round(stage.taken, 1), ended, stage.count, total, left, stage.inside)


@contextmanager
def told_in(run: Path, progress: RunProgress, request: Request) -> Iterator[None]:
    """Tell in the run's folder, once there is one, how far it is; at the end nothing of this is left."""
    over = Event()

    def tell() -> None:
        last, told = 0.0, None
        while not over.wait(SECONDS):
            live = seen(progress, request)
            now = [(step.words, step.done, step.inside) for step in live.steps]
            if (run / "run.json").is_file() and (now != told or live.written - last > BEAT):
                write_whole(run / FILE, FORMAT.text(to_document(live)).encode())
                last, told = live.written, now

    teller = Thread(target=tell, name="flora-live", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        with suppress(NotADirectoryError):  # the run itself says so
            (run / FILE).unlink(missing_ok=True)
