"""Parses a vendor's refusal into a VendorError: why, whether to retry, when, and which request.

Every dialect's ``tables`` holds one for this one parser, so that all dialects treat headers, empty
bodies and bytes that are not JSON alike. ``docs/models.md`` describes the same for users.

The model is told what the vendor found wrong with its output. Such a reply is not a lost connection:
the same request would produce the same fault. With the fault described, the model can correct itself.
The vendor's message may quote the model's output, and is cut.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct

from rightcall.core.jsontext import shorten
from rightcall.core.lazy import pattern
from rightcall.core.refusal_kind import refusal_kind
from rightcall.core.secret_formats import redact_formats
from rightcall.errors import ErrorKind, VendorError, is_retried, kind_of_status
from rightcall.wire.lenient_json import mend_json

UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""The exceptions that parsing JSON raises, including those for excessive nesting."""

_REFUSED = 400
_FINE = ("", "0", "ok", "success", "in_progress", "queued", "completed")
"""Codes beside a message that is no error."""

_REQUEST_IDS = (
    "request-id", "x-request-id", "x-goog-request-id", "apim-request-id", "x-ms-request-id",
    "x-groq-request-id", "x-generation-id", "x-cloud-trace-context", "x-amzn-requestid", "cf-ray",
)  # fmt: skip
"""The headers with a request's id: Anthropic's, OpenAI's, Google's, Azure's, and those of hosts."""

_KIND = "x-amzn-errortype"
"""Amazon's header for the kind of a refusal, in every dialect."""

_EXCERPT = 200
_WORDS = 2000
"""The most characters of a vendor's message; ``body`` keeps more."""
_BODY = 16_384
"""Characters of a body that are kept."""
_LONGEST_SECRET = 4096
_LOOKED_AT = 16_384
"""How many characters of an HTML page are searched for its text."""
# These two are compiled on first use, which in most programs never comes.
_PAGE = r"\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+html|html|head|title|body|h\d|p|div|center|meta)\b"
_TITLE = r"<title\b[^>]{0,200}>([^<]{1,1000})"
_MARKUP = pattern(r"<(script|style)\b[\s\S]*?(?:</\1>|\Z)|<[a-zA-Z/!?][^>]*>?")
_SECONDS = pattern(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*s?\s*")


class Refusals(Struct, frozen=True, kw_only=True):
    """How a dialect encodes its refusals."""

    code: tuple[str, ...]
    """The members that name the kind of refusal, the most specific first."""
    statuses: Mapping[str, int] = {}
    """The HTTP status for a code; within a stream the status line said 200."""
    transient: frozenset[str] = frozenset()
    """Codes that a retry may resolve. They count only if there is no status."""
    final: frozenset[str] = frozenset()
    """Codes that come with a retryable status, but that waiting does not resolve."""

    complete: Callable[[VendorError, Any], None] | None = None
    """Adds to a refusal what only this vendor's bodies hold."""

    def over_http(self, status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
        """The refusal in an HTTP response. The body may be anything, or empty."""
        return self.inside(readable(body), status=status, headers=headers)

    def inside(
        self,
        value: Any,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        code: str = "",
    ) -> VendorError:
        """The refusal in a JSON value or a text: a response's body, or an event of a stream.

        ``code`` names the kind if the value itself does not.
        """
        named = {name.lower(): text for name, text in (headers or {}).items()}
        if isinstance(value, str) and re.match(_PAGE, value, re.IGNORECASE):
            return _page(value, status, named)
        layers = list(_layers(value))
        kind = code or named.get(_KIND, "")
        word = kind.partition(":")[0].rpartition("#")[2].strip()[:_EXCERPT]
        beside = word[:1].upper() + word[1:]
        code = beside or self._code(layers)
        if status is None or status < _REFUSED:
            status = _status(layers) or self.statuses.get(code)
        refused = beside or (f"HTTP {status}" if status else "refused")
        words = _message(layers, value)
        beyond = _nested_refusal(layers)
        told = words or beyond.words
        if words and beyond.words:
            told = f"{words} ({beyond.words})"
        refusal = VendorError(
            cut_text(told, _WORDS) or f"{refused}, and the vendor did not say why",
            kind=refusal_kind(status, {code, *_causes(layers), *beyond.codes}, told),
            status=status,
            vendor_code=code,
            retryable=self._is_retryable(status, code, layers, named),
            retry_after=retry_after(named),
            request_id=_request_id(named) or _first(layers, "request_id"),
            body=_body_excerpt(value),
        )
        if self.complete is not None:
            self.complete(refusal, value)
        return refusal

    def _code(self, layers: list[dict[str, Any]]) -> str:
        # The object around an error has a type too, which only says that it is an error.
        around = [{"code": layer.get("code")} for layer in layers[1:]]
        return next(
            (found for layer in (*layers[:1], *around) if (found := _first([layer], *self.code))), ""
        )

    def _is_retryable(
        self, status: int | None, code: str, layers: list[dict[str, Any]], headers: Mapping[str, str]
    ) -> bool:
        # Anthropic's and OpenAI's clients, and their hosts, give this header precedence.
        said = headers.get("x-should-retry", "").strip().lower()
        if said in ("true", "false"):
            return said == "true"
        if self.final & {code, *_causes(layers)}:
            return False
        if status is None:
            return code in self.transient
        # The status takes precedence over the code: Groq sends rate_limit_exceeded with 413 for a
        # request that will never fit (HunorLaczko/ha-groq-cloud-api #27).
        return is_retried(status)


def _request_id(headers: Mapping[str, str]) -> str:
    for name in _REQUEST_IDS:
        if headers.get(name):
            return headers[name]
    return ""


def _page(text: str, status: int | None, headers: Mapping[str, str]) -> VendorError:
    """The refusal in an HTML page: a gateway's, or that of an address that serves no API."""
    from html import unescape  # noqa: PLC0415 - light until used

    looked_at = text[:_LOOKED_AT]
    title = re.search(_TITLE, looked_at, re.IGNORECASE)
    said = excerpt(unescape(title[1] if title else _MARKUP.sub(" ", looked_at)))
    may_pass = status is not None and is_retried(status)
    words = f'a web page that says "{said}"' if said else "an empty web page"
    if not may_pass:
        words += "; this is no answer of an API: check the address"
    kind: ErrorKind = "not_found"
    if status is not None and status >= _REFUSED:
        kind = kind_of_status(status)
    return VendorError(
        words,
        kind=kind,
        status=status,
        retryable=may_pass,
        retry_after=retry_after(headers),
        request_id=_request_id(headers),
        body=_body_excerpt(text),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from headers in lower case; None if they give no usable delay.

    A date is compared with the response's own ``Date``: this layer has no clock, and both are the
    server's.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = seconds_in(headers.get(name))
        if seconds is not None:
            return seconds * unit
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - light until used

    try:
        until = parsedate_to_datetime(headers["retry-after"])
        return max((until - parsedate_to_datetime(headers["date"])).total_seconds(), 0.0)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def seconds_in(text: object) -> float | None:
    """Seconds as vendors write them; None if negative, infinite or not a number."""
    if isinstance(text, str) and (number := _SECONDS.fullmatch(text)):
        seconds = float(number[1])
        if isfinite(seconds):
            return seconds
    return None


def readable(body: bytes) -> Any:
    """The JSON value in a body; its text if it is not JSON."""
    try:
        return msgspec.json.decode(body)
    except UNREADABLE:
        mended = mend_json(body)
    try:
        return msgspec.json.decode(mended or b"")
    except UNREADABLE:
        return body[: 4 * _LOOKED_AT].decode(errors="replace")


def is_bare_error(value: Any) -> bool:
    """Whether this is an error without an object around it: ``{"message": …, "code": 503}``.

    Proxies send one in the middle of a stream. A message needs an error's code or status beside it:
    progress has messages too.
    """
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        return False
    for name in ("code", "status", "status_code"):
        code = value.get(name)
        if isinstance(code, str) and code.isdecimal():
            code = int(code[:4])
        if isinstance(code, int) and not isinstance(code, bool) and code >= _REFUSED:
            return True
        if isinstance(code, str) and code.lower() not in _FINE:
            return True
    return False


def excerpt(data: bytes | str, most: int = _EXCERPT) -> str:
    """The beginning of a body on one line, redacted before it is cut: half a secret is not found."""
    start = data[: 4 * most]
    text = start if isinstance(start, str) else start.decode(errors="replace")
    clean = redact_formats(" ".join(text.split()))
    if len(data) > len(start):
        # What was left out is told even if the rest is short, as it was mostly space.
        clean += "…"
    return cut_text(clean, most)


def cut_text(text: str, most: int) -> str:
    """The text, cut to at most this many characters."""
    if len(text) <= most:
        return text
    return text[: most - 1] + "…"


def _body_excerpt(value: Any) -> str:
    """The beginning of a body, unchanged but for redacted secrets."""
    text = value if isinstance(value, str) else _to_json(value)
    clean = redact_formats(text[: _BODY + _LONGEST_SECRET])
    if len(text) > _BODY + _LONGEST_SECRET:
        # A partial secret at the end would not be recognized.
        clean = clean[: max(len(clean) - _LONGEST_SECRET, 0)]
    return clean[:_BODY]


def _layers(value: Any) -> Iterator[dict[str, Any]]:
    """The object that describes the error, then the objects around it.

    All vendors use ``{"error": {…}}``. Google wraps it in a list, FastAPI says ``detail``, and some
    hosts leave out the inner object.
    """
    outer = _one(value)
    if isinstance(outer, dict):
        described = _one(outer.get("error") or outer.get("detail") or outer.get("errors"))
        if isinstance(described, dict):
            yield described
        yield outer


def _one(value: Any) -> Any:
    if isinstance(value, list) and value:
        return value[0]
    return value


def _message(layers: list[dict[str, Any]], value: Any) -> str:
    for layer in layers:
        for name in ("message", "Message", "error_description", "detail", "msg", "error"):
            if isinstance(found := layer.get(name), str) and found:
                return found
            if found and layer is layers[0]:
                return _json_excerpt(found)
    if isinstance(value, str):
        if value.lstrip().startswith("<"):
            value = _MARKUP.sub(" ", value[:_LOOKED_AT])
        return excerpt(value)
    if value:
        return _json_excerpt(value)
    return ""


def _json_excerpt(value: Any) -> str:
    return excerpt(_to_json(value))


def _to_json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (RecursionError, UnicodeEncodeError):
        return ""


class _NestedRefusal(Struct, frozen=True):
    """What a refusal passes on from a host behind this host, or from the model."""

    words: str = ""
    codes: tuple[str, ...] = ()


def _nested_refusal(layers: list[dict[str, Any]]) -> _NestedRefusal:
    for layer in layers:
        if isinstance(written := layer.get("failed_generation"), str) and written:
            # Groq: what the model wrote instead of a call. https://console.groq.com/docs/tool-use
            return _NestedRefusal(f"the model wrote: {excerpt(written, _WORDS // 2)}")
        metadata = layer.get("metadata")
        if isinstance(metadata, dict) and (raw := metadata.get("raw")):
            # OpenRouter: what the provider behind it said, as JSON or text.
            # https://openrouter.ai/docs/api-reference/errors
            if isinstance(raw, str):
                raw = readable(raw.encode(errors="replace"))
            inner = list(_layers(raw))
            words = cut_text(_message(inner, raw), _WORDS // 2)
            name = metadata.get("provider_name")
            if isinstance(name, str):
                words = f"{name}: {words}"
            return _NestedRefusal(words, tuple(_causes(inner)))
    return _NestedRefusal()


def _first(layers: list[dict[str, Any]], *names: str) -> str:
    """The first non-empty text among these members. A bare "error" does not count as a code."""
    for layer in layers:
        for name in names:
            value = layer.get(name)
            if isinstance(value, str | int) and value not in (0, "", True, "error"):
                return str(value)[:_EXCERPT]
    return ""


def _causes(layers: list[dict[str, Any]]) -> Iterator[str]:
    for layer in layers:
        details = layer.get("details")
        within = layer.get("innererror")
        causes = [layer.get("code"), layer.get("type")]
        if isinstance(details, dict):
            causes.append(details.get("error_code"))
        if isinstance(within, dict):
            causes.append(within.get("code"))
        for cause in causes:
            if isinstance(cause, str):
                yield cause


def _status(layers: list[dict[str, Any]]) -> int | None:
    """The HTTP status that hosts write into an error, sometimes as its code (OpenRouter)."""
    for layer in layers:
        for name in ("status_code", "status", "code"):
            found = layer.get(name)
            if isinstance(found, str) and found.isascii() and found.isdigit():
                found = int(found[:4])
            if isinstance(found, int) and _REFUSED <= found < 600:  # noqa: PLR2004
                return found
    return None


_LONGEST = 500


def malformed_call(told: str = "") -> str:
    """The message for a call that could not be parsed."""
    return (
        f"Your last reply held a tool call that could not be read{_because(told)}. Make the call again, "
        "with its arguments as one JSON object, or give your answer."
    )


def unexpected_call(told: str = "") -> str:
    """The message for a call of a tool that does not exist."""
    return (
        f"Your last reply called a tool that does not exist{_because(told)}. Call only tools that you "
        "were given, or give your answer."
    )


def too_many_calls(told: str = "") -> str:
    """The message for more consecutive calls than the vendor runs."""
    return (
        f"Your last reply made too many tool calls{_because(told)}. Make fewer at a time, or give your "
        "answer with what you have."
    )


def malformed_reply(told: str = "") -> str:
    """The message for a reply that could not be parsed."""
    return f"Your last reply could not be read{_because(told)}. Give it again."


def _because(told: str) -> str:
    if told.strip():
        return f": {shorten(told.strip().rstrip('.'), _LONGEST)}"
    return ""
