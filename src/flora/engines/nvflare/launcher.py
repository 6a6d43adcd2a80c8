"""How the process for one run is started: as NVFlare does, with our guard in it.

At a party its death does not end the run for all.
"""

from typing import Any

from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.job_launcher_spec import JobProcessArgs, JobReturnCode
from nvflare.app_common.job_launcher.client_process_launcher import ClientProcessJobLauncher
from nvflare.app_common.job_launcher.server_process_launcher import ServerProcessJobLauncher

PARTY_RUN = "flora.engines.nvflare.party_main run"
AGGREGATOR_RUN = "flora.engines.nvflare.aggregator_main run"


class AdoptedLauncher(ClientProcessJobLauncher):  # type: ignore[misc]
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


class PartyLauncher(AdoptedLauncher):
    """The same at a kit of ours."""

    def get_command(self, job_meta: Any, fl_ctx: Any) -> str:
        """Return the command of the process."""
        _start_ours(fl_ctx, PARTY_RUN)
        return str(super().get_command(job_meta, fl_ctx))


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
