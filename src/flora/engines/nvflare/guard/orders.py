"""What an order to a party and a command to the aggregator say inside: a closed list of these, too.

NVFlare's agent goes by what is in a message, and not by what stands on its envelope, which ``guard.py`` judges.
"""

import io
import json
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from flora.engines.nvflare.guard.rules import JOB

REPORT = "train.notify_job_status"
ORDERS = frozenset(
    {"scheduler.check_resource", "scheduler.cancel_resource", "train.deploy", "train.start_job", "train.abort"}
)
OTHER_RUNS = frozenset(  # that NVFlare's server orders for runs which are not FLoRA's, and for its own table of sites
    {"train.abort_task", "train.check_status", "train.delete_run", "train.get_scopes", "train.configure_job_log"}
    | {"train.shutdown", "train.restart", "scheduler.allocate_resource", "resource_manager.report_resources"}
    | {"sys.info", "sys.report_version", "info.show_stats", "info.show_errors", "info.reset_errors"}
    | {"comp_caller.call", "control.do_command"}
)
NEED_RUN = frozenset({"train.deploy", "train.start_job", "train.abort", "train.delete_run", REPORT})
COMMANDS = frozenset(
    {"_cert_login", "_check_session", "_logout", "_commands", "check_status", "job_mgmt.submit_job", "get_job_meta"}
    | {"app_command", "abort_job", "job_mgmt.download_job"}
)

SIGNATURES = frozenset({".__nvfl_sig.json", ".__nvfl_submitter.crt"})  # of the scientist; NVFlare checks them
FILES = SIGNATURES | {f"config/{name}" for name in (*SIGNATURES, "config_fed_client.json", "config_fed_server.json")}
MOST_FILE = 64 * 2**20  # bytes, unpacked


@dataclass(frozen=True)
class Order:
    """What the aggregator tells a party's process to do, or what a run reports to it."""

    topic: str
    headers: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None


def order_refusal(order: Order, *, from_own_run: bool, executors: Collection[str]) -> str:
    """Return why a party does not do as it is told; empty where it does."""
    why = _order_refusal(order, {REPORT} if from_own_run else ORDERS)
    return app_refusal(order.body, executors) if not why and order.topic == "train.deploy" else why


def site_refusal(order: Order, *, from_own_run: bool) -> str:
    """Return why a site does not do as NVFlare's server tells it, which runs more than FLoRA; empty where it does."""
    return _order_refusal(order, {REPORT} if from_own_run else ORDERS | OTHER_RUNS)


def _order_refusal(order: Order, topics: Collection[str]) -> str:
    if order.topic not in topics:
        return "it is not among what a run needs"
    run, meta = order.headers.get("job_id"), order.headers.get("job_meta")
    named = isinstance(run, str) and JOB.fullmatch(run)
    if not named and (run or order.topic in NEED_RUN):  # NVFlare makes a path of it, and empties that folder
        return f"{run!r:.80} is not the name of a run"
    if isinstance(meta, Mapping) and meta.get("job_id", run) != run:
        return "it names two runs"
    return ""


def app_refusal(data: Any, executors: Collection[str]) -> str:
    """Return why a run's files are not taken: they may hold settings that name one allowed class, and nothing else."""
    try:
        with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
            files = [entry for entry in archive.infolist() if not entry.is_dir()]
            for entry in files:
                if entry.filename not in FILES:
                    return f"it brings the file {entry.filename!r:.80}"
                if entry.file_size > MOST_FILE:
                    return f"its file {entry.filename} has more than {MOST_FILE} bytes"
            document = json.loads(archive.read("config/config_fed_client.json"))
    except Exception as error:  # a damaged archive fails in many ways, and whatever it is, it is refused
        return f"its files cannot be read ({type(error).__name__})"
    allowed = [client_settings(path) for path in executors]
    return "" if document in allowed else "its settings are not those of a run"


def client_settings(executor: str) -> dict[str, Any]:
    """Return all that a run's settings may say at a party: the one class, without arguments."""
    return {"format_version": 2, "executors": [{"tasks": ["flora"], "executor": {"path": executor, "args": {}}}]}


def command_refusal(command: str) -> str:
    """Return why a scientist's command is refused at the aggregator; empty where it is not."""
    name = command.split(maxsplit=1)[0] if command.strip() else ""
    return "" if name in COMMANDS else "it is not among what a scientist needs"
