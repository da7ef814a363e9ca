"""A grammar and the tokens so far into the tokens that may come next, by llguidance."""

from importlib import import_module
from typing import Any

from rightcall.errors import UsageError
from rightcall.local.engine import Grammar
from rightcall.local.engines.lark_special import with_special_tokens
from rightcall.local.engines.watch import Watch


class Constraint:
    """Told of every token, in order; says which ones may follow.

    ``tokenizer`` is llguidance's; ``special`` has the numbers of the grammar's markers that are single
    special tokens.
    """

    def __init__(self, tokenizer: Any, grammar: Grammar, special: dict[str, int]) -> None:
        if grammar.syntax != "lark":
            raise UsageError(f"llguidance reads grammars in lark, and this one is in {grammar.syntax}")
        matcher: Any = import_module("llguidance").LLMatcher
        text = with_special_tokens(grammar.text, special)
        self._tokenizer = tokenizer
        self._matcher = matcher(tokenizer, matcher.grammar_from_lark(text))
        if self._matcher.is_error():
            raise UsageError(f"the grammar cannot be used: {self._matcher.get_error()}")
        self._waiting = Watch(grammar.triggers) if grammar.triggers else None
        self._recent: list[tuple[int, str]] = []
        """The last tokens, as far as a trigger may have begun in them."""
        self._reach = max(map(len, grammar.triggers), default=0)

    def accept(self, token: int, text: str) -> None:
        """A token was chosen, and this is the text it completes."""
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
        """A bit for each token that may come next; None while anything may."""
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
