"""A party's end of the collective, over NVFlare's core cell: one message out and one back for each call.

The core cell is below NVFlare's documented interface: it carries raw bytes, holds no thread while the aggregator
waits for others, and knows neither an abort nor a retry. So every call here has a time limit and may be repeated.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from flora.core.codec import read, to_document
from flora.core.collective import Integers
from flora.core.documents import object_in
from flora.core.rules import Sentence, Total, one_line
from flora.engines.nvflare.run.hub import MOST_BYTES, Address, Call, Hub, HubAnswer
from flora.errors import CollectiveError, InputError, WireError

CHANNEL, REDUCE, BEAT = "flora", "reduce", "beat"
HEADER = "flora"  # one header with all of ours in it, as JSON
CALL_SECONDS = 15.0  # for one message and its answer; the aggregator answers after 5 in any case
TRIES = 3
MOST_HEADER = 100_000  # characters: a gathering of many parties lists as many lengths


def message(document: dict[str, Any], payload: bytes = b"") -> Any:
    """Return a cell message with our header and raw bytes."""
    from nvflare.fuel.f3.cellnet.utils import new_cell_message

    return new_cell_message({HEADER: json.dumps(document)}, payload)


def header_of(received: Any) -> dict[str, Any]:
    """Return our header of a cell message, or raise a :class:`WireError` where it is not one."""
    text = received.get_header(HEADER)
    if not isinstance(text, str) or len(text) > MOST_HEADER:
        raise WireError("not a message of flora")
    return object_in(text, "a header", WireError)


@dataclass(frozen=True)
class AnswerHeader:
    """What the aggregator says beside the bytes of an answer."""

    state: Sentence
    number: Total
    lengths: tuple[Total, ...]
    reason: str


def answer_to_message(answer: HubAnswer) -> Any:
    """Return an answer of the hub as a cell message."""
    from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode

    header = AnswerHeader(answer.state, answer.number, answer.lengths, answer.reason)
    made = message(to_document(header), answer.data)
    made.set_header(MessageHeaderKey.RETURN_CODE, ReturnCode.OK)
    return made


def answer_from_message(received: Any) -> HubAnswer | None:
    """Return the hub's answer, or None where NVFlare answers in its place: nobody is there, or not in time."""
    try:
        header = read(AnswerHeader, header_of(received))
        data = bytes(received.payload or b"")
    except (InputError, TypeError):
        return None
    return HubAnswer(header.state, header.number, header.lengths, data, one_line(header.reason)[:500])


def call_of(received: Any) -> Call:
    """Return a party's call, or raise a :class:`WireError` where a message is none."""
    return read(Call, header_of(received))


def answer_call(hub: Hub | None, request: Any) -> Any:
    """Take a party's call, where something is added up; return the answer if there is one already."""
    from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey

    try:
        call = call_of(request)
    except InputError as error:
        return answer_to_message(HubAnswer("over", 0, reason=str(error)))
    if hub is None:
        return answer_to_message(HubAnswer("over", call.number, reason="no training is under way"))
    party, origin = sender_of(request)
    address = (origin, request.get_header(MessageHeaderKey.REQ_ID))
    answer = hub.receive(party, address, call, bytes(request.payload or b""))
    return None if answer is None else answer_to_message(answer)


def send_answer(cell: Any, address: Address, answer: HubAnswer) -> None:
    """Send an answer that had to wait for others."""
    origin, request = address
    cell.send_reply(answer_to_message(answer), origin, [request], optional=True)


def sender_of(request: Any) -> tuple[str, str]:
    """Return which party sent a message, and from which cell; NVFlare's server has checked it by the certificate."""
    from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey

    origin = str(request.get_header(MessageHeaderKey.ORIGIN))
    return origin.partition(".")[0], origin


@dataclass
class CellCollective:
    """One party's end of the exchange of one step."""

    rank: int
    size: int
    step: int
    exchange: Callable[[Any, float], Any]  # sends a message to the hub and returns its answer
    stopped: Callable[[], bool]
    calls: int = 0

    def add_integers(self, values: Integers) -> Integers:
        """Return the parties' elementwise sum modulo 2^64."""
        own = np.ascontiguousarray(values, dtype=np.int64)
        answer = self._call("add", np.shape(values), own.tobytes())
        if len(answer.data) != own.nbytes:
            raise CollectiveError(f"the aggregator answered {len(answer.data)} bytes to a sum of {own.nbytes}")
        return np.frombuffer(answer.data, dtype=np.int64).reshape(np.shape(values)).copy()

    def allgather(self, data: bytes) -> Sequence[bytes]:
        """Return every party's bytes, in the order of the ranks."""
        answer = self._call("gather", (), bytes(data))
        if len(answer.lengths) != self.size or sum(answer.lengths) != len(answer.data):
            raise CollectiveError(f"the aggregator gathered {len(answer.lengths)} parts, not {self.size}")
        ends = np.cumsum((0, *answer.lengths)).tolist()
        return [answer.data[a:b] for a, b in pairwise(ends)]

    def _call(self, kind: str, shape: tuple[int, ...], data: bytes) -> HubAnswer:
        if len(data) > MOST_BYTES:
            raise CollectiveError(f"a message may have {MOST_BYTES} bytes, got {len(data)}")
        answer = self._answered(Call(self.step, self.calls, kind, shape), data)
        self.calls += 1
        return answer

    def _answered(self, call: Call, data: bytes) -> HubAnswer:
        """Return the hub's answer: ask again while it says to wait, repeat what may be lost, give up after a few."""
        asked, silent = call, 0
        while True:
            if self.stopped():
                raise CollectiveError("the run was stopped")
            answer = answer_from_message(self.exchange(message(to_document(asked), data), CALL_SECONDS))
            if answer is None:
                silent += 1
                if silent == TRIES:
                    raise CollectiveError(f"the aggregator did not answer {TRIES} times in a row")
            elif answer.state == "over":
                raise CollectiveError(answer.reason)
            elif answer.state == "wait":
                silent = 0
                asked, data = Call(call.step, call.number, "again"), b""
            elif answer.number == call.number:
                return answer
            else:
                raise CollectiveError(f"the aggregator answered call {answer.number}, not {call.number}")
