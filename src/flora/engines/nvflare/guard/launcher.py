"""How the process for one run is started: as NVFlare does, with our guard in it.

At a party its death does not end the run for all.
"""

import json
import sys
from pathlib import Path
from typing import Any

from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.job_def import JobMetaKey
from nvflare.apis.job_launcher_spec import JobProcessArgs, JobReturnCode
from nvflare.app_common.job_launcher.client_process_launcher import ClientProcessJobLauncher
from nvflare.app_common.job_launcher.server_process_launcher import ServerProcessJobLauncher

from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.guard import seams
from flora.engines.nvflare.guard.alarm import Alarm
from flora.engines.nvflare.guard.orders import client_settings, site_refusal
from flora.engines.nvflare.guard.roots import trust_own_root_alone
from flora.engines.nvflare.guard.rules import SiteGuard
from flora.engines.nvflare.kits.provision import EXECUTOR

IN_A_RUN = frozenset({"-n", "--job_id"})  # NVFlare tells a run's process its name so, and no other process
PARTY_RUN = "flora.engines.nvflare.guard.party_main run"
AGGREGATOR_RUN = "flora.engines.nvflare.guard.aggregator_main run"


class TolerantLauncher(ClientProcessJobLauncher):  # type: ignore[misc]
    """NVFlare would abort the whole run when one party's process is killed; our own heartbeat decides that."""

    def launch_job(self, job_meta: Any, fl_ctx: Any) -> Any:
        """Start the process and return its handle."""
        handle = super().launch_job(job_meta, fl_ctx)
        poll = handle.poll

        def tolerant() -> Any:
            code = poll()
            return JobReturnCode.UNKNOWN if code == JobReturnCode.EXECUTION_ERROR else code

        handle.poll = tolerant
        return handle


class PartyLauncher(TolerantLauncher):
    """Starts a party's process for a run, with a kit of ours."""

    def get_command(self, job_meta: Any, fl_ctx: Any) -> str:
        """Return the command of the process."""
        _start_ours(fl_ctx, PARTY_RUN)
        return str(super().get_command(job_meta, fl_ctx))


class AdoptedLauncher(TolerantLauncher):
    """The same at a site of a network that NVFlare runs, whose own process NVFlare starts: it brings the guard there.

    NVFlare makes it before it makes a cell, so that nothing comes in without the guard.
    """

    def __init__(self) -> None:
        super().__init__()
        if not IN_A_RUN & set(sys.argv):
            guard_site(Path.cwd())

    def get_command(self, job_meta: Any, fl_ctx: Any) -> str:
        """Return the command of the process: with our guard in it, where the run is FLoRA's."""
        if _is_ours(job_meta, fl_ctx):
            _start_ours(fl_ctx, PARTY_RUN)
        return str(super().get_command(job_meta, fl_ctx))


def guard_site(workspace: Path) -> None:
    """Put the guard in the way of a site's cell, and of its agent."""
    kit = Kit.open(workspace, "party")
    trust_own_root_alone(kit)
    alarm = Alarm(kit)
    seams.watch_cells(SiteGuard(kit.name, kit.consortium.aggregator), alarm)
    seams.watch_orders(kit.name, site_refusal, alarm)


def _is_ours(job_meta: Any, fl_ctx: Any) -> bool:
    """Whether a run's settings at this site are those of FLoRA's own, and nothing else."""
    workspace, run = fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT), str(job_meta[JobMetaKey.JOB_ID.value])
    file = Path(workspace.get_app_config_dir(run)) / "config_fed_client.json"
    return file.is_file() and json.loads(file.read_bytes()) == client_settings(EXECUTOR)


class AggregatorLauncher(ServerProcessJobLauncher):  # type: ignore[misc]
    """Starts the aggregator's process for a run."""

    def get_command(self, job_meta: Any, fl_ctx: Any) -> str:
        """Return the command of the process."""
        _start_ours(fl_ctx, AGGREGATOR_RUN)
        return str(super().get_command(job_meta, fl_ctx))


def _start_ours(fl_ctx: Any, module: str) -> None:
    """Name our module in NVFlare's arguments; where they are not as expected, nothing is started."""
    arguments = fl_ctx.get_prop(FLContextKey.JOB_PROCESS_ARGS)
    option, _ = arguments[JobProcessArgs.EXE_MODULE]
    arguments[JobProcessArgs.EXE_MODULE] = (option, module)
