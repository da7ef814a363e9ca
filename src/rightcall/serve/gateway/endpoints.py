"""A method and a path into what is requested there, as data."""

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias
from urllib.parse import unquote

from msgspec import Struct

Action: TypeAlias = Literal["ask", "count", "list", "model", "health", "hello", "metrics"]

CHAT, RESPONSES, MESSAGES, GEMINI = "openai_chat", "openai_responses", "anthropic", "gemini"


class Endpoint(Struct, frozen=True, gc=False):
    """What is served at an address."""

    action: Action
    dialect: str = CHAT
    """The dialect that is spoken there."""
    model: str = ""
    """The model, if the address names it."""
    stream: bool | None = None
    """Whether a stream is requested, if the address says so."""


_POST: Mapping[str, Endpoint] = {
    "/chat/completions": Endpoint("ask", CHAT),
    "/responses": Endpoint("ask", RESPONSES),
    "/messages": Endpoint("ask", MESSAGES),
    "/messages/count_tokens": Endpoint("count", MESSAGES),
}
_GET: Mapping[str, Endpoint] = {
    "/health": Endpoint("health"),
    "/healthz": Endpoint("health"),
    "/metrics": Endpoint("metrics"),
    "/api/hello": Endpoint("hello", MESSAGES),
}
_VERSION = re.compile(r"/v1(?:beta|alpha)?(?=/)")
_GEMINI = re.compile(r"/models/(?P<model>.+):(?P<method>\w+)")
_METHODS: Mapping[str, Endpoint] = {
    "generateContent": Endpoint("ask", GEMINI, stream=False),
    "streamGenerateContent": Endpoint("ask", GEMINI, stream=True),
    "countTokens": Endpoint("count", GEMINI),
}
_MODELS = "/models"


def found(method: str, path: str, headers: Mapping[str, str]) -> Endpoint | None:
    """What is served at an address; None for nothing. The version prefix may be left out."""
    if method == "HEAD":
        method = "GET"
    start = _VERSION.match(path)
    bare = path[start.end() :] if start else path
    if method == "POST":
        return _POST.get(bare) or _gemini(bare)
    if method != "GET":
        return None
    if (endpoint := _GET.get(path)) is not None:
        return endpoint
    if bare == _MODELS or bare.startswith(f"{_MODELS}/"):
        name = unquote(bare[len(_MODELS) + 1 :])
        return Endpoint("model" if name else "list", _asker(path, headers), name)
    return None


def is_known(path: str, headers: Mapping[str, str]) -> bool:
    """Whether anything is served there, for any method."""
    return found("GET", path, headers) is not None or found("POST", path, headers) is not None


def _gemini(path: str) -> Endpoint | None:
    match = _GEMINI.fullmatch(path)
    endpoint = None if match is None else _METHODS.get(match["method"])
    if match is None or endpoint is None:
        return None
    return Endpoint(endpoint.action, endpoint.dialect, unquote(match["model"]), endpoint.stream)


def _asker(path: str, headers: Mapping[str, str]) -> str:
    """The dialect of a request for models: three vendors list them under one path, each in its shape."""
    if path.startswith("/v1beta") or "x-goog-api-key" in headers or "x-goog-api-client" in headers:
        return GEMINI
    return MESSAGES if "anthropic-version" in headers else CHAT
