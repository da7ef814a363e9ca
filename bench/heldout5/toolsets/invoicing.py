from typing import Optional

_STATUS = {"2024-117": "paid on 12 March", "2024-121": "open, due in 9 days", "2024-109": "overdue", "2024-098": "overdue"}
_RATE = {"EUR": 1.0, "USD": 1.08, "GBP": 0.85, "SEK": 11.4, "CHF": 0.96}
_NAMES = {"euro": "EUR", "us dollar": "USD", "dollar": "USD", "pound": "GBP", "franc": "CHF", "swiss franc": "CHF"}


def _code(currency):
    c = currency.upper()
    return c if c in _RATE else _NAMES[currency.lower().rstrip("s")]


def create_invoice(client: str, amount: float, description: str) -> str:
    """Create an invoice for a client."""
    return f"Invoice N{sum(map(ord, client.lower())) + round(float(amount))} created"


def invoice_status(number: str) -> str:
    """Check whether an invoice is open, paid or overdue."""
    return _STATUS[number]


def send_reminder(number: str) -> str:
    """Send a payment reminder for an invoice to the client."""
    return f"Reminder M{sum(map(ord, number)) * 3} sent"


def convert_currency(amount: float, from_currency: str, to_currency: str) -> float:
    """Convert an amount between currencies at today's rate. Currencies are three-letter codes."""
    return round(float(amount) / _RATE[_code(from_currency)] * _RATE[_code(to_currency)], 2)


def log_hours(project: str, hours: float, day: Optional[str] = None) -> dict:
    """Log working hours on a project."""
    p = project.lower().removeprefix("the ").removeprefix("project ")
    return {"project": project, "entry": sum(map(ord, p)) * 10 + round(float(hours) * 2)}


TOOLS = [create_invoice, invoice_status, send_reminder, convert_currency, log_hours]
