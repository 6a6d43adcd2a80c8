"""What a scientist fetches stays in the kit's own folder: NVFlare's client writes files where the aggregator says."""

import re
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import Any

from nvflare.fuel.hci.client.file_transfer import FileTransferModule

from flora.core.rules import shown
from flora.engines.nvflare.guard.rules import JOB
from flora.errors import FloraError

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def keep_downloads_within() -> None:
    """Let NVFlare's client write no file that the aggregator names elsewhere. To be called once or often."""
    pull = FileTransferModule.pull_binary_file
    if hasattr(pull, "__wrapped__"):
        return

    @wraps(pull)
    def judged(module: Any, args: Any, ctx: Any) -> Any:
        _, _, transaction, _, folder, file, *_ = args
        path = PurePosixPath(file)
        if not (PLAIN.fullmatch(transaction) and PLAIN.fullmatch(folder)) or path.is_absolute() or ".." in path.parts:
            raise FloraError(f"the aggregator sends a file for a place of its own choice, {shown(file)}: not fetched")
        return pull(module, args, ctx)

    FileTransferModule.pull_binary_file = judged


def fetched(api: Any, job: str) -> Path:
    """Fetch what a run left; return its folder, which is to be deleted after."""
    if not JOB.fullmatch(job):
        raise FloraError(f"the aggregator calls a run {shown(job)}, which is no run's name")
    place = Path(api.download_job_result(job) or "").resolve()
    if place.parent != Path(api.download_dir).resolve():
        raise FloraError(f"the aggregator says that a run's result lies at {shown(str(place))}: not read")
    return place
