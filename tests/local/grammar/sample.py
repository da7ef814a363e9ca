"""Random sentences of a rulebook, and the judges that say whether a printed grammar takes a text."""

import random
import re
from functools import cache

from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from rightcall.local.grammar.rulebook import (
    Chars,
    ChoiceNode,
    Node,
    OtherNameNode,
    Reference,
    Repeat,
    RowNode,
    Rulebook,
    Until,
    WordNode,
)

_NEVER = 10**6


class Sampler:
    """Sentences of one rulebook. Beyond ``depth`` rules within rules, or so many rules, it heads for
    the end."""

    def __init__(self, book: Rulebook, chance: random.Random, *, depth: int = 12) -> None:
        self._rules = book.rules
        self._root = book.root
        self._chance = chance
        self._depth = depth
        self._left = 0
        self._heights = self._measured()

    def sentence(self) -> str:
        self._left = 400
        return self._write(Reference(self._root), 0)

    def _measured(self) -> dict[str, int]:
        heights = dict.fromkeys(self._rules, _NEVER)
        for _ in heights:
            found = {name: 1 + self._height(rule.node, heights) for name, rule in self._rules.items()}
            if found == heights:
                break
            heights = found
        return heights

    def _height(self, node: Node, heights: dict[str, int]) -> int:
        match node:
            case Reference(name):
                return heights[name]
            case RowNode(items):
                return max([self._height(item, heights) for item in items], default=0)
            case ChoiceNode(options):
                return min([self._height(option, heights) for option in options], default=_NEVER)
            case Repeat(item, least, _):
                return self._height(item, heights) if least else 0
            case _:
                return 0

    def _write(self, node: Node, depth: int) -> str:
        match node:
            case WordNode(text):
                return text
            case Chars(ranges):
                return self._letter(ranges)
            case Until(mark, first):
                text = self._text_before(mark)
                if text and first is not None:
                    text = self._letter(first.ranges) + text
                return text + mark
            case OtherNameNode():
                return self._other(node, depth)
            case RowNode(items):
                return "".join(self._write(item, depth) for item in items)
            case ChoiceNode(options):
                return self._write(self._option(options, depth), depth)
            case Repeat(item, least, most):
                times = self._times(item, least, most, depth)
                return "".join(self._write(item, depth) for _ in range(times))
            case Reference(name):
                self._left -= 1
                return self._write(self._rules[name].node, depth + 1)

    def _other(self, node: OtherNameNode, depth: int) -> str:
        """A name; often one that goes along with one that is taken for a while."""
        taken = self._chance.choice(node.names) if node.names else ""
        begin = taken[: self._chance.randrange(len(taken) + 1)]
        letters = [self._write(node.letter, depth) for _ in range(self._chance.randrange(4))]
        name = begin + "".join(letters)
        if node.first is not None and not begin:
            name = self._letter(node.first.ranges) + name
        return self._other(node, depth) if name in node.names else name + node.close

    def _letter(self, ranges: tuple[tuple[int, int], ...]) -> str:
        # Plain letters more often than the far ends of Unicode, which are tried as well.
        plain = [(first, last) for first, last in ranges if first < 0x80]
        first, last = self._chance.choice(plain if plain and self._chance.random() < 0.8 else ranges)
        if last >= 0x80 and first < 0x7F and self._chance.random() < 0.8:
            last = 0x7F
        edge = self._chance.random()
        return chr(first if edge < 0.1 else last if edge < 0.2 else self._chance.randint(first, last))

    def _text_before(self, mark: str) -> str:
        pieces = [mark[:size] for size in range(len(mark))] + [
            "a",
            " ",
            "\n",
            "é",
            '"',
            "{",
            "<",
            "null",
            "1",
        ]
        text = "".join(self._chance.choices(pieces, k=self._chance.randrange(4)))
        return text[: (text + mark).index(mark)]

    def _is_late(self, depth: int) -> bool:
        return depth >= self._depth or self._left < 0

    def _option(self, options: tuple[Node, ...], depth: int) -> Node:
        if not self._is_late(depth):
            return self._chance.choice(options)
        lowest = min(self._height(option, self._heights) for option in options)
        return self._chance.choice(
            [each for each in options if self._height(each, self._heights) == lowest]
        )

    def _times(self, item: Node, least: int, most: int | None, depth: int) -> int:
        if self._is_late(depth) and self._height(item, self._heights) > 0:
            return least
        top = least + 4 if most is None else min(most, least + 4)
        if most is not None and self._chance.random() < 0.1:
            top = least = most if most < 200 else top
        return self._chance.randint(least, top)


class _Bytes:
    """A vocabulary of the 256 bytes, an end, and what special tokens there are."""

    eos_token_id = 256
    bos_token_id = None

    def __init__(self, special: tuple[str, ...]) -> None:
        named = [b"<eos>", *(each.encode() for each in special)]
        self.tokens = [*[bytes([value]) for value in range(256)], *named]
        self.special_token_ids = list(range(256, len(self.tokens)))

    def __call__(self, text):
        return list(text if isinstance(text, bytes) else text.encode())


@cache
def tokenizer(special: tuple[str, ...] = ()) -> LLTokenizer:
    """llguidance's view of a vocabulary of bytes."""
    return LLTokenizer(TokenizerWrapper(_Bytes(special)))


class LarkJudge:
    """llguidance's own verdict on texts under a Lark grammar."""

    def __init__(self, text: str, special: tuple[str, ...] = ()) -> None:
        grammar = LLMatcher.grammar_from_lark(text)
        self._matcher = LLMatcher(tokenizer(special), grammar, log_level=0)
        assert not self._matcher.is_error(), f"{self._matcher.get_error()}\n{text}"

    def accepts(self, text: str) -> bool:
        """Whether this is a whole sentence."""
        return self.accepts_tokens(list(text.encode()))

    def accepts_tokens(self, tokens: list[int]) -> bool:
        """Whether these tokens are a whole sentence: bytes, and special ones from 257 on."""
        self._matcher.reset()
        return self._matcher.try_consume_tokens(tokens) == len(tokens) and self._matcher.is_accepting()

    def walk(self, chance: random.Random, most: int = 1000) -> str | None:
        """A sentence made by always choosing among the bytes that llguidance admits next; None when it
        does not come to an end."""
        self._matcher.reset()
        written = bytearray()
        while len(written) < most:
            mask = self._matcher.compute_bitmask()
            allowed = [token for token in range(257) if mask[token // 8] >> token % 8 & 1]
            assert allowed, bytes(written)
            closing = [token for token in allowed if token in {*b'"]}', _Bytes.eos_token_id}]
            plain = [token for token in allowed if token < 0x80 and token != ord("\\")] or allowed
            token = chance.choice(closing if closing and chance.random() < 0.4 else plain)
            if token == _Bytes.eos_token_id:
                return written.decode()
            written.append(token)
            assert self._matcher.consume_token(token)
        return None

    def may_begin(self, text: str) -> bool:
        """Whether a sentence may begin so."""
        tokens = list(text.encode())
        self._matcher.reset()
        return self._matcher.try_consume_tokens(tokens) == len(tokens)


def as_regex(node: Node) -> str:
    """A node without references as a regular expression of Python's."""
    match node:
        case WordNode(text):
            return re.escape(text)
        case Chars(ranges):
            spans = (f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)
            return f"[{''.join(spans)}]"
        case RowNode(items):
            return "".join(map(as_regex, items))
        case ChoiceNode(options):
            return f"(?:{'|'.join(map(as_regex, options))})" if options else "(?!)"
        case Repeat(item, least, most):
            return f"(?:{as_regex(item)}){{{least},{'' if most is None else most}}}"
        case _:
            raise AssertionError(node)
