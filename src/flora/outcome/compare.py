"""Two runs side by side: where they differ, and what each came to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flora.core.codec import to_document
from flora.core.naming import some_of
from flora.program.result import DECIDED, Result

ABSENT = "-"


@dataclass(frozen=True)
class Line:
    """One thing, as the two runs have it."""

    what: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        """Whether the runs differ in it."""
        return self.first != self.second


@dataclass(frozen=True)
class SideBySide:
    """Two runs, line by line."""

    settings: tuple[Line, ...]  # only those in which they differ
    configs: tuple[Line, ...]  # what each recommends
    outcome: tuple[Line, ...]
    parties: tuple[Line, ...]  # each party's gain
    comparable: bool  # whether gains are of one target and scoring, over one space

    def to_document(self) -> dict[str, Any]:
        """Return all of it as JSON's types."""
        document: dict[str, Any] = to_document(self)
        return document


def compare(first: Result, second: Result) -> SideBySide:
    """Return two runs side by side."""
    settings = [Line(name, _text(getattr(first, name)), _text(getattr(second, name))) for name in DECIDED]
    targets = Line("target", *(each.schema.target if each.schema else ABSENT for each in (first, second)))
    same_target = not targets.differs or ABSENT in (targets.first, targets.second)  # files of trials name none
    settings += [] if same_target else [targets]
    settings.append(Line("parties", *(some_of([party.name for party in each.parties]) for each in (first, second))))
    settings.append(Line("space", first.space_digest[:12], second.space_digest[:12]))
    settings.append(Line("trials", _trials(first), _trials(second)))
    return SideBySide(
        tuple(line for line in settings if line.differs),
        _side_by_side(first.config, second.config),
        tuple(Line(name, one, _outcome(second)[name]) for name, one in _outcome(first).items()),
        _side_by_side(_gains(first), _gains(second)),
        same_target and _measure(first) == _measure(second),
    )


def _measure(result: Result) -> tuple[object, ...]:
    """Return what a gain is measured in."""
    return result.scoring, result.positive, result.space_digest


def _outcome(result: Result) -> dict[str, str]:
    gain = result.expected_gain
    return {
        "verdict": _text(result.verdict),
        "how sure": _text(result.grade),
        "verdict rests on": _text(result.evidence.basis if result.evidence else None),
        "expected gain": ABSENT if gain is None else f"{gain.estimate:+.4f} ± {gain.standard_error:.4f}",
        "predicted loss": f"{result.predicted_loss:.4f} ± {result.predicted_loss_error:.4f}",
        "gamma_p": _text(result.gamma_p),
        "parties": str(len(result.parties)),
        "rows": str(sum(party.rows or 0 for party in result.parties)),
        "trained with": _config(result.trained_config),
        "seconds": f"{sum(result.seconds.values()):.1f}" if result.seconds else ABSENT,
    }


def _gains(result: Result) -> dict[str, str]:
    return {
        party.name: f"{party.measured.gain:+.3f} ± {party.measured.gain_error:.3f}" if party.measured else ABSENT
        for party in result.parties
    }


def _trials(result: Result) -> str:
    counts = sorted({party.trials for party in result.parties})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _side_by_side(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Line, ...]:
    names = dict.fromkeys((*first, *second))
    return tuple(Line(name, _text(first.get(name)), _text(second.get(name))) for name in names)


def _config(config: Mapping[str, Any] | None) -> str:
    return ABSENT if config is None else ", ".join(f"{name} {_text(value)}" for name, value in config.items())


def _text(value: Any) -> str:
    if value is None:
        return ABSENT
    return f"{value:.4g}" if isinstance(value, float) else str(value)
