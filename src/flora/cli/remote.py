"""A run at the parties of a consortium, and the demonstration with processes of its own."""

import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from flora.cli.options import IID, WorkOptions
from flora.cli.printing import messages, note
from flora.cli.processes import child, free_port, stoppable
from flora.cli.written import finish
from flora.engines.files import read_files
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import AGGREGATOR, SCIENTIST, Consortium, Kit
from flora.engines.nvflare.kits.certificates import ending
from flora.engines.nvflare.kits.provision import make_kits
from flora.engines.nvflare.run.job import Run
from flora.engines.nvflare.run.remote import Follower, run_for
from flora.errors import InputError
from flora.outcome.folder import RunFolder
from flora.outcome.progress import run_progress
from flora.party.split import split
from flora.program.request import Request, check_parties

if TYPE_CHECKING:
    from flora.cli.commands.tune import TuneOptions


def tune_consortium(options: "TuneOptions") -> dict[str, Any]:
    """Run the whole algorithm at the parties of a consortium."""
    require_nvflare()
    table = options.table
    for name, given in (
        ("DATA", options.data),
        ("--target", table.target),
        ("--drop", table.drop),
        *((f"--{field.name}", vars(table.format)[field.name]) for field in fields(table.format)),
    ):
        if given == "refuse":  # the default of --dates
            continue
        if given:
            raise InputError(f"{name}: with --project the parties bring their own tables, got {given!r}")
    if options.parties is not None:
        raise InputError(f"--parties: with --project the kit names the parties, got {options.parties}")
    if options.split != IID:
        raise InputError(f"--split: with --project the parties bring their own tables, got {options.split}")
    kit = Kit.open(Path(str(options.project)), AGGREGATOR, SCIENTIST)
    if options.quorum is not None and not 1 <= options.quorum <= len(kit.consortium.parties):
        raise InputError(f"--quorum: from 1 to the number of parties, got {options.quorum}")
    if options.deadline is not None and not 0 < options.deadline < math.inf:
        raise InputError(f"--deadline: a number of seconds above 0, got {options.deadline:g}")
    if warning := ending(kit.scientist):
        note(warning)
    read_files(options.given)  # what is wrong with them is better said here
    given = tuple(path.read_text("utf-8") for path in options.given)
    request = options.request()
    check_parties(request, len(kit.consortium.parties))
    run = replace(run_for(kit, request), given=given, deadline=options.deadline)
    return tune_remotely(kit, run, options.work, quorum=options.quorum, wait=options.wait)


def tune_remotely(kit: Kit, run: Run, work: WorkOptions, *, quorum: int | None, wait: float) -> dict[str, Any]:
    """Run a request at a kit's consortium, and write and show what came of it."""
    folder = RunFolder(work.out, {**run.identity, "parties": list(run.parties)})
    with stoppable(), run_progress(run.parties, messages, quiet=work.json) as progress:
        fetched = Follower(kit, run, note, progress.follow, quorum, wait).follow()
    folder.begin()
    return finish(folder, fetched.result, fetched.trials, fetched.model, work)


def demonstrate(work: WorkOptions) -> dict[str, Any]:
    """Run the demonstration's parties and aggregator as processes of their own, over TLS on this machine."""
    require_nvflare()
    frames, request = _demo_run()
    with TemporaryDirectory() as folder:
        consortium = Consortium("demo", "localhost", tuple(sorted(frames)), free_port())
        kits = make_kits(consortium, Path(folder) / "kits")
        with stoppable(), ExitStack() as stack:
            stack.enter_context(child("aggregator", ["aggregator", str(kits[0].path)], note))
            for kit in kits[1:]:
                data = _written(frames[kit.name], Path(folder) / f"{kit.name}.csv")
                arguments = ["party", str(kit.path), "--data", str(data), "--target", "target"]
                stack.enter_context(child(kit.name, arguments, note))
            return tune_remotely(kits[0], run_for(kits[0], request), work, quorum=None, wait=120.0)


def _demo_run() -> tuple[Mapping[str, pd.DataFrame], Request]:
    """Return scikit-learn's breast cancer data, split over three parties: two classes, so that few sums travel."""
    from sklearn.datasets import load_breast_cancer

    request = Request(family="svm", trials=10, folds=5, scoring="balanced_accuracy")
    return split(load_breast_cancer(as_frame=True).frame, "target", 3, "iid", request.seed), request


def _written(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False)
    return path
