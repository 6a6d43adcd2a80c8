"""What a scientist may submit to the aggregator: a run's own files, with no name but the one that NVFlare gives it.

NVFlare takes whatever name a submission gives itself, and makes a path within the kit of it. Whoever holds a
scientist's kit, together with one party, could so have a run in the folder of the aggregator's keys or of its state;
and what is called so is stopped by no command. Here a submission is judged before it is unpacked.
"""

import json
import zipfile
from collections.abc import Mapping
from functools import wraps
from typing import Any

from nvflare.private.fed.server.job_meta_validator import JobMetaValidator

from flora.engines.nvflare.guard.alarm import Alarm
from flora.engines.nvflare.guard.orders import FILES, MOST_FILE, SIGNATURES
from flora.engines.nvflare.run.job import APP, NAME

META = "meta.json"
SAID = frozenset({"name", "resource_spec", "min_clients", "deploy_map"})  # of a run, by its own settings


def watch_submissions(alarm: Alarm) -> None:
    """Let the aggregator take no submission that is not a run's."""
    validate = JobMetaValidator.validate

    @wraps(validate)
    def judged(validator: Any, job_name: Any, job_data: Any) -> Any:
        why = submission_refusal(job_name, job_data)
        if not why:
            return validate(validator, job_name, job_data)
        alarm.refused(f"the run {job_name!s:.80} that a scientist submits", why)
        return False, why, {}

    JobMetaValidator.validate = judged


def submission_refusal(folder: str, path: str) -> str:
    """Return why an archive that a scientist submits is not taken; empty where it is."""
    if folder != NAME:
        return "it is none of FLoRA's"
    names = {f"{folder}/{file}" for file in (*SIGNATURES, META)} | {f"{folder}/{APP}/{file}" for file in FILES}
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.filename not in names and not entry.is_dir():
                    return f"it brings the file {entry.filename!r:.80}"
                if entry.file_size > MOST_FILE:
                    return f"its file {entry.filename!r:.80} has more than {MOST_FILE} bytes"
            meta = json.loads(archive.read(f"{folder}/{META}"))
    except Exception as error:  # a damaged archive fails in many ways, and whatever it is, it is refused
        return f"its files cannot be read ({type(error).__name__})"
    return "" if _is_of_a_run(meta) else "its settings are not those of a run"


def _is_of_a_run(meta: Any) -> bool:
    if not isinstance(meta, Mapping) or set(meta) != SAID or meta["resource_spec"]:
        return False
    apps = meta["deploy_map"]
    return isinstance(apps, Mapping) and set(apps) == {APP}
