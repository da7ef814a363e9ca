"""Whether the name and the docs of a tool say that it only looks.

Words alone do not tell: an order is a thing, and to order is an act. So the position of a word decides:
at the start of a sentence, after a subject, ``to``, ``will`` or ``and``, and in the passive. A sentence
that starts with a verb which no list knows counts as an act.
"""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import pairwise

from rightcall.trust.words.plain import plain
from rightcall.trust.words.said import named_words
from rightcall.trust.words.verbs import ACTS, DESCRIBES, NOUNS, READS, THINGS

_LOOKS = READS | DESCRIBES
_ACTS = ACTS - {"return"}
"""Acts in docs, which return what was found, and hardly ever an article."""
_STRONG = ACTS - NOUNS
_IRREGULAR = {
    "sent": "send",
    "written": "write",
    "overwritten": "overwrite",
    "paid": "pay",
    "bought": "buy",
    "sold": "sell",
    "spent": "spend",
    "made": "make",
    "held": "hold",
    "frozen": "freeze",
    "begun": "begin",
    **{verb: verb for verb in ("set", "reset", "put", "cast", "shut")},
}
"""Participles that have no ending of their own."""

_OBJECTS = named_words("the a an this these those its his her their your our my it them each every")
"""Words that start an object or stand for one: before them is a verb or a preposition."""
_EVERYTHING = named_words("all any some both everyone everybody everything")
_PARTICLES = named_words("up off out down away back")
_ADVERBS = named_words(
    "also then just simply automatically immediately first finally always optionally not only"
)
_NEGATING = named_words("not never without cannot don't doesn't won't can't isn't aren't nor")
_BE = named_words("is are was were be been being gets get got")
_MODAL = named_words("will can may must should would could shall might lets")
_AND = named_words("and or then but") | {",", ":", "(", "/"}
_SUBJECTS = named_words("it this that which who tool function method command endpoint server we")
_RELATIVE = named_words("that which who whether whose when if since where how")
_PREPOSITIONS = named_words(
    "of in on at from for by with about between within per as under over into across during via "
    "through than against unlike around near inside since until like such based using including "
    "containing matching related available given"
)
_BEFORE_NOUNS = (
    (_OBJECTS - {"it", "them", "this"}) | _PREPOSITIONS | named_words("all any some both no other")
)
_AFTER_NOUNS = _PREPOSITIONS | _AND | _RELATIVE | _BE | _MODAL | {"has", "have"}
_FUNCTION = (
    _OBJECTS
    | _ADVERBS
    | _NEGATING
    | _BE
    | _MODAL
    | _AND
    | _RELATIVE
    | _PREPOSITIONS
    | named_words(
        "to although though if unless while after before because so all any both either some many "
        "most more much less few no none other another same own what how why there here they you "
        "he she i we us has have had do does did both up down out off back once again still even "
        "too very well please whatever otherwise instead however"
    )
)
_ADJECTIVES = named_words(
    "current latest new newest last recent full detailed basic single multiple several various "
    "available active public private total raw top daily weekly monthly hourly live historical "
    "optional required default next previous specific similar common long short high low real "
    "quick fast main only best native essential semantic full-text read-only"
)
_NOMINAL_ENDS = tuple(named_words("tion tions ment ments ness ity ities ology ary ous ful ly 's"))
_WORD = re.compile(r"`[^`]*`|[^\W\d_][\w'-]*|\d[\w.-]*|[,:(/]")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|;|\n\s*\n|\n\s*(?=[-*•#\d>]|[A-Z])|\s[-\u2013\u2014]\s")
_ABBREVIATED = re.compile(r"\b(?:e\.\s?g|i\.\s?e|etc|vs)\.,?", re.IGNORECASE)
_PHRASES = frozenset(
    {
        "check out",
        "check in",
        "check off",
        "count down",
        "get rid",
        "get started",
        "look after",
        "read aloud",
    }
)
"""Verbs of two words that mean something else than the first alone."""
_READ_NOUNS = named_words("status log history tree snapshot")
"""Those of READS that are things, too: beside another verb in a name they are its object."""
_KEEPING = named_words("log snapshot")
"""Those of READS that are acts where an object follows in a name: ``log_event``."""


@lru_cache(4096)
def _bases(word: str) -> tuple[tuple[str, str], ...]:
    """What a word may be a form of, each with the ending that it has there."""
    found = [(word, "")]
    if word in _IRREGULAR:
        found.append((_IRREGULAR[word], "ed"))
    for ending, form in (("s", "s"), ("es", "s"), ("ed", "ed"), ("d", "ed"), ("ing", "ing")):
        if (base := word.removesuffix(ending)) == word or len(base) < 2:  # noqa: PLR2004 - "do", "go"
            continue
        found += [(base, form), (f"{base}e", form)] if form == "ing" else [(base, form)]
        if base[-1] == "i":
            found.append((f"{base[:-1]}y", form))
        if form in ("ed", "ing") and base[-1] == base[-2]:
            found.append((base[:-1], form))
    return tuple(found)


def _form(word: str, table: Collection[str]) -> tuple[str, frozenset[str]]:
    """The verb of a table that a word is a form of (empty if none), and the endings that it may have."""
    found = [(base, form) for base, form in _bases(word.rpartition("-")[2]) if base in table]
    return (found[0][0] if found else "", frozenset(form for _, form in found))


def act_in_name(words: tuple[str, ...], verb: str) -> str:
    """The word in a tool's name that contradicts the verb by which it looks; empty if there is none."""
    at = words.index(verb)
    if verb in _KEEPING and words[at + 1 :]:
        return verb
    for index, word in enumerate(words):
        act, forms = _form(word, ACTS)
        if (phrase := " ".join(words[index : index + 2])) in _PHRASES:
            return phrase
        if index == at or not act:
            continue
        is_verb = index > 0 and words[index - 1] in ("and", "or", "then")
        is_object = index > at and forms in ({"ed"}, {"s"})
        beside_a_thing = verb in _READ_NOUNS and "" in forms
        if is_verb or beside_a_thing or (act in _STRONG and not is_object):
            return word
    return ""


def act_in_docs(docs: str, name: tuple[str, ...]) -> str:
    """The word in a tool's docs for an act, or for what no list calls a look; empty if there is none.

    ``name`` has the words of the tool's name, which its docs use for the same things.
    """
    for sentence in _SENTENCE.split(_ABBREVIATED.sub(" ", plain(docs).replace("\u2019", "'"))):
        spelt: list[str] = _WORD.findall(sentence)
        words = [each.lower() for each in spelt]
        start = next((at for at, word in enumerate(words) if not _is_skipped(word)), len(words))
        if words[start:] and _begins_with_act(words[start:], spelt[start], name):
            return words[start]
        if found := next(_acts(words, start), ""):
            return found
    return ""


def _is_skipped(word: str) -> bool:
    return (
        word[0].isdigit()
        or word in _AND
        or word in _ADVERBS - {"not"}
        or (word.endswith("ly") and word not in ACTS)
    )


def _begins_with_act(words: list[str], spelt: str, name: tuple[str, ...]) -> bool:
    """Whether a sentence starts with a verb that is not known to be a look."""
    first, after = words[0], words[1] if len(words) > 1 else ""
    if first in ("do", "does") and after in _OBJECTS:
        return True
    if after == ":" or first in _FUNCTION or first[0] == "`" or not first[0].isalpha():
        return False
    is_verb = after in _OBJECTS or after in _PARTICLES
    act, forms = _form(first, _ACTS)
    if act:
        if forms == {"ed"} or (forms == {"ing"} and act in NOUNS):
            return is_verb
        is_object = not after or after in _PREPOSITIONS or (first, after) in pairwise(name)
        is_subject = after in _BE | _MODAL | {"has", "have"} and "s" in forms
        is_thing = act in NOUNS and (is_subject or (first in name and is_object))
        return not is_thing and not (first in _ADJECTIVES and not is_verb)
    if _form(first, _LOOKS)[0]:
        return False
    return is_verb or not _is_nominal(first, spelt, after, name)


def _is_nominal(word: str, spelt: str, after: str, name: tuple[str, ...]) -> bool:
    """Whether a word without a verb's object is a noun or an adjective."""
    if word in _ADJECTIVES or _is_thing(word) or after in ("of", ","):
        return True
    if not {word, word.removesuffix("s"), f"{word}s"}.isdisjoint(name):
        return not after or after in _AFTER_NOUNS or _is_thing(after) or (word, after) in pairwise(name)
    is_name = any(map(str.isupper, spelt[1:])) or not spelt.isalpha()
    return is_name or word.endswith(_NOMINAL_ENDS) or _bases(word)[-1][1] == "ed"


def _is_thing(word: str) -> bool:
    return word in THINGS or word.removesuffix("s") in THINGS


def _acts(words: list[str], start: int) -> Iterator[str]:
    """The words of a sentence that are acts by their position, after its first word."""
    for at in range(start + 1, len(words)):
        before = _before(words, at)
        if before in _NEGATING:
            continue
        word, after = words[at], words[at + 1] if at + 1 < len(words) else ""
        act, forms = _form(word, _ACTS)
        is_known = bool(act) and _is_act(act, forms, before, after, words[:at])
        if is_known or (not act and _is_unknown_act(word, before, after)):
            yield word


def _before(words: list[str], at: int) -> str:
    """The word before another, without adverbs between the two."""
    for index in range(at - 1, -1, -1):
        is_within = words[index] == "then" and words[index - 1] in _BE | _MODAL
        if words[index] in _AND and not is_within:
            return words[index]
        if not is_within and not _is_skipped(words[index]):
            return words[index]
    return ""


def _is_act(act: str, forms: frozenset[str], before: str, after: str, earlier: list[str]) -> bool:
    is_strong, has_object = act in _STRONG, after in _OBJECTS or after in _EVERYTHING
    if "ed" in forms and before in _BE:
        return not _is_describing(earlier)
    if "ing" in forms:
        return before in ("by", "while", "after", "then", "and", ",", *_BE) and (is_strong or has_object)
    is_followed = bool(after) and after not in _FUNCTION
    if "s" in forms:
        is_verb = before == "then" or before in _SUBJECTS or (before in _AND and is_followed)
        return (is_strong and not _is_before_noun(before)) or has_object or is_verb
    if "" not in forms:
        return False
    if before in _MODAL:
        return True
    if before == "to":
        return is_strong or has_object or is_followed
    # In ``by name and email address`` a noun follows, as in front, and so it does in a list with commas.
    is_verb = (
        before in ("and", "then", "but") and is_followed and _PREPOSITIONS.isdisjoint(earlier[-3:-2])
    )
    return before in _AND and (is_strong or has_object or is_verb)


def _is_before_noun(word: str) -> bool:
    """Whether what follows a word is a noun, even if it looks like a verb: ``all uploads``."""
    return word in _BEFORE_NOUNS or bool(_form(word, _LOOKS)[0])


def _is_describing(earlier: list[str]) -> bool:
    """Whether a passive tells which things are meant, as in ``files that were deleted``."""
    rest = [word for word in earlier if word not in _ADVERBS and not word.endswith("ly")]
    while rest and rest[-1] in _BE | {"has", "have", "had", "would", "could", "can"}:
        is_past = rest.pop() in ("was", "were", "been", "would", "could")
        if is_past and _RELATIVE.intersection(rest[-6:]):
            return True
    return rest[-1:] != ["it"] and rest[-2:-1] != [","] and bool(_RELATIVE.intersection(rest[-1:]))


def _is_unknown_act(word: str, before: str, after: str) -> bool:
    """Whether a word is a verb by its position that no list knows."""
    if (
        not word.isalpha()
        or word in _FUNCTION
        or word.endswith("ly")
        or word in _ADJECTIVES
        or _form(word, _LOOKS)[0]
    ):
        return False
    is_third = before in _SUBJECTS and word.endswith("s")
    return before == "will" or ((is_third or before in ("and", "then", "but")) and after in _OBJECTS)
