"""What the user and the developer typed, in a form in which a value is found in constant time.

Nothing here reads a language: a value counts if it was typed as it is, whole, in any spelling of an
address, an account, a date or a number. What a sentence says of it does not count.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from rightcall.core.decision import Origin
from rightcall.core.facts import Kind
from rightcall.trust.characters import SYLLABLE, compose, is_plain, plain
from rightcall.trust.dates import DATE, without_year
from rightcall.trust.spelling import (
    apart,
    blocks,
    grouped,
    is_host,
    listed_parts,
    looks_like,
    matches,
    parents,
    scan,
    unmarked,
    unnumbered,
)

_GAP = "\x1f"
_LONGEST = 20_000
"""Limit of a value that can be typed, in characters."""
_MOST_PARTS = 200
_SHORT = 200
_MOST_KNOWN = 2000
_LONGEST_COUNT = 4
"""Digits of a number that may be a count or an amount, at most."""
_QUOTES = "'\"`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d"
_MARKED = re.compile(rf"[#\u2116]\s?(\d+)\b|[{_QUOTES}](\d+)[{_QUOTES}]")
"""A number that is marked as the name of something: ``#13``, ``'13'``."""
_NUMBERED: frozenset[Kind | None] = frozenset({"record", "account", "address", "person", "channel"})
_WHOM: frozenset[Kind | None] = frozenset({"address", "person", "channel"})
_EXACT: frozenset[Kind | None] = frozenset({"record", "path", None})
"""Kinds whose values are compared letter by letter: two that differ in case are two."""
_IDS: frozenset[Kind | None] = frozenset({"record", "path", "account"})
_LETTER = rf"[^\W{SYLLABLE}]"
_ENDED = re.compile(r"[^\s]*\w\.[A-Za-z][A-Za-z0-9]{0,4}")
"""A name with its ending: ``report.pdf``."""
_FEWEST_OF_PHONE = 7
_FEWEST_WORDS = 2
_DATE_OR_TIME = re.compile(rf"{DATE}|\d+(?::\d+)+", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?<![\w#.,])\d{1,3}(?: \d{3})+(?![\w.]*\d)"
    r"|(?<![\w#])(?<![\w][.,:/-])\d+(?:[.,'\u2019\u066b\u066c\u00a0\u202f]\d+)*(?![:/]\d)(?!\w*\d)"
)
_MARKS = re.compile(r"[.,'\u2019\u066b\u066c\u00a0\u202f ]")
_THOUSANDS = 3
CURRENCY_SIGNS = {
    "\u20ac": "eur",
    "$": "usd",
    "\u00a3": "gbp",
    "\u00a5": "jpy",
    "\u20b9": "inr",
    "\u20a9": "krw",
    "\u20bf": "btc",
}


class TypedText(Struct, frozen=True):
    """One text, read once."""

    tokens: frozenset[str]
    runs: tuple[str, ...]
    """Its tokens in order, joined; in each of its readings."""
    accounts: frozenset[str]
    identifiers: frozenset[str]
    """The numbers that are marked as names."""
    numbers: tuple[float, ...]
    """Every number that may be an amount, as often as it stands there."""
    plain: str
    exact: str
    """As it was typed."""


class TypedValues:
    """What the user, the developer and the operator wrote. ``above`` is the same for the outer run."""

    def __init__(self, allowed: Sequence[str] = (), above: "TypedValues | None" = None) -> None:
        self._allowed = tuple(allowed)
        self._texts: list[tuple[Origin, TypedText]] = []
        self._tokens: dict[str, Origin] = {}
        self._known: dict[tuple[str, Kind | None], Origin | None] = {}
        """What was looked for before: a run names the same targets again and again."""
        self._exact: dict[tuple[str, Kind | None], bool] = {}
        """The same, letter by letter."""
        self._names: dict[tuple[str, Kind | None], bool] = {}
        self.numbers: Counter[float] = Counter()
        """How often each number was typed."""
        self._above = above
        if above is not None:
            self.numbers.update(above.numbers)

    def add(self, text: str, origin: Origin) -> None:
        """Add a text of the user or of the developer."""
        if not text:
            return
        read = read_typed(text)
        self._known.clear()
        self._exact.clear()
        self._names.clear()
        self._texts.append((origin, read))
        for token in read.tokens:
            self._tokens.setdefault(token, origin)
        self.numbers.update(read.numbers)

    def origin_of(self, text: str, kind: Kind | None = None) -> Origin | None:
        """Who typed a value: a list in one text was typed if each of its parts was. None: nobody."""
        if len(text) > _LONGEST:
            return None
        if len(text) > _SHORT:
            return self._find_listed(text, kind)
        known = self._known
        if (text, kind) in known:
            return known[text, kind]
        if len(known) >= _MOST_KNOWN:
            known.clear()
        found = known[text, kind] = self._find_listed(text, kind)
        return found

    def _find_listed(self, text: str, kind: Kind | None) -> Origin | None:
        found = self._find(text, kind)
        if found is not None:
            return found
        parts = listed_parts(text)
        if not 1 < len(parts) <= _MOST_PARTS:
            return None
        for part in parts:
            found = self._find(part, kind)
            if found is None:
                return None
        return found

    def is_typed(self, text: str, kind: Kind | None) -> bool:
        """Whether somebody typed a value, as this kind."""
        if kind == "amount":
            number = number_of(text)
            return number is not None and number in self.numbers
        return self.origin_of(text, kind) is not None

    def is_exact(self, text: str, kind: Kind | None) -> bool:
        """Whether a value that was typed was typed so: what has spellings may have another.

        An identifier and a path count letter by letter. No value differs in what nobody sees.
        """
        if len(text) > _SHORT:
            return self._is_exact(text, kind)
        found = self._exact.get((text, kind))
        if found is None:
            if len(self._exact) >= _MOST_KNOWN:
                self._exact.clear()
            found = self._exact[text, kind] = self._is_exact(text, kind)
        return found

    def _is_exact(self, text: str, kind: Kind | None) -> bool:
        if self._stands(text):
            return True
        if not is_plain(text):
            return False
        if kind not in _EXACT or any(matches(pattern, text) for pattern in self._allowed):
            return True
        parts = listed_parts(text)
        if len(parts) > 1:
            return all(self.is_exact(part, kind) for part in parts)
        if kind is None:
            read = scan(plain(text))
            if len(read) == 1:
                form, token = read[0]
                if form == "host":
                    return is_host(token)
                return form != "word" or number_of(token) is not None
        return False

    def _stands(self, text: str) -> bool:
        """Whether a value stands in a typed text as it is, and is not a part of a longer one."""
        sought = compose(text)
        pattern: re.Pattern[str] | None = None
        for each in self._all():
            if sought not in each.exact:
                continue
            if pattern is None:
                pattern = _by_itself(re.escape(sought))
            if pattern.search(each.exact):
                return True
        return False

    def names_one(self, text: str, kind: Kind | None) -> bool:
        """Whether somebody typed a value as the name of something, rather than as a word of a sentence.

        A word is a name if it stands in quotes, after ``#`` or ``@``, or alone in the prompt; an
        identifier also if it holds a digit, a file's name with its ending. A name of several words
        counts where it begins and ends as names do in that script, with no small letter.
        """
        found = self._names.get((text, kind))
        if found is None:
            if len(self._names) >= _MOST_KNOWN:
                self._names.clear()
            found = self._names[text, kind] = self._names_one(text, kind)
        return found

    def _names_one(self, text: str, kind: Kind | None) -> bool:
        if self.origin_of(text, kind) is None:
            return False
        if kind in ("address", "account") and looks_like(plain(text)) is not None:
            return True
        digits = sum(map(str.isdigit, text))
        if kind == "address" and digits >= _FEWEST_OF_PHONE:
            return True
        if not text.strip() or not is_plain(text):
            return False
        sought = compose(text)
        is_name = _ENDED.fullmatch(text) is not None or (kind in _IDS and digits > 0)
        words = text.split()
        if len(words) >= _FEWEST_WORDS:
            is_name = is_name or not (words[0][0].islower() or words[-1][0].islower())
        if is_name and self._stands(text):
            return True
        marked = re.compile(
            rf"[{_QUOTES}]{re.escape(sought)}[{_QUOTES}]|(?<!\w)[#@]{re.escape(sought)}(?!\w)"
        )
        return any(
            each.exact.strip() == sought or (sought in each.exact and marked.search(each.exact))
            for each in self._all()
        )

    def has_bare_number(self, text: str) -> bool:
        """Whether a value was typed, but as a number that may as well be an amount or a count."""
        return text.isdigit() and self.origin_of(text) is not None

    def is_quoted(self, text: str) -> bool:
        """Whether a value was typed between quotation marks."""
        quoted = re.compile(rf"[{_QUOTES}]{re.escape(plain(text))}[{_QUOTES}]")
        return any(quoted.search(each.plain) for each in self._all())

    def has_word(self, token: str) -> bool:
        """Whether a word was typed, in whatever text."""
        if token in self._tokens:
            return True
        return self._above is not None and self._above.has_word(token)

    def is_currency(self, code: str) -> bool:
        """Whether a currency was typed: its code, or its sign."""
        if self.origin_of(code) is not None:
            return True
        for sign, name in CURRENCY_SIGNS.items():
            if name == code.strip().casefold() and any(sign in each.plain for each in self._all()):
                return True
        return False

    def _all(self) -> Iterator[TypedText]:
        for _, each in self._texts:
            yield each
        if self._above is not None:
            yield from self._above._all()  # noqa: SLF001

    def _find(self, text: str, kind: Kind | None) -> Origin | None:
        text = plain(text).strip()
        read = scan(text)
        found = [token for _, token in read]
        # Mere wildcards and dots may mean "all".
        if not any(map(str.isalnum, "".join(found))):
            return None
        said: Origin | None
        if kind == "date" or (len(found) == 1 and read[0][0] == "date"):
            said = self._find_date(found)
        elif len(found) == 1:
            said = self._find_token(text, found[0], kind)
        else:
            said = self._find_run(found)
        if said is None:
            said = self._find_account(text)
        if said is None and self._above is not None:
            said = self._above._find(text, kind)  # noqa: SLF001
        if said is None:
            for pattern in self._allowed:
                if matches(pattern, text):
                    return "operator"
        return said

    def _find_token(self, text: str, token: str, kind: Kind | None) -> Origin | None:
        said = self._tokens.get(token)
        if said is None:
            return None
        if kind in _NUMBERED and token.isdigit() and len(token) <= _LONGEST_COUNT:
            # It may be an amount or a count, unless it is marked as a name.
            for origin, each in self._texts:
                if token in each.identifiers:
                    return origin
            return None
        if kind in _WHOM and text.isalpha():
            # A name that is also a word counts only as it is written.
            name = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
            for origin, each in self._texts:
                if not text.isascii() or name.search(each.plain):
                    return origin
            return None
        return said

    def _find_run(self, found: list[str]) -> Origin | None:
        if any(token not in self._tokens for token in found):
            return None
        sought = f"{_GAP}{_GAP.join(found)}{_GAP}"
        for origin, each in self._texts:
            for run in each.runs:
                if sought in run:
                    return origin
        return None

    def _find_date(self, found: list[str]) -> Origin | None:
        said: Origin | None = None
        for token in found:
            said = self._tokens.get(token)
            if said is None and token[:4].isdigit() and token[4:5] == "-":
                said = self._tokens.get(without_year(token))
            if said is None:
                return None
        return said

    def _find_account(self, text: str) -> Origin | None:
        groups = list(grouped(text))
        if len(groups) != 1 or len(groups[0]) < len(re.sub(r"[\s().+-]", "", text)):
            return None
        for origin, each in self._texts:
            if groups[0] in each.accounts:
                return origin
        return None


def _by_itself(pattern: str) -> re.Pattern[str]:
    """A pattern that matches no part of a longer word, path or address."""
    before = rf"(?<!{_LETTER})(?<![/\\])(?<!{_LETTER}[-.+%~@])"
    return re.compile(rf"{before}{pattern}(?![-.+%~@/\\]*{_LETTER})")


def read_typed(text: str) -> TypedText:
    """Read a typed text; short ones are read once in a process."""
    if len(text) <= _LONGEST:
        return _read_again(text)
    return _read(text)


def _read(text: str) -> TypedText:
    told = unmarked(plain(text))
    listed = unnumbered(told)
    readings = dict.fromkeys((listed, apart(listed)))
    tokens = set[str]()
    runs = []
    for each in readings:
        read = scan(each)
        found = [token for _, token in read]
        runs.append(f"{_GAP}{_GAP.join(found)}{_GAP}")
        tokens.update(found)
        for kind, token in read:
            if kind in ("link", "host"):
                # To name a page is to name its site.
                tokens.update(parents(token))
    identifiers = set()
    for marked in _MARKED.finditer(text):
        identifiers.add(marked[1] or marked[2])
    return TypedText(
        tokens=frozenset(tokens),
        runs=tuple(runs),
        accounts=frozenset(grouped(told)),
        identifiers=frozenset(identifiers),
        numbers=tuple(_numbers_in(listed)),
        plain=told,
        exact=compose(text),
    )


_read_again = lru_cache(maxsize=1024)(_read)


def _numbers_in(text: str) -> Iterator[float]:
    """Every number that may be an amount: none that is part of a day, a time or an address."""
    for block in blocks(text):
        if not any(map(str.isdigit, block)):
            continue
        for found in _NUMBER.finditer(_DATE_OR_TIME.sub(" ", block)):
            yield from readings_of(found[0])
            if " " in found[0]:
                # They may as well be several numbers.
                yield from map(float, found[0].split())


def readings_of(digits: str) -> set[float]:
    """The numbers that digits may mean: ``1.000`` is one, or a thousand."""
    marks = _MARKS.findall(digits)
    if not marks:
        return {float(digits)}
    whole = _MARKS.sub("", digits)
    last = marks[-1]
    after = len(digits) - digits.rindex(last) - 1
    decimal = float(f"{whole[: len(whole) - after]}.{whole[len(whole) - after :]}")
    if last in "'\u2019\u00a0\u202f\u066c " or (len(marks) > 1 and len(set(marks)) == 1):
        return {float(whole)}
    if len(marks) > 1 or after != _THOUSANDS:
        return {decimal}
    return {decimal, float(whole)}


def number_of(text: str) -> float | None:
    """A number in an argument; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None
