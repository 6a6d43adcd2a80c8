"""Steps and replies as files that people carry: over e-mail, on a USB stick, through a data room.

Where a reply is not there yet, :class:`NotAnsweredError` has the step that the parties must answer; the same command,
given their replies, goes on from there. The parties cannot add up by files, so nothing is trained.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flora.core.documents import MOST_BYTES, contents, format_in
from flora.errors import FloraError, TrialsError
from flora.problem.messages import Confirm, ConfirmReply, Reply, Search, SearchReply, Step
from flora.problem.trials import PartyTrials
from flora.problem.wire import REPLY, STEP, Letter, read_letter, read_step, step_text
from flora.program.drive import Ask

FEWEST_COPIED = 3  # trials: a few may be alike by chance


class NotAnsweredError(FloraError):
    """The parties' replies to a step are not there yet."""

    def __init__(self, step: Step) -> None:
        self.step = step
        super().__init__(f"the parties have not answered {step.name!r} yet")


@dataclass(frozen=True)
class CarriedFiles:
    """The engine: what the parties sent so far."""

    trials: tuple[PartyTrials, ...]
    letters: tuple[Letter, ...] = ()

    def __post_init__(self) -> None:
        if self.letters and self.trials:  # without trials there is no run, and that is said first
            _check_letters(self.letters, [party.party for party in self.trials])

    def __call__(self, step: Step) -> list[Reply]:
        """Return the replies to a step that are there, or raise :class:`NotAnsweredError`."""
        if isinstance(step, Search):
            return [SearchReply(party.party, party.rows or 0, party) for party in self.trials]
        found: list[Reply] = [letter.reply for letter in self.letters if letter.step == step.name]
        if not found:
            raise NotAnsweredError(step)
        return found


def with_files(carried: CarriedFiles, ask: Ask) -> Ask:
    """Return an engine for parties that meet after an exchange by files: what they sent is not asked for again."""

    def first_from_files(step: Step) -> Iterable[Reply]:
        try:
            return carried(step) if isinstance(step, Search | Confirm) else ask(step)
        except NotAnsweredError:
            return ask(step)

    return first_from_files


def read_files(paths: Sequence[Path]) -> CarriedFiles:
    """Return what the files of an exchange hold: trials, and replies to a confirmation."""
    replies = [path for path in paths if is_reply(path)]
    others = set(replies)
    trials = tuple(PartyTrials.read(path) for path in paths if path not in others)
    check_copies(trials)
    return CarriedFiles(trials, tuple(map(read_reply_file, replies)))


def carried_texts(texts: Sequence[str]) -> CarriedFiles:
    """Return the same from the files' texts, as they travel with a run."""
    replies = [text for text in texts if format_in(text, "a given file") == REPLY.name]
    trials = [text for text in texts if text not in replies]
    return CarriedFiles(
        tuple(PartyTrials.from_json(text) for text in trials),
        tuple(read_letter(text, "a given reply") for text in replies),
    )


def check_copies(trials: Sequence[PartyTrials]) -> None:
    """Raise where two parties have the very same trials: one's file under another name would count twice."""
    alike: dict[tuple[float, ...], list[PartyTrials]] = {}  # by their losses: hardly any have the same
    for party in trials:
        tried = tuple(trial.loss for trial in party.trials)
        before = alike.setdefault(tried, [])
        other = next((one.party for one in before if _configs(one) == _configs(party)), party.party)
        before.append(party)
        if other != party.party and len(tried) >= FEWEST_COPIED:
            raise TrialsError(
                f"parties {other!r} and {party.party!r} have the very same {len(tried)} trials: "
                "is one file there under two names?"
            )


def _configs(party: PartyTrials) -> str:
    """Return what a party tried, as what tells it apart: 1 and True are not the same."""
    return repr([sorted(trial.config.items()) for trial in party.trials])


def is_reply(path: Path) -> bool:
    """Whether a file says that it is a reply."""
    if path.suffix.lower() != ".json":
        return False
    text = contents(path, MOST_BYTES)
    return REPLY.may_be_named_in(text) and format_in(text, str(path)) == REPLY.name


def read_step_file(path: Path) -> Step:
    """Read a step that the aggregator wrote."""
    return read_step(contents(path, STEP.most), str(path))


def step_file(step: Step) -> bytes:
    """Return the file of a step."""
    return step_text(step).encode()


def read_reply_file(path: Path) -> Letter:
    """Read a reply that a party wrote."""
    return read_letter(contents(path, REPLY.most), str(path))


def _check_letters(letters: Sequence[Letter], parties: Sequence[str]) -> None:
    """Raise unless every party with trials has answered once, and all answer the same question."""
    names, known = Counter(letter.reply.party for letter in letters), set(parties)
    for letter in letters:
        if letter.step != Confirm.name or not isinstance(letter.reply, ConfirmReply):
            raise TrialsError(f"party {letter.reply.party!r} answers {letter.step!r}, expected {Confirm.name!r}")
    for name in sorted(names):
        if name not in known:
            raise TrialsError(f"party {name!r} answers, and has no file of trials here; parties are {sorted(parties)}")
        if names[name] > 1:
            raise TrialsError(f"party {name!r} answers twice")
    missing = sorted(known - names.keys())
    if missing:
        raise TrialsError(f"party {missing[0]!r} has not answered; all {len(parties)} parties must")
    first = letters[0]
    for letter in letters[1:]:
        if letter.digest != first.digest:
            pair = f"{first.reply.party!r} and {letter.reply.party!r}"
            raise TrialsError(f"parties {pair} answer different files of candidates")
