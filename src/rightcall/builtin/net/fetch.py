"""Fetches a page over HTTP within limits; each redirect is checked like the first URL."""

import asyncio

from msgspec import Struct
from yarl import URL

from rightcall.builtin.net.exchange import Response, exchange
from rightcall.builtin.net.readable import Page, read
from rightcall.builtin.net.ssrf import Resolve, WebGrant, follow, guarded, locate, system_resolve
from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure

_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
_SUCCESS = range(200, 300)
_ACCEPTED = "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1"


class Fetched(Struct, frozen=True, kw_only=True):
    """A page, and its final URL."""

    url: str
    page: Page
    is_cut: bool


class Fetcher(Struct, frozen=True, kw_only=True):
    """Fetches pages that the grant allows."""

    grant: WebGrant
    seconds: float
    max_bytes: int
    resolve: Resolve = system_resolve

    async def fetch(self, address: str) -> Fetched:
        """The page at a URL. Raises ToolFailure, with a message for the model."""
        url = locate(address, self.grant)
        try:
            async with asyncio.timeout(self.seconds):
                url, answer = await self._follow(url)
                page = await read(answer.body, answer.headers.get("content-type", ""), str(url))
        except TimeoutError:
            raise ToolFailure(
                f"{shorten(str(url))} did not arrive within {self.seconds:g} s.", retryable=True
            ) from None
        return Fetched(url=str(url), page=page, is_cut=answer.is_cut)

    async def _follow(self, url: URL) -> tuple[URL, Response]:
        for _ in range(_MOST_REDIRECTS + 1):
            checked = await guarded(url, self.grant, self.resolve)
            headers = {"Accept": _ACCEPTED}
            answer = await exchange(str(url), max_bytes=self.max_bytes, headers=headers, checked=checked)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None:
                return url, _successful(url, answer)
            url = follow(url, location, self.grant)
        raise ToolFailure(f"More than {_MOST_REDIRECTS} redirects; the last one to {shorten(str(url))}.")


def _successful(url: URL, answer: Response) -> Response:
    if answer.status in _SUCCESS:
        return answer
    raise ToolFailure(
        f"{shorten(str(url), 200)} answered {answer.words}.", retryable=answer.status in _LATER
    )
