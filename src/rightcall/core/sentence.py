"""Sentences about arguments, for a model to read: the same whichever validator found them wrong."""

from difflib import get_close_matches

from rightcall.core.jsontext import kind_of, shorten

MAX_PROBLEMS = 50
"""How many problems are listed; a model that made more needs no longer list."""

_ARTICLES = {"integer": "an integer", "array": "an array", "object": "an object", "null": "null"}


def unexpected(name: str, known: list[str]) -> str:
    """The sentence for a member that the schema does not have."""
    if nearest := get_close_matches(name, known, n=1):
        return f"is not a parameter; did you mean {shorten(nearest[0])}?"
    if not known:
        return "is not a parameter; leave it out"
    return f"is not a parameter; there is {', '.join(map(shorten, known[:20]))}"


def must_be(types: list[str], value: object) -> str:
    """The sentence for a value of the wrong type."""
    last_null = sorted(types, key=lambda kind: kind == "null")
    wanted = list(dict.fromkeys(_ARTICLES.get(kind, f"a {kind}") for kind in last_null))
    return f"must be {' or '.join(wanted)}, not {described(value)}"


def described(value: object) -> str:
    """A value for use in a sentence: its type, and itself where that adds something."""
    if value is None or value in ([], {}):
        return kind_of(value).replace("an ", "an empty ")
    return f"{kind_of(value)} ({shorten(value)})"
