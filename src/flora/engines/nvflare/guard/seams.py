"""The guard in NVFlare's way. To be installed before a cell is made: after that no frame passes without it.

Each function here replaces one function of NVFlare by one that asks first. Their names and signatures are pinned by
``tests/engines/nvflare/guard/test_rules.py``: another NVFlare with other seams fails there, and not silently.
"""

import json
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, Protocol

from cryptography import x509
from nvflare.fuel.f3.cellnet.core_cell import CoreCell
from nvflare.fuel.f3.cellnet.defs import CellChannel, MessageHeaderKey, MessageType, ReturnCode
from nvflare.fuel.f3.cellnet.utils import new_cell_message
from nvflare.fuel.f3.drivers.driver_params import DriverParams
from nvflare.fuel.f3.sfm.conn_manager import ConnManager, NullConnection
from nvflare.fuel.f3.sfm.constants import HandshakeKeys, Types
from nvflare.fuel.f3.sfm.prefix import PREFIX_LEN, Prefix
from nvflare.fuel.f3.streaming.stream_const import STREAM_CHANNEL, STREAM_DATA_TOPIC, StreamHeaderKey
from nvflare.fuel.hci.server.reg import ServerCommandRegister
from nvflare.fuel.utils.constants import Mode
from nvflare.private.admin_defs import error_reply
from nvflare.private.fed.client.admin import FedAdminAgent

from flora.engines.nvflare.guard.alarm import Alarm
from flora.engines.nvflare.guard.orders import Order, command_refusal
from flora.engines.nvflare.guard.revocation import Revoked
from flora.engines.nvflare.guard.rules import (
    REPLY,
    REQUEST,
    AggregatorGuard,
    Guard,
    Heading,
    run_of,
)

NOTICE = 77  # an application number of our own beside NVFlare's 1: the aggregator tells a party's process one word
TWIN_REFUSED, TWIN_TRIED, REVOKED = "twin-refused", "twin-tried", "revoked"
NOTICES = {
    TWIN_REFUSED: "another process with this kit is connected to the aggregator and answers: this one is kept out; "
    "stop one of the two (if the other is not yours, the kit's key is stolen)",
    TWIN_TRIED: "somebody else has tried to connect with this kit, and the aggregator kept them out "
    "(if that was not you, the kit's key is stolen)",
    REVOKED: "not connected: this kit's certificate is revoked at the aggregator; it needs a new one "
    "(flora certificate request, sign and install)",
}
LOOK = 1.0  # seconds between two looks at who is revoked
PROBE = 3.0  # seconds in which a process that is there answers a ping


def heading_of(endpoint: Any, connection: Any, message: Any) -> Heading:
    """Return what a frame says of itself and what is known of its line; raise where it says too little."""
    headers = message.headers
    channel, topic = str(headers.get(MessageHeaderKey.CHANNEL)), str(headers.get(MessageHeaderKey.TOPIC))
    in_pieces = (channel, topic) == (STREAM_CHANNEL, STREAM_DATA_TOPIC)
    if in_pieces:  # it is judged by what it carries
        channel, topic = str(headers[StreamHeaderKey.CHANNEL]), str(headers[StreamHeaderKey.TOPIC])
    is_reply = headers[MessageHeaderKey.MSG_TYPE] != MessageType.REQ
    is_reply = is_reply or (in_pieces and channel == CellChannel.RETURN_ONLY)
    within = connection is None or isinstance(connection, NullConnection)
    return Heading(
        kind=REPLY if is_reply else REQUEST,
        origin=_text(headers[MessageHeaderKey.ORIGIN]),
        destination=_text(headers[MessageHeaderKey.DESTINATION]),
        channel=channel,
        topic=topic,
        neighbour=_text(endpoint.name),
        certificate="" if within else certificate_of(connection),
        dialled=not within and connection.connector.mode == Mode.ACTIVE,
        within=within,
        invites=headers.get(MessageHeaderKey.CONN_URL) is not None,
    )


def certificate_of(connection: Any) -> str:
    """Return whose certificate the other end of a line has shown; empty where the driver does not say."""
    name = (connection.get_conn_properties() or {}).get(DriverParams.PEER_CN.value)
    return "" if name in (None, "N/A") else str(name)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("the name of a cell is a text")
    return value


def watch_cells(guard: Guard, alarm: Alarm) -> None:
    """Let every frame that reaches a cell, to stay or to be passed on, be judged before it is unpacked."""
    process = CoreCell.process_message

    @wraps(process)
    def judged(cell: Any, endpoint: Any, connection: Any, app_id: int, message: Any) -> Any:
        try:
            envelope = heading_of(endpoint, connection, message)
            what, why = envelope.words, guard.refusal(envelope)
        except Exception as error:
            what, why = "a message", f"it is none of NVFlare's ({type(error).__name__})"
        if why:
            alarm.refused(what, why)
            return None
        return process(cell, endpoint, connection, app_id, message)

    CoreCell.process_message = judged


def when_cell_starts(serve: Callable[[Any], None]) -> None:
    """Give this process's cell to ``serve`` before its first line is open."""
    start = CoreCell.start

    @wraps(start)
    def started(cell: Any) -> Any:
        serve(cell)
        return start(cell)

    CoreCell.start = started


def keep_within(party: str) -> None:
    """Let a run reach its own party over their own line alone: until it is there, NVFlare would ask the aggregator."""
    find = CoreCell._find_endpoint

    @wraps(find)
    def found(cell: Any, target_fqcn: str, for_msg: Any) -> Any:
        if target_fqcn == party and target_fqcn not in cell.agents:
            return ReturnCode.TARGET_UNREACHABLE, None  # NVFlare tries again
        return find(cell, target_fqcn, for_msg)

    CoreCell._find_endpoint = found


class OrderRule(Protocol):
    """Says which orders a party's agent follows."""

    def __call__(self, order: Order, *, from_own_run: bool) -> str:
        """Return why an order is refused; empty where it is followed."""
        ...


def watch_orders(name: str, refusal: OrderRule, alarm: Alarm) -> None:
    """Let a party's agent do only what a run needs, whatever stands on the envelope."""
    dispatch = FedAdminAgent._dispatch_request

    @wraps(dispatch)
    def judged(agent: Any, request: Any) -> Any:
        origin = str(request.get_header(MessageHeaderKey.ORIGIN))
        own = run_of(origin, name) != ""
        topic = "?"
        try:
            found = request.payload
            topic = str(found.topic)
            order = Order(topic, dict(found.headers or {}), found.body)
            why = refusal(order, from_own_run=own)
            if own and not why and order.headers["job_id"] != run_of(origin, name):
                why = "it is of another run"
        except Exception as error:
            why = f"it is no order of NVFlare's ({type(error).__name__})"
        if not why:
            return dispatch(agent, request)
        alarm.refused(f"the order {topic!r:.80} from {origin:.80}", why)
        return new_cell_message({}, error_reply("refused"))

    FedAdminAgent._dispatch_request = judged


def watch_commands(alarm: Alarm) -> None:
    """Let the aggregator take only the commands that a scientist needs."""
    process = ServerCommandRegister.process_command

    @wraps(process)
    def judged(register: Any, conn: Any, command: str) -> Any:
        why = command_refusal(command) if isinstance(command, str) else "it is no command"
        if not why:
            return process(register, conn, command)
        alarm.refused(f"the command {command!s:.80}", why)
        conn.append_error("refused")
        return None

    ServerCommandRegister.process_command = judged


def watch_greetings(guard: AggregatorGuard, alarm: Alarm) -> None:
    """Let each line be of whose certificate it shows, and a party's kit be connected once.

    NVFlare answers a wrong name before it looks, and leaves that call open; of two with the same name it would send
    every other message to the second.
    """
    process = ConnManager.process_frame_task

    @wraps(process)
    def judged(manager: Any, sfm_conn: Any, frame: Any) -> Any:
        try:
            name = _greeting(sfm_conn, frame)
            why = guard.name_refusal(name, certificate_of(sfm_conn.conn)) if name else ""
            twin = not why and name.split(".", 1)[0] in guard.parties and _answers(manager, sfm_conn, name)
        except Exception as error:
            name, why, twin = "", f"it is none of NVFlare's ({type(error).__name__})", False
        if why:
            alarm.refused(f"a greeting from {_address(sfm_conn)}", why)
            return _hang_up(sfm_conn.conn)
        if not twin:
            return process(manager, sfm_conn, frame)
        alarm.refused(f"a second {name} from {_address(sfm_conn)}", "the first is connected, and answers")
        for other in _others(manager, sfm_conn, name):
            _notify(other, TWIN_TRIED)
        return _send_away(sfm_conn, TWIN_REFUSED)

    ConnManager.process_frame_task = judged


def _greeting(sfm_conn: Any, frame: Any) -> str:
    """Return the name under which somebody greets who has dialled us; empty for any other frame."""
    prefix = Prefix.from_bytes(frame)
    if prefix.type not in (Types.HELLO, Types.READY) or sfm_conn.conn.connector.mode != Mode.PASSIVE:
        return ""
    return _text(ConnManager.get_dict_payload(prefix, frame)[HandshakeKeys.ENDPOINT_NAME]) or "nobody"


def _greets(sfm_conn: Any, frame: Any) -> bool:
    with suppress(Exception):  # what is no frame is no greeting
        return _greeting(sfm_conn, frame) != ""
    return False


def _address(sfm_conn: Any) -> str:
    """Return from where somebody calls, without the port: it is another one each time."""
    found = str((sfm_conn.conn.get_conn_properties() or {}).get(DriverParams.PEER_ADDR.value, "?"))
    return found.rpartition(":")[0] or found


def _others(manager: Any, sfm_conn: Any, name: str) -> list[Any]:
    known = manager.sfm_endpoints.get(name)
    return [other for other in known.connections if other is not sfm_conn] if known is not None else []


def _answers(manager: Any, sfm_conn: Any, name: str) -> bool:
    """Return whether an earlier line of that name is alive; one that is not is closed."""
    asked = time.time()
    for other in _others(manager, sfm_conn, name):
        with suppress(Exception):
            other.send_heartbeat(Types.PING)
    while time.time() - asked < PROBE:
        others = _others(manager, sfm_conn, name)
        if not others:
            return False
        if any(other.last_activity > asked for other in others):
            return True
        time.sleep(0.05)
    for other in _others(manager, sfm_conn, name):
        _hang_up(other.conn)
    return False


def keep_out_revoked(revoked: Revoked, alarm: Alarm) -> None:
    """Let no line stay open whose certificate is revoked, also in a run: none of its frames is taken any more."""
    process = ConnManager.process_frame_task
    managers: weakref.WeakSet[Any] = weakref.WeakSet()
    told: weakref.WeakSet[Any] = weakref.WeakSet()  # lines that were told why, and end in a moment

    def shut_out(sfm_conn: Any, *, greets: bool = False) -> bool:
        why = revoked.refusal(certificate_of(sfm_conn.conn), _made(sfm_conn.conn))
        if why:
            alarm.refused(f"a line from {_address(sfm_conn)}", why)
            if greets and sfm_conn not in told:  # nothing goes over a line whose greeting is not taken
                told.add(sfm_conn)
                _send_away(sfm_conn, REVOKED)
            else:
                _hang_up(sfm_conn.conn)
        return why != ""

    @wraps(process)
    def judged(manager: Any, sfm_conn: Any, frame: Any) -> Any:
        managers.add(manager)
        out = _is_outside(sfm_conn) and shut_out(sfm_conn, greets=_greets(sfm_conn, frame))
        return None if out else process(manager, sfm_conn, frame)

    def watch() -> None:
        while True:
            time.sleep(LOOK)
            if revoked.changed():
                for line in [line for manager in managers for line in _lines(manager)]:
                    with suppress(Exception):
                        shut_out(line)

    revoked.changed()
    ConnManager.process_frame_task = judged
    threading.Thread(target=watch, name="flora-revoked", daemon=True).start()


def _lines(manager: Any) -> list[Any]:
    known = [line for endpoint in list(manager.sfm_endpoints.values()) for line in list(endpoint.connections)]
    return [line for line in known if _is_outside(line)]


def _is_outside(sfm_conn: Any) -> bool:
    return not isinstance(sfm_conn.conn, NullConnection) and sfm_conn.conn.connector.mode == Mode.PASSIVE


def _made(conn: Any) -> datetime | None:
    """Return when the certificate at the other end of a line was made; None where that cannot be found out."""
    try:
        if getattr(conn, "context", None) is not None:
            pem = bytes(conn.context.auth_context()["x509_pem_cert"][0])
            return x509.load_pem_x509_certificate(pem).not_valid_before_utc
        return x509.load_der_x509_certificate(conn.sock.getpeercert(True)).not_valid_before_utc
    except Exception:
        return None


def _notify(sfm_conn: Any, word: str) -> None:
    with suppress(Exception):  # who is gone need not be told
        sfm_conn.send_data(NOTICE, 1, None, word.encode())


def _send_away(sfm_conn: Any, word: str) -> None:
    _notify(sfm_conn, word)
    threading.Timer(1.0, _hang_up, (sfm_conn.conn,)).start()  # the notice must get out first


def _hang_up(conn: Any) -> None:
    """Close a line. NVFlare's own close leaves a gRPC call open until its caller ends it."""
    context = getattr(conn, "context", None)
    conn.close()
    if context is not None:
        context.cancel()


def hear_notices(alarm: Alarm) -> None:
    """Let a party's process hear the aggregator's one word: also on a line that was never taken."""
    process = ConnManager.process_frame_task

    @wraps(process)
    def heard(manager: Any, sfm_conn: Any, frame: Any) -> Any:
        prefix = Prefix.from_bytes(frame)
        if prefix.type != Types.DATA or prefix.app_id != NOTICE:
            return process(manager, sfm_conn, frame)
        word = bytes(frame[PREFIX_LEN + prefix.header_len :][:40]).decode(errors="replace")
        if sfm_conn.conn.connector.mode == Mode.ACTIVE and word in NOTICES:
            alarm.say(NOTICES[word])
        return None

    ConnManager.process_frame_task = heard


def allowed_executors(kit: Path) -> tuple[str, ...]:
    """Return the classes that a run may name at this party: what its own settings say."""
    found = json.loads((kit / "local" / "resources.json").read_bytes())["class_allow_list"]
    return tuple(str(path) for path in found)
