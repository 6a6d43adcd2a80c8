"""The guard in a scientist's own process, as long as its line to the aggregator lasts."""

from collections.abc import Iterator
from contextlib import contextmanager

from nvflare.fuel.f3.cellnet.core_cell import CoreCell

from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.guard import seams
from flora.engines.nvflare.guard.alarm import Alarm
from flora.engines.nvflare.guard.downloads import keep_downloads_within
from flora.engines.nvflare.guard.roots import trusting_own_root_alone
from flora.engines.nvflare.guard.rules import ScientistGuard


@contextmanager
def guarded(kit: Kit) -> Iterator[None]:
    """Let the cells that are made inside, and end there, hear the answers to what they asked, and little else."""
    keep_downloads_within()
    unguarded = CoreCell.process_message
    seams.watch_cells(ScientistGuard(kit.consortium.aggregator), Alarm(kit))
    try:
        with trusting_own_root_alone(kit):
            yield
    finally:
        CoreCell.process_message = unguarded
