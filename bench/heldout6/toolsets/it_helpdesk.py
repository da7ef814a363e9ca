import re
from typing import Literal

_DEVICES = {
    "NB0412": ("Ingrid Solheim", "ThinkPad T14"),
    "NB0377": ("Marcus Obi", "Latitude 5440"),
    "PH1190": ("Yuki Tanabe", "Pixel 8"),
    "MO0056": ("meeting room Elbe", "Dell U2723"),
}


def _sum(text):
    return sum(map(ord, text.lower().strip()))


def open_ticket(user: str, problem: str, priority: Literal["low", "normal", "high"] = "normal") -> str:
    """Open a support ticket.

    Args:
        user: Who has the problem.
        problem: What does not work.
        priority: How urgent it is.
    """
    return f"Ticket {30000 + _sum(user) + {'low': 1, 'normal': 2, 'high': 3}[priority]} opened"


def assign_ticket(ticket: int, technician: str) -> str:
    """Hand a ticket to a technician.

    Args:
        ticket: Ticket number.
        technician: First name of the technician.
    """
    return f"Assigned, queue position {(int(ticket) + _sum(technician)) % 23 + 2}"


def reset_password(user: str) -> dict:
    """Reset a user's password; returns the temporary one."""
    return {"user": user, "temporary_password": f"Kiwi-{_sum(user) * 3}"}


def device_info(tag: str) -> dict:
    """Look up the model of a device and who has it.

    Args:
        tag: Inventory tag on the sticker.
    """
    owner, model = _DEVICES[re.sub(r"[^A-Z0-9]", "", tag.upper())]
    return {"owner": owner, "model": model}


def set_quota(user: str, gigabytes: int) -> str:
    """Set the size of a user's mailbox."""
    return f"Quota set, change C{_sum(user) + int(gigabytes) * 10}"


TOOLS = [open_ticket, assign_ticket, reset_password, device_info, set_quota]
