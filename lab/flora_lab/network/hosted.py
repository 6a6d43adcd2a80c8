"""Parties that share a process: the load of many of them, where each as processes of its own would be too much.

Each has its own kit, its own certificate, its own two lines to the aggregator, and answers a run's steps with FLoRA's
own code, from its own table: its gate, its audit log, its study, its masks. NVFlare's cells, its login and its messages
are those of a party. Left out are NVFlare's agent at a party and the process that it starts for a run: a thread is
that, and here is all that it says.
"""

import logging
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nvflare.apis.fl_constant import (
    FLContextKey,
    ReservedKey,
    ReservedTopic,
    ReturnCode,
    ServerCommandKey,
    ServerCommandNames,
)
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import ReservedHeaderKey, Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.apis.utils.fl_context_utils import gen_new_peer_ctx
from nvflare.fuel.f3.cellnet.cell import Cell
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
from nvflare.fuel.f3.cellnet.defs import ReturnCode as CellCode
from nvflare.fuel.f3.cellnet.fqcn import FQCN
from nvflare.fuel.f3.drivers.driver_params import DriverParams
from nvflare.fuel.f3.message import Message as CellMessage
from nvflare.fuel.sec.authn import set_add_auth_headers_filters
from nvflare.private.admin_defs import Message, error_reply, ok_reply
from nvflare.private.defs import (
    CellChannel,
    CellChannelTopic,
    CellMessageHeaderKeys,
    ClientType,
    SpecialTaskName,
    TaskConstant,
    TrainingTopic,
    new_cell_message,
)
from nvflare.private.fed.authenticator import Authenticator
from nvflare.private.fed.utils.fed_utils import nvflare_fobs_initialize
from nvflare.private.scheduler_constants import ShareableHeader

from flora.cli.plain import print_line
from flora.engines.nvflare.consortium import Kit
from flora.engines.nvflare.foreground import Foreground
from flora.engines.nvflare.run.executor import FloraExecutor
from flora.engines.nvflare.run.service import CONNECTED
from flora.engines.nvflare.run.site_settings import SiteSettings
from flora.engines.nvflare.run.tasks import fill, order_of
from flora.party.consent import DataSource
from flora.problem.wire import STEP, read_step

AT_A_TIME = 5  # parties that connect
AT_WORK = threading.Semaphore(2)  # parties of a process that work, each on its own
CALL = 30.0  # seconds for one message and its answer
BEAT = 3.0  # seconds between two signs of life, as `flora party` has it
GONE = 20.0  # seconds without an answer after which a run is over


@dataclass
class HostedParty:
    """One party: its line to the aggregator, and its runs."""

    kit: Kit
    runs: dict[str, "HostedRun"] = field(default_factory=dict)
    cell: Any = None
    login: tuple[str, str, str] = ("", "", "")  # NVFlare's token, its signature, and the session

    def connect(self) -> None:
        """Make the line, show the certificate, and listen."""
        self.cell = self.new_cell(self.kit.name)
        startup, aggregator = self.kit.path / "startup", self.kit.consortium.aggregator
        authenticator = Authenticator(
            self.cell,
            self.kit.consortium.name,
            self.kit.name,
            ClientType.REGULAR,
            aggregator,
            True,
            str(startup / "rootCA.pem"),
            str(startup / "client.key"),
            str(startup / "client.crt"),
            CALL,
            2.0,
        )
        token, signature, session, _ = authenticator.authenticate(self.context(""), Signal())
        self.login = (token, signature, session)
        self.let_in(self.cell)
        self.cell.register_request_cb(channel=CellChannel.CLIENT_MAIN, topic="*", cb=self._on_order)

    def new_cell(self, name: str) -> Any:
        """Return a started cell with a line of its own to the aggregator."""
        startup, consortium = self.kit.path / "startup", self.kit.consortium
        cell = Cell(
            fqcn=name,
            root_url=f"{consortium.scheme}://{consortium.aggregator}:{consortium.port}",
            secure=True,
            credentials={
                DriverParams.CA_CERT.value: str(startup / "rootCA.pem"),
                DriverParams.CLIENT_CERT.value: str(startup / "client.crt"),
                DriverParams.CLIENT_KEY.value: str(startup / "client.key"),
            },
            create_internal_listener=False,
            auth_identity=self.kit.name,
            auth_identity_map={self.kit.name: self.kit.name, FQCN.ROOT_SERVER: consortium.aggregator},
        )
        cell.start()
        return cell

    def let_in(self, cell: Any) -> None:
        """Let what a cell sends carry the proof of the login."""
        set_add_auth_headers_filters(cell, self.kit.name, *self.login)

    def context(self, run: str) -> Any:
        """Return what NVFlare wants to know of who asks."""
        context = FLContext()
        said = {ReservedKey.IDENTITY_NAME: self.kit.name, ReservedKey.FQSN: self.kit.name, ReservedKey.IS_LEAF: True}
        for key, value in said.items():
            context.set_prop(key, value, private=False, sticky=False)
        if run:
            context.set_prop(FLContextKey.CURRENT_RUN, run, private=False, sticky=False)
        return gen_new_peer_ctx(context)

    def beat(self) -> None:
        """Give a sign of life."""
        sent = Shareable()
        sent.set_peer_context(self.context(""))
        runs = [name for name, run in self.runs.items() if run.is_alive()]
        headers = {
            CellMessageHeaderKeys.PROJECT_NAME: self.kit.consortium.name,
            CellMessageHeaderKeys.JOB_IDS: runs,
        }
        self.cell.send_request(
            target=FQCN.ROOT_SERVER,
            channel=CellChannel.SERVER_MAIN,
            topic=CellChannelTopic.HEART_BEAT,
            request=new_cell_message(headers, sent),
            timeout=CALL,
        )

    def _on_order(self, request: Any) -> Any:
        order = request.payload
        return new_cell_message({}, self._reply(order.topic, order))

    def _reply(self, topic: str, order: Any) -> Any:
        run = order.get_header("job_id", "")
        if topic == TrainingTopic.CHECK_RESOURCE:
            enough = Shareable()
            enough.set_header(ShareableHeader.IS_RESOURCE_ENOUGH, True)
            enough.set_header(ShareableHeader.RESOURCE_RESERVE_TOKEN, str(uuid.uuid4()))
            return Message(topic=f"reply_{topic}", body=enough)
        if topic == TrainingTopic.CANCEL_RESOURCE:
            return Message(topic=f"reply_{topic}", body=Shareable())
        if topic == TrainingTopic.DEPLOY:
            return ok_reply(body=f"deployed to {self.kit.name}")
        if topic == TrainingTopic.START_JOB:
            self.runs[run] = HostedRun(self, run)
            self.runs[run].start()
            return Message(topic=f"reply_{topic}", body="OK")
        if topic == TrainingTopic.ABORT:
            if run in self.runs:
                self.runs[run].over.set()
            return ok_reply(body="OK")
        return error_reply("not of a run")


class HostedRun(threading.Thread):
    """A party's part of one run: it asks for steps, and answers them."""

    def __init__(self, party: HostedParty, run: str) -> None:
        super().__init__(name=f"flora-{party.kit.name}", daemon=True)
        self.party, self.run_name, self.over = party, run, threading.Event()
        self.hub = f"server.{run}"

    def run(self) -> None:
        """Take part until the run is over."""
        cell, executor = self.party.new_cell(f"{self.party.kit.name}.{self.run_name}"), _Executor()
        try:
            self.party.let_in(cell)
            cell.register_request_cb(channel=CellChannel.AUX_COMMUNICATION, topic="*", cb=self._on_word)
            self._aux(cell, ReservedTopic.SYNC_RUNNER, Shareable(), GONE)
            heard = time.monotonic()
            while not self.over.is_set() and time.monotonic() - heard < GONE:
                task = self._ask(cell, ServerCommandNames.GET_TASK, Shareable())
                if task is not None:
                    heard = time.monotonic()
                    self._answer(cell, executor, task)
        except Exception:
            logging.getLogger("flora").exception("%s", self.party.kit.name)
        finally:
            executor.rest()
            cell.stop()

    def _on_word(self, request: Any) -> Any:
        """Hear that the run is over; NVFlare says nothing else beside the tasks."""
        if request.get_header(MessageHeaderKey.TOPIC) == ReservedTopic.END_RUN:
            self.over.set()
        return new_cell_message({MessageHeaderKey.RETURN_CODE: CellCode.OK}, make_reply(ReturnCode.OK))

    def _answer(self, cell: Any, executor: "_Executor", task: Any) -> None:
        """Answer one task; wait as long as the aggregator says, where there is nothing to do."""
        name = task.get_header(ServerCommandKey.TASK_NAME)
        if name == SpecialTaskName.END_RUN:
            self.over.set()
        elif name == SpecialTaskName.TRY_AGAIN:
            self.over.wait(float(task.get_header(TaskConstant.WAIT_TIME, 0.5)))
        else:
            reply = executor.reply(self.party.kit, task, cell, self.over.is_set)
            if jar := task.get_cookie_jar():
                reply.set_cookie_jar(jar)
            number = task.get_header(FLContextKey.TASK_ID)
            for key, value in ((ReservedHeaderKey.TASK_NAME, name), (ReservedHeaderKey.TASK_ID, number)):
                reply.set_header(key, value)
            reply.set_header(FLContextKey.TASK_NAME, name)
            check = Shareable()
            check.set_header(ReservedKey.TASK_ID, number)
            self._aux(cell, ReservedTopic.TASK_CHECK, check, GONE)
            until = time.monotonic() + GONE
            while self._ask(cell, ServerCommandNames.SUBMIT_UPDATE, reply) is None and time.monotonic() < until:
                if self.over.wait(1.0):
                    return

    def _ask(self, cell: Any, topic: str, sent: Any) -> Any:
        """Send a command to the run at the aggregator; return what it answers, None where no good answer came."""
        sent.set_peer_context(self.party.context(self.run_name))
        headers = {CellMessageHeaderKeys.PROJECT_NAME: self.party.kit.consortium.name}
        answer = cell.send_request(
            target=self.hub,
            channel=CellChannel.SERVER_COMMAND,
            topic=topic,
            request=new_cell_message(headers, sent),
            timeout=CALL,
            optional=True,
        )
        if answer.get_header(MessageHeaderKey.RETURN_CODE) != CellCode.OK:
            time.sleep(1.0)
            return None
        return answer.payload

    def _aux(self, cell: Any, topic: str, sent: Any, seconds: float) -> None:
        """Send a message beside the tasks until it is taken."""
        sent.set_header(ReservedHeaderKey.TOPIC, topic)
        sent.set_peer_props(self.party.context(self.run_name).get_all_public_props())
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.over.is_set():
            answer = cell.send_request(
                target=self.hub,
                channel=CellChannel.AUX_COMMUNICATION,
                topic=topic,
                request=CellMessage(payload=sent),
                timeout=5.0,
                optional=True,
            )
            good = answer.get_header(MessageHeaderKey.RETURN_CODE) == CellCode.OK
            if good and answer.payload.get_return_code() == ReturnCode.OK:
                return
            time.sleep(0.5)


class _Executor(FloraExecutor):
    """FLoRA's own, with a cell in place of NVFlare's engine."""

    def reply(self, kit: Kit, task: Any, cell: Any, stopped: Callable[[], bool]) -> Any:
        """Answer one step."""
        together = read_step(order_of(task, STEP.most)[1]).together
        with nullcontext() if together else AT_WORK:
            answer, text = self._answer(kit, task, _Engine(cell), stopped)
        return fill(make_reply(ReturnCode.OK), answer, text)

    def rest(self) -> None:
        """Give no more signs of life."""
        if self._pulse is not None:
            self._pulse.ended.set()


@dataclass(frozen=True)
class _Engine:
    """As much of NVFlare's context and engine as an executor asks for."""

    cell: Any

    def get_engine(self) -> "_Engine":
        return self

    def get_cell(self) -> Any:
        return self.cell


def main() -> None:
    """Take part with the kits and tables that were typed, one after the other, until this process is ended."""
    nvflare_fobs_initialize()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # some hundred threads need not be asked
    words = sys.argv[1:]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        parties = list(pool.map(_connected, words[::2], words[1::2]))
    while True:
        began = time.monotonic()
        for party in parties:
            party.beat()
        time.sleep(max(0.1, BEAT - (time.monotonic() - began)))


def _connected(path: str, table: str) -> HostedParty:
    """Return the party of a kit and a table, connected."""
    kit = Kit.open(Path(path), "party")
    kit.state.mkdir(mode=0o700, exist_ok=True)
    Foreground(kit.state).open()
    SiteSettings(DataSource(table, "kind")).write(kit)
    party = HostedParty(kit)
    party.connect()
    print_line(f"{kit.name}: {CONNECTED}")
    sys.stdout.flush()
    return party
