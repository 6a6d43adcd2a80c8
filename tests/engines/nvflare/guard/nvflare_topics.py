"""All that the installed NVFlare listens to, read from its own source: not from a list that somebody keeps."""

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nvflare

ROOT = Path(nvflare.__file__).parent
CELL_CALLS = ("register_request_cb", "_register_request_cb", "register_blob_cb", "register_stream_cb")
AUX_CALLS = ("register_aux_message_handler", "_register_aux_message_handler")
TOPIC_CLASSES = {
    "nvflare.private.defs": (
        *("TrainingTopic", "SysCommandTopic", "ControlCommandTopic", "InfoCollectorTopic"),
        *("ComponentCallerTopic", "CellChannelTopic"),
    ),
    "nvflare.fuel.f3.cellnet.defs": ("CellChannelTopic",),
    "nvflare.apis.fl_constant": ("ReservedTopic", "AdminCommandNames", "ServerCommandNames"),
    "nvflare.fuel.hci.proto": ("InternalCommands",),
}


@dataclass(frozen=True)
class Listener:
    """One place of NVFlare's source that listens: its channel and topic, or None where only a run decides."""

    where: str
    channel: str | None
    topic: str | None


@cache
def listeners() -> tuple[Listener, ...]:
    """Return every registration of a callback in NVFlare's source."""
    return tuple(found for path in sorted(ROOT.rglob("*.py")) for found in _in_file(path))


def _in_file(path: Path) -> Iterator[Listener]:
    text = path.read_text("utf-8")
    if not any(name in text for name in (*CELL_CALLS, *AUX_CALLS)):
        return
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name in CELL_CALLS:
                channel, topic = _argument(node, "channel", 0), _argument(node, "topic", 1)
                yield Listener(_where(path), _value(channel, path), _value(topic, path))
            elif name in AUX_CALLS:
                yield Listener(_where(path), "aux_communication", _value(_argument(node, "topic", 0), path))


def _where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _argument(call: ast.Call, name: str, place: int) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if len(call.args) > place else None


def _value(expression: ast.expr | None, path: Path) -> str | None:
    """Return the text that an expression of a module stands for; None where only a run decides."""
    if expression is None:
        return None
    try:
        value = eval(  # noqa: S307  (constants of an installed package)
            compile(ast.Expression(expression), "topic", "eval"), vars(_module(path))
        )
    except (NameError, AttributeError, ImportError, TypeError):
        return None
    return value if isinstance(value, str) else None


@cache
def _module(path: Path) -> Any:
    return importlib.import_module(".".join(("nvflare", *path.relative_to(ROOT).with_suffix("").parts)))


@cache
def orders() -> tuple[str, ...]:
    """Return every topic that a client's request processors take, as they say themselves."""
    found: set[str] = set()
    for path in sorted((ROOT / "private").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "get_topics":
                for returned in ast.walk(node):
                    if isinstance(returned, ast.Return) and isinstance(returned.value, ast.List):
                        found |= {str(_value(item, path)) for item in returned.value.elts}
    return tuple(sorted(found - {"None"}))


@cache
def words() -> tuple[str, ...]:
    """Return every topic and command that NVFlare's classes of names hold."""
    found = {listener.topic for listener in listeners() if listener.topic}
    for name, classes in TOPIC_CLASSES.items():
        module = importlib.import_module(name)
        for cls in classes:
            members = vars(getattr(module, cls, type("none", (), {})))
            found |= {value for key, value in members.items() if not key.startswith("_") and isinstance(value, str)}
    return tuple(sorted(found | set(orders())))


@cache
def channels() -> tuple[str, ...]:
    """Return every channel that NVFlare listens on or has a name for."""
    from nvflare.fuel.f3.cellnet.defs import CellChannel

    named = {value for key, value in vars(CellChannel).items() if not key.startswith("_")}
    return tuple(sorted(named | {listener.channel for listener in listeners() if listener.channel}))
