"""Parses a vendor's refusal into a VendorError: why, whether to retry, when, and which request.

Every dialect's ``errors`` is a table for this one parser, so that all dialects treat headers, empty
bodies and bytes that are not JSON alike. ``docs/models.md`` describes the same for users.
"""

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct

from rightcall.core.pattern import pattern
from rightcall.core.refusal_kind import refusal_kind
from rightcall.core.secret import redact_formats
from rightcall.errors import ErrorKind, VendorError, kind_of_status

UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""The exceptions that parsing JSON raises, including those for excessive nesting."""

RETRIED = frozenset((408, 409, 425, 429))
"""Statuses below 500 that are retried."""
_SERVERS_FAULT = 500
_REFUSED = 400

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
        beside = _plain(code or named.get(_KIND, ""))
        code = beside or self._code(layers)
        if status is None or status < _REFUSED:
            status = _status(layers) or self.statuses.get(code)
        refused = beside or (f"HTTP {status}" if status else "refused")
        words = _message(layers, value)
        beyond = _beyond(layers)
        told = f"{words} ({beyond.words})" if words and beyond.words else words or beyond.words
        return VendorError(
            shortened(told, _WORDS) or f"{refused}, and the vendor did not say why",
            kind=refusal_kind(status, {code, *_causes(layers), *beyond.codes}, told),
            status=status,
            vendor_code=code,
            retryable=self._is_retryable(status, code, layers, named),
            retry_after=retry_after(named),
            request_id=_request_id(named) or _first(layers, "request_id"),
            body=_kept(value),
        )

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
        return status in RETRIED or status >= _SERVERS_FAULT


def _request_id(headers: Mapping[str, str]) -> str:
    return next((headers[name] for name in _REQUEST_IDS if headers.get(name)), "")


def _plain(kind: str) -> str:
    """One name for ``com.amazon.coral#ThrottlingException:http://…`` and ``throttlingException``."""
    word = kind.partition(":")[0].rpartition("#")[2].strip()[:_EXCERPT]
    return word[:1].upper() + word[1:]


def _page(text: str, status: int | None, headers: Mapping[str, str]) -> VendorError:
    """The refusal in an HTML page: a gateway's, or that of an address that serves no API."""
    from html import unescape  # noqa: PLC0415 - light until used

    looked_at = text[:_LOOKED_AT]
    title = re.search(_TITLE, looked_at, re.IGNORECASE)
    said = excerpt(unescape(title[1] if title else _MARKUP.sub(" ", looked_at)))
    may_pass = status is not None and (status in RETRIED or status >= _SERVERS_FAULT)
    advice = "" if may_pass else "; this is no answer of an API: check the address"
    words = f'a web page that says "{said}"{advice}' if said else f"an empty web page{advice}"
    kind: ErrorKind = "not_found" if status is None or status < _REFUSED else kind_of_status(status)
    return VendorError(
        words,
        kind=kind,
        status=status,
        retryable=may_pass,
        retry_after=retry_after(headers),
        request_id=_request_id(headers),
        body=_kept(text),
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
    found = _SECONDS.fullmatch(text) if isinstance(text, str) else None
    seconds = float(found[1]) if found else -1.0
    return seconds if found and isfinite(seconds) else None


def readable(body: bytes) -> Any:
    """The JSON value in a body; its text if it is not JSON."""
    try:
        return msgspec.json.decode(body)
    except UNREADABLE:
        return body[: 4 * _LOOKED_AT].decode(errors="replace")


def excerpt(data: bytes | str, most: int = _EXCERPT) -> str:
    """The beginning of a body on one line, redacted before it is cut: half a secret is not found."""
    text = data[: 4 * most].decode(errors="replace") if isinstance(data, bytes) else data[: 4 * most]
    return shortened(redact_formats(" ".join(text.split())), most)


def shortened(text: str, most: int) -> str:
    """The text, cut to at most this many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _kept(value: Any) -> str:
    """The beginning of a body, unchanged but for redacted secrets."""
    text = value if isinstance(value, str) else _written(value)
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
        inner = next((found for key in ("error", "detail", "errors") if (found := outer.get(key))), None)
        described = _one(inner)
        if isinstance(described, dict):
            yield described
        yield outer


def _one(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _message(layers: list[dict[str, Any]], value: Any) -> str:
    for layer in layers:
        for name in ("message", "Message", "error_description", "detail", "msg", "error"):
            if isinstance(found := layer.get(name), str) and found:
                return found
            if found and layer is layers[0]:
                return _dumped(found)
    if isinstance(value, str):
        return excerpt(_MARKUP.sub(" ", value[:_LOOKED_AT]) if value.lstrip()[:1] == "<" else value)
    return _dumped(value) if value else ""


def _dumped(value: Any) -> str:
    return excerpt(_written(value))


def _written(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (RecursionError, UnicodeEncodeError):
        return ""


class _Beyond(Struct, frozen=True):
    """What a refusal passes on from a host behind this host, or from the model."""

    words: str = ""
    codes: tuple[str, ...] = ()


def _beyond(layers: list[dict[str, Any]]) -> _Beyond:
    for layer in layers:
        if isinstance(written := layer.get("failed_generation"), str) and written:
            # Groq: what the model wrote instead of a call. https://console.groq.com/docs/tool-use
            return _Beyond(f"the model wrote: {excerpt(written, _WORDS // 2)}")
        metadata = layer.get("metadata")
        if isinstance(metadata, dict) and (raw := metadata.get("raw")):
            # OpenRouter: what the provider behind it said, as JSON or text.
            # https://openrouter.ai/docs/api-reference/errors
            said = readable(raw.encode(errors="replace")) if isinstance(raw, str) else raw
            inner = list(_layers(said))
            words = shortened(_message(inner, said), _WORDS // 2)
            name = metadata.get("provider_name")
            return _Beyond(f"{name}: {words}" if isinstance(name, str) else words, tuple(_causes(inner)))
    return _Beyond()


def _first(layers: list[dict[str, Any]], *names: str) -> str:
    """The first non-empty text among these members. A bare "error" does not count as a code."""
    found = (layer.get(name) for layer in layers for name in names)
    words = (
        str(value)[:_EXCERPT]
        for value in found
        if isinstance(value, str | int) and value not in (0, "", True)
    )
    return next((word for word in words if word != "error"), "")


def _causes(layers: list[dict[str, Any]]) -> Iterator[str]:
    for layer in layers:
        details, within = layer.get("details"), layer.get("innererror")
        named = [layer.get("code"), layer.get("type")]
        named += [details.get("error_code")] if isinstance(details, dict) else []
        named += [within.get("code")] if isinstance(within, dict) else []
        yield from (cause for cause in named if isinstance(cause, str))


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
