"""The header and the text in NVFlare's messages: what comes back as it was, and what is refused."""

from typing import Any

import pytest
from nvflare.apis.shareable import Shareable

from flora.engines.nvflare.run.tasks import HEADER, TEXT, ReplyHeader, StepHeader, answer_of, fill, order_of
from flora.errors import InputError, WireError

ORDER = StepHeader(3, "server.run", ("north", "south"), "0.1.0")


def test_both_ways_come_back_as_they_were() -> None:
    assert order_of(fill(Shareable(), ORDER, "{}"), 100) == (ORDER, "{}")
    for answer in (
        ReplyHeader("reply"),
        ReplyHeader("refused", "no"),
        ReplyHeader("failed", "KeyError"),
        ReplyHeader("left", "gone"),
    ):
        assert answer_of(fill(Shareable(), answer, "text"), 100) == (answer, "text")


@pytest.mark.parametrize(
    ("header", "text", "words"),
    [
        (None, "", "not a message of ours"),
        ("{}", None, "not a message of ours"),
        ("{", "", "not JSON"),
        ("[1, 2]", "", "must be a JSON object"),
        ('{"state": "perhaps"}', "", "state must be one of"),
        ('{"state": "reply", "more": 1}', "", "unknown field 'more'"),
        ('{"state": "failed", "words": "\\n"}', "", "words must be"),
        ('{"state": "reply"}', "x" * 101, "101 characters, where 100 are allowed"),
        ('{"state": NaN}', "", "numbers must be finite"),
    ],
)
def test_what_is_no_answer_is_refused(header: Any, text: Any, words: str) -> None:
    message = Shareable()
    message[HEADER], message[TEXT] = header, text
    with pytest.raises(InputError, match=words):
        answer_of(message, 100)


def test_something_that_is_no_message_is_refused() -> None:
    with pytest.raises(WireError, match="not a message of ours"):
        order_of(5, 100)
