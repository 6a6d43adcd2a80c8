"""The confirmation round by files: what the aggregator asks for, and what a party answers."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from flora.errors import InputError, TrialsError
from flora.federation import Confirmation
from flora.parameters import is_finite
from flora.plan import SearchPlan
from flora.space import Config
from flora.space_formats import load_json
from flora.trials import MOST_ROWS, MOST_TRIALS, PartyTrials, Trial, check_party_name

MOST_BYTES = 16 * 2**20
MOST_LOSS = 1e100  # what is larger would not add up
CANDIDATES, ANSWER, VERSION = "flora-candidates", "flora-answer", 1


@dataclass(frozen=True)
class Candidates:
    """The configs that every party is asked to measure, and how."""

    plan: SearchPlan
    configs: tuple[Config, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.configs) <= MOST_TRIALS:
            raise InputError(f"need 1 to {MOST_TRIALS} candidates, got {len(self.configs)}")
        for config in self.configs:
            self.plan.space.check(config)

    @property
    def digest(self) -> str:
        """The SHA-256 of the file: an answer names the question."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """Return the file that goes to the parties."""
        configs = [dict(config) for config in self.configs]
        document = {"format": CANDIDATES, "version": VERSION, "plan": self.plan.to_json(), "configs": configs}
        return json.dumps(document, indent=1, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file that the aggregator wrote."""
        document = _document(path, CANDIDATES, {"plan", "configs"})
        try:
            plan = SearchPlan.from_json(_mapping("plan", document["plan"]))
            return cls(plan, tuple(_mapping("a config", config) for config in _list("configs", document["configs"])))
        except RecursionError as error:  # shallow enough to be read, too deep to be shown in a message
            raise InputError(f"{path}: nested too deep") from error
        except InputError as error:
            raise InputError(f"{path}: {error}") from error


@dataclass(frozen=True)
class Answer:
    """What one party measured."""

    party: str
    rows: int
    candidates_digest: str
    confirmations: tuple[Confirmation, ...]

    def __post_init__(self) -> None:
        check_party_name(self.party)
        if not isinstance(self.rows, int) or isinstance(self.rows, bool) or not 1 <= self.rows <= MOST_ROWS:
            raise TrialsError(f"rows must be a whole number of at least 1 and at most 2^53, got {self.rows!r:.40}")
        if not isinstance(self.candidates_digest, str):
            raise TrialsError(f"candidates_digest must be text, got {self.candidates_digest!r:.40}")
        if not 1 <= len(self.confirmations) <= MOST_TRIALS:
            raise TrialsError(f"need 1 to {MOST_TRIALS} confirmations, got {len(self.confirmations)}")

    def to_json(self) -> str:
        """Return the file that leaves the party."""
        document = {
            "format": ANSWER,
            "version": VERSION,
            "party": self.party,
            "rows": self.rows,
            "candidates_digest": self.candidates_digest,
            "confirmations": [confirmation_to_json(each) for each in self.confirmations],
        }
        return json.dumps(document, indent=1, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file that a party wrote."""
        document = _document(path, ANSWER, {"party", "rows", "candidates_digest", "confirmations"})
        try:
            listed = _list("confirmations", document["confirmations"])
            confirmations = tuple(confirmation_from_json(k, entry) for k, entry in enumerate(listed))
            return cls(document["party"], document["rows"], document["candidates_digest"], confirmations)
        except RecursionError as error:
            raise TrialsError(f"{path}: nested too deep") from error
        except InputError as error:
            raise TrialsError(f"{path}: {error}") from error


def check_answers(answers: Sequence[Answer], trials: Sequence[PartyTrials]) -> None:
    """Raise unless every party with trials has answered once, and all answer the same question."""
    parties, names = sorted(party.party for party in trials), sorted(answer.party for answer in answers)
    for name in names:
        if name not in parties:
            raise TrialsError(f"party {name!r} answers, and has no file of trials here; parties are {parties}")
        if names.count(name) > 1:
            raise TrialsError(f"party {name!r} answers twice")
    missing = [party for party in parties if party not in names]
    if missing:
        raise TrialsError(f"party {missing[0]!r} has not answered; all {len(parties)} parties must")
    first = answers[0]
    for answer in answers[1:]:
        if answer.candidates_digest != first.candidates_digest:
            raise TrialsError(f"parties {first.party!r} and {answer.party!r} answer different files of candidates")
    space = trials[0].space
    for answer in answers:
        for confirmation in answer.confirmations:
            try:
                space.check(confirmation.config)
            except InputError as error:
                raise TrialsError(f"party {answer.party!r} measured what is not in the space: {error}") from error


def confirmation_to_json(confirmation: Confirmation) -> dict[str, Any]:
    """Return one measured config as JSON's types."""
    trial = {**vars(confirmation.trial), "config": dict(confirmation.config)}
    return {**trial, "gain": confirmation.gain, "gain_error": confirmation.gain_error}


def confirmation_from_json(index: int, entry: Any) -> Confirmation:
    """Read what :func:`confirmation_to_json` wrote."""
    place = f"confirmations[{index}]"
    fields = {"config", "loss", "error", "folds", "rows", "gain", "gain_error"}
    if not isinstance(entry, dict) or set(entry) != fields:
        raise TrialsError(f"{place} must have the fields {sorted(fields)}, got {entry!r:.80}")
    for name in ("loss", "gain", "gain_error"):
        if not is_finite(entry[name]) or abs(entry[name]) > MOST_LOSS or (name == "gain_error" and entry[name] < 0):
            raise TrialsError(f"{place}: {name} must be a number of at most {MOST_LOSS:g}, got {entry[name]!r:.40}")
    config = _mapping(f"{place}.config", entry["config"])
    trial = Trial(config, entry["loss"], entry["error"], entry["folds"], entry["rows"])
    return Confirmation(trial, entry["gain"], entry["gain_error"])


def format_of(path: Path) -> str | None:
    """Return what a JSON file says it is; None where it does not say."""
    document = _parse(path)
    return document.get("format") if isinstance(document, dict) else None


def _document(path: Path, kind: str, fields: set[str]) -> dict[str, Any]:
    document = _parse(path)
    if not isinstance(document, dict) or document.get("format") != kind or document.get("version") != VERSION:
        raise TrialsError(f"{path}: expected a file of the format {kind!r}, version {VERSION}")
    if set(document) != fields | {"format", "version"}:
        raise TrialsError(f"{path}: must have the fields {sorted(fields)}, got {sorted(map(str, document))!r:.200}")
    return document


def _parse(path: Path) -> Any:
    if not path.is_file():
        raise TrialsError(f"{path}: no such file")
    if path.stat().st_size > MOST_BYTES:
        raise TrialsError(f"{path}: must have at most {MOST_BYTES} bytes, got {path.stat().st_size}")
    try:
        return load_json(path.read_bytes())
    except ValueError as error:
        raise TrialsError(f"{path}: not a JSON file ({error})") from error


def _mapping(what: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TrialsError(f"{what} must be a JSON object, got {value!r:.40}")
    return value


def _list(what: str, value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) > MOST_TRIALS:
        raise TrialsError(f"{what} must be a list of at most {MOST_TRIALS}, got {value!r:.40}")
    return value
