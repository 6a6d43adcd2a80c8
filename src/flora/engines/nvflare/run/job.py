"""What is submitted: settings alone, never code. What a job may name is fixed in the parties' kits."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from flora.core.codec import read, to_document
from flora.core.documents import object_in
from flora.core.rules import Amount, Name
from flora.engines.nvflare.kits.provision import CONTROLLER, EXECUTOR
from flora.errors import InputError, WireError
from flora.program.request import Request

APP, NAME = "app", "flora"
STATUS = "flora-status"  # what the scientist may ask a run for
RESULT = "flora-run"  # the folder of a run's outcome, within NVFlare's
CLASSES = (CONTROLLER, EXECUTOR)  # of a run
MOST_REQUEST = 48 * 2**20
PULLS = 25  # a second: so often all parties together ask for the next step
SOONEST = 0.5  # seconds between two times that one party asks


Extent = Literal["run", "late", "training"]  # a party was lost or late and is not in the run, or lost in the training


@dataclass(frozen=True)
class Run:
    """A request to a consortium: which parties, and which were left out after they were lost."""

    consortium: Name
    parties: tuple[Name, ...]
    request: Request
    left_out: Mapping[str, Extent] = field(default_factory=dict)  # who is missing, and from what
    given: tuple[Any, ...] = ()  # the texts, of any length, of files that the parties exchanged: trials, and replies
    deadline: Amount | None = None  # seconds that a party has for a step that it answers by itself; None: any

    def __post_init__(self) -> None:
        if not all(isinstance(text, str) for text in self.given):
            raise WireError("given: must be a list of the texts of files")

    @property
    def identity(self) -> dict[str, Any]:
        """What makes a run the same run, so that it can go on from the answers that are there already."""
        identity = {"consortium": self.consortium, "request": to_document(self.request)}
        return {**identity, "given": _digests(self.given)} if self.given else identity

    @property
    def digest(self) -> str:
        """A name for the run."""
        return hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:20]

    @property
    def folder(self) -> str:
        """A name for the folder of its answers: without a party, the steps may be others."""
        out = sorted(party for party, extent in self.left_out.items() if extent != "training")
        return "-without-".join([self.digest, *out])

    @property
    def name(self) -> str:
        """The name that it is submitted under."""
        return f"{NAME}-{self.digest}"

    def asked(self, *, training: bool) -> list[str]:
        """Return who is asked in a step, in the order of their ranks."""
        out = [p for p, extent in self.left_out.items() if training or extent != "training"]
        return sorted(set(self.parties) - set(out))

    @property
    def present(self) -> list[str]:
        """Those who must be there: who was left out of the training alone has answered all else."""
        return sorted(set(self.parties) - set(self.left_out))

    def without(self, party: str, step: str, *, late: bool = False) -> "Run":
        """Return the run without a party that was lost or late in a step; what it sent before the training stays."""
        extent: Extent = "late" if late else "training" if step == "train" else "run"
        return replace(self, left_out={**self.left_out, party: extent})

    def to_json(self) -> str:
        """Return the run as JSON."""
        return json.dumps(to_document(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Run":
        """Read what :meth:`to_json` wrote."""
        if len(text) > MOST_REQUEST:
            raise InputError(f"a run has at most {MOST_REQUEST} characters, got {len(text)}")
        return read(cls, object_in(text, "a run", WireError))


def _digests(texts: Sequence[str]) -> list[str]:
    return sorted(hashlib.sha256(text.encode()).hexdigest() for text in texts)


def pull_seconds(parties: int) -> float:
    """Return the seconds after which a party that has nothing to do asks again: many together ask no more often."""
    return max(SOONEST, parties / PULLS)


def write_job(folder: Path, run: Run, classes: tuple[str, str] = CLASSES) -> Path:
    """Write the folder that is submitted; other classes than a run's need kits that allow them."""
    controller_class, executor_class = classes
    config = folder / NAME / APP / "config"
    config.mkdir(parents=True)
    sites = ["server", *run.present]
    meta = {"name": run.name, "resource_spec": {}, "min_clients": 1, "deploy_map": {APP: sites}}
    controller = {"id": "controller", "path": controller_class, "args": {"run": run.to_json()}}
    executor = {"tasks": [NAME], "executor": {"path": executor_class, "args": {}}}
    documents: Sequence[tuple[Path, Any]] = (
        (folder / NAME / "meta.json", meta),
        (
            config / "config_fed_server.json",
            {
                "format_version": 2,
                "server": {"task_request_interval": pull_seconds(len(run.present))},
                "workflows": [controller],
            },
        ),
        (config / "config_fed_client.json", {"format_version": 2, "executors": [executor]}),
    )
    for path, document in documents:
        path.write_text(json.dumps(document), "utf-8")
    return folder / NAME
