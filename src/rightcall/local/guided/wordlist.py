"""Lists of words, as they are written in the rules that go by them."""


def listed(words: str) -> tuple[str, ...]:
    """The words of a text, with nothing done to them."""
    return tuple(words.split())
