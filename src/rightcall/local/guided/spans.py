"""The spans of a question that a string can be copied from, and the words around each.

Values that are recognised by their form are spans, and so are the runs of words between function words,
without the words of the tool itself: "sushi" of "the closest sushi restaurant in Boston", for a tool
that finds the closest restaurant.
"""

import re
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonValue
from rightcall.declare.search_words import stem, terms
from rightcall.local.guided.function_words import HOLDING, VAGUE, is_finite, is_function_word
from rightcall.local.guided.kin import implied_by, is_verb
from rightcall.local.guided.units import currency, measure
from rightcall.local.guided.values import Kind, Value, values_in
from rightcall.local.guided.wordlist import listed

SpanKind: TypeAlias = Kind | Literal["phrase", "proper", "rest", "enum"]
"""Proper: a phrase that begins with a name, as "Amazon rainforest"."""

_TOKEN = re.compile(r"[^\W_](?:[\w'\u2019&-]*\w)?|[^\w\s]")
_ARTICLES = frozenset(listed("a an the my our his her their your some any this that these those its"))
_WHO = frozenset(listed("i we you they he she it"))
_BEHIND_VERBS = frozenset(listed("for in at on from to with by per if when as each"))
_HEADS = frozenset(listed("room rooms pool lot machine list space"))
"""Words that are only half of a name after a word in -ing."""
_GOING = frozenset(listed("go fly drive travel walk ride sail run send ship move navigate talk write"))
_WISHES = frozenset(listed("able going have how like love need plan try trying want wanted wish"))
"""Words before the "to" of an action."""
_CALLED = frozenset(listed("called named titled"))
_REST = re.compile(
    r"(?:\b(?:saying|that\ says|says|say|reading|telling\ \w+(?:\ that)?|to\ remember|note\ that"
    r"|reminder\ that"
    r"|reminds?\ me\ (?:to|that|about)|reminder\ (?:to|about|for)|to\ say"
    r"|(?:with|as)\ the\ (?:text|message|content|body|note)"
    r"|tell\ \w+\ that|tell\ (?!me\b|us\b)\w+|know\ that"
    r"|that|about|to\ do|todo(?!\ lists?\b|\ \d)|translate)\b:?|:)"
    r"\s+(?=\S)",
    re.IGNORECASE | re.VERBOSE,
)
_STREET = re.compile(r"\b\d{1,4}[a-z]?(?:\s+[A-Z\u00c0-\u00de][\w'\u2019-]+)+")
_IN_TOWN = re.compile(
    rf"{_STREET.pattern}(?:,\s[A-Z\u00c0-\u00de][\w.'\u2019-]*\w(?:\s[A-Z\u00c0-\u00de]\w+)*)*"
)
_GROUPED = re.compile(
    r"(?<![\w.,])(?=[A-Z ]{0,35}\d)(?![AI] )[A-Z\d]{1,8}(?: [A-Z\d]{1,8}){1,3}(?![\w.,]\w)(?!\w)"
)
_SAYS_CODE = frozenset(listed("id uuid sku isbn vin pin no nr am pm"))
_PHONE = 7
"""The fewest digits of a number that is written in groups."""
_STATES = re.compile(
    r"(?:the|an?|my|our|his|her|their|this|that|there|it|we|he|she|they|some(?:body|one)|i)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(r"\?|\b(?:please|can|could|would|will|want|need|like)\b", re.IGNORECASE)
_TELLING = 2
"""The fewest words of a statement that say something."""
_SENTENCE = re.compile(r"[.?!](?=\s|$)|;")
_STARTS = re.compile(r"(?:^|[.?!]\s+)$")


class Span(Struct, frozen=True):
    """A piece of a question, and its value as an argument."""

    kind: SpanKind
    start: int
    end: int
    plain: JsonValue
    unit: str = ""
    text: str = ""
    """A value recognised by its form, as it was written: 00123."""
    is_attached: bool = False
    """Whether a word of the tool's own follows directly: bedroom lights."""

    def overlaps(self, other: "Span") -> bool:
        """Whether two spans overlap."""
        return self.start < other.end and other.start < self.end


class Asked:
    """A question as words and spans, for one tool after another."""

    def __init__(self, question: str) -> None:
        self.text = question
        self.values = values_in(question)
        self.tokens = [(found.start(), found.end(), found[0]) for found in _TOKEN.finditer(question)]

    @cached_property
    def stems(self) -> frozenset[str]:
        """The words, normalised for comparison."""
        return frozenset(terms(self.text, empty=True))

    @cached_property
    def bare(self) -> str:
        """The question without values that look like words: a path, an address, a code, a quote."""
        text = self.text
        for value in self.values:
            if value.kind in {"email", "url", "path", "quote"}:
                text = text[: value.start] + " " * (value.end - value.start) + text[value.end :]
        return text

    @cached_property
    def meant(self) -> tuple[str, ...]:
        """The stems of the meaningful words, in order, each once."""
        # These mean nothing to a search, but something here.
        also = [stem(word) for word in ("where", "off") if word in self.words]
        return tuple(dict.fromkeys([*terms(self.bare), *also]))

    @cached_property
    def sentences(self) -> tuple[frozenset[str], ...]:
        """The stems, sentence by sentence, if there are several."""
        found = [frozenset(terms(each)) for each in _SENTENCE.split(self.bare) if each.strip()]
        return tuple(found) if len(found) > 1 else ()

    @cached_property
    def implied(self) -> frozenset[str]:
        """The stems of the phrases."""
        return implied_by(self.bare)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words, unchanged."""
        return frozenset(word.lower() for _, _, word in self.tokens)

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The values that are recognised by their form."""
        return tuple(map(_span, self.values))

    def before(self, start: int, most: int = 4) -> list[str]:
        """The words before a position, nearest first, without articles, up to the start of the clause.

        A number ends them, and the word after the number belongs to it.
        """
        words: list[str] = []
        for _, end, word in reversed(self.tokens):
            if end > start or (word.lower() in _ARTICLES and word.lower() != "that"):
                continue
            if not word[0].isalnum():
                if word in {"=", ":", "$", "#", "(", '"', "'", "\u201c"}:
                    continue
                break
            if word[0].isdigit() and words:
                words.pop()
            words.append(word.lower())
            if word[0].isdigit() or len(words) == most:
                break
        return words

    def behind(self, end: int, most: int = 2) -> list[str]:
        """The words after a position, up to the end of the clause."""
        words: list[str] = []
        for start, _, word in self.tokens:
            if start < end:
                continue
            if not word[0].isalnum():
                if word in {'"', "'", ")", "\u201d"}:
                    continue
                break
            words.append(word.lower())
            if len(words) == most:
                break
        return words

    def run_of(self, span: Span) -> list[Span]:
        """The numbers adjacent to one, joined by commas and "and"."""
        runs: list[list[Span]] = [[]]
        for each in self.spans:
            between = self.text[runs[-1][-1].end : each.start] if runs[-1] else ""
            if each.kind == "number" and re.fullmatch(r"\s*\w{0,6}\s*(?:,|and|,\s*and)?\s*\$?", between):
                runs[-1].append(each)
            else:
                runs.append([each] if each.kind == "number" else [])
        return next((run for run in runs if span in run), [])

    def spans_for(self, own: Collection[str]) -> Iterator[Span]:
        """The spans that a tool's string can be copied from, given the stems of its own words."""
        names = [each for each in self.values if each.kind == "name"]
        for value in self.values:
            if value.kind == "name":
                yield from self._names(value, own)
            elif value.kind != "numbers":
                yield _span(value)
                if value.kind == "date" and value.text[0].isupper() and value.text.isalpha():
                    # May is a month and a person; Yesterday is a song.
                    yield Span("name", value.start, value.end, value.plain)
                    yield from self._begun(value)
        for span in self._phrases(own):
            # Part of a name is not a name of its own: The Left Hand of Darkness.
            if not any(each.start <= span.start and span.end < each.end for each in names) and not any(
                each.start < span.start and span.end <= each.end for each in names
            ):
                yield span

    def addresses(self, *, with_town: bool) -> Iterator[Span]:
        """A house number and its street, and what it is in: 14 Mill Lane, Bath."""
        for found in (_IN_TOWN if with_town else _STREET).finditer(self.text):
            yield from self._joined("name", found)

    def codes(self) -> Iterator[Span]:
        """A code or number in groups: KX19 PLM, 0612 334 908."""
        for found in _GROUPED.finditer(self.text):
            groups = found[0].split()
            digits = "".join(groups)
            is_number = digits.isdigit() and len(digits) >= _PHONE
            is_code = not digits.isdigit() and not any(map(_is_no_group, groups[:2]))
            if is_number or is_code:
                yield from self._joined("code", found)

    def _joined(self, kind: SpanKind, found: re.Match[str]) -> Iterator[Span]:
        """What consists of several values, unless one of them shows by its form what it is."""
        span = Span(kind, found.start(), found.end(), found[0])
        parts = [each for each in self.spans if each.overlaps(span)]
        if all(each.kind in {"number", "code", "name"} for each in parts):
            yield span

    def _begun(self, day: Value) -> Iterator[Span]:
        """A name that begins with a day: called Sunday Tea."""
        if set(self.before(day.start, 1)) & _CALLED:
            more = re.match(r"(?:\s+[A-Z][\w'\u2019-]*\b)+", self.text[day.end :])
            if more:
                end = day.end + more.end()
                yield Span("name", day.start, end, self.text[day.start : end])

    def rests(self) -> Iterator[Span]:
        """A text to be said or noted: from the word that introduces it to the end of the sentence."""
        for found in _REST.finditer(self.text):
            stop = _SENTENCE.search(self.text, found.end())
            end = stop.start() if stop and stop[0] != "?" else len(self.text.rstrip("?.! "))
            end = self._without_when(found.end(), end)
            if end > found.end():
                text = self.text[found.end() : end].strip(" ,'\"\u201c\u201d")
                yield Span("rest", found.end(), end, text)

    def statement(self, own: Collection[str]) -> Iterator[Span]:
        """The question, if it is one sentence that asks for nothing: a text to be noted."""
        text = self.text.strip().rstrip(".!")
        if not _STATES.match(text) or _SENTENCE.search(text) or _REQUEST.search(text):
            return
        values = [each for each in self.values if each.kind != "name"]
        telling = [
            word
            for start, _, word in self.tokens
            if word[0].isalpha()
            and not (self.holds(word) or _stem(word) in own)
            and not any(each.start <= start < each.end for each in values)
        ]
        if len(telling) >= _TELLING:
            start = self.text.index(text)
            yield Span("rest", start, start + len(text), text)

    def _without_when(self, start: int, end: int) -> int:
        """The end of a text without the day and time after it, which are arguments of their own."""
        for value in reversed(self.values):
            between = self.text[value.end : end]
            if (
                start < value.start < end
                and value.kind in {"date", "time", "email"}
                and not between.strip()
            ):
                cut = self.text[start : value.start].rstrip()
                end = start + len(re.sub(r"\s*\b(?:at|on|by|for|to|before)$", "", cut).rstrip())
        return end

    def _names(self, value: Value, own: Collection[str]) -> Iterator[Span]:
        start, text = value.start, str(value.plain)
        while text and _STARTS.search(self.text[:start]):
            word = text.split(maxsplit=1)[0]
            follows = self.behind(start + len(word), 1)
            is_act = text == word and follows and (follows[0] in HOLDING or follows[0][0].isdigit())
            is_act = is_act and not (follows[0] == "to" and self._is_place(start + len(word), word))
            is_act = is_act or (text == word and bool(follows) and is_verb(_stem(word)))
            if not (is_act or word.lower() in HOLDING or _stem(word) in own):
                break
            rest = text[len(word) :].lstrip()
            start, text = start + len(text) - len(rest), rest
        if any(currency(word) for word in self.behind(start + len(text), 1)):
            # US dollars are not a place.
            return
        if text and not all(_stem(word) in own for word in re.findall(r"\w+", text)):
            yield Span("name", start, start + len(text), text)
            place, comma, wider = text.partition(", ")
            if comma:
                yield Span("name", start, start + len(place), place)
                yield Span("name", start + len(place + comma), start + len(text), wider)

    def _is_place(self, end: int, word: str) -> bool:
        """Whether a first word is the start of a trip: "Bern to Basel", but not "Fly to Basel"."""
        goes_on = re.match(r"\s+to\s+[A-Z]", self.text[end:])
        return goes_on is not None and word.lower() not in _GOING

    def _phrases(self, own: Collection[str]) -> Iterator[Span]:
        """Runs of meaningful words, without values, and without the tool's own words at the ends."""
        taken = [(each.start, each.end) for each in self.values if each.kind != "name"]
        run: list[tuple[int, int, str]] = []
        for token in [*self.tokens, (len(self.text), len(self.text), ".")]:
            start, _, word = token
            in_value = any(low <= start < high for low, high in taken)
            if in_value or not word[0].isalpha() or self.holds(word):
                yield from self._phrase(run, own)
                run = []
            else:
                run.append(token)
                if word[0].isupper() and word.endswith(("'s", "\u2019s")):
                    # Whose it is, and what: Tom Becker's mark.
                    yield from self._phrase(run, own)
                    run = []

    def holds(self, word: str) -> bool:
        """Whether a word is no part of a value: a function word, or an adverb."""
        if word.isupper() and len(word) > 1 and not self.text.isupper():
            # The US and IT are no pronouns.
            return False
        return is_function_word(word)

    def _phrase(self, run: list[tuple[int, int, str]], own: Collection[str]) -> Iterator[Span]:
        low, high = 0, len(run)
        if run and run[0][2][0].isupper() and _STARTS.search(self.text[: run[0][0]]):
            # The first word of a sentence is usually the action; a name there is found as a name.
            low = 1
        elif run and self.before(run[0][0], 1) and self.before(run[0][0], 1)[0] in _WHO:
            # An action of somebody: "can I cook".
            low = 1
        elif run and _is_wish(self.before(run[0][0], 2)):
            # The same: "I'd like to hang on".
            low = 1
        while low < high and _stem(run[low][2]) in own:
            low += 1
        while low < high and _stem(run[high - 1][2]) in own:
            head = run[high - 1][2].lower()
            if high - low > 1 and head in _HEADS and run[high - 2][2].lower().endswith("ing"):
                # One thing with a name of two words: a living room.
                break
            high -= 1
        high -= high - low > 1 and self._is_done(run, low, high)
        if low == high or " ".join(word for _, _, word in run[low:high]).lower() in VAGUE:
            return
        start, end = run[low][0], run[high - 1][1]
        text = re.sub(r"['\u2019]s$", "", self.text[start:end])
        is_proper = text[0].isupper() and not _STARTS.search(self.text[:start])
        kind: SpanKind = "proper" if is_proper else "phrase"
        yield Span(kind, start, start + len(text), text, is_attached=high < len(run))

    def _is_done(self, run: list[tuple[int, int, str]], low: int, high: int) -> bool:
        """Whether the last word of a run is an action of somebody: "what does Acme charge for"."""
        before = self.before(run[low][0], 1)
        behind = self.behind(run[high - 1][1], 1)
        last = run[high - 1][2]
        is_small = last.islower()
        if is_small and is_finite(last):
            return True
        asks = bool(before) and before[0] in {"does", "do", "did"}
        return asks and is_small and (not behind or behind[0] in _BEHIND_VERBS)


def _is_wish(before: list[str]) -> bool:
    return before[:1] == ["to"] and not _WISHES.isdisjoint(before[1:])


def _span(value: Value) -> Span:
    return Span(value.kind, value.start, value.end, value.plain, value.unit, value.text)


def _stem(word: str) -> str:
    found = terms(word, empty=True)
    return found[0] if found else ""


def _is_no_group(word: str) -> bool:
    """Whether some capitals are no part of a code: they say what it is, or measure something."""
    return word.lower() in _SAYS_CODE or bool(currency(word) or measure(word)[0])
