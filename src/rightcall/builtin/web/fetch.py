"""A URL into a page, through redirects, each of which is checked like the first."""

import asyncio

from msgspec import Struct
from yarl import URL

from rightcall.builtin.web.exchange import Answer, Outgoing, exchange
from rightcall.builtin.web.guard import Resolve, guarded, system_resolve
from rightcall.builtin.web.location import Grant, follow, locate
from rightcall.builtin.web.readable import Page, read
from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
_SUCCESS = range(200, 300)
_ACCEPTED = "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1"


class Bounds(Struct, frozen=True, kw_only=True):
    """What fetching one page may cost."""

    seconds: float
    max_bytes: int
    max_redirects: int = 5


class Fetched(Struct, frozen=True, kw_only=True):
    """A page, and where it was found in the end."""

    url: str
    page: Page
    is_cut: bool


class Fetcher(Struct, frozen=True, kw_only=True):
    """Fetches what it is granted."""

    grant: Grant
    bounds: Bounds
    resolve: Resolve = system_resolve

    async def fetch(self, address: str) -> Fetched:
        """The page at an address. Raises ToolFailure, whose words are for a model."""
        url = locate(address, self.grant)
        try:
            async with asyncio.timeout(self.bounds.seconds):
                url, answer = await self._follow(url)
                page = await read(answer.body, answer.headers.get("content-type", ""), str(url))
        except TimeoutError:
            raise ToolFailure(
                f"{shorten(str(url))} did not arrive within {self.bounds.seconds:g} s.", retryable=True
            ) from None
        return Fetched(url=str(url), page=page, is_cut=answer.is_cut)

    async def _follow(self, url: URL) -> tuple[URL, Answer]:
        for _ in range(self.bounds.max_redirects + 1):
            connector = await guarded(url, self.grant, self.resolve)
            outgoing = Outgoing(url=url, headers={"Accept": _ACCEPTED}, max_bytes=self.bounds.max_bytes)
            answer = await exchange(outgoing, connector)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None:
                return url, _successful(url, answer)
            url = follow(url, location, self.grant)
        raise ToolFailure(
            f"More than {self.bounds.max_redirects} redirects; the last one to {shorten(str(url))}."
        )


def _successful(url: URL, answer: Answer) -> Answer:
    if answer.status in _SUCCESS:
        return answer
    raise ToolFailure(
        f"{shorten(str(url), 200)} answered {answer.words}.", retryable=answer.status in _LATER
    )
