"""NVFlare's client with our guard in it: a party's process, and with ``run`` as first word its process for one run."""

import os
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path

from nvflare.fuel.f3.mpm import MainProcessMonitor

from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.guard import seams
from flora.engines.nvflare.guard.alarm import Alarm
from flora.engines.nvflare.guard.orders import order_refusal
from flora.engines.nvflare.guard.roots import trust_own_root_alone
from flora.engines.nvflare.guard.rules import PartyGuard
from flora.engines.nvflare.run.lean import HTTP, do_with, do_without, load_pandas

RUN = "run"
GRACE = 0.5  # seconds for the last messages of a run; its answers have arrived before, and all wait for its end


def install(workspace: str, run: str = "") -> None:
    """Put the guard in the way of this process's cell. The kit says whose it is; without a kit nothing starts."""
    kit = Kit.open(Path(workspace), "party")
    if kit.consortium.scheme == "http":  # in a network that NVFlare runs
        do_with(HTTP)
    trust_own_root_alone(kit)
    alarm = Alarm(kit)
    seams.watch_cells(PartyGuard(kit.name, kit.consortium.aggregator, run), alarm)
    if run:
        seams.keep_within(kit.name)
    else:  # a run's process has no agent that takes orders
        seams.watch_orders(kit.name, partial(order_refusal, executors=seams.allowed_executors(kit.path)), alarm)
        seams.hear_notices(alarm)


def party() -> int:
    """Run a party's process until it is stopped."""
    do_without()
    from nvflare.private.fed.app.client import client_train

    client_train.version_check()
    arguments: Namespace = client_train.parse_arguments()
    install(arguments.workspace)
    return int(MainProcessMonitor.run(client_train.main, run_dir=arguments.workspace, args=arguments) or 0)


def party_run() -> int:
    """Run a party's process for one run."""
    do_without()
    load_pandas()
    from nvflare.private.fed.app.client import worker_process

    arguments: Namespace = worker_process.parse_arguments()
    install(arguments.workspace, arguments.job_id)
    folder = os.path.join(arguments.workspace, arguments.job_id)  # noqa: PTH118  (as NVFlare does)
    ended = MainProcessMonitor.run(worker_process.main, run_dir=folder, shutdown_grace_time=GRACE, args=arguments)
    return int(ended or 0)


if __name__ == "__main__":
    if sys.argv[1:2] == [RUN]:
        del sys.argv[1]
        sys.exit(party_run())
    sys.exit(party())
