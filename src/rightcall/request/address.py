"""The address of a model, and its credentials."""

from collections.abc import Mapping

from msgspec import Struct

from rightcall.core.ports import Dialect
from rightcall.core.request import Sign
from rightcall.core.secret import redact_formats


class Address(Struct, frozen=True, kw_only=True):
    """The address of a model, and its credentials. The key is never shown."""

    url: str
    model: str
    query: str = ""
    """The query string of every URL, such as a version."""
    key: str | None = None
    key_header: str = ""
    """The header that carries the key, if it is not the dialect's own."""
    headers: Mapping[str, str] = {}
    provider: str = ""
    """The provider's name in errors; the host by default."""

    def at(self, path: str) -> str:
        """Returns the URL of a path at this address."""
        url = self.url.rstrip("/") + path
        return f"{url}{'&' if '?' in url else '?'}{self.query}" if self.query else url

    def __repr__(self) -> str:
        return f"Address(url={redact_formats(self.url)!r}, model={self.model!r})"


def authorized(dialect: Dialect, address: Address) -> Mapping[str, str] | Sign:
    """Returns the headers that carry the key, or the function that signs each request with it."""
    if address.key is None:
        return {}
    return {address.key_header: address.key} if address.key_header else dialect.authorize(address.key)
