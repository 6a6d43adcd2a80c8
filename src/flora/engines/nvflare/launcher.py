"""How a party's process for a run is started: as NVFlare does, but its death does not end the run for all."""

from typing import Any

from nvflare.apis.job_launcher_spec import JobReturnCode
from nvflare.app_common.job_launcher.client_process_launcher import ClientProcessJobLauncher


class PartyLauncher(ClientProcessJobLauncher):  # type: ignore[misc]
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
