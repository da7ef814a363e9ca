"""The help desk of a company's computers."""

from typing import Literal


def reset_password(username: str) -> str:
    """Give an employee a new password. Does not unlock an account."""
    return f"one-time code {len(username) * 1103}"


def unlock_account(username: str) -> str:
    """Let somebody in again whose account was locked."""
    return f"{username} unlocked, entry {len(username) * 19}"


def open_ticket(summary: str, urgency: Literal["low", "normal", "urgent"] = "normal") -> str:
    """Open a ticket for a fault that a technician must look at."""
    return f"ticket T-{len(summary) * 5} {urgency}"


def laptop_owner(asset_tag: str) -> str:
    """Whom a laptop was handed out to."""
    return f"{asset_tag}: desk {len(asset_tag) * 23}"


def install_program(program: str, asset_tag: str, version: str = "") -> str:
    """Install a program on a company laptop, rather than on a server."""
    return f"job {len(program) * 37} on {asset_tag} {version}".strip()


TOOLS = [reset_password, unlock_account, open_ticket, laptop_owner, install_program]
