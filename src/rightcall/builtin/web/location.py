"""What a model gives as an address into a URL that may be asked for, or words why it may not."""

import re
from collections.abc import Collection

from msgspec import Struct
from yarl import URL

from rightcall.builtin.web.address import Address, Network, as_address, refusal
from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure

LONGEST = 4096
_SCHEMES = ("http", "https")
# Readers of URLs disagree about these: what one takes for a path, another takes for a host.
_DISPUTED = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ufeff\ud800-\udfff]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?!\d)")
# Whatever C's inet_aton takes for an address beside a.b.c.d: 2130706433, 0x7f.1, 017700000001.
_ODD_ADDRESS = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+)){0,3}\.?", re.IGNORECASE)


class Grant(Struct, frozen=True, kw_only=True):
    """What a tool may reach."""

    private: bool = False
    """Addresses of one's own site, too."""
    networks: tuple[Network, ...] = ()
    """These addresses, whatever they are."""
    hosts: tuple[str, ...] | None = None
    """Only these hosts; ``*.example.com`` stands for those below it. None: any."""
    ports: Collection[int] | None = (80, 443)
    """Only these ports. None: any."""


def locate(text: str, grant: Grant) -> URL:
    """The URL of a text, if its form, host and port are granted. Raises ToolFailure."""
    text = text.strip()
    if len(text) > LONGEST:
        raise ToolFailure(f"The URL has {len(text):,} characters; {LONGEST:,} is the most.")
    if _DISPUTED.search(text):
        raise ToolFailure("The URL holds a space, a backslash or a control character; encode it with %.")
    named = _SCHEME.match(text)
    if named is None and not text.startswith("/"):
        text = f"https://{text}"
    elif named is None or named[1].lower() not in _SCHEMES:
        raise ToolFailure("Only http:// and https:// can be fetched.")
    try:
        url = URL(text)
        _ = url.port
    except ValueError:
        raise ToolFailure(f"{shorten(text)} is not a URL.") from None
    return _granted(url.with_fragment(None), grant)


def follow(url: URL, location: str, grant: Grant) -> URL:
    """The URL that a redirect leads to. Raises ToolFailure."""
    if len(location) > LONGEST or _DISPUTED.search(location.strip()):
        raise ToolFailure(f"{shorten(str(url))} redirects to something that is not a URL.")
    try:
        joined = url.join(URL(location.strip()))
    except ValueError:
        raise ToolFailure(f"{shorten(str(url))} redirects to something that is not a URL.") from None
    found = locate(str(joined), grant)
    if url.scheme == "https" and found.scheme == "http":
        raise ToolFailure(f"{shorten(str(url))} redirects from https to http, which is not followed.")
    return found


def refuse(url: URL, addresses: Collection[Address], grant: Grant) -> None:
    """Raise ToolFailure if any of a host's addresses may not be reached."""
    for address in addresses:
        why = refusal(address, grant.networks, private=grant.private)
        if why is not None:
            host = shorten(url.host or "")
            raise ToolFailure(f"{host} may not be reached: its address is {address}, and {why}.")


def _granted(url: URL, grant: Grant) -> URL:
    # The raw host is the one that is connected to: names in ASCII, and no digits of other scripts.
    host, port = url.raw_host, url.port
    if url.scheme not in _SCHEMES or not host or port is None:
        raise ToolFailure(f"{shorten(str(url))} is not a URL.")
    if url.user is not None or url.password is not None:
        raise ToolFailure("A URL with a user name or a password in it is not fetched; leave them out.")
    if as_address(host) is None and _ODD_ADDRESS.fullmatch(host):
        raise ToolFailure(f"{shorten(host)} is an odd way to write an address; write it as a.b.c.d.")
    if grant.hosts is not None and not any(_matches(url, each) for each in grant.hosts):
        raise ToolFailure(
            f"{shorten(host)} is not among the hosts that may be reached: {_list(grant.hosts)}."
        )
    if grant.ports is not None and port not in grant.ports:
        raise ToolFailure(f"Port {port} may not be reached; only {_list(sorted(grant.ports))}.")
    return url


def _matches(url: URL, pattern: str) -> bool:
    pattern = pattern.lower().rstrip(".")
    names = [name.lower().rstrip(".") for name in (url.host, url.raw_host) if name]
    if pattern.startswith("*."):
        return any(name.endswith(pattern[1:]) for name in names)
    return pattern in names


def _list(items: Collection[object]) -> str:
    return ", ".join(map(str, items)) or "none"
