"""Where a model is, and what opens the door."""

from collections.abc import Mapping

from msgspec import Struct

from rightcall.core.ports import Dialect
from rightcall.core.request import Sign
from rightcall.core.secret import redact_formats


class Address(Struct, frozen=True, kw_only=True):
    """Where a model is, and what opens the door. The key is never shown."""

    url: str
    model: str
    query: str = ""
    """What follows a question mark in every address, such as a version."""
    key: str | None = None
    key_header: str = ""
    """The header that carries the key, where it is not the dialect's own."""
    headers: Mapping[str, str] = {}
    provider: str = ""
    """Who is there, for errors to name; its host unless given."""

    def at(self, path: str) -> str:
        """The address of a path there."""
        url = self.url.rstrip("/") + path
        return f"{url}{'&' if '?' in url else '?'}{self.query}" if self.query else url

    def __repr__(self) -> str:
        return f"Address(url={redact_formats(self.url)!r}, model={self.model!r})"


def authorized(dialect: Dialect, address: Address) -> Mapping[str, str] | Sign:
    """The headers that carry the key, or what signs each request with it."""
    if address.key is None:
        return {}
    return {address.key_header: address.key} if address.key_header else dialect.authorize(address.key)
