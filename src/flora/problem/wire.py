"""Steps and replies as JSON text, for a file or another machine. Neither side trusts the other."""

import hashlib
from dataclasses import dataclass

from flora.core.codec import read, to_document
from flora.core.documents import MIB, Format
from flora.errors import InputError, WireError
from flora.problem.messages import REPLIES, STEPS, Reply, Step

MOST_MODEL = 256 * MIB
STEP = Format("flora-step", 2, 32 * MIB, WireError)  # an agreed schema, a space and configs
REPLY = Format("flora-reply", 2, 48 * MIB, WireError)  # of all steps but the training, whose reply has a model
MODEL_REPLY = Format("flora-reply", 2, 4 * (MOST_MODEL // 3 + 1) + MIB, WireError)


@dataclass(frozen=True)
class Letter:
    """A reply as it travels: which question it answers, and in whose words."""

    reply: Reply
    step: str  # its name
    digest: str  # of the step's text


def step_text(step: Step) -> str:
    """Return a step as JSON text: the same bytes for the same step."""
    return STEP.text({"step": step.name, **to_document(step)}, indent=None)


def step_digest(step: Step) -> str:
    """Return the SHA-256 of a step's text: a reply names the question by it."""
    return hashlib.sha256(step_text(step).encode()).hexdigest()


def read_step(text: str | bytes, source: str = "step") -> Step:
    """Return the step in ``text``, or raise a :class:`WireError` that names the field."""
    document = STEP.document(text, source)
    name = document.pop("step", None)
    if not isinstance(name, str) or name not in STEPS:
        raise WireError(f"{source}: step must be one of {list(STEPS)}, got {name!r:.40}")
    try:
        return read(STEPS[name], document)
    except InputError as error:
        raise WireError(f"{source}: {error}") from error


def reply_text(reply: Reply, step: Step) -> str:
    """Return a reply to a step as JSON text, no larger than its reader takes."""
    document = {"step": step.name, "step_digest": step_digest(step), **to_document(reply)}
    text = REPLY.text(document, indent=None)
    most = _format_of(step.name).most
    if len(text) > most:
        raise WireError(f"a reply to {step.name!r} has at most {most} bytes, got {len(text)}")
    return text


def read_reply(text: str | bytes, step: Step, source: str = "reply") -> Reply:
    """Return the reply to ``step`` in ``text``, or raise a :class:`WireError` that names the field."""
    letter = read_letter(text, source, most=_format_of(step.name))
    if (letter.step, letter.digest) != (step.name, step_digest(step)):
        raise WireError(f"{source}: answers another step than {step.name!r}, a {letter.step!r}")
    return letter.reply


def read_letter(text: str | bytes, source: str, most: Format = REPLY) -> Letter:
    """Return the reply in ``text`` to whichever step it names."""
    document = most.document(text, source)
    name, digest = document.pop("step", None), document.pop("step_digest", None)
    if not isinstance(name, str) or name not in REPLIES or not isinstance(digest, str):
        raise WireError(f"{source}: a reply names its step ({', '.join(REPLIES)}) and the step's digest")
    try:
        return Letter(read(REPLIES[name], document), name, digest)
    except InputError as error:
        raise WireError(f"{source}: {error}") from error


def most_reply(step: Step) -> int:
    """Return the bytes that a reply to a step may have."""
    return _format_of(step.name).most


def _format_of(step: str) -> Format:
    return MODEL_REPLY if step == "train" else REPLY
