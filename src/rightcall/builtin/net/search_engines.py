"""Queries search engines: results are titles, addresses and a few lines each.

The engines differ in their requests and in where the results are in a response; that is data here.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import urlencode, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import replace

from rightcall.builtin.net.fetch_tool import RATE
from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonError, JsonObject, JsonValue, dump, parse
from rightcall.core.limits import Limits
from rightcall.core.options import checked
from rightcall.core.tool import Tool
from rightcall.errors import ToolFailure, UsageError

Engine: TypeAlias = Literal["searxng", "brave", "tavily"]
Parts: TypeAlias = dict[str, Any]
"""The parts of a request: its url, query, method, headers and body."""

_MOST = 20
_MAX_BYTES = 4_000_000
_LONGEST_LINE = 500
_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 400,
            "description": "What to look for.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}


class Query(Struct, frozen=True, kw_only=True):
    """A search query with its settings."""

    query: str
    count: int
    url: str
    key: str


class _SearchEngine(Struct, frozen=True, kw_only=True):
    """How an engine is queried."""

    url: str
    """Its default address; empty if the user must give one."""
    variable: str
    """The environment variable for its key, or for its address if it needs no key."""
    ask: Callable[[Query], Parts]
    results: tuple[str, ...]
    """The path to the results in its response."""
    snippet: str
    """The field with a result's text."""


@checked("rc.builtin.web_search")
def web_search(
    engine: Engine,
    *,
    key: str | None = None,
    url: str | None = None,
    count: int = 5,
    timeout: float = 20.0,
    rate: tuple[int, float] | None = RATE,
) -> Tool:
    """A tool that searches the web through SearXNG, Brave or Tavily.

    Brave and Tavily need a ``key``, here or in BRAVE_API_KEY or TAVILY_API_KEY; SearXNG needs the
    ``url`` of an instance that allows JSON, here or in SEARXNG_URL. ``count`` is how many results a
    call gives, ``rate`` how many calls in how many seconds; those over it wait.
    """
    wanted, question = _prepared(engine, key, url, count)

    async def handler(query: str) -> str:
        from rightcall.builtin.net.exchange import exchange  # noqa: PLC0415 - light until used

        asked = wanted.ask(replace(question, query=query))
        url = _with_query(asked.pop("url"), asked.pop("query", {}))
        try:
            async with asyncio.timeout(timeout):
                answer = await exchange(url, max_bytes=_MAX_BYTES, **asked)
        except TimeoutError:
            raise ToolFailure(f"The search took longer than {timeout:g} s.", retryable=True) from None
        if answer.status != HTTPStatus.OK:
            later = answer.status >= HTTPStatus.TOO_MANY_REQUESTS
            raise ToolFailure(f"The search engine answered {answer.words}.", retryable=later)
        found = _found(answer.body, wanted)[:count]
        numbered = [f"{number}. {each}" for number, each in enumerate(found, 1)]
        return "\n\n".join(numbered) or "Nothing was found."

    return Tool(
        "web_search",
        "Search the web. Gives titles, addresses and a few lines each. Read a result with web_fetch.",
        _PARAMETERS,
        handler,
        short="Search the web.",
        examples=({"query": "population of Lisbon"},),
        questions=("How many people live in Lisbon?",),
        errors="neutral",
        effect="read",
        limits=Limits(timeout=timeout + 5, concurrency=4, rate=rate),
        facts=Facts(untrusted=True, private=False, reach="outside", targets=()),
    )


def _prepared(
    engine: Engine, key: str | None, url: str | None, count: int
) -> tuple[_SearchEngine, Query]:
    if engine not in ENGINES:
        raise UsageError(f"web_search: {engine!r} is not one of {', '.join(get_args(Engine))}")
    if not 1 <= count <= _MOST:
        raise UsageError(f"web_search: count must be 1 to {_MOST}, not {count}")
    wanted = ENGINES[engine]
    given = os.environ.get(wanted.variable, "")
    what = "key" if wanted.url else "url"
    question = Query(
        query="",
        count=count,
        url=url or wanted.url or given,
        key=key or (given if what == "key" else ""),
    )
    if not getattr(question, what):
        raise UsageError(
            f"web_search: {engine} needs {what}=..., or {wanted.variable} in the environment"
        )
    return wanted, question


def _with_query(url: str, query: Mapping[str, str]) -> str:
    """The URL with more to its query, if there is more."""
    place = urlsplit(url)
    return urlunsplit(place._replace(query="&".join(filter(None, [place.query, urlencode(query)]))))


def _found(body: bytes, wanted: _SearchEngine) -> list[str]:
    """The results in a response: title, address and a few lines of each."""
    try:
        value: JsonValue = parse(body.decode(errors="replace"))
    except JsonError:
        raise ToolFailure("The search engine answered with something that is not JSON.") from None
    for name in wanted.results:
        value = value.get(name) if isinstance(value, Mapping) else None
    rows = value if isinstance(value, list) else []
    return [
        "\n".join(_line(row.get(name)) for name in ("title", "url", wanted.snippet)).rstrip()
        for row in rows
        if isinstance(row, Mapping) and isinstance(row.get("url"), str)
    ]


def _line(value: object) -> str:
    text = " ".join(str(value or "").split())
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…"


def _ask_searxng(question: Query) -> Parts:
    # https://docs.searxng.org/dev/search_api.html; an instance must list json under search.formats.
    return Parts(
        url=question.url.rstrip("/") + "/search",
        query={"q": question.query, "format": "json"},
        headers={"Accept": "application/json"},
    )


def _ask_brave(question: Query) -> Parts:
    # https://api-dashboard.search.brave.com/documentation
    return Parts(
        url=question.url,
        query={"q": question.query, "count": str(question.count), "text_decorations": "false"},
        headers={"Accept": "application/json", "X-Subscription-Token": question.key},
    )


def _ask_tavily(question: Query) -> Parts:
    # https://docs.tavily.com/documentation/api-reference/endpoint/search
    return Parts(
        url=question.url,
        method="POST",
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {question.key}"},
        body=dump({"query": question.query, "max_results": question.count}).encode(),
    )


ENGINES: Mapping[Engine, _SearchEngine] = {
    "searxng": _SearchEngine(
        url="", variable="SEARXNG_URL", ask=_ask_searxng, results=("results",), snippet="content"
    ),
    "brave": _SearchEngine(
        url="https://api.search.brave.com/res/v1/web/search",
        variable="BRAVE_API_KEY",
        ask=_ask_brave,
        results=("web", "results"),
        snippet="description",
    ),
    "tavily": _SearchEngine(
        url="https://api.tavily.com/search",
        variable="TAVILY_API_KEY",
        ask=_ask_tavily,
        results=("results",),
        snippet="content",
    ),
}
