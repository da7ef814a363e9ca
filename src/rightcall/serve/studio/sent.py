"""The request to a model in a turn, rebuilt from the record and encoded in a vendor's dialect."""

import json

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.entry import MODEL_NOTE, ReplyReceived, RequestSent, StepDone
from rightcall.core.message import Message
from rightcall.core.request import Request
from rightcall.core.sanitize import encodable_json
from rightcall.core.tokens import estimate_tokens, spec_tokens, text_tokens
from rightcall.errors import RightcallError
from rightcall.loop.window import Window
from rightcall.models.catalogue import is_local
from rightcall.serve.studio.answers import Refused
from rightcall.serve.studio.reading import Reading, entries_at, retrace_aside
from rightcall.serve.studio.to_json import Json
from rightcall.wire.dialects import DIALECTS, load

OWN = "rightcall"
"""The name of the form that is this library's own, before any vendor's."""
PROMPT = "prompt"
"""The name of the form that a local model's chat template renders."""
_NOTE = (
    "Made again from the record. Options, the limit of tokens and what is added for a host are not "
    "recorded, so they are missing here."
)
_FAMILIES = (
    ("claude", "anthropic"), ("gpt", "openai_responses"), ("o3", "openai_responses"),
    ("gemini", "gemini"), ("command", "cohere"),
)  # fmt: skip


class Turn(Struct, frozen=True, kw_only=True):
    """A turn of a run, and what is known of it."""

    request: Request
    sent: RequestSent | None
    reply: ReplyReceived | None
    transcript: tuple[Message, ...]
    """All messages up to the request."""
    is_exact: bool
    """Whether the window is known, or nothing was left out."""
    asked_for: str = ""
    """The user's name for the model, if it was noted."""


async def turn_of(reading: Reading, key: str, window: Window | None) -> Turn | None:
    """The turn with that key, also in a run inside a call; None if there is none."""
    path, _, own = key.rpartition("/")
    entries = entries_at(reading, path)
    sent = next((e for e in entries if isinstance(e, RequestSent) and e.key == own), None)
    reply = next((e for e in entries if isinstance(e, ReplyReceived) and e.key == own), None)
    if sent is None and reply is None:
        return None
    whole = reading.retraced if not path else None
    try:
        whole = whole or await retrace_aside(entries, reading.run)
        cut = whole if window is None else await retrace_aside(entries, reading.run, window)
    except RightcallError:
        return None
    if own not in whole.requests:
        return None
    everything, request = whole.requests[own].messages, cut.requests.get(own, whole.requests[own])
    wanted = len(everything) if sent is None else sent.messages
    is_exact = len(request.messages) == wanted
    if not is_exact:
        request = replace(request, messages=_cut_to(everything, wanted))
    noted = [e.value for e in entries if isinstance(e, StepDone) and e.key == MODEL_NOTE]
    return Turn(
        request=request,
        sent=sent,
        reply=reply,
        transcript=everything,
        is_exact=is_exact,
        asked_for=noted[-1] if noted else "",
    )


def _cut_to(messages: tuple[Message, ...], wanted: int) -> tuple[Message, ...]:
    """As many messages as were sent: the first, and the newest of the others."""
    if wanted >= len(messages):
        return messages
    return (*messages[:1], *messages[len(messages) - wanted + 1 :])


def sent_json(turn: Turn, key: str, form: str) -> Json:
    """The turn as the API sends it."""
    reply = turn.reply
    model = (reply.reply.model if reply else "") or "model"
    forms = [OWN, *([PROMPT] if _has_template(turn.asked_for) else []), *DIALECTS]
    if form and form not in forms:
        raise Refused(400, "bad_request", f"There is no form {form!r}; there are {', '.join(forms)}.")
    chosen = form or (PROMPT if PROMPT in forms else dialect_of(reply))
    body, trouble = _body(turn, chosen, model)
    tokens = sum(map(estimate_tokens, turn.request.messages)) + text_tokens(turn.request.system)
    raw = reply.raw if reply else None
    return {
        "turn": _number(key),
        "key": key,
        "how": "reconstructed",
        "note": f"{_NOTE} {trouble}".strip(),
        "form": chosen,
        "forms": forms,
        "model": model,
        "sent_messages": len(turn.request.messages),
        "of_messages": len(turn.transcript),
        "cut": _cut(turn),
        "system": turn.request.system,
        "tools": [spec.name for spec in turn.request.specs],
        "body": body,
        "tokens": tokens + spec_tokens(turn.request.specs),
        "has_raw": raw is not None,
        "raw_bytes": len(raw) if raw else 0,
    }


def dialect_of(entry: ReplyReceived | None) -> str:
    """The dialect of a reply, as far as it can be told."""
    if entry is None:
        return OWN
    for bag in (entry.reply.vendor, *(getattr(part, "vendor", {}) for part in entry.reply.content)):
        for name in bag:
            if (dialect := name.partition("@")[0].partition(" ")[0]) in DIALECTS:
                return dialect
    named = entry.reply.model.lower()
    return next((dialect for start, dialect in _FAMILIES if start in named), OWN)


def _body(turn: Turn, form: str, model: str) -> tuple[str, str]:
    """The request as text, and why it could not be encoded in that form, if so."""
    request = turn.request
    try:
        if form == PROMPT:
            from rightcall.models.local_prompt import prompt_of  # noqa: PLC0415 - templates are an extra

            return prompt_of(turn.asked_for)(request), ""
        if form != OWN:
            outgoing = load(form).encode(request, model=model, stream=True)
            return _pretty(json.loads(outgoing.body)), ""
    except (RightcallError, ValueError) as error:
        return _pretty(_plain(request)), f"It cannot be written as {form}: {error}"
    return _pretty(_plain(request)), ""


def _has_template(model: str) -> bool:
    """Whether a name means a local model; a path does not count, since a record may name any file."""
    return bool(model) and is_local(model) and not model.endswith(".gguf")


def _plain(request: Request) -> Json:
    return {
        "system": request.system,
        "messages": msgspec.to_builtins(request.messages),
        "tools": msgspec.to_builtins(request.specs),
        "choice": msgspec.to_builtins(request.choice),
    }


def _pretty(value: object) -> str:
    return json.dumps(encodable_json(value), indent=2, ensure_ascii=False)


def _cut(turn: Turn) -> Json | None:
    left_out = len(turn.transcript) - len(turn.request.messages)
    sent = {id(message) for message in turn.request.messages}
    missing = [index for index, each in enumerate(turn.transcript) if id(each) not in sent]
    if not missing and left_out <= 0:
        return None
    # A message that is present but not identical is a stub, or a summary.
    stubbed = max(len(missing) - left_out, 0)
    words = f"{left_out} of {len(turn.transcript)} messages were left out"
    if stubbed:
        words += f", and {stubbed} shortened"
    if not turn.is_exact:
        words += "; the record says how many, and not which: those shown here are a guess"
    return {
        "left_out": left_out,
        "words": words,
        "exact": turn.is_exact,
        "dropped": missing if not stubbed else missing[:left_out],
        "stubbed": missing[left_out:] if stubbed else [],
    }


def _number(key: str) -> int:
    own = key.rpartition("/")[2].partition(".")[0]
    return int(own[1:]) if own[1:].isdigit() else 0


def raw_of(turn: Turn) -> bytes | None:
    """The vendor's own bytes, if they were recorded."""
    return turn.reply.raw if turn.reply else None
