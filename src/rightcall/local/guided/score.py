"""Ranks tools for a question by its words, and estimates whether the first one is meant.

The order is that of the tool search. Whether any of them is meant is a separate question: two words may
be shared by chance. So it also measures what share of the question's meaning the tool covers, and
whether the question has the tool's required values.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from rightcall.core.tool import Spec
from rightcall.declare.search import ToolIndex
from rightcall.declare.words import stem, terms
from rightcall.local.guided.copying import Copied, copied
from rightcall.local.guided.kin import changes, is_verb, is_weak, kin_of
from rightcall.local.guided.parameters import parameters_of
from rightcall.local.guided.spans import Asked

MOST = 5
"""The most tools that a very small model can choose among."""
_KIN = 0.5
"""The weight of a synonym."""
_IMPLIED = 0.6
"""The weight of a phrase."""
_LACKING = 0.65
"""The factor for each required value that is not in the question."""
_UNUSED = 0.6
"""The factor for each value of the question that has no parameter."""
_FITTING, _BEST = 0.1, 5.0
"""The weight of a value's fit in the score, and the fit above which it adds no more."""
_CLEAR = 1.35
"""The lead over the next tool from which a tool is certainly meant."""
_WEAK = 0.25
_LONG, _ENDING = 6, 3
"""The fewest letters of words that may be equal except for their ending, and the ending's length."""
_SHAPES = frozenset(("path", "url", "email", "sum"))
"""Kinds of values whose form alone shows what kind of tool takes them."""
_FORMS = {"host": "url", "id": "code"} | {
    role: role for role in ("path", "url", "email", "sum", "date", "time")
}
"""By role: the kind of value whose form shows it."""
_SHAPE = 3.0
"""The weight of such a value for a tool that takes it."""
_LOOKED_INTO = 12
_STRONG = 2.8
"""The fit of a value whose form, or the words around it, show its parameter."""
_LITTLE, _SOME, _NEARLY = 0.2, 0.4, 0.6
"""Levels of shared meaning: a word that says little, a synonym, one and a half words."""
_SAYS = 1.0
"""The least meaning of a sentence that is scored by itself: one telling word."""
_TENTH, _FEW, _PART, _THIRD, _HALF, _ALL = 0.1, 0.18, 0.3, 0.33, 0.5, 0.9
"""Shares of a question."""
_ASKS = re.compile(
    r"\s*(?:what|which|when|where|who|whose|why|how|is|are|was|were|does|do|did|has|have)\b",
    re.IGNORECASE,
)
_WANTING = re.compile(r"\b(?:get|give|show|tell|want|need|know|look|help|let)s?\b", re.IGNORECASE)
"""Words that only say that something is wanted; many tools are named after them."""
_WANTED = re.compile(
    r"\W*(?:(?:please|kindly|hey|hi|ok)\W+)*(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?(\w+)",
    re.IGNORECASE,
)
"""The word for the requested action, if there is one."""
_WHY = re.compile(r"\W*why\b", re.IGNORECASE)
_REASONS = frozenset(map(stem, ("why", "reason", "cause", "explain", "explanation", "diagnose")))
"""Words of a tool that explains why something is so."""
_ACTED = 0.45
"""The factor for a tool that changes something, if the user only asks."""


class Match(Struct, frozen=True):
    """A tool, with its evidence."""

    spec: Spec
    score: float
    """Its score for this question, relative to the other tools."""
    said: float
    """How many of its telling words the question has: name and description, parameters, and synonyms
    less."""
    share: float
    """The share of the question's meaning that this covers, from 0 to 1."""
    copied: Copied
    """The arguments, as far as the question contains them."""
    is_undone: bool = False
    """Whether the question begins with an action that the tool has no word for."""


def matches(question: str, specs: Sequence[Spec]) -> tuple[Match, ...]:
    """The tools that share words with a question, best first; at most ``MOST``."""
    index = ToolIndex(specs)
    asked = Asked(question)
    scores: dict[str, float] = {}
    near = {each for word in asked.meant for each in kin_of(word)}
    kin = " ".join(sorted(near | asked.implied))
    telling = [word for word in asked.meant if not is_weak(word)]
    query = _WANTING.sub(" ", asked.bare) if telling else asked.bare
    for text, worth in ((query, 1.0), (kin, _KIN)):
        for spec, score in index.scored(text, len(specs)) if text else ():
            scores[spec.name] = scores.get(spec.name, 0.0) + worth * score
    for spec in specs:
        # Included although it has no common word.
        if _takes_role(spec, {each.kind for each in asked.spans}):
            scores.setdefault(spec.name, 0.0)
    best = sorted((spec for spec in specs if spec.name in scores), key=lambda spec: -scores[spec.name])
    shaped = [spec for spec in best[_LOOKED_INTO:] if not scores[spec.name]]
    found = [_match(spec, scores[spec.name], asked) for spec in [*best[:_LOOKED_INTO], *shaped[:MOST]]]
    found = [match for match in found if match.score > 0.0]
    return tuple(sorted(found, key=lambda match: -match.score)[:MOST])


def is_clear(found: Sequence[Match]) -> bool:
    """Whether the first is meant, and no other."""
    if not found or not is_meant(found[0]):
        return False
    return not rivals(found)


def rivals(found: Sequence[Match]) -> tuple[Match, ...]:
    """The tools that may be meant instead of the first: about as good, with no more values missing."""
    best = found[0]
    return tuple(
        each
        for each in found[1:]
        if best.score < _CLEAR * each.score and (best.copied.missing or not each.copied.missing)
    )


def is_meant(match: Match) -> bool:
    """Whether there is enough evidence to call a tool."""
    said, share, fits = match.said, match.share, not match.copied.missing
    if match.is_undone:
        return False
    if said >= 1.0 and share >= _PART:
        return True
    if fits and match.copied.worth >= _STRONG and share >= _HALF:
        return True
    if fits and match.copied.given and not match.copied.unused and said >= _SOME and share >= _THIRD:
        return True
    if fits and len(match.copied.given) > 1 and not match.copied.unused:
        # Two assigned values are no coincidence.
        return said >= _SOME and share >= _FEW and match.copied.worth >= _HALF
    return fits and ((said >= _NEARLY and share >= _HALF) or (said >= _LITTLE and share >= _ALL))


def may_be_meant(match: Match) -> bool:
    """Whether to offer the tool to the model, which chooses one too readily.

    All its required values are in the question, and no value of the question is left over.
    """
    values = match.copied
    has_values = bool(values.given) or not parameters_of(match.spec)
    is_whole = has_values and not values.missing and not values.unused
    return is_whole and match.share >= _TENTH and not match.is_undone


def _match(spec: Spec, score: float, asked: Asked) -> Match:
    values = copied(spec, asked)
    said, share = _shared(spec, asked, values)
    if values.shaped and not values.missing and not values.unused:
        # No value is left over, and none is missing.
        score, said = score + values.shaped, said + _SOME * values.shaped
    if _acts(spec) and _ASKS.match(asked.text):
        score *= _ACTED
    if _takes_shape(values, asked):
        score, said = score + _SHAPE, said + 1.0
        share = max(share, 0.5)
    score *= 1.0 + _FITTING * min(max(values.worth, 0.0), _BEST)
    # Among many tools, one or another shares words by chance, but has no place for a name.
    unused = values.unused + (not _takes_names(values, asked))
    score *= (_HALF + share) * _LACKING ** len(values.missing) * _UNUSED**unused
    return Match(spec, score, said, share, values, _is_undone(spec, asked))


def _takes_role(spec: Spec, kinds: Collection[str]) -> bool:
    """Whether the tool takes one of the values whose form shows their kind."""
    return any(_FORMS.get(each.role) in kinds for each in parameters_of(spec))


def _acts(spec: Spec) -> bool:
    return any(map(changes, [*terms(spec.name)[:1], *terms(spec.description)[:1]]))


def _is_undone(spec: Spec, asked: Asked) -> bool:
    if _WHY.match(asked.text):
        return not _REASONS & _worth(spec).keys()
    wanted = _WANTED.match(asked.text)
    verb = stem(wanted[1].casefold()) if wanted else ""
    if not changes(verb) or is_weak(verb):
        return False
    worth = _worth(spec)
    return not _met(verb, worth)[1] and not asked.implied & worth.keys()


def _takes_shape(values: Copied, asked: Asked) -> bool:
    """Whether the tool gets a value whose form shows its kind."""
    shaped = [each.plain for each in asked.spans if each.kind in _SHAPES]
    return (
        not values.missing
        and values.worth >= _STRONG
        and any(each in values.given.values() for each in shaped)
    )


def _shared(spec: Spec, asked: Asked, values: Copied) -> tuple[float, float]:
    """How much meaning the question and the tool share, and what share of the question that is."""
    worth = _worth(spec)
    copied_words = {word for value in values.given.values() for word in terms(str(value))}
    copied_words |= {word for span in asked.spans for word in terms(span.unit)}
    copied_words |= {
        word for span in asked.spans_for(()) if span.kind == "name" for word in terms(str(span.plain))
    }
    first = asked.meant[0] if asked.meant else ""
    weights: dict[str, float] = {}
    said: dict[str, tuple[str, float]] = {}
    for word in asked.meant:
        weight = _WEAK if is_weak(word) else 1.0
        met, own = _met(word, worth)
        if word == first and own and _does(spec, word):
            # The requested action comes first.
            weight = max(weight, _HALF)
        if own or word not in copied_words:
            # A value says nothing about the request.
            weights[word], said[word] = weight, (met, weight * own)
    for word in asked.implied & worth.keys():
        weights[word] = max(weights.get(word, 0.0), _IMPLIED * (_WEAK if is_weak(word) else 1.0))
        said[word] = (word, max(said.get(word, ("", 0.0))[1], weights[word] * worth[word]))
    whole, share = _share(weights, said, weights)
    is_all_values = sum(weights.values()) <= _WEAK and _takes_names(values, asked)
    if is_all_values and values.shaped and not values.missing:
        # The whole question is values, and they all have parameters here.
        return whole, 1.0
    # Other statements, in separate sentences, do not reduce the share.
    return whole, max([share, *(_share(weights, said, each)[1] for each in asked.sentences)])


def _takes_names(values: Copied, asked: Asked) -> bool:
    """Whether each name in the question is assigned to a parameter."""
    given = " ".join(str(value) for value in values.given.values())
    return all(str(each.plain) in given for each in asked.spans_for(()) if each.kind == "name")


def _share(
    weights: Mapping[str, float], said: Mapping[str, tuple[str, float]], words: Collection[str]
) -> tuple[float, float]:
    """How much of some words is a tool's, and what share of them that is."""
    by_met: dict[str, float] = {}
    for word in words:
        met, much = said.get(word, ("", 0.0))
        # Two words may be synonyms of the same third, which counts once.
        by_met[met] = max(by_met.get(met, 0.0), much)
    whole, about = sum(by_met.values()), sum(weights.get(word, 0.0) for word in words)
    # A sentence that says next to nothing is no measure.
    is_enough = about >= _SAYS or words is weights
    return whole, min(1.0, whole / about) if about and is_enough else 0.0


def _met(word: str, worth: Mapping[str, float]) -> tuple[str, float]:
    """The tool's word that equals a word, is its synonym, or begins like it; and its weight."""
    if word in worth:
        return word, worth[word]
    kin = max(sorted(kin_of(word)), key=lambda each: _through(each, worth), default="")
    if kin in worth:
        return kin, _KIN * _through(kin, worth)
    alike = [other for other in worth if _alike(word, other)]
    return (alike[0], worth[alike[0]]) if alike else (word, 0.0)


def _through(word: str, worth: Mapping[str, float]) -> float:
    return worth.get(word, 0.0) * (_WEAK if is_weak(word) else 1.0)


def _does(spec: Spec, word: str) -> bool:
    verb = next(iter(terms(spec.name)), "")
    return is_verb(verb) and (word == verb or verb in kin_of(word))


def _alike(word: str, other: str) -> bool:
    """Whether two words are equal except for their endings: discovered, discoverer."""
    same = min(len(word), len(other))
    return (
        same >= _LONG
        and word[: same - 1] == other[: same - 1]
        and abs(len(word) - len(other)) <= _ENDING
    )


def _worth(spec: Spec) -> Mapping[str, float]:
    """The weight of each of a tool's words."""
    worth: dict[str, float] = {}
    fields = [
        (0.6, " ".join(str(value) for each in parameters_of(spec) for value in each.values)),
        (0.5, " ".join(" ".join(each.hints) for each in parameters_of(spec))),
        (0.7, " ".join(" ".join(each.words) for each in parameters_of(spec))),
        (1.0, " ".join([spec.description, spec.short, *spec.questions])),
        (1.5, spec.name),
    ]
    for weight, text in fields:
        for word in terms(text):
            worth[word] = max(worth.get(word, 0.0), weight)
    return worth
