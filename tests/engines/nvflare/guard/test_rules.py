"""The guard's decisions, and the seams of NVFlare that they hang on: an upgrade that changes one must fail here."""

import inspect
import io
import json
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from nvflare.fuel.f3.cellnet.core_cell import CoreCell
from nvflare.fuel.f3.cellnet.defs import CellChannel, MessageHeaderKey, MessageType
from nvflare.fuel.f3.drivers.driver_params import DriverParams
from nvflare.fuel.f3.endpoint import Endpoint
from nvflare.fuel.f3.message import Message
from nvflare.fuel.f3.sfm.conn_manager import ConnManager
from nvflare.fuel.f3.sfm.constants import Types
from nvflare.fuel.f3.sfm.sfm_conn import SfmConnection
from nvflare.fuel.f3.streaming.stream_const import STREAM_ACK_TOPIC, STREAM_CHANNEL, STREAM_DATA_TOPIC
from nvflare.fuel.hci.server.reg import ServerCommandRegister
from nvflare.fuel.utils.constants import Mode
from nvflare.private.fed.client.admin import FedAdminAgent

from flora.engines.nvflare.consortium import USER
from flora.engines.nvflare.guard import orders, rules, seams
from flora.engines.nvflare.guard.orders import Order
from flora.engines.nvflare.guard.revocation import Revoked
from flora.engines.nvflare.guard.rules import AggregatorGuard, Guard, Heading, PartyGuard, ScientistGuard, SiteGuard
from tests.engines.nvflare.guard import nvflare_topics as topics

RUN, OTHER = "5bad8af9-c4b2-4c94-99cd-b8ccacca2c0c", "36f79e7f-ac83-486a-b0c0-cf74c9f90a97"
ADMIN = f"_admin_{OTHER}"
EXECUTOR = "flora.engines.nvflare.run.executor.FloraExecutor"
PARTY, PARTYS_RUN = PartyGuard("north", "agg.example.org"), PartyGuard("north", "agg.example.org", RUN)
SITE = SiteGuard("north", "agg.example.org")  # of a network that NVFlare runs already
AGGREGATOR = AggregatorGuard("agg.example.org", USER, frozenset({"north", "south"}))
HUB = replace(AGGREGATOR, run=RUN)
SCIENTIST = ScientistGuard("agg.example.org")


def request(origin: str, destination: str, channel: str, topic: str, **known: Any) -> Heading:
    """A request as the good would send it; ``known`` says what differs."""
    root = origin.partition(".")[0]
    certificate = {"server": "agg.example.org", ADMIN: USER}.get(root, root)
    line = {"kind": "req", "neighbour": origin, "certificate": certificate, "dialled": False}
    return Heading(
        **{**line, "origin": origin, "destination": destination, "channel": channel, "topic": topic, **known}
    )


def to_party(origin: str, channel: str, topic: str, **known: Any) -> Heading:
    """What the aggregator brings to a party: over gRPC the line shows no certificate, but it was dialled."""
    line = {"neighbour": "server", "certificate": "", "dialled": True, "destination": "north", **known}
    return request(origin, line.pop("destination"), channel, topic, **line)


Sent = Callable[[str, str], Heading]
# Who can bring what to whom, and the table that holds for it. Everything else must be refused.
LINES: dict[str, tuple[Guard, rules.Asked, Sent]] = {
    "aggregator to party": (PARTY, rules.PARTY_FROM_AGGREGATOR, lambda c, t: to_party("server", c, t)),
    "aggregator's run to party": (PARTY, frozenset(), lambda c, t: to_party(f"server.{RUN}", c, t)),
    "peer to party": (PARTY, frozenset(), lambda c, t: to_party("south", c, t)),
    "peer's run to party": (PARTY, frozenset(), lambda c, t: to_party(f"south.{RUN}", c, t)),
    "scientist to party": (PARTY, frozenset(), lambda c, t: to_party(ADMIN, c, t)),
    "in its own name, from outside": (PARTY, frozenset(), lambda c, t: to_party(f"north.{RUN}", c, t)),
    "own run to party": (PARTY, rules.PARTY_FROM_OWN_RUN, lambda c, t: request(f"north.{RUN}", "north", c, t)),
    "a peer's certificate inside": (
        PARTY,
        frozenset(),
        lambda c, t: request(f"north.{RUN}", "north", c, t, certificate="south"),
    ),
    "server to site": (SITE, rules.PARTY_FROM_AGGREGATOR | rules.STREAM, lambda c, t: to_party("server", c, t)),
    "server's run to site": (SITE, frozenset(), lambda c, t: to_party(f"server.{RUN}", c, t)),
    "peer to site": (SITE, frozenset(), lambda c, t: to_party("south", c, t)),
    "peer's run to site": (SITE, frozenset(), lambda c, t: to_party(f"south.{RUN}", c, t)),
    "scientist to site": (SITE, frozenset(), lambda c, t: to_party(ADMIN, c, t)),
    "own run to site": (
        SITE,
        rules.PARTY_FROM_OWN_RUN | rules.STREAM,
        lambda c, t: request(f"north.{RUN}", "north", c, t),
    ),
    "a line within that shows no certificate": (
        SITE,
        frozenset(),
        lambda c, t: request(f"north.{RUN}", "north", c, t, certificate=""),
    ),
    "through a site": (SITE, frozenset(), lambda c, t: to_party("server", c, t, destination="south")),
    "aggregator to run": (
        PARTYS_RUN,
        rules.RUN_FROM_AGGREGATOR,
        lambda c, t: to_party(f"server.{RUN}", c, t, destination=PARTYS_RUN.here),
    ),
    "another run to run": (
        PARTYS_RUN,
        frozenset(),
        lambda c, t: to_party(f"server.{OTHER}", c, t, destination=PARTYS_RUN.here),
    ),
    "peer to run": (PARTYS_RUN, frozenset(), lambda c, t: to_party(f"south.{RUN}", c, t, destination=PARTYS_RUN.here)),
    "own party to run": (
        PARTYS_RUN,
        rules.RUN_FROM_OWN_PARTY,
        lambda c, t: request("north", PARTYS_RUN.here, c, t, dialled=True),
    ),
    "party to aggregator": (AGGREGATOR, rules.AGGREGATOR_FROM_PARTY, lambda c, t: request("north", "server", c, t)),
    "party's run to aggregator": (
        AGGREGATOR,
        rules.AGGREGATOR_FROM_PARTYS_RUN,
        lambda c, t: request(f"north.{RUN}", "server", c, t),
    ),
    "party's run to hub, on its way": (
        AGGREGATOR,
        rules.HUB_FROM_PARTYS_RUN,
        lambda c, t: request(f"north.{RUN}", HUB.here, c, t),
    ),
    "party to hub": (AGGREGATOR, frozenset({rules.GONE[1:]}), lambda c, t: request("north", HUB.here, c, t)),
    "party to another run": (AGGREGATOR, frozenset(), lambda c, t: request(f"north.{OTHER}", HUB.here, c, t)),
    "party to party": (AGGREGATOR, frozenset(), lambda c, t: request("north", "south", c, t)),
    "party's run to party": (AGGREGATOR, frozenset(), lambda c, t: request(f"north.{RUN}", "south", c, t)),
    "party's run to another's": (AGGREGATOR, frozenset(), lambda c, t: request(f"north.{RUN}", f"south.{RUN}", c, t)),
    "scientist to aggregator": (
        AGGREGATOR,
        rules.AGGREGATOR_FROM_SCIENTIST,
        lambda c, t: request(ADMIN, "server", c, t),
    ),
    "scientist to party, on the way": (AGGREGATOR, frozenset(), lambda c, t: request(ADMIN, "north", c, t)),
    "a party as scientist": (
        AGGREGATOR,
        frozenset(),
        lambda c, t: request(ADMIN, "server", c, t, certificate="north"),
    ),
    "one in another's name": (
        AGGREGATOR,
        frozenset(),
        lambda c, t: request("south", "server", c, t, neighbour="north", certificate="north"),
    ),
    "in the aggregator's name": (
        AGGREGATOR,
        frozenset(),
        lambda c, t: request("server", "south", c, t, neighbour="north", certificate="north"),
    ),
    "a stranger with a certificate": (AGGREGATOR, frozenset(), lambda c, t: request("west", "server", c, t)),
    "own run to aggregator": (
        AGGREGATOR,
        rules.AGGREGATOR_FROM_OWN_RUN,
        lambda c, t: request(HUB.here, "server", c, t),
    ),
    "own run to party's": (
        AGGREGATOR,
        rules.RUN_FROM_AGGREGATOR,
        lambda c, t: request(HUB.here, f"north.{RUN}", c, t),
    ),
    "own run to a party": (AGGREGATOR, frozenset(), lambda c, t: request(HUB.here, "north", c, t)),
    "a party as a run of the aggregator": (
        AGGREGATOR,
        frozenset(),
        lambda c, t: request(HUB.here, "server", c, t, certificate="north"),
    ),
    "aggregator to hub": (
        HUB,
        rules.HUB_FROM_AGGREGATOR,
        lambda c, t: request("server", HUB.here, c, t, dialled=True),
    ),
    "party's run at the hub": (
        HUB,
        rules.HUB_FROM_PARTYS_RUN,
        lambda c, t: request(
            f"north.{RUN}", HUB.here, c, t, neighbour="server", certificate="agg.example.org", dialled=True
        ),
    ),
    "party at the hub": (
        HUB,
        frozenset({rules.GONE[1:]}),
        lambda c, t: request("north", HUB.here, c, t, neighbour="server", certificate="agg.example.org", dialled=True),
    ),
    "aggregator to scientist": (
        SCIENTIST,
        rules.SCIENTIST_FROM_AGGREGATOR,
        lambda c, t: to_party("server", c, t, destination=ADMIN),
    ),
    "aggregator's run to scientist": (
        SCIENTIST,
        frozenset(),
        lambda c, t: to_party(f"server.{RUN}", c, t, destination=ADMIN),
    ),
    "party to scientist": (SCIENTIST, frozenset(), lambda c, t: to_party("north", c, t, destination=ADMIN)),
    "through a scientist": (SCIENTIST, frozenset(), lambda c, t: to_party("server", c, t)),
    "who dials a scientist": (
        SCIENTIST,
        frozenset(),
        lambda c, t: to_party("server", c, t, destination=ADMIN, dialled=False),
    ),
    "a party as a scientist's aggregator": (
        SCIENTIST,
        frozenset(),
        lambda c, t: to_party("server", c, t, destination=ADMIN, certificate="north"),
    ),
    "another run's party at the hub": (
        HUB,
        frozenset(),
        lambda c, t: request(
            f"north.{OTHER}", HUB.here, c, t, neighbour="server", certificate="agg.example.org", dialled=True
        ),
    ),
}


@pytest.mark.parametrize("line", LINES)
def test_nothing_passes_that_is_not_in_the_table(line: str) -> None:
    """Every channel with every topic that NVFlare's source names, and the table's own."""
    keeper, allowed, send = LINES[line]
    pairs = {(channel, topic) for channel in topics.channels() for topic in (*topics.words(), "*", "")} | allowed
    passed = {pair for pair in pairs if keeper.refusal(send(*pair)) == ""}
    assert passed == allowed


def test_the_tables_name_what_nvflare_has() -> None:
    """A topic that an upgrade renames would be refused in every run; here it is named."""
    words, channels = set(topics.words()), set(topics.channels())
    ours = {("flora", "reduce"), ("flora", "beat"), ("flora", "hub"), ("admin", "admin"), ("hci_channel", "command")}
    tables = [value for name, value in vars(rules).items() if "_FROM_" in name]
    for channel, topic in frozenset().union(*tables) - ours:
        assert channel in channels, channel
        assert topic in words, topic
    assert set(topics.orders()) >= orders.ORDERS | {orders.REPORT}


def test_what_must_never_be_in_a_table() -> None:
    tables = [value for name, value in vars(rules).items() if "_FROM_" in name]
    for channel, topic in frozenset().union(*tables):
        assert channel not in ("_net_manager", "credential_manager", "workspace_transfer", "collab", "client_api")
        assert topic not in ("bulk", "*", "__do_task__")
    for word in ("sys.shell", "train.delete_run", "train.shutdown", "train.restart", "sys.info", "comp_caller.call"):
        assert word in topics.orders()
        assert word not in orders.ORDERS
    shell = {
        "cat",
        "head",
        "tail",
        "ls",
        "grep",
        "pwd",
        "shell",
        "shutdown",
        "restart",
        "delete_job",
        "configure_site_log",
    }
    assert not shell & {name.split(".")[-1] for name in orders.COMMANDS}


@pytest.mark.parametrize(
    "line", ["peer to party", "party to party", "scientist to party", "one in another's name", "party to scientist"]
)
def test_an_answer_nobody_asked_for_is_refused_too(line: str) -> None:
    keeper, _, send = LINES[line]
    assert keeper.refusal(replace(send("admin", "admin"), kind="reply")) != ""


@pytest.mark.parametrize(
    "line", ["aggregator to party", "party to aggregator", "party's run to hub, on its way", "aggregator to scientist"]
)
def test_an_answer_to_who_may_ask_passes(line: str) -> None:
    keeper, _, send = LINES[line]
    assert keeper.refusal(replace(send("any", "thing"), kind="reply")) == ""


@pytest.mark.parametrize("line", [name for name, (_, allowed, _) in LINES.items() if allowed])
def test_no_line_of_its_own_is_opened_on_an_invitation(line: str) -> None:
    keeper, allowed, send = LINES[line]
    assert "opens no further lines" in keeper.refusal(replace(send(*sorted(allowed)[0]), invites=True))


def test_who_poses_as_the_aggregator_is_not_heard() -> None:
    for known in ({"dialled": False}, {"certificate": "south"}, {"neighbour": "south"}):
        assert PARTY.refusal(to_party("server", "admin", "admin", **known)) != ""
    assert PARTY.refusal(to_party("server", "admin", "admin", certificate="agg.example.org")) == ""


def test_a_party_passes_on_between_its_own_run_and_the_aggregator_alone() -> None:
    own = request(f"north.{RUN}", HUB.here, "flora", "reduce")
    assert PARTY.refusal(own) == ""
    for destination in ("south", f"south.{RUN}", f"server.{OTHER}"):
        assert PARTY.refusal(replace(own, destination=destination)) != ""
    back = to_party(HUB.here, "aux_communication", "__end_run__", destination=f"north.{RUN}")
    assert PARTY.refusal(back) == ""
    assert PARTY.refusal(replace(back, topic="__do_task__")) != ""
    assert PARTY.refusal(replace(back, destination=f"north.{OTHER}")) != ""
    assert PARTY.refusal(replace(back, destination=f"south.{RUN}")) != ""


# -- orders, and the files of a run


def packed(**files: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return buffer.getvalue()


CLIENT = "config/config_fed_client.json"
GOOD = {CLIENT: orders.client_settings(EXECUTOR), "config/config_fed_server.json": {}, ".__nvfl_sig.json": "{}"}


def refusal(topic: str, body: Any = b"", own: bool = False, **headers: Any) -> str:
    return orders.order_refusal(Order(topic, headers, body), from_own_run=own, executors=(EXECUTOR,))


@pytest.mark.parametrize("topic", topics.orders())
def test_a_party_does_what_a_run_needs_and_nothing_else(topic: str) -> None:
    files = packed(**GOOD) if topic == "train.deploy" else b""
    assert (refusal(topic, files, job_id=RUN) == "") == (topic in orders.ORDERS)
    assert (refusal(topic, files, own=True, job_id=RUN) == "") == (topic == orders.REPORT)


@pytest.mark.parametrize("name", ["state", "startup", "../south", "", None, 7, f"{RUN}/..", f"x{RUN}", [RUN]])
@pytest.mark.parametrize("topic", sorted(orders.NEED_RUN & orders.ORDERS))
def test_a_run_has_the_name_of_a_run(topic: str, name: Any) -> None:
    """NVFlare makes a folder's path of it, and empties that folder before a run."""
    assert "is not the name of a run" in refusal(topic, packed(**GOOD), job_id=name)


def test_a_run_has_one_name() -> None:
    assert refusal("train.start_job", job_id=RUN, job_meta={"job_id": OTHER}) == "it names two runs"
    assert refusal("train.start_job", job_id=RUN, job_meta={"job_id": RUN}) == ""


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({**GOOD, "custom/evil.py": "x"}, "brings the file 'custom/evil.py'"),
        ({**GOOD, "config/comm_config.json": {}}, "brings the file 'config/comm_config.json'"),
        ({**GOOD, "../../startup/client.crt": "x"}, "brings the file"),
        ({CLIENT: orders.client_settings("os.system")}, "its settings are not those of a run"),
        ({CLIENT: {**orders.client_settings(EXECUTOR), "components": []}}, "its settings are not those of a run"),
        ({CLIENT: {**orders.client_settings(EXECUTOR), "task_result_filters": []}}, "not those of a run"),
        ({CLIENT: "[" * 100_000}, "cannot be read"),
        ({"config/config_fed_server.json": {}}, "cannot be read"),
    ],
)
def test_a_run_brings_settings_and_nothing_else(files: dict[str, Any], said: str) -> None:
    assert said in orders.app_refusal(packed(**files), (EXECUTOR,))


@pytest.mark.parametrize("data", [b"", b"PK", None, 7, "text", packed(**GOOD)[:-30]])
def test_files_that_are_none_are_refused(data: Any) -> None:
    assert "cannot be read" in orders.app_refusal(data, (EXECUTOR,))


def test_the_job_that_we_submit_is_one_that_a_party_takes(tmp_path: Path) -> None:
    from flora.engines.nvflare.run.job import CLASSES, Run, write_job
    from flora.program.request import Request

    job = write_job(tmp_path, Run("hearts", ("north",), Request(family="svm")))
    files = {str(p.relative_to(job / "app")): p.read_text() for p in (job / "app").rglob("*") if p.is_file()}
    assert orders.app_refusal(packed(**files), (CLASSES[1],)) == ""


@pytest.mark.parametrize("command", ["cat server x", "", "   ", "shell", "admin.shutdown all", "delete_job x", "_x"])
def test_a_scientist_gives_no_other_command(command: str) -> None:
    assert orders.command_refusal(command) != ""
    assert orders.command_refusal("get_job_meta x") == ""


# -- NVFlare's seams


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (CoreCell.process_message, ["self", "endpoint", "connection", "app_id", "message"]),
        (CoreCell._find_endpoint, ["self", "target_fqcn", "for_msg"]),
        (CoreCell.start, ["self"]),
        (FedAdminAgent._dispatch_request, ["self", "request"]),
        (ServerCommandRegister.process_command, ["self", "conn", "command"]),
        (ConnManager.process_frame_task, ["self", "sfm_conn", "frame"]),
        (ConnManager.get_dict_payload, ["prefix", "frame"]),
    ],
)
def test_the_seams_are_where_they_were(function: Any, parameters: list[str]) -> None:
    assert list(inspect.signature(function).parameters) == parameters


def test_every_frame_goes_through_the_seam() -> None:
    """CoreCell is the one receiver of frames, and process_message its one way in."""
    source = inspect.getsource(ConnManager)
    assert source.count("receiver.process_message(") == 2
    assert "receiver.process_message(sfm_conn.sfm_endpoint.endpoint, sfm_conn.conn, prefix.app_id, message)" in source
    cell = inspect.getsource(CoreCell)
    assert cell.count("self._process_received_msg(") == 1
    assert "self._process_received_msg(endpoint, connection, message)" in inspect.getsource(CoreCell.process_message)
    assert cell.count("self._process_request(") == 2  # from there, and from a bulk, which no table has
    assert cell.count("self._forward(") == 1
    found = [p for p in topics.ROOT.rglob("*.py") if "register_message_receiver(" in p.read_text()]
    assert sorted(p.name for p in found) == ["communicator.py", "conn_manager.py", "core_cell.py"]


def test_the_agent_takes_orders_through_the_seam_alone() -> None:
    assert inspect.getsource(FedAdminAgent).count(".process(") == 1
    assert "cb=self._dispatch_request" in inspect.getsource(FedAdminAgent.register_cell_cb)
    from nvflare.apis.workspace import Workspace
    from nvflare.private.defs import RequestHeader

    assert (RequestHeader.JOB_ID, RequestHeader.JOB_META) == ("job_id", "job_meta")
    assert Workspace.get_run_dir is not None


def test_the_processes_are_started_as_before() -> None:
    from nvflare.apis.job_launcher_spec import JobProcessArgs
    from nvflare.private.fed.app.client import client_train, worker_process
    from nvflare.private.fed.app.server import runner_process, server_train
    from nvflare.private.fed.client import client_executor
    from nvflare.private.fed.server import server_engine

    for module in (client_train, worker_process, runner_process, server_train):
        assert list(inspect.signature(module.main).parameters) == ["args"]
        assert list(inspect.signature(module.parse_arguments).parameters) == []
    argument = 'JobProcessArgs.EXE_MODULE: ("-m", '
    assert argument in inspect.getsource(client_executor)
    assert argument in inspect.getsource(server_engine)
    assert JobProcessArgs.EXE_MODULE == "exe_module"


def test_who_decides_on_a_topic_only_in_a_run_is_known() -> None:
    """Registrations whose topic the source does not say: all on the aux channel, of which four topics are let in."""
    unknown = {found for found in topics.listeners() if found.topic is None}
    assert {found.channel for found in unknown} <= {"aux_communication", None}
    assert {found.where for found in unknown if found.channel is None} == {"fuel/f3/cellnet/cell.py"}
    assert len(topics.listeners()) > 90
    assert len(topics.orders()) == 23


# -- the gate reads frames


def line(certificate: str | None, mode: Any = Mode.PASSIVE) -> Any:
    properties = {} if certificate is None else {DriverParams.PEER_CN.value: certificate}
    return SimpleNamespace(get_conn_properties=lambda: properties, connector=SimpleNamespace(mode=mode))


def frame(**more: Any) -> Message:
    keys = MessageHeaderKey
    headers = {keys.MSG_TYPE: MessageType.REQ, keys.ORIGIN: "north", keys.DESTINATION: "server"}
    return Message({**headers, keys.CHANNEL: "task", keys.TOPIC: "quit", **more}, b"")


NORTH = SimpleNamespace(name="north")


def test_a_frame_is_read_as_it_is() -> None:
    read = seams.heading_of(NORTH, line("north"), frame())
    assert read == request("north", "server", "task", "quit")
    assert seams.heading_of(NORTH, line(None, Mode.ACTIVE), frame()).dialled
    assert seams.heading_of(NORTH, line("N/A"), frame()).certificate == ""
    assert seams.heading_of(NORTH, None, frame()).within
    assert seams.heading_of(NORTH, line("north"), frame(**{MessageHeaderKey.CONN_URL: "tcp://evil"})).invites


def test_a_message_in_pieces_is_read_by_what_it_carries() -> None:
    keys = MessageHeaderKey
    stream = {keys.CHANNEL: STREAM_CHANNEL, keys.TOPIC: STREAM_DATA_TOPIC, "sm__ch": "admin", "sm__tp": "sys.shell"}
    read = seams.heading_of(NORTH, line("north"), frame(**stream))
    assert (read.kind, read.channel, read.topic) == ("req", "admin", "sys.shell")
    answer = seams.heading_of(NORTH, line("north"), frame(**{**stream, "sm__ch": CellChannel.RETURN_ONLY}))
    assert answer.kind == "reply"
    assert seams.heading_of(NORTH, line("north"), frame(**{keys.CHANNEL: CellChannel.RETURN_ONLY})).kind == "req"
    acknowledged = seams.heading_of(NORTH, line("north"), frame(**{**stream, keys.TOPIC: STREAM_ACK_TOPIC}))
    assert (acknowledged.channel, acknowledged.topic) in rules.STREAM


@pytest.mark.parametrize("missing", [MessageHeaderKey.ORIGIN, MessageHeaderKey.DESTINATION, MessageHeaderKey.MSG_TYPE])
def test_a_frame_that_says_too_little_is_none(missing: str) -> None:
    message = frame()
    del message.headers[missing]
    with pytest.raises((KeyError, TypeError)):
        seams.heading_of(NORTH, line("north"), message)


def test_what_the_gate_cannot_read_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[Any] = []
    refused: list[tuple[str, str]] = []
    monkeypatch.setattr(CoreCell, "process_message", lambda *args: passed.append(args))
    alarm: Any = SimpleNamespace(refused=lambda what, why: refused.append((what, why)))
    seams.watch_cells(AGGREGATOR, alarm)
    process: Any = CoreCell.process_message
    for message in (
        Message(None, b""),
        frame(**{MessageHeaderKey.ORIGIN: ["north"]}),
        frame(**{MessageHeaderKey.TOPIC: "x"}),
    ):
        process(None, NORTH, line("north"), 1, message)
    process(None, None, line("north"), 1, frame())
    assert passed == []
    assert len(refused) == 4
    process(None, NORTH, line("north"), 1, frame())
    assert len(passed) == 1


@pytest.mark.parametrize(
    ("name", "certificate"),
    [("north", "north"), (f"north.{RUN}", "north"), (ADMIN, USER), (HUB.here, "agg.example.org")],
)
def test_a_line_is_of_whose_certificate_it_shows(name: str, certificate: str) -> None:
    assert AGGREGATOR.name_refusal(name, certificate) == ""
    for other in {"north", "south", "west", "agg.example.org", USER, "", "N/A"} - {certificate}:
        assert "is not that of" in AGGREGATOR.name_refusal(name, other)


@pytest.mark.parametrize(
    "name", ["", "server", " north", "north.", "north.x", f"north.{RUN}.x", f"NORTH.{RUN}", "west"]
)
def test_what_is_no_name_here_is_nobodys(name: str) -> None:
    for certificate in ("north", "agg.example.org", USER, "west", ""):
        assert AGGREGATOR.name_refusal(name, certificate) != ""


@pytest.mark.parametrize("kind", [Types.HELLO, Types.READY])
@pytest.mark.parametrize("name", ["south", f"server.{RUN}", ADMIN, "", None])
def test_a_greeting_in_anothers_name_ends_the_line_before_it_is_answered(
    monkeypatch: pytest.MonkeyPatch, kind: int, name: str | None
) -> None:
    """With either kind NVFlare would take the line, and with the second it answers nothing first."""
    passed: list[Any] = []
    refused: list[tuple[str, str]] = []
    closed: list[str] = []
    monkeypatch.setattr(ConnManager, "process_frame_task", lambda *args: passed.append(args))
    alarm: Any = SimpleNamespace(refused=lambda what, why: refused.append((what, why)))
    seams.watch_greetings(AGGREGATOR, alarm)
    process: Any = ConnManager.process_frame_task
    caller = SimpleNamespace(conn=line("north"))
    caller.conn.close = lambda: closed.append("closed")
    manager = SimpleNamespace(sfm_endpoints={})
    process(manager, caller, greeting(kind, name))
    assert (passed, closed, len(refused)) == ([], ["closed"], 1)
    process(manager, caller, greeting(kind, "north"))
    assert len(passed) == 1


@pytest.mark.parametrize("kind", [Types.HELLO, Types.READY])
def test_who_dials_with_a_revoked_certificate_is_told_why_and_sent_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: int
) -> None:
    passed, told, refused, closed = list[Any](), list[bytes](), list[str](), list[str]()
    monkeypatch.setattr(ConnManager, "process_frame_task", lambda *args: passed.append(args))
    monkeypatch.setattr(threading, "Timer", lambda _, hang_up, args: SimpleNamespace(start=lambda: hang_up(*args)))
    monkeypatch.setattr(threading, "Thread", lambda **_: SimpleNamespace(start=lambda: None))
    (tmp_path / "revoked.json").write_text('{"north": "2999-01-01T00:00:00+00:00"}')
    alarm: Any = SimpleNamespace(refused=lambda _, why: refused.append(why))
    seams.keep_out_revoked(Revoked(tmp_path / "revoked.json"), alarm)
    process: Any = ConnManager.process_frame_task
    caller = SfmConnection(line("north"), Endpoint("server"))
    monkeypatch.setattr(caller, "send_data", lambda *args: told.append(args[-1]))
    monkeypatch.setattr(caller.conn, "close", lambda: closed.append("closed"), raising=False)
    manager = ManagerOfLines()
    process(manager, caller, greeting(kind, "north"))
    assert (passed, told, closed) == ([], [seams.REVOKED.encode()], ["closed"])
    process(manager, caller, greeting(kind, "north"))
    process(manager, caller, b"anything")
    assert (passed, told, closed) == ([], [seams.REVOKED.encode()], ["closed"] * 3)  # it is told once
    assert all("certificates of north" in why for why in refused)


class ManagerOfLines:
    """As much of NVFlare's as the guard looks at."""

    sfm_endpoints: ClassVar[dict[str, Any]] = {}


def greeting(kind: int, name: str | None) -> Any:
    sent: list[Any] = []
    SfmConnection(SimpleNamespace(name="line", send_frame=sent.append), Endpoint(name)).send_handshake(kind)
    return sent[0]


class TestSiteOfAnotherNetwork:
    def test_messages_of_its_own_runs_pass_whosever_they_are(self) -> None:
        assert SITE.refusal(to_party(f"south.{RUN}", "any", "topic", destination=f"north.{RUN}")) == ""
        assert SITE.refusal(request(f"north.{RUN}", f"south.{RUN}", "any", "topic")) == ""

    def test_it_opens_no_further_lines(self) -> None:
        sent = to_party("server", "admin", "admin", invites=True)
        assert SITE.refusal(sent) == "a site opens no further lines"

    @pytest.mark.parametrize("topic", ["sys.shell", "sys.report_env", "sys.configure_site_log", "anything"])
    def test_no_shell_no_environment_and_nothing_unknown(self, topic: str) -> None:
        order = Order(topic, {"job_id": RUN}, "")
        assert orders.site_refusal(order, from_own_run=False) == "it is not among what a run needs"

    def test_orders_for_other_runs_are_followed_but_name_a_run(self) -> None:
        assert orders.site_refusal(Order("train.deploy", {"job_id": RUN}, b"any app"), from_own_run=False) == ""
        assert orders.site_refusal(Order("train.delete_run", {"job_id": RUN}), from_own_run=False) == ""
        assert "is not the name of a run" in orders.site_refusal(
            Order("train.delete_run", {"job_id": "state"}), from_own_run=False
        )
