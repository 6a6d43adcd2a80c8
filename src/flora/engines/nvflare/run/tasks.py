"""What is in NVFlare's messages of a step: a header of ours, and the text of a step or a reply as it is."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from flora.core.codec import read, to_document
from flora.core.documents import MIB, parse
from flora.core.rules import Name, Sentence, Total, check, shown
from flora.errors import WireError

HEADER, TEXT = "flora", "flora-text"  # the fields of NVFlare's message
MOST_HEADER = MIB


@dataclass(frozen=True)
class StepHeader:
    """What the aggregator says beside a step."""

    number: Total  # of the step, in this run
    hub: Sentence  # where sums go
    parties: tuple[Name, ...]  # who takes part, in the order of the ranks
    version: Sentence  # of flora, at the aggregator
    masked: bool = True  # whether sums are to leave under masks
    sums: Sentence = ""  # which of the aggregator's two processes adds up; empty: the hub's

    def __post_init__(self) -> None:
        check(self, WireError)


@dataclass(frozen=True)
class ReplyHeader:
    """What a party says beside its reply, or in place of one."""

    state: Literal["reply", "refused", "failed", "left"]
    words: Sentence = ""

    def __post_init__(self) -> None:
        check(self, WireError)


def fill(message: Any, header: StepHeader | ReplyHeader, text: str = "") -> Any:
    """Put a header and a text into NVFlare's message."""
    message[HEADER] = json.dumps(to_document(header))
    message[TEXT] = text
    return message


def order_of(message: Any, most: int) -> tuple[StepHeader, str]:
    """Return the aggregator's header, and the text of its step."""
    document, text = _parts(message, most)
    return read(StepHeader, document), text


def answer_of(message: Any, most: int) -> tuple[ReplyHeader, str]:
    """Return a party's header, and the text of its reply."""
    document, text = _parts(message, most)
    return read(ReplyHeader, document), text


def failure_of(message: Any) -> str:
    """Return what NVFlare says where it answers in a party's place; empty where it does not.

    It does so where it cannot write its own log there: on a full disk.
    """
    code = message.get_return_code() if hasattr(message, "get_return_code") else "OK"
    return "" if code == "OK" else f"NVFlare answers for it with {shown(code)}; its disk may be full"


def _parts(message: Any, most: int) -> tuple[Any, str]:
    header = message.get(HEADER) if hasattr(message, "get") else None
    text = message.get(TEXT) if hasattr(message, "get") else None
    if not isinstance(header, str) or not isinstance(text, str):
        raise WireError("not a message of ours")
    if len(header) > MOST_HEADER or len(text) > most:
        raise WireError(f"a message of {len(text)} characters, where {most} are allowed")
    try:
        return parse(header), text
    except ValueError as error:
        raise WireError(f"its header is not JSON ({error!s:.100})") from error
