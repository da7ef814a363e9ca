_LEAVE = {"raman": 11, "weber": 17.5, "costa": 4, "boateng": 23}
_DESKS = {"raman": ("2.14", 4471), "weber": ("1.03", 4118), "costa": ("3.27", 4592), "boateng": ("2.09", 4406)}


def _last(name):
    return name.lower().split()[-1]


def remaining_leave(employee: str) -> float:
    """Get the number of leave days an employee has left this year."""
    return _LEAVE[_last(employee)]


def request_leave(employee: str, first_day: str, last_day: str) -> str:
    """Submit a leave request for an employee."""
    return f"Leave request L{sum(map(ord, _last(employee))) + 3000} submitted"


def report_sick(employee: str, since: str) -> str:
    """Record that an employee is on sick leave since a given day."""
    return f"Sick note S{sum(map(ord, _last(employee))) + 8000} recorded"


def net_salary(gross: float, children: int = 0) -> float:
    """Estimate the monthly net salary for a gross salary."""
    return round(float(gross) * (0.64 + 0.012 * int(children)), 2)


def find_colleague(name: str) -> dict:
    """Find the room and the phone extension of a colleague."""
    room, ext = _DESKS[_last(name)]
    return {"room": room, "extension": ext}


TOOLS = [remaining_leave, request_leave, report_sick, net_salary, find_colleague]
