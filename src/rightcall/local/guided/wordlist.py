"""Splits the word lists of the rules."""


def listed(words: str) -> tuple[str, ...]:
    """The words of a text, unchanged."""
    return tuple(words.split())
