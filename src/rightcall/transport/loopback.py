"""Which host names are loopback, and which mean every address of this machine."""

from ipaddress import ip_address


def is_loopback(host: str | None) -> bool:
    """Whether only this machine can reach that host."""
    try:
        return host == "localhost" or ip_address((host or "").strip("[]")).is_loopback
    except ValueError:
        return False


def is_anywhere(host: str) -> bool:
    """Whether a server there listens on every address of the machine."""
    return host in {"", "0.0.0.0", "::", "[::]"}  # noqa: S104 - to tell that it is one
