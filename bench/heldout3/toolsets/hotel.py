"""The front desk of a hotel."""


def order_room_service(room: int, dish: str) -> str:
    """Have food brought up to a guest's room."""
    return f"{dish} for room {room}: ticket {room + 4000}"


def wake_up_call(room: int, time: str) -> str:
    """Ring a guest in the morning."""
    return f"room {room} will be rung at {time}, slot {room * 2}"


def request_towels(room: int, count: int = 2) -> str:
    """Send fresh towels up."""
    return f"{count} towels to room {room}, job {room + count}"


def late_checkout(room: int, until: str) -> str:
    """Let a guest leave the room later than usual."""
    return f"room {room} may stay until {until}, code {room * 3}"


def book_airport_shuttle(passengers: int, departure: str) -> str:
    """Reserve seats on the bus to the airport."""
    return f"{passengers} seats, {departure}, bus {passengers * 31}"


TOOLS = [order_room_service, wake_up_call, request_towels, late_checkout, book_airport_shuttle]
