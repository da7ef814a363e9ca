"""Unit conversions."""
from typing import Literal


def miles_to_km(miles: float) -> float:
    """Convert miles to kilometres."""
    return round(miles * 1.609344, 2)


def km_to_miles(km: float) -> float:
    """Convert kilometres to miles."""
    return round(km / 1.609344, 2)


def celsius_to_fahrenheit(celsius: float) -> float:
    """Convert a temperature from Celsius to Fahrenheit."""
    return round(celsius * 9 / 5 + 32, 1)


def fahrenheit_to_celsius(fahrenheit: float) -> float:
    """Convert a temperature from Fahrenheit to Celsius."""
    return round((fahrenheit - 32) * 5 / 9, 1)


def kg_to_pounds(kg: float) -> float:
    """Convert kilograms to pounds."""
    return round(kg * 2.20462, 2)


def convert_currency(amount: float, source: Literal["EUR", "USD", "JPY", "CHF"], target: Literal["EUR", "USD", "JPY", "CHF"]) -> str:
    """Convert an amount of money with the office's fixed rates.

    Args:
        amount: how much money
        source: currency of the amount
        target: currency wanted
    """
    rate = {"EUR": 1.0, "USD": 1.1, "JPY": 160.0, "CHF": 0.95}
    return f"{amount / rate[source] * rate[target]:.2f} {target}"


def cups_to_ml(cups: float) -> int:
    """Convert US cups to millilitres."""
    return round(cups * 236.588)


def number_to_base(number: int, base: int) -> str:
    """Write a whole number in another base.

    Args:
        number: The number to write, not negative.
        base: The base, 2 to 16.
    """
    digits = ""
    while number:
        digits = "0123456789abcdef"[number % base] + digits
        number //= base
    return digits or "0"


TOOLS = [miles_to_km, km_to_miles, celsius_to_fahrenheit, fahrenheit_to_celsius, kg_to_pounds, convert_currency, cups_to_ml, number_to_base]
