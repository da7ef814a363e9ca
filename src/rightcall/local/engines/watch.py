"""Text that comes in pieces into text up to the first of some words, wherever the pieces are cut."""


class Watch:
    """Feed it text; it gives back what can no longer be part of a word that is waited for."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = tuple(word for word in words if word)
        self._held = ""
        self.met = ""
        """The word that came, once it has. The one that begins first counts, then the longest."""
        self.rest = ""
        """The text from that word's first character on."""

    def feed(self, text: str) -> str:
        """The text before the word, as far as it is sure."""
        if self.met:
            self.rest += text
            return ""
        text = self._held + text
        found = [(place, -len(word), word) for word in self._words if (place := text.find(word)) >= 0]
        if found:
            place, _, self.met = min(found)
            self._held, self.rest = "", text[place:]
            return text[:place]
        keep = max((_overlap(text, word) for word in self._words), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """What was held back and turned out to be nothing."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, word: str) -> int:
    """How many characters at the end of the text begin the word."""
    longest = min(len(text), len(word) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(word[:size])), 0)
