"""The folder of a run: ``result.json``, the parties' trials, their searches, the model and the report."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from flora.core.codec import read
from flora.core.documents import MOST_BYTES, contents, object_in
from flora.core.files import write_whole
from flora.core.rules import is_finite, shown
from flora.errors import InputError
from flora.problem.parameters import Real
from flora.problem.plan import first_difference
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import PartyTrials
from flora.program.result import FORMAT, MODEL, Result

if TYPE_CHECKING:
    from flora.outcome.evaluation import Evaluation

REPORT = "report.html"
TEST = "test.json"  # what came of the model on rows that no party had


class RunFolder:
    """The folder of one run. Another run's folder is refused; the same run's is continued."""

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path, self.identity = path, json.loads(json.dumps(identity))
        self._refuse_another_run()

    def begin(self) -> None:
        """Make the folder and say whose it is."""
        (self.path / "trials").mkdir(parents=True, exist_ok=True)
        (self.path / "studies").mkdir(exist_ok=True)
        write_whole(self.path / "run.json", json.dumps(self.identity, indent=1).encode())

    def study(self, party: str) -> Path:
        """Return the file that keeps a party's search."""
        return self.path / "studies" / f"{safe_name(party)}.db"

    def finish(self, result: Result, trials: Sequence[PartyTrials], model: bytes) -> None:
        """Write the trials, the model if there is one, the result and, last of all, the report."""
        for party in trials:
            write_whole(self.path / "trials" / f"{safe_name(party.party)}.json", party.to_json().encode())
        if result.model is not None:
            write_whole(self.path / MODEL, model)
        (self.path / TEST).unlink(missing_ok=True)  # of another model
        write_whole(self.path / "result.json", result.to_text().encode())
        write_report(self.path, self.path / REPORT)

    def _refuse_another_run(self) -> None:
        if not self.path.exists() or (self.path.is_dir() and not any(self.path.iterdir())):
            return
        marker = self.path / "run.json"
        try:
            stored = object_in(contents(marker, MOST_BYTES), str(marker))
        except (OSError, InputError):
            raise InputError(f"{self.path} is not a folder of this run; name another with --out") from None
        difference = first_difference(stored, self.identity)
        if difference and self._holds_more_than(marker):
            raise InputError(f"{self.path} holds another run: {difference}; name another folder with --out")

    def _holds_more_than(self, marker: Path) -> bool:
        """Whether anything would be lost: a run that was refused in its first step leaves empty folders."""
        return any(path.is_file() and path != marker for path in self.path.rglob("*"))


def read_run(path: Path) -> tuple[Result, list[PartyTrials]]:
    """Return the result and the parties' trials of a finished run."""
    file = path / "result.json"
    if not file.is_file():
        raise InputError(f"{path}: has no result.json, so it is not the folder of a finished run")
    result = Result.from_text(FORMAT.file(file), str(file))
    trials = [PartyTrials.read(trials) for trials in sorted((path / "trials").glob("*.json"))]
    _check_together(result, trials, file)
    return result, trials


def read_test(path: Path) -> "Evaluation | None":
    """Return what came of a run's model on rows that no party had; None where there were none."""
    file = path / TEST
    if not file.is_file():
        return None
    from flora.outcome.evaluation import Evaluation

    return read(Evaluation, object_in(contents(file, MOST_BYTES), str(file)), str(file))


def _check_together(result: Result, trials: Sequence[PartyTrials], file: Path) -> None:
    """Raise where a result names other HPs or parties than its own space and the trials beside it."""
    measured = [party.measured for party in result.parties if party.measured]
    configs = [
        *(result.config, result.default, result.trained_config),
        *(config for each in result.candidates for config in (each.config, each.measured)),
        *(training.config for training in result.trainings),
        *(each.config_without for each in measured),
    ]
    for config in configs:
        if config is not None:
            _check_config(config, result.space, file)
    odd = {party.name for party in result.parties} ^ {party.party for party in trials}
    if odd and result.private is None:  # whose parties sent no trials
        raise InputError(f"{file}: its parties must be those with trials beside it, and {shown(min(odd))} is not")
    for party in trials:
        if party.space.digest != result.space.digest:
            raise InputError(f"{file}: party {party.party!r} has searched another space")


def _check_config(config: Config, space: SearchSpace, file: Path) -> None:
    """Raise unless a config names the space's HPs, with numbers where they are numbers: grown ones pass the range."""
    if set(config) != set(space.names):
        raise InputError(f"{file}: a config must name {sorted(space.names)}, got {shown(sorted(config))}")
    for parameter in space.parameters:
        value = config[parameter.name]
        if not (is_finite(value) if isinstance(parameter, Real) else parameter.contains(value)):
            raise InputError(f"{file}: {parameter.name}: {shown(value)} is no value of this HP")


def write_report(run: Path, target: Path) -> None:
    """Write a finished run as one HTML page."""
    from flora.outcome.report import page

    write_whole(target, page(*read_run(run), read_test(run)).encode())


def safe_name(party: str) -> str:
    """Return a file name for a party: whatever it is called, it stays in its folder.

    >>> safe_name("../a b"), safe_name("Klinik Süd")
    ('%2E.%2Fa b', 'Klinik Süd')
    """
    letters = "".join(c if c.isalnum() or c in " -_=." else quote(c, safe="") for c in party)
    return f"%2E{letters[1:]}" if letters.startswith(".") else letters
