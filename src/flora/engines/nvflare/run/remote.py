"""A run followed from afar: submitted, watched, and submitted again when a party or the aggregator was lost.

A lost party does not come back into a run that is under way. But the aggregator keeps every answer and a party keeps
its search, so that the same run, submitted again, goes on from there.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.run.ending import Ending
from flora.engines.nvflare.run.job import Run
from flora.engines.nvflare.run.session import NoAggregatorError, Session, session
from flora.errors import FloraError
from flora.problem.trials import PartyTrials
from flora.program.request import Request
from flora.program.result import FORMAT, MODEL, Result
from flora.program.status import RunStatus

PAUSE = 0.5  # seconds between two looks
QUIET = 20.0  # seconds without a word of a run after which who waits for it is told
FORGOTTEN = 90.0  # a run that is neither under way nor ended for so long waits for who is gone, or is lost
ENDING = 5.0  # seconds in which a run ends that is told to
STARTS = 3  # so many runs that cannot even begin are no accident


@dataclass(frozen=True)
class Fetched:
    """What a finished run left at the aggregator."""

    result: Result
    trials: tuple[PartyTrials, ...]
    model: bytes

    @classmethod
    def read(cls, folder: Path) -> "Fetched":
        """Read the folder that was fetched."""
        trials = tuple(PartyTrials.read(file) for file in sorted((folder / "trials").glob("*.json")))
        file = folder / "result.json"
        result = Result.from_text(FORMAT.file(file), str(file))
        return cls(result, trials, (folder / MODEL).read_bytes())


@dataclass
class Follower:
    """Follows one request to its end."""

    kit: Kit
    run: Run
    say: Callable[[str], None]
    progress: Callable[[RunStatus], None]  # is told what the aggregator says of the run
    quorum: int | None = None
    wait: float = 600.0  # seconds to wait for who is not there
    _heard: float = field(default_factory=time.monotonic)  # when the aggregator was last there
    _job: str | None = None  # under way when the aggregator was last there
    _lost: set[str] = field(default_factory=set)  # must show a new sign of life before the next start
    _starts: int = 0
    _said: str = ""
    _stopped: bool = False  # by us, to begin again with a party that is back

    def follow(self) -> Fetched:
        """Return the result; raise what ended the run for good."""
        while True:
            try:
                with session(self.kit) as line:
                    found = self._once(line)
            except NoAggregatorError as error:
                self._patience(f"{error}; waiting for it", self._heard)
                time.sleep(PAUSE)
                continue
            if found is not None:
                return found

    def _once(self, line: Session) -> Fetched | None:
        """Submit the run, or join it where it is under way, and watch it; None to begin again."""
        job = self._broken_off(line)
        if job is None:
            self._stopped = False
            job = line.under_way(self.run)
            if job is not None:
                self._tell("the run is under way already; following it")
        self._heard = time.monotonic()
        joined = job is not None
        if job is None:
            self._gather(line)
            job = line.submit(self.run)
        self._job = job
        try:
            ended = self._watch(line, job)
        except KeyboardInterrupt:
            line.abort(job)
            raise
        found = self._end(line, job, joined) if ended else None
        self._job = None
        if not ended:
            self._could_not_start("it was neither under way nor ended")
        return found

    def _broken_off(self, line: Session) -> str | None:
        """Return the run that was followed when the line broke: it may have ended since, which is to be told.

        None where there was none, or where it went with the aggregator's process.
        """
        if self._job is None or self._job in line.running():
            return self._job
        with suppress(NoAggregatorError):  # a process of the aggregator that knows nothing of it has no answer
            return self._job if line.ended(self._job) is not None else None
        return None

    def _end(self, line: Session, job: str, joined: bool) -> Fetched | None:
        """Return what a run left that has ended; None to begin again, and raise what ended it for good."""
        with line.result(job) as folder:
            ending = None if folder is None else Ending.read(folder)
            if folder is not None and ending is not None and ending.state == "finished":
                return Fetched.read(folder)
        if self._stopped or (joined and ending is not None and ending.state == "stopped"):
            return None  # whom we stopped, or what a Ctrl-C before this command was still about to stop
        if ending is not None:
            self._go_on(ending)
        elif not joined:  # else it went with a process of the aggregator
            self._could_not_start(line.ended(job))
        return None

    def _gather(self, line: Session) -> None:
        """Wait until all who are to be asked are connected, and no other run is under way."""
        began = time.monotonic()
        while True:
            connected = line.connected(self._lost)
            self._heard = time.monotonic()
            missing = [party for party in self.run.present if party not in connected]
            if not missing and not line.running():
                self._lost.clear()
                return
            what = f"waiting for {', '.join(missing)} to connect" if missing else "another run is under way; waiting"
            left = len(self.run.present) - len(missing)
            if not missing or self.quorum is None or left < self.quorum:
                self._patience(what, began)
            elif self._heard - began > (self.wait if self.run.deadline is None else self.run.deadline):
                for party in missing:
                    self._leave_out(party, "describe", late=self.run.deadline is not None)
                continue
            self._tell(what)
            time.sleep(PAUSE)

    def _watch(self, line: Session, job: str) -> bool:
        """Show how far the run is until it has ended; False where it is neither under way nor to be ended."""
        silent: dict[str, float] = {}
        last = heard = time.monotonic()  # when it was last under way, and when it last said how far it is
        while line.ended(job) is None:
            self._heard = time.monotonic()
            status = line.status(job)
            if status is not None or job in line.running():
                last = time.monotonic()
            elif time.monotonic() - last > FORGOTTEN:
                line.abort(job)
                time.sleep(ENDING)
                return line.ended(job) is not None
            if status is None and time.monotonic() - heard > QUIET:
                self._tell("the aggregator does not say how far the run is; waiting for its word")
            if status is not None and status.step:
                heard = time.monotonic()
                self._starts = 0
                self._show(status)
                silent = {p: silent.get(p, time.monotonic()) for p in status.those("silent")}
                back = line.back(silent)
                if back and not self._stopped:
                    self._tell(f"{', '.join(back)} {'is' if len(back) == 1 else 'are'} back; the run goes on with it")
                    self._stopped = True
                    line.abort(job)
            time.sleep(PAUSE)
        return True

    def _show(self, status: RunStatus) -> None:
        self.progress(status)
        at_work, silent = status.those("works"), status.those("quiet", "silent")
        words = [f"{', '.join(at_work)} at work"] * bool(at_work)
        words += [f"{', '.join(silent)} {'gives' if len(silent) == 1 else 'give'} no sign of life"] * bool(silent)
        words += [f"a sum waits for {', '.join(status.awaited)}"] * bool(status.awaited)
        self._tell(f"{status.step}: {'; '.join(words) or 'all have answered'}")

    def _go_on(self, ending: Ending) -> None:
        """Decide after a run that did not finish: again, without somebody, or not at all."""
        if ending.state == "lost":
            self.say(ending.error)
            for party in ending.parties:
                left = self.run.asked(training=ending.step == "train")
                if self.quorum is not None and len(left) - 1 >= self.quorum:
                    self._leave_out(party, ending.step)
                else:
                    self._lost.add(party)
            return
        if ending.state == "late":
            self._without_the_late(ending)
            return
        if ending.state == "stopped":
            raise FloraError("the run was stopped by somebody else; the same command goes on from here")
        raise ending.fault

    def _without_the_late(self, ending: Ending) -> None:
        left = len(self.run.asked(training=False)) - len(ending.parties)
        if self.quorum is None or left < self.quorum:
            needed = "all are needed" if self.quorum is None else f"{self.quorum} are needed (--quorum)"
            raise FloraError(f"{ending.error}; {left} have answered and {needed}")
        self.say(ending.error)
        for party in ending.parties:
            self._leave_out(party, ending.step, late=True)

    def _leave_out(self, party: str, step: str, *, late: bool = False) -> None:
        self.run = self.run.without(party, step, late=late)
        self.say(f"going on without {party} (--quorum {self.quorum})")

    def _could_not_start(self, status: str | None) -> None:
        self._starts += 1
        if self._starts == STARTS:
            raise FloraError(f"the run could not be started ({status}); the aggregator's nvflare.log says why")
        self._tell("the run could not be started; trying again")

    def _patience(self, text: str, since: float) -> None:
        """Say what is waited for, and raise where that has taken too long."""
        self._tell(text)
        if time.monotonic() - since > self.wait:
            raise FloraError(f"{text}: gave up after {self.wait:.0f} s (--wait)")

    def _tell(self, text: str) -> None:
        """Say a thing once."""
        if text != self._said:
            self._said = text
            self.say(text)


def run_for(kit: Kit, request: Request, parties: Sequence[str] | None = None) -> Run:
    """Return the run of a request at a kit's consortium."""
    consortium = kit.consortium
    return Run(consortium.name, tuple(sorted(parties or consortium.parties)), request)
