"""Computes the allowed next tokens under a grammar, by llguidance; and detects the grammar's triggers.

To llguidance a quoted text is never a special token, even if it equals the token's text; a token is
referred to by its id (https://github.com/guidance-ai/llguidance, ``docs/syntax.md``, "Special tokens").
So a grammar's markers are replaced by their ids in the model's vocabulary.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from rightcall.core.extras import load
from rightcall.errors import UsageError
from rightcall.local.engine import Grammar

_LITERALS = re.compile(r'/(?:[^/\\\n]|\\.)+/|("(?:[^"\\\n]|\\.)*")')
_RULE = re.compile(r"^[a-z_][a-z0-9_]*(\[[^\]]*\])?\s*:")
"""A rule's name begins with a lower-case letter. A capital begins a terminal of the lexer, which has no
tokens."""


class WordWatch:
    """Finds the first of some words in text that arrives in chunks, however it is split.

    Feed it text; it returns what can no longer be part of one of the words.
    """

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = tuple(word for word in words if word)
        self._held = ""
        self.met = ""
        """The word that was found. The one that begins first counts, then the longest."""
        self.rest = ""
        """The text from that word's first character on."""

    def feed(self, text: str) -> str:
        """The text before the word, as far as it is certain."""
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
        """The text that was held back and is no word."""
        held, self._held = self._held, ""
        return held


class Constraint:
    """Gets every token, in order, and computes which ones may follow.

    ``tokenizer`` is llguidance's; ``special`` has the ids of the grammar's markers that are single
    special tokens.
    """

    def __init__(self, tokenizer: Any, grammar: Grammar, special: dict[str, int]) -> None:
        if grammar.syntax != "lark":
            raise UsageError(f"llguidance reads grammars in lark, and this one is in {grammar.syntax}")
        matcher: Any = load("llguidance").LLMatcher
        text = with_special_tokens(grammar.text, special)
        self._tokenizer = tokenizer
        self._matcher = matcher(tokenizer, matcher.grammar_from_lark(text))
        if self._matcher.is_error():
            raise UsageError(f"the grammar cannot be used: {self._matcher.get_error()}")
        self._waiting = WordWatch(grammar.triggers) if grammar.triggers else None
        self._recent: list[tuple[int, str]] = []
        """The last tokens, as far back as a trigger may have begun."""
        self._reach = max(map(len, grammar.triggers), default=0)

    def accept(self, token: int, text: str) -> None:
        """Add a sampled token, and the text that it completes."""
        if self._waiting is None:
            self._matcher.consume_token(token)
            return
        self._recent.append((token, text))
        self._waiting.feed(text)
        if self._waiting.met:
            self._matcher.consume_tokens(self._begun(self._waiting.rest))
            self._waiting = None
            self._recent.clear()
        elif len(self._recent) > 2 * self._reach:
            del self._recent[: -self._reach]

    def mask(self) -> bytes | None:
        """A bitmask of the tokens that may come next; None while all may."""
        if self._waiting is not None:
            return None
        mask: bytes = self._matcher.compute_bitmask()
        return mask

    def _begun(self, text: str) -> list[int]:
        """The tokens of the trigger. Its own, if it began with one: a special token has no other."""
        tokens: list[int] = []
        left = len(text)
        for token, piece in reversed(self._recent):
            if left <= 0:
                break
            tokens.append(token)
            left -= len(piece)
        if left == 0:
            return tokens[::-1]
        again: list[int] = self._tokenizer.tokenize_bytes(text.encode())
        return again


def with_special_tokens(text: str, tokens: Mapping[str, int]) -> str:
    """The grammar, with quoted markers replaced by their tokens."""
    if not tokens:
        return text
    longest_first = sorted(tokens, key=len, reverse=True)
    marker = re.compile(f"({'|'.join(re.escape(each) for each in longest_first)})")

    def replaced(match: re.Match[str]) -> str:
        literal = match.group(1)
        if literal is None:
            return match.group()
        parts = [part for part in marker.split(json.loads(literal)) if part]
        if not any(part in tokens for part in parts):
            return literal
        named = [f"<[{tokens[part]}]>" if part in tokens else json.dumps(part) for part in parts]
        return named[0] if len(named) == 1 else f"({' '.join(named)})"

    lines, in_rule = [], False
    for line in text.split("\n"):
        if line and not line[0].isspace() and not line.startswith("|"):
            in_rule = _RULE.match(line) is not None
        lines.append(_LITERALS.sub(replaced, line) if in_rule else line)
    return "\n".join(lines)


def _overlap(text: str, word: str) -> int:
    """How many characters at the end of the text are a prefix of the word."""
    longest = min(len(text), len(word) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(word[:size])), 0)
