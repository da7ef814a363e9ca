"""How values are written: JSON, Python literals, or text between marks; and strings in each."""

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from rightcall.local.grammar.rulebook import (
    ANY_CHAR,
    NOTHING,
    Chars,
    GrammarRules,
    Node,
    OtherNameNode,
    Until,
    chars,
    choice,
    in_both,
    optional,
    other_than,
    repeat,
    row,
    word,
)

_HEX = "0123456789abcdefABCDEF"
SPELLING = "a value that is listed, or text by a pattern, is written in one way"


class Notation(Struct, frozen=True, kw_only=True, cache_hash=True):
    """How scalars and keys are written. Rows and objects are in brackets and braces in all of them."""

    name: str
    open: str = '"'
    """The text before a string."""
    close: str = '"'
    """The text after a string."""
    escapes: tuple[tuple[str, str], ...] = ()
    """Characters that must be escaped, and how: a backslash and one more."""
    numbered: str = ""
    """How any other control character is written, by its code."""
    others: Node = NOTHING
    """Other spellings of a character, which a free string may use."""
    mark: str = ""
    """Text that must not occur inside of a string, since it ends more than the string."""
    is_raw: bool = False
    """Whether characters are never escaped, so that a string ends at ``mark``, the end of ``close``."""
    first: Node = ANY_CHAR
    """The first characters that a raw string may have."""
    has_bare_keys: bool = False
    """Whether keys are written without quotes."""
    true: tuple[str, ...] = ("true",)
    false: tuple[str, ...] = ("false",)
    null: tuple[str, ...] = ("null",)
    """The keywords for booleans and null; any of several."""

    @property
    def plain(self) -> Node:
        """The characters that are written unescaped anywhere in a string."""
        # The first character of the mark could begin the mark.
        return _plain(self.mark[:1], is_raw=self.is_raw)

    @property
    def letter(self) -> Node:
        """Any one character, in any way."""
        return _letter(self)

    @property
    def escaped_letter(self) -> Node:
        """Any character that cannot stand for itself, or any in another way."""
        letters = [text[1] for _, text in self.escapes]
        return choice(row(word("\\"), chars(*letters)) if letters else NOTHING, self.others)

    def one_of(self, letters: Chars) -> Node:
        """One of these characters, as it is written."""
        return _one_of(self, letters)

    def spell(self, text: str) -> Node:
        """Exactly this string, with its delimiters; nothing if it cannot be written."""
        is_plain = self.is_raw or (text.isprintable() and '"' not in text and "\\" not in text)
        body = text
        if not is_plain:
            body = "".join(map(self._escape_letter, text))
        written = self.open + body + self.close
        if self.mark:
            at = written.find(self.mark, len(self.open))
        else:
            at = -1
        if at in {-1, len(written) - len(self.mark)}:
            return word(written)
        return NOTHING

    def _escape_letter(self, letter: str) -> str:
        known = dict(self.escapes)
        if letter < " " and letter not in known and not self.is_raw:
            return self.numbered.format(ord(letter))
        return known.get(letter, letter)

    def string(self, body: Node | None = None) -> Node:
        """A string with that body, or any."""
        if body is not None:
            return row(word(self.open), body, word(self.close))
        if self.is_raw:
            if self.first == ANY_CHAR:
                return row(word(self.open), Until(self.mark))
            first = in_both(self.first, self.plain)
            return row(
                word(self.open), Until(self.mark, first if isinstance(first, Chars) else Chars(()))
            )
        inside = repeat(self.letter)
        if self.mark:
            # The first character of the mark may occur anywhere but before the mark's rest.
            begin = chars(self.mark[0])
            onward = chars(self.mark[1])
            after = choice(other_than(onward, self.plain), self.escaped_letter)
            inside = row(repeat(choice(self.letter, row(repeat(begin, 1), after))), repeat(begin))
        return row(word(self.open), inside, word(self.close))


@lru_cache(maxsize=64)
def _letter(notation: Notation) -> Node:
    return choice(notation.plain, notation.escaped_letter)


@lru_cache(maxsize=1024)
def _one_of(notation: Notation, letters: Chars) -> Node:
    kept = in_both(notation.plain, letters)
    if isinstance(kept, Chars) and kept.ranges[0][0] == kept.ranges[-1][1]:
        kept = word(chr(kept.ranges[0][0]))
    written = []
    for letter, text in notation.escapes:
        if any(first <= ord(letter) <= last for first, last in letters.ranges):
            written.append(word(text))
    return choice(kept, *written)


@lru_cache(maxsize=64)
def _plain(begin: str, *, is_raw: bool) -> Node:
    return other_than(chars(begin) if is_raw else chars(begin, '"\\', (0, 0x1F)), ANY_CHAR)


def _unicode_escapes() -> Node:
    """Four hexadecimal digits for a character; surrogates only in pairs."""
    digit = chars(_HEX)
    plain = choice(
        row(chars("0123456789abcefABCEF"), repeat(digit, 3, 3)),
        row(chars("dD"), chars("01234567"), repeat(digit, 2, 2)),
    )
    high = row(chars("dD"), chars("89abAB"), repeat(digit, 2, 2))
    low = row(chars("dD"), chars("cdefCDEF"), repeat(digit, 2, 2))
    return choice(row(word("\\u"), plain), row(word("\\u"), high, word("\\u"), low))


_ESCAPES = (('"', '\\"'), ("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))

JSON = Notation(
    name="json",
    escapes=(*_ESCAPES, ("\b", "\\b"), ("\f", "\\f")),
    numbered="\\u{:04x}",
    others=choice(word("\\/"), _unicode_escapes()),
)

PYTHON = Notation(
    name="python",
    escapes=_ESCAPES,
    numbered="\\x{:02x}",
    # Models mix the two languages' keywords, and readers accept both.
    true=("True", "true"),
    false=("False", "false"),
    null=("None", "null"),
)


def json_without(mark: str) -> Notation:
    """JSON in which no string contains a mark."""
    return replace(JSON, name=f"json without {mark}", mark=mark)


def between(mark: str) -> Notation:
    """Strings between two of the same mark, and keys without quotes."""
    return Notation(
        name=f"between {mark}", open=mark, close=mark, mark=mark, is_raw=True, has_bare_keys=True
    )


def up_to(mark: str, *, before: str = "", line: str = "", first: Node = ANY_CHAR) -> Notation:
    """Strings that end at a mark, which may have a line break before it that is not part of them."""
    return Notation(
        name=f"up to {mark}", open=before, close=line + mark, mark=mark, is_raw=True, first=first
    )


def free_name(taken: tuple[str, ...], more: str = "") -> Node:
    """Any name of letters, digits and underscores, except those that are taken."""
    first = chars((0x41, 0x5A), (0x61, 0x7A), "_")
    letter = chars((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A), "_", more)
    assert isinstance(first, Chars)
    # A taken name that is not of these letters, such as one with a space, cannot be written anyway. The
    # printers follow each taken name letter by letter, and would admit its letters in other names.
    form = re.compile(rf"[A-Za-z_][A-Za-z0-9_{re.escape(more)}]*")
    excluded = [name for name in taken if form.fullmatch(name)]
    return OtherNameNode(tuple(sorted(excluded)), letter, first)


def comma(rules: GrammarRules) -> Node:
    """The separator between members and items."""
    return rules.define("comma", row(word(","), optional(word(" "))), token=True)


def colon(rules: GrammarRules) -> Node:
    """The separator between a key and its value."""
    return rules.define("colon", row(word(":"), optional(word(" "))), token=True)


def bracket_items(items: Sequence[Node], separator: Node, left: str, right: str) -> Node:
    """Items between brackets, all of them."""
    parts: list[Node] = []
    for index, item in enumerate(items):
        parts += [separator, item] if index else [item]
    return row(word(left), *parts, word(right))
