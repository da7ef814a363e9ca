"""Values of a run into JSON objects for a page or a program: parts, results, decisions.

Secrets are redacted before (``run_view``). What a screen would interpret is made visible at the end, of
a whole answer at once (``make_visible``).
"""

from base64 import b32encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, TypeAlias
from urllib.parse import quote

from rightcall.core.decision import Allow, Answer, Deny, Evidence, FinalDecision, Origin, Rewrite
from rightcall.core.jsontext import JsonError, parse
from rightcall.core.message import Citation, Reasoning, Reply, Unknown
from rightcall.core.parts import Call, Media, Result, Text, Usage
from rightcall.core.sanitize import encodable, spell_controls
from rightcall.serve.studio.index import TOKENS

Json: TypeAlias = dict[str, Any]

INLINE = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "audio/mpeg", "audio/wav", "audio/ogg",
     "audio/flac", "audio/x-wav", "video/mp4", "video/webm"}
)  # fmt: skip
"""Media types that a browser may show in a page: none that could hold a script, as SVG and PDF can."""

_SEEN: Mapping[Origin, str] = {
    "user": "named by the user",
    "developer": "named by the developer",
    "operator": "allowed by the operator",
    "trusted": "known from a result that its tool vouches for",
    "listed": "listed in a result, where nobody said that it is the one",
    "unfit": "named, but as something else or for less",
    "untrusted": "from text that outsiders could have written",
    "nowhere": "named by nobody but the model",
}
_WRITERS = {
    "user": "Written by the user",
    "developer": "Written by the developer",
    "runtime": "Words of rightcall itself",
    "model": "Written by the model",
    "tool": "Vouched for by the tool",
    "outsider": "Outsiders could have written this",
}


def usage_json(usage: Usage) -> Json:
    """Tokens and cost."""
    return {name: getattr(usage, name) for name in (*TOKENS, "cost")}


def cached_share(usage: Usage) -> float:
    """The share of the input that came from the vendor's cache."""
    return round(usage.cached_tokens / usage.input_tokens, 4) if usage.input_tokens else 0.0


def media_id(media: Media) -> str:
    """The id under which media bytes are requested."""
    return b32encode(sha256(media.data).digest()[:20]).decode().lower()


def parts_json(content: Iterable[Any], run: str) -> list[Json]:
    """The parts of a message, in order."""
    found: list[Json] = []
    for part in content:
        match part:
            case Text(text):
                found.append({"type": "text", "text": text})
            case Reasoning(text):
                found.append({"type": "reasoning", "text": text})
            case Call():
                found.append({"type": "call", "call_id": part.id})
            case Media():
                # Media: its description, and the URL of its bytes. Remote media is never fetched.
                url = None
                if part.way == "bytes" and part.data:
                    url = f"/api/run/media?run={quote(run, safe='')}&id={media_id(part)}"
                found.append(
                    {
                        "type": "media",
                        "media_type": part.media_type,
                        "kind": part.kind,
                        "name": part.name or "",
                        "about": part.about,
                        "size": len(part.data),
                        "url": url,
                        "inline": url is not None and part.media_type in INLINE,
                    }
                )
            case Unknown(vendor):
                about = f"a part that only {', '.join(vendor) or 'its vendor'} understands"
                found.append({"type": "unknown", "about": about})
            case _:
                found.append({"type": "unknown", "about": type(part).__name__})
    return found


def label_json(
    writer: str,
    source: str = "",
    *,
    private: bool = False,
    suspected: bool = False,
    how: str = "recorded",
) -> Json:
    """The label that says who could have written something."""
    words = _WRITERS.get(writer, writer)
    if source and writer == "outsider":
        words += f", read by {source}"
    elif source and writer == "tool":
        words += f" {source}"
    if private:
        words += "; private"
    if suspected:
        words += "; a screen took it for an attempt to give orders"
    label: Json = {"writer": writer, "source": source, "private": private, "suspected": suspected}
    return label | {"how": how, "words": words}


def reply_label(reply: Reply) -> Json:
    """The label of a reply: a model that has read untrusted text may say what its authors want."""
    return label_json("outsider" if reply.tainted else "model")


def result_label(result: Result) -> Json:
    """The recorded label of a result. If nothing ran, the text is the runtime's."""
    if result.own or result.outcome not in ("returned", "failed"):
        return label_json("runtime", suspected=result.suspected)
    if result.source is not None:
        return label_json("outsider", result.source, suspected=result.suspected)
    return label_json("tool", result.name, suspected=result.suspected)


def result_json(result: Result, run: str, label: Json | None = None) -> Json:
    """A call's result as the model read it."""
    told = {"parts": parts_json(result.content, run), "label": label or result_label(result)}
    for name in ("outcome", "is_error", "withheld", "what"):
        told[name] = getattr(result, name)
    for name in ("planted", "offers"):
        told[name] = list(getattr(result, name))
    return told


def evidence_json(evidence: Iterable[Evidence]) -> list[Json]:
    """Values of a call, and where each was seen."""
    return [
        {
            "path": each.path,
            "value": each.value,
            "origin": each.origin,
            "source": each.source,
            "is_vouched": each.is_vouched,
            "words": _SEEN[each.origin] + (f", {each.source}" if each.source else ""),
        }
        for each in evidence
    ]


def decision_json(
    decision: FinalDecision, by: str = "person", why: str = "", evidence: Iterable[Evidence] = ()
) -> Json:
    """A decision about a call, with its author and the reason."""
    told: Json = {"kind": "", "by": by, "scope": "once", "reason": "", "why": why, "then": ""}
    told |= {"arguments": None, "text": "", "evidence": evidence_json(evidence)}
    match decision:
        case Allow(scope):
            told |= {"kind": "allow", "scope": scope}
        case Deny(reason, then):
            told |= {"kind": "deny", "reason": reason, "then": then}
        case Rewrite(arguments):
            told |= {"kind": "rewrite", "arguments": arguments}
        case Answer(text):
            told |= {"kind": "answer", "text": text}
    return told


def arguments_json(call: Call) -> Json | None:
    """The arguments as an object; None if the model did not write one."""
    try:
        found = parse(call.as_json or "{}")
    except JsonError:
        return None
    return dict(found) if isinstance(found, Mapping) else None


def citation_json(citation: Citation, text: str) -> Json:
    """The source of a passage in a reply."""
    words = ""
    if citation.start is not None:
        words = text[citation.start : citation.end]
    source = citation.title or citation.url or citation.file
    return {"text": words or citation.quote, "source": source, "address": citation.url}


_RAW = frozenset({"run", "parent", "call_id"})
"""Members that clients send back unchanged, and that are never displayed; each has a displayed twin."""


def make_visible(value: Any, *, raw: bool = False) -> Any:
    """A value without anything that a screen would obey: escapes and bidi marks are made visible."""
    match value:
        case str():
            return encodable(value) if raw else spell_controls(value)
        case dict():
            return {
                make_visible(str(key), raw=True): make_visible(each, raw=key in _RAW)
                for key, each in value.items()
            }
        case list() | tuple():
            return [make_visible(each, raw=raw) for each in value]
        case bytes():
            return f"({len(value):,} bytes)"
        case _:
            return value
