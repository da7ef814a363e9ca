"""The request to a model in a turn, rebuilt from the record and encoded in a vendor's dialect."""

import json

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.entry import MODEL_NOTE, ReplyReceived, RequestSent, StepDone
from rightcall.core.message import Message, estimate_tokens, spec_tokens, text_tokens
from rightcall.core.request import Request
from rightcall.core.sanitize import encodable_json
from rightcall.errors import RightcallError
from rightcall.loop.window import Window
from rightcall.models.catalogue import is_local
from rightcall.serve.studio.http_messages import RefusedRequest
from rightcall.serve.studio.run_view import RunView, entries_at, retrace_aside
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


class SentTurn(Struct, frozen=True, kw_only=True):
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


async def turn_of(reading: RunView, key: str, window: Window | None) -> SentTurn | None:
    """The turn with that key, also in a run inside a call; None if there is none."""
    path, _, own = key.rpartition("/")
    entries = entries_at(reading, path)
    sent: RequestSent | None = None
    reply: ReplyReceived | None = None
    asked_for = ""
    for entry in reversed(entries):
        match entry:
            case RequestSent(key=at) if at == own:
                sent = entry
            case ReplyReceived(key=at) if at == own:
                reply = entry
            case StepDone(key=at, value=value) if at == MODEL_NOTE and not asked_for:
                asked_for = value
            case _:
                pass
    if sent is None and reply is None:
        return None
    whole = reading.retraced if not path else None
    try:
        whole = whole or await retrace_aside(entries, reading.run)
        cut = whole
        if window is not None:
            cut = await retrace_aside(entries, reading.run, window)
    except RightcallError:
        return None
    if own not in whole.requests:
        return None
    everything = whole.requests[own].messages
    request = cut.requests.get(own, whole.requests[own])
    wanted = len(everything) if sent is None else sent.messages
    is_exact = len(request.messages) == wanted
    if not is_exact and wanted < len(everything):
        # As many messages as were sent: the first, and the newest of the others.
        newest = everything[len(everything) - wanted + 1 :]
        request = replace(request, messages=(*everything[:1], *newest))
    elif not is_exact:
        request = replace(request, messages=everything)
    return SentTurn(
        request=request,
        sent=sent,
        reply=reply,
        transcript=everything,
        is_exact=is_exact,
        asked_for=asked_for,
    )


def sent_json(turn: SentTurn, key: str, form: str) -> Json:
    """The turn as the API sends it."""
    reply = turn.reply
    model = (reply.reply.model if reply else "") or "model"
    forms = [OWN, *DIALECTS]
    # A path of a local model does not count, since a record may name any file.
    if turn.asked_for and is_local(turn.asked_for) and not turn.asked_for.endswith(".gguf"):
        forms.insert(1, PROMPT)
    if form and form not in forms:
        raise RefusedRequest(
            400, "bad_request", f"There is no form {form!r}; there are {', '.join(forms)}."
        )
    chosen = form or (PROMPT if PROMPT in forms else dialect_of(reply))
    body, trouble = _body(turn, chosen, model)
    tokens = sum(map(estimate_tokens, turn.request.messages)) + text_tokens(turn.request.system)
    raw = reply.raw if reply else None
    turn_name = key.rpartition("/")[2].partition(".")[0][1:]
    return {
        "turn": int(turn_name) if turn_name.isdigit() else 0,
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
    for holder in (entry.reply, *entry.reply.content):
        bag: dict[str, object] = getattr(holder, "vendor", {})
        for name in bag:
            if (dialect := name.partition("@")[0].partition(" ")[0]) in DIALECTS:
                return dialect
    named = entry.reply.model.lower()
    for start, dialect in _FAMILIES:
        if start in named:
            return dialect
    return OWN


def _body(turn: SentTurn, form: str, model: str) -> tuple[str, str]:
    """The request as text, and why it could not be encoded in that form, if so."""
    request = turn.request
    body: object = {
        "system": request.system,
        "messages": msgspec.to_builtins(request.messages),
        "tools": msgspec.to_builtins(request.specs),
        "choice": msgspec.to_builtins(request.choice),
    }
    trouble = ""
    try:
        if form == PROMPT:
            from rightcall.models.local import prompt_of  # noqa: PLC0415 - templates are an extra

            return prompt_of(turn.asked_for)(request), ""
        if form != OWN:
            body = json.loads(load(form).encode(request, model=model, stream=True).body)
    except (RightcallError, ValueError) as error:
        trouble = f"It cannot be written as {form}: {error}"
    return json.dumps(encodable_json(body), indent=2, ensure_ascii=False), trouble


def _cut(turn: SentTurn) -> Json | None:
    left_out = len(turn.transcript) - len(turn.request.messages)
    sent = set(map(id, turn.request.messages))
    missing = []
    for index, message in enumerate(turn.transcript):
        if id(message) not in sent:
            missing.append(index)
    if not missing and left_out <= 0:
        return None
    # A message that is present but not identical is a stub, or a summary.
    stubbed = max(len(missing) - left_out, 0)
    words = f"{left_out} of {len(turn.transcript)} messages were left out"
    if stubbed:
        words += f", and {stubbed} shortened"
    if not turn.is_exact:
        words += "; the record says how many, and not which: those shown here are a guess"
    cut = {"left_out": left_out, "words": words, "exact": turn.is_exact}
    if stubbed:
        return cut | {"dropped": missing[:left_out], "stubbed": missing[left_out:]}
    return cut | {"dropped": missing, "stubbed": []}
