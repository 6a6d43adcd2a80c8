"""What a run leaves behind: ``result.json``, the parties' trials and the model, in one folder."""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flora.aggregation import Aggregation
from flora.choice import Candidate, Objective
from flora.durable import write_whole
from flora.errors import InputError
from flora.models import family_of
from flora.plan import first_difference
from flora.single_shot import Outcome, Request
from flora.space import Config
from flora.surface import SurfaceChoice
from flora.trials import PartyTrials
from flora.verdict import gamma

MODEL = "model.flora"
LIBRARIES = ("lightgbm", "numpy", "optuna", "pandas", "scikit-learn", "scipy", "skops")


def tune_document(outcome: Outcome, request: Request, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return ``result.json`` of a whole run."""
    plan = outcome.plan
    return {
        **_document(outcome.found, request.surface, request.objective, plan.seed),
        "folds": plan.folds,
        "sampler": plan.sampler,
        "trained_config": dict(outcome.trained.config),
        "chosen_in_training": list(outcome.trained.chosen),
        "trainings": [{"config": dict(training.config), "held_loss": training.loss} for training in outcome.trainings],
        "training": family_of(plan.family).note,
        "model": MODEL,
        "model_digest": hashlib.sha256(outcome.model).hexdigest(),
        "schema": outcome.schema.to_json(),
        "notes": list(outcome.notes),
        "certificate": outcome.certificate.to_json() if outcome.certificate else None,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
    }


def past_range(document: Mapping[str, Any]) -> str:
    """Return words for a training that chose more than a party searches; none where it did not."""
    config, space = document.get("trained_config") or {}, document["space"]
    past = [name for name in document.get("chosen_in_training") or [] if config[name] > space[name]["range"][-1]]
    return "past the range that each party searches: the rows of all carry more" if past else ""


def measured_config(document: Mapping[str, Any]) -> Config:
    """Return the recommendation as the parties measured it, with their few rows: what their losses and surface say."""
    found = [each for each in document.get("candidates") or [] if each["config"] == document["config"]]
    config: Config = found[0].get("measured", document["config"]) if found else document["config"]
    return config


def grown_words(document: Mapping[str, Any]) -> str:
    """Return words for what the recommendation has more of than what the parties measured; none where it is that."""
    grown = [
        f"{name} = {value:.4g} on a party's rows stands for {document['config'][name]:.4g} on those of all"
        for name, value in measured_config(document).items()
        if value != document["config"][name]
    ]
    return f"More rows need more: {', '.join(grown)}" if grown else ""


def behind_words(document: Mapping[str, Any]) -> str:
    """Return words for candidates that gain more than the chosen one and were passed over, if any were."""
    found = document.get("candidates") or []
    gain = max((each["estimate"] for each in found if each["config"] == document["config"]), default=0.0)
    behind = [str(k) for k, each in enumerate(found) if not each.get("keeps_up", True) and each["estimate"] > gain]
    if not behind:
        return ""
    which = f"candidate {behind[0]} gains" if len(behind) == 1 else f"candidates {', '.join(behind)} gain"
    slower = "learns" if len(behind) == 1 else "learn"
    return f"{which} more, but {slower} more slowly than the default: a training on all rows may not get far enough"


def aggregate_document(found: Aggregation, choice: SurfaceChoice, objective: Objective, seed: int) -> dict[str, Any]:
    """Return the result of an aggregation of files: the same fields, without a training."""
    return {**_document(found, choice, objective, seed), "model": None}


def _document(found: Aggregation, choice: SurfaceChoice, objective: Objective, seed: int) -> dict[str, Any]:
    recommendation, verdict, first = found.recommendation, found.verdict, found.trials[0]
    return {
        "format": "flora-result",
        "version": 1,
        "config": dict(recommendation.config),
        "default": dict(first.space.default) or None,
        "verdict": verdict.decision if verdict else None,
        "verdict_basis": verdict.basis if verdict else None,
        "expected_gain": verdict.gain.to_json() if verdict else None,
        "predicted_loss": recommendation.loss,
        "predicted_loss_error": recommendation.error,
        "objective": objective,
        "parties": [_measured_at(party, found) for party in found.trials],
        "candidates": [_candidate(each) for each in found.choice.candidates] if found.choice else [],
        "family": first.family,
        "task": first.task,
        "surface": choice.name,
        "regressor": choice.regressor,
        "alpha": choice.alpha,
        "weights": choice.weights,
        "scoring": first.scoring,
        "seed": seed,
        "gamma_p": gamma(found.trials),
        "space": first.space.to_json(),
        "space_digest": first.space.digest,
        "versions": versions(),
    }


def _party_entry(party: PartyTrials) -> dict[str, Any]:
    default, best = party.default, party.best
    return {
        "name": party.party,
        "rows": party.rows,
        "trials": len(party.trials),
        "failed_trials": len(party.failed),
        "best_loss": best.loss,
        "best_loss_error": best.error,
        "default_loss": default.loss if default else None,
        "default_loss_error": default.error if default else None,
        "recommended_loss": None,
        "recommended_loss_error": None,
        "trials_digest": party.digest,
    }


def _measured_at(party: PartyTrials, found: Aggregation) -> dict[str, Any]:
    """Return a party's entry, with what it measured in the confirmation round, if there was one."""
    entry = _party_entry(party)
    if party.party not in found.diagnoses:
        return entry
    default, diagnosis = found.confirmed[party.party][0], found.diagnoses[party.party]
    recommended = diagnosis.measured
    return {
        **entry,
        "default_loss": default.trial.loss,
        "default_loss_error": default.trial.error,
        "recommended_loss": recommended.trial.loss,
        "recommended_loss_error": recommended.trial.error,
        "gain": recommended.gain,
        "gain_error": recommended.gain_error,
        "distance": diagnosis.distance,
        "disagrees": diagnosis.disagrees,
        "config_without": None if diagnosis.config_without is None else dict(diagnosis.config_without),
        "verdict_without": diagnosis.verdict_without,
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "config": dict(candidate.config),
        "measured": dict(candidate.measured),
        "keeps_up": candidate.keeps_up,
        **candidate.gain.to_json(),
    }


def versions() -> dict[str, str]:
    """Return the versions that a run depends on."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"flora": version("flora-hpo"), "python": platform.python_version(), **libraries}


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

    def finish(self, document: Mapping[str, Any], trials: Sequence[PartyTrials], model: bytes) -> None:
        """Write the trials, the model and, last of all, the result."""
        for party in trials:
            write_whole(self.path / "trials" / f"{safe_name(party.party)}.json", party.to_json().encode())
        write_whole(self.path / MODEL, model)
        write_whole(self.path / "result.json", (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())

    def _refuse_another_run(self) -> None:
        if not self.path.exists() or (self.path.is_dir() and not any(self.path.iterdir())):
            return
        marker = self.path / "run.json"
        try:
            stored = json.loads(marker.read_bytes())
        except (OSError, ValueError):
            raise InputError(f"{self.path} is not a folder of this run; name another with --out") from None
        difference = first_difference(stored, self.identity)
        if difference:
            raise InputError(f"{self.path} holds another run: {difference}; name another folder with --out")


def read_run(path: Path) -> tuple[dict[str, Any], list[PartyTrials]]:
    """Return the result and the parties' trials of a finished run."""
    result = path / "result.json"
    if not result.is_file():
        raise InputError(f"{path}: has no result.json, so it is not the folder of a finished run")
    try:
        document = json.loads(result.read_bytes())
    except ValueError as error:
        raise InputError(f"{result}: not a JSON file ({error})") from error
    if not isinstance(document, dict) or document.get("format") != "flora-result":
        raise InputError(f"{result}: is not the result of a run")
    return document, [PartyTrials.read(file) for file in sorted((path / "trials").glob("*.json"))]


def safe_name(party: str) -> str:
    """Return a file name for a party: whatever it is called, it stays in its folder.

    >>> safe_name("../a b"), safe_name("Klinik Süd")
    ('%2E.%2Fa b', 'Klinik Süd')
    """
    letters = "".join(c if c.isalnum() or c in " -_=." else quote(c, safe="") for c in party)
    return f"%2E{letters[1:]}" if letters.startswith(".") else letters
