"""A vendor's refusal into a VendorError: why, whether to try again, after how long, and which request.

Every dialect's ``errors`` is a table for this one reading, so that no two can differ in what they make
of a header, of an empty body, or of bytes that are not JSON. ``docs/models.md`` says the same in words.
"""

import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct

from rightcall.core.refusal_kind import refusal_kind
from rightcall.core.secret import redact_formats
from rightcall.errors import ErrorKind, VendorError, kind_of_status

UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What reading JSON raises, bottomless nesting included."""

RETRIED = frozenset((408, 409, 425, 429))
"""Statuses that another attempt may not meet, besides all that blame the server."""
_SERVERS_FAULT = 500
_REFUSED = 400

_REQUEST_IDS = (
    "request-id", "x-request-id", "x-goog-request-id", "apim-request-id", "x-ms-request-id",
    "x-groq-request-id", "x-generation-id", "x-cloud-trace-context", "x-amzn-requestid", "cf-ray",
)  # fmt: skip
"""The headers that name a request: Anthropic's, OpenAI's, Google's, Azure's, and those of hosts."""

_KIND = "x-amzn-errortype"
"""Amazon's header for the kind of a refusal, whatever dialect is spoken behind it."""

_EXCERPT = 200
_WORDS = 2000
"""Characters of a vendor's words that are kept as such; ``body`` has more."""
_BODY = 16_384
"""Characters of a body that are kept."""
_LONGEST_SECRET = 4096
_LOOKED_AT = 16_384
"""So much of a page is searched for its words."""
# These two are compiled when they are first needed, which in most programs is never.
_PAGE = r"\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+html|html|head|title|body|h\d|p|div|center|meta)\b"
_TITLE = r"<title\b[^>]{0,200}>([^<]{1,1000})"
_MARKUP = re.compile(r"<(script|style)\b[\s\S]*?(?:</\1>|\Z)|<[a-zA-Z/!?][^>]*>?")
_SECONDS = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*s?\s*")


class Refusals(Struct, frozen=True, kw_only=True):
    """How a dialect words its refusals."""

    code: tuple[str, ...]
    """The members that name the kind of refusal, the most telling first."""
    statuses: Mapping[str, int] = {}
    """The HTTP status that a code stands for; inside a stream the status line said 200."""
    transient: frozenset[str] = frozenset()
    """Codes that another attempt may not meet. They count where no status says more."""
    final: frozenset[str] = frozenset()
    """Codes that come with a status which is tried again, and do not pass by waiting."""

    def over_http(self, status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
        """The refusal in a reply. The body may be anything, or nothing."""
        return self.inside(readable(body), status=status, headers=headers)

    def inside(
        self,
        value: Any,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        code: str = "",
    ) -> VendorError:
        """The refusal that a JSON value or a text tells of: a body's, or an event's within a stream.

        ``code`` names the kind where it does not stand in the value, but beside it.
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
        # What stands around an error has a type of its own, which says that it is one.
        around = [{"code": layer.get("code")} for layer in layers[1:]]
        return next(
            (found for layer in (*layers[:1], *around) if (found := _first([layer], *self.code))), ""
        )

    def _is_retryable(
        self, status: int | None, code: str, layers: list[dict[str, Any]], headers: Mapping[str, str]
    ) -> bool:
        # Anthropic's and OpenAI's clients go by this header before anything else, and so do their hosts.
        said = headers.get("x-should-retry", "").strip().lower()
        if said in ("true", "false"):
            return said == "true"
        if self.final & {code, *_causes(layers)}:
            return False
        if status is None:
            return code in self.transient
        # The status goes before the code: Groq says rate_limit_exceeded with 413 of a request that will
        # never fit (HunorLaczko/ha-groq-cloud-api #27).
        return status in RETRIED or status >= _SERVERS_FAULT


def _request_id(headers: Mapping[str, str]) -> str:
    return next((headers[name] for name in _REQUEST_IDS if headers.get(name)), "")


def _plain(kind: str) -> str:
    """``com.amazon.coral#ThrottlingException:http://…`` and ``throttlingException`` are one."""
    word = kind.partition(":")[0].rpartition("#")[2].strip()[:_EXCERPT]
    return word[:1].upper() + word[1:]


def _page(text: str, status: int | None, headers: Mapping[str, str]) -> VendorError:
    """The refusal in a page for people: a gateway's, or that of a place where no API is."""
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
    """Seconds to wait, from headers in lower case; None where they ask for nothing that can be done.

    A date is read against the reply's own: there is no clock here, and the server's set it.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = seconds_in(headers.get(name))
        if seconds is not None:
            return seconds * unit
    try:
        until = parsedate_to_datetime(headers["retry-after"])
        return max((until - parsedate_to_datetime(headers["date"])).total_seconds(), 0.0)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def seconds_in(text: object) -> float | None:
    """A number of seconds as vendors write it; None for what is negative, endless or no number."""
    found = _SECONDS.fullmatch(text) if isinstance(text, str) else None
    seconds = float(found[1]) if found else -1.0
    return seconds if found and isfinite(seconds) else None


def readable(body: bytes) -> Any:
    """The JSON value in a body; where it holds none, its text."""
    try:
        return msgspec.json.decode(body)
    except UNREADABLE:
        return body[: 4 * _LOOKED_AT].decode(errors="replace")


def excerpt(data: bytes | str, most: int = _EXCERPT) -> str:
    """The beginning of what was sent, on one line, without its secrets: half of one is known by none."""
    text = data[: 4 * most].decode(errors="replace") if isinstance(data, bytes) else data[: 4 * most]
    return shortened(redact_formats(" ".join(text.split())), most)


def shortened(text: str, most: int) -> str:
    """The text in at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _kept(value: Any) -> str:
    """The beginning of what was sent, as it was sent, without its secrets."""
    text = value if isinstance(value, str) else _written(value)
    clean = redact_formats(text[: _BODY + _LONGEST_SECRET])
    if len(text) > _BODY + _LONGEST_SECRET:
        # Half of a secret at the end is known by none.
        clean = clean[: max(len(clean) - _LONGEST_SECRET, 0)]
    return clean[:_BODY]


def _layers(value: Any) -> Iterator[dict[str, Any]]:
    """What describes the error, and what stands around that.

    ``{"error": {…}}`` is the form of all vendors. Google puts it into a list, FastAPI says ``detail``,
    and hosts leave the inner object out.
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
    """What a refusal passes on from further away: from the host behind a host, or from the model."""

    words: str = ""
    codes: tuple[str, ...] = ()


def _beyond(layers: list[dict[str, Any]]) -> _Beyond:
    for layer in layers:
        if isinstance(written := layer.get("failed_generation"), str) and written:
            # Groq: what the model wrote in place of a call. https://console.groq.com/docs/tool-use
            return _Beyond(f"the model wrote: {excerpt(written, _WORDS // 2)}")
        metadata = layer.get("metadata")
        if isinstance(metadata, dict) and (raw := metadata.get("raw")):
            # OpenRouter: what the provider behind it said, which is JSON or a text.
            # https://openrouter.ai/docs/api-reference/errors
            said = readable(raw.encode(errors="replace")) if isinstance(raw, str) else raw
            inner = list(_layers(said))
            words = shortened(_message(inner, said), _WORDS // 2)
            name = metadata.get("provider_name")
            return _Beyond(f"{name}: {words}" if isinstance(name, str) else words, tuple(_causes(inner)))
    return _Beyond()


def _first(layers: list[dict[str, Any]], *names: str) -> str:
    """The first word among these members. That it is an error is no word for which."""
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
    """The HTTP status that hosts write into an error, also as its code (OpenRouter)."""
    for layer in layers:
        for name in ("status_code", "status", "code"):
            found = layer.get(name)
            if isinstance(found, str) and found.isascii() and found.isdigit():
                found = int(found[:4])
            if isinstance(found, int) and _REFUSED <= found < 600:  # noqa: PLR2004
                return found
    return None
