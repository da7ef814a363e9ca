from typing import Literal, Optional

_BALANCES = {"4471-02": 1834.27, "4471-03": 90.5, "8812-10": 22760.0, "3090-55": 61.08}
_BRANCHES = {"utrecht": "Oudegracht 118", "ghent": "Veldstraat 42", "lyon": "Rue de Brest 7", "porto": "Rua das Flores 63"}


def _ref(prefix, *parts):
    n = sum((i + 1) * ord(c) for i, c in enumerate("|".join(str(p).lower() for p in parts)))
    return f"{prefix}{1000 + n % 9000}"


def get_balance(account: str) -> dict:
    """Return the current balance of an account."""
    if account not in _BALANCES:
        raise ValueError(f"unknown account {account}")
    return {"account": account, "balance": _BALANCES[account], "currency": "EUR"}


def transfer_money(from_account: str, to_account: str, amount: float, reference: Optional[str] = None) -> dict:
    """Transfer money between two accounts.

    Args:
        from_account: Account the money is taken from.
        to_account: Account the money goes to.
        amount: Amount in euros.
        reference: Text shown on the statement.
    """
    return {"status": "executed", "transaction": _ref("TX", from_account, to_account, float(amount)), "reference": reference}


def block_card(last_four: str, reason: Literal["lost", "stolen", "damaged"]) -> str:
    """Block a bank card immediately.

    Args:
        last_four: Last four digits of the card number.
        reason: Why the card is blocked.
    """
    return f"Card ending {last_four} blocked ({reason}), case {_ref('BC', last_four, reason)}"


def book_appointment(customer: str, day: str, time: str, topic: Optional[Literal["mortgage", "savings", "pension", "business"]] = None) -> dict:
    """Book an appointment with an adviser at the branch."""
    return {"customer": customer, "day": day, "time": time, "topic": topic, "adviser": ["Ines Rocha", "Tom Baert", "Yusuf Demir"][sum(map(ord, customer.lower().split()[-1])) % 3]}


def loan_payment(amount: float, years: int, rate: float) -> float:
    """Compute the monthly payment of a loan.

    Args:
        amount: Amount borrowed in euros.
        years: Term of the loan in years.
        rate: Yearly interest rate in percent.
    """
    m, n = float(rate) / 1200, int(years) * 12
    return round(float(amount) * m / (1 - (1 + m) ** -n), 2)


def find_branch(city: str) -> str:
    """Give the street address of the branch in a city."""
    return _BRANCHES.get(city.lower().strip(), f"No branch in {city}")


def order_statement(account: str, year: int, delivery: Literal["email", "post"] = "email") -> dict:
    """Order a yearly account statement."""
    return {"order": _ref("ST", account, int(year)), "delivery": delivery}


TOOLS = [get_balance, transfer_money, block_card, book_appointment, loan_payment, find_branch, order_statement]
