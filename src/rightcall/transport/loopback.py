"""Which names of hosts are this machine's own, and which are every address of it."""

from ipaddress import ip_address


def is_loopback(host: str | None) -> bool:
    """Whether only this machine can reach a host of that name."""
    try:
        return host == "localhost" or ip_address((host or "").strip("[]")).is_loopback
    except ValueError:
        return False


def is_anywhere(host: str) -> bool:
    """Whether whoever listens there listens on every address of the machine."""
    return host in {"", "0.0.0.0", "::", "[::]"}  # noqa: S104 - to tell that it is one
