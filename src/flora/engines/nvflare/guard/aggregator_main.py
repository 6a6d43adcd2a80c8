"""NVFlare's server with our guard in it: the aggregator, and with ``run`` as first word its process for one run."""

import os
import sys
from argparse import Namespace
from pathlib import Path

from nvflare.fuel.f3.mpm import MainProcessMonitor

from flora.engines.nvflare.consortium import AGGREGATOR, USER, Kit
from flora.engines.nvflare.guard import seams
from flora.engines.nvflare.guard.alarm import Alarm
from flora.engines.nvflare.guard.revocation import FILE, Revoked
from flora.engines.nvflare.guard.roots import trust_own_root_alone
from flora.engines.nvflare.guard.rules import AggregatorGuard
from flora.engines.nvflare.guard.submissions import watch_submissions
from flora.engines.nvflare.run.adder import Adder

RUN = "run"
GRACE = 0.5  # seconds for the last messages of a run; its outcome was reported before, and all wait for its end


def install(workspace: str, run: str = "") -> None:
    """Put the guard in the way of this process's cell. The kit names the parties; without a kit nothing starts."""
    kit = Kit.open(Path(workspace), AGGREGATOR)
    trust_own_root_alone(kit)
    alarm = Alarm(kit)
    guard = AggregatorGuard(kit.consortium.aggregator, USER, frozenset(kit.consortium.parties), run)
    seams.watch_cells(guard, alarm)
    seams.watch_commands(alarm)
    if not run:
        watch_submissions(alarm)
        seams.watch_greetings(guard, alarm)
        seams.keep_out_revoked(Revoked(kit.path / "local" / FILE), alarm)
        seams.when_cell_starts(Adder().serve)


def aggregator() -> int:
    """Run the aggregator's process until it is stopped."""
    from nvflare.private.fed.app.server import server_train

    server_train.version_check()
    arguments: Namespace = server_train.parse_arguments()
    install(arguments.workspace)
    return int(MainProcessMonitor.run(server_train.main, run_dir=arguments.workspace, args=arguments) or 0)


def aggregator_run() -> int:
    """Run the aggregator's process for one run."""
    from nvflare.private.fed.app.server import runner_process

    arguments: Namespace = runner_process.parse_arguments()
    install(arguments.workspace, arguments.job_id)
    folder = os.path.join(arguments.workspace, arguments.job_id)  # noqa: PTH118  (as NVFlare does)
    ended = MainProcessMonitor.run(runner_process.main, run_dir=folder, shutdown_grace_time=GRACE, args=arguments)
    return int(ended or 0)


if __name__ == "__main__":
    if sys.argv[1:2] == [RUN]:
        del sys.argv[1]
        sys.exit(aggregator_run())
    sys.exit(aggregator())
