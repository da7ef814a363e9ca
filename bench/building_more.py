"""More questions by which the rules for plain tools were made; see ``bench/building.py``."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from building import NOTHING, Case

import rightcall as rc


@rc.tool(effect="read")
def account_balance(account: str) -> str:
    """Show the balance of a bank account.

    Args:
        account: Name of the account, e.g. "savings".
    """
    return account


@rc.tool
def transfer_money(amount: float, from_account: str, to_account: str) -> str:
    """Transfer money between two accounts."""
    return str(amount)


@rc.tool(effect="read")
def exchange_rate(base: str, target: str) -> str:
    """Current exchange rate between two currencies.

    Args:
        base: ISO code of the first currency.
        target: ISO code of the second.
    """
    return base


@rc.tool
def block_card(last_digits: str) -> str:
    """Block a credit card, given its last four digits."""
    return last_digits


@rc.tool(effect="read")
def list_transactions(account: str, month: str = "", limit: int = 10) -> str:
    """List recent transactions of an account."""
    return account


@rc.tool
def log_workout(activity: str, minutes: int) -> str:
    """Record a workout."""
    return activity


@rc.tool(effect="read")
def calories(food: str, grams: float = 100) -> str:
    """How many calories a food has."""
    return food


@rc.tool(effect="pure")
def heart_rate_zone(age: int, zone: int = 2) -> str:
    """Heart rate range for a training zone.

    Args:
        age: Age in years.
        zone: Training zone from 1 to 5.
    """
    return str(age)


@rc.tool
def log_weight(kilograms: float, date: str = "today") -> str:
    """Record body weight for a day."""
    return str(kilograms)


@rc.tool(effect="read")
def find_recipe(ingredient: str, max_minutes: int | None = None) -> str:
    """Find a recipe that uses an ingredient."""
    return ingredient


@rc.tool
def add_to_shopping_list(item: str, quantity: int = 1) -> str:
    """Put something on the shopping list."""
    return item


@rc.tool(effect="pure")
def scale_recipe(servings: int, original_servings: int) -> str:
    """Factor by which the ingredients of a recipe change."""
    return str(servings)


@rc.tool(effect="pure")
def oven_temperature(value: float, unit: Literal["celsius", "fahrenheit"]) -> str:
    """Convert an oven temperature to the other unit."""
    return str(value)


@rc.tool(effect="read")
def search_books(author: str = "", title: str = "") -> str:
    """Search the library catalogue by author or title."""
    return author


@rc.tool
def reserve_book(isbn: str, member: str) -> str:
    """Reserve a book for a member of the library."""
    return isbn


@rc.tool(effect="read")
def opening_hours(
    day: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
) -> str:
    """When the library is open on a day of the week."""
    return day


@rc.tool
def renew_loan(loan_id: int, weeks: int = 2) -> str:
    """Extend the loan of a book."""
    return str(loan_id)


@rc.tool(effect="read")
def employee_phone(name: str) -> str:
    """Phone number of an employee."""
    return name


@rc.tool
def request_leave(employee: str, start: str, end: str) -> str:
    """Request vacation for an employee from one day to another."""
    return employee


@rc.tool(effect="read")
def remaining_vacation(employee: str) -> str:
    """Number of vacation days an employee has left this year."""
    return employee


@rc.tool
def post_job(title: str, salary: int, remote: bool = False) -> str:  # noqa: FBT001, FBT002
    """Publish a job opening."""
    return title


@rc.tool(effect="read")
def job_status(job: str) -> str:
    """State of a build job."""
    return job


@rc.tool
def scale_service(service: str, replicas: int) -> str:
    """Change how many replicas of a service run."""
    return service


@rc.tool
def rollback(service: str, version: str) -> str:
    """Roll a service back to an earlier version."""
    return service


@rc.tool(effect="read")
def tail_log(service: str, lines: int = 20) -> str:
    """Last lines of the log of a service."""
    return service


@rc.tool(effect="pure")
def hash_text(text: str, algorithm: Literal["md5", "sha1", "sha256"] = "sha256") -> str:
    """Hash a text."""
    return text


@rc.tool(effect="pure")
def roll_dice(count: int = 1, sides: int = 6) -> str:
    """Roll some dice."""
    return str(count)


@rc.tool(effect="pure")
def days_between(first: str, second: str) -> str:
    """Number of days between two dates."""
    return first


@rc.tool(effect="pure")
def reverse_text(text: str) -> str:
    """Reverse a text."""
    return text


@rc.tool(effect="pure")
def is_prime(number: int) -> str:
    """Whether a number is prime."""
    return str(number)


@rc.tool(effect="pure")
def tip(bill: float, percent: float) -> str:
    """Tip for a restaurant bill."""
    return str(bill)


BANK: Sequence[Case] = [
    ("How much do I have left in savings?", "account_balance", {"account": "savings"}),
    ("what's the balance on my checking account", "account_balance", {"account": "checking"}),
    (
        "Move 300 euros from checking to savings",
        "transfer_money",
        {"amount": 300, "from_account": "checking", "to_account": "savings"},
    ),
    (
        "Could you send 75.20 to my vacation account from savings?",
        "transfer_money",
        {"amount": 75.2, "from_account": "savings", "to_account": "vacation"},
    ),
    ("What does one GBP get me in JPY?", "exchange_rate", {"base": "GBP", "target": "JPY"}),
    ("Exchange rate of USD to CHF", "exchange_rate", {"base": "USD", "target": "CHF"}),
    ("I lost my card ending in 4471, block it", "block_card", {"last_digits": "4471"}),
    (
        "Show me the last 5 transactions on my checking account",
        "list_transactions",
        {"account": "checking", "limit": 5},
    ),
    (
        "What did I spend from savings in March?",
        "list_transactions",
        {"account": "savings", "month": "March"},
    ),
    ("Should I invest in gold?", None, NOTHING),
    ("Can I get a new debit card design?", None, NOTHING),
]
FIT: Sequence[Case] = [
    ("I went running for 45 minutes", "log_workout", {"activity": "running", "minutes": 45}),
    ("Log an hour of swimming", "log_workout", {"activity": "swimming", "minutes": 60}),
    ("How many calories are in 250 grams of rice?", "calories", {"food": "rice", "grams": 250}),
    ("calories of a banana?", "calories", {"food": "banana"}),
    ("I'm 38, what should my pulse be in zone 3?", "heart_rate_zone", {"age": 38, "zone": 3}),
    ("I weigh 71.4 kilos today", "log_weight", {"kilograms": 71.4, "date": "today"}),
    ("Write down that I weighed 80 kg yesterday", "log_weight", {"kilograms": 80, "date": "yesterday"}),
    ("Which gym is the best?", None, NOTHING),
    ("Is running healthy?", None, NOTHING),
]
KITCHEN: Sequence[Case] = [
    ("What can I cook with zucchini?", "find_recipe", {"ingredient": "zucchini"}),
    (
        "A recipe with chickpeas that takes at most 20 minutes",
        "find_recipe",
        {"ingredient": "chickpeas", "max_minutes": 20},
    ),
    ("Add 6 eggs to the shopping list", "add_to_shopping_list", {"item": "eggs", "quantity": 6}),
    ("We're out of olive oil, put it on the list", "add_to_shopping_list", {"item": "olive oil"}),
    (
        "The recipe is for 4 servings but I need 10 servings",
        "scale_recipe",
        {"servings": 10, "original_servings": 4},
    ),
    ("What is 350 Fahrenheit on my oven?", "oven_temperature", {"value": 350, "unit": "fahrenheit"}),
    ("Is my fridge still running?", None, NOTHING),
]
LIBRARY: Sequence[Case] = [
    ("Do you have anything by Ursula Le Guin?", "search_books", {"author": "Ursula Le Guin"}),
    (
        "I'm looking for a book called The Left Hand of Darkness",
        "search_books",
        {"title": "The Left Hand of Darkness"},
    ),
    (
        "Reserve 978-0441478125 for Nadia Karim",
        "reserve_book",
        {"isbn": "978-0441478125", "member": "Nadia Karim"},
    ),
    ("Are you open on Saturday?", "opening_hours", {"day": "saturday"}),
    ("When do you close on wednesdays?", "opening_hours", {"day": "wednesday"}),
    ("Please extend loan 5531 by 3 weeks", "renew_loan", {"loan_id": 5531, "weeks": 3}),
    ("How do I become a librarian?", None, NOTHING),
]
STAFF: Sequence[Case] = [
    ("What's Jonas Weber's phone number?", "employee_phone", {"name": "Jonas Weber"}),
    ("How can I reach Amelie Laurent by phone?", "employee_phone", {"name": "Amelie Laurent"}),
    (
        "Holiday for Tariq from 3 July to 14 July please",
        "request_leave",
        {"employee": "Tariq", "start": "3 July", "end": "14 July"},
    ),
    ("How many days off does Sofia still have?", "remaining_vacation", {"employee": "Sofia"}),
    (
        "Publish an opening for a data engineer with a salary of 68000",
        "post_job",
        {"title": "data engineer", "salary": 68000},
    ),
    ("Who founded this company?", None, NOTHING),
]
OPS: Sequence[Case] = [
    ("Did nightly-build finish?", "job_status", {"job": "nightly-build"}),
    ("Run 5 replicas of checkout", "scale_service", {"service": "checkout", "replicas": 5}),
    (
        "Scale the search service up to eight replicas",
        "scale_service",
        {"service": "search", "replicas": 8},
    ),
    ("Roll payments back to v2.3.1", "rollback", {"service": "payments", "version": "v2.3.1"}),
    ("Show the last 50 log lines of auth", "tail_log", {"service": "auth", "lines": 50}),
    ("What's in the log of the gateway?", "tail_log", {"service": "gateway"}),
    ('md5 of "hello world"', "hash_text", {"text": "hello world", "algorithm": "md5"}),
    ("What is Kubernetes?", None, NOTHING),
]
ODDS: Sequence[Case] = [
    ("Roll 3 dice", "roll_dice", {"count": 3}),
    ("Throw two dice with 20 sides", "roll_dice", {"count": 2, "sides": 20}),
    (
        "How many days are there between 2026-01-05 and 2026-03-01?",
        "days_between",
        {"first": "2026-01-05", "second": "2026-03-01"},
    ),
    ("Write 'stressed' backwards", "reverse_text", {"text": "stressed"}),
    ("Is 7919 a prime number?", "is_prime", {"number": 7919}),
    ("The bill is 84.50, what's an 18 percent tip?", "tip", {"bill": 84.5, "percent": 18}),
    ("Sing me a song", None, NOTHING),
    ("What's your name?", None, NOTHING),
]
SETS: Mapping[str, tuple[Sequence[Any], Sequence[Case]]] = {
    "bank": ((account_balance, transfer_money, exchange_rate, block_card, list_transactions), BANK),
    "fitness": ((log_workout, calories, heart_rate_zone, log_weight), FIT),
    "kitchen": ((find_recipe, add_to_shopping_list, scale_recipe, oven_temperature), KITCHEN),
    "library": ((search_books, reserve_book, opening_hours, renew_loan), LIBRARY),
    "staff": ((employee_phone, request_leave, remaining_vacation, post_job), STAFF),
    "operations": ((job_status, scale_service, rollback, tail_log, hash_text), OPS),
    "odds": ((roll_dice, days_between, reverse_text, is_prime, tip), ODDS),
}
