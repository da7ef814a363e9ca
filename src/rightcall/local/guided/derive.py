"""Derives lessons from a tool's declaration: sample questions for a tool without examples.

The first sentence of a description is nearly a question already: "Weather for a city" with a city in
place of "a city". Parameters that the sentence does not name are appended. The values are typical ones;
they occur in lessons only, and never become arguments, since those are copied from the question.
"""

import re
from collections.abc import Mapping

from rightcall.core.jsontext import JsonValue, dump
from rightcall.core.tool import Spec
from rightcall.declare.search_words import stem, terms
from rightcall.local.guided.kin import is_act
from rightcall.local.guided.parameters import Parameter, parameters_of
from rightcall.local.guided.wordlist import listed

_SENTENCE = re.compile(r"[.;\n]|\s\(|\bby (?:its|their|the) \w+$|, (?:if|given|based)\b")
_TYPICAL: Mapping[str, tuple[str, str]] = {
    "email": ("ann@example.com", "tom@example.com"),
    "host": ("db.example.com", "www.example.com"),
    "url": ("https://example.com", "https://example.org"),
    "path": ("notes.txt", "report.pdf"),
    "date": ("tomorrow", "May 4"),
    "time": ("8:30", "5 pm"),
    "from": ("Bern", "Rome"),
    "to": ("Basel", "Milan"),
    "language": ("French", "German"),
    "id": ("A17", "B42"),
    "person": ("Ann", "Tom"),
    "place": ("Paris", "Oslo"),
    "text": ("I am late", "see you soon"),
    "title": ("Emma", "Dune"),
    "topic": ("gardens", "space"),
    "sum": ("3 + 4", "12 * 5"),
}
_OTHER = ("Alpha", "Beta")
_PREPOSITIONS = {"from": "from", "to": "to", "place": "in", "date": "on", "time": "at", "topic": "about"}
_VERB = re.compile(
    r"(?:get|find|list|show|look|retrieve|fetch|return|search|check|tell|give)s?\b", re.IGNORECASE
)
_CLAUSE = re.compile(r"(?:how|whether|what|which|when|where|who|if)\b", re.IGNORECASE)
_NOUNS = frozenset(listed("the a an current all some number list area name price"))


def derived(spec: Spec) -> tuple[tuple[str, dict[str, JsonValue]], ...]:
    """Two questions and their arguments: the required ones, and in the second one more."""
    parameters = parameters_of(spec)
    required = [each for each in parameters if each.is_required]
    more = [each for each in parameters if not each.is_required and each.type != "object"][:1]
    lessons = []
    for at, given in enumerate((required, [*required, *more])):
        values = {each.name: _typical(each, at) for each in given}
        lessons.append((_asked(spec, given, values, at), values))
    return tuple(lessons)


def says_too_little(spec: Spec) -> bool:
    """Whether nothing says what a tool is for: no description, and no examples."""
    return not (spec.examples or spec.questions or terms(spec.description) or terms(spec.short))


def _typical(parameter: Parameter, at: int) -> JsonValue:
    if parameter.type == "enum":
        return parameter.values[-at % len(parameter.values)] if at else parameter.values[0]
    if parameter.type == "boolean":
        return at == 0
    if parameter.type in {"integer", "number"}:
        return (3, 12)[at]
    if parameter.type == "array":
        inner = parameter.items
        return [] if inner is None else [_typical(inner, 0), _typical(inner, 1)]
    if parameter.type == "object":
        return {}
    return _TYPICAL.get(parameter.role, _OTHER)[at]


def _asked(spec: Spec, given: list[Parameter], values: Mapping[str, JsonValue], at: int) -> str:
    """A user's question."""
    sentence = (spec.description or spec.name.replace("_", " ")).strip()
    text = _SENTENCE.split(sentence, maxsplit=1)[0].strip() or sentence
    behind: list[str] = []
    for parameter in given:
        said = _said(values[parameter.name])
        placed = _placed(text, parameter, said)
        if placed is None:
            behind.append(_behind(parameter, said))
        else:
            text = placed
    return _shaped(" ".join([text, *(each for each in behind if each)]), spec, at)


def _placed(text: str, parameter: Parameter, said: str) -> str | None:
    """The text with the value in place of the parameter's name."""
    if parameter.type in {"boolean", "array", "object"}:
        return None
    for found in re.finditer(r"\b(?:(?:an?|the|some|this|one|given|specific) )+(\w+)\b", text):
        if stem(found[1].lower()) in parameter.words:
            return text[: found.start()] + said + text[found.end() :]
    return None


def _behind(parameter: Parameter, said: str) -> str:
    if parameter.type == "boolean":
        return "" if said == "false" else parameter.name.replace("_", " ")
    named = parameter.name.replace("_", " ")
    if parameter.role in _PREPOSITIONS and parameter.type == "string":
        return f"{_PREPOSITIONS[parameter.role]} {said}"
    return f"with {named} {said}"


def _shaped(text: str, spec: Spec, at: int) -> str:
    """A request or a question, by how the description begins."""
    first = text.split(maxsplit=1)[0].lower() if text.split() else ""
    lower = text[:1].lower() + text[1:]
    if _CLAUSE.match(text):
        return f"Tell me {lower}." if at else f"{text}?"
    is_verb = _VERB.match(text) or is_act(stem(first)) or _begins(spec, first)
    if is_verb:
        return f"Can you {lower}?" if at else f"{text}."
    return f"{text}?" if at else f"What is the {lower.removeprefix('the ')}?"


def _begins(spec: Spec, word: str) -> bool:
    """Whether the tool's name begins with the word, and goes on: then that is what the tool does."""
    words = terms(spec.name, empty=True)
    return len(words) > 1 and word not in _NOUNS and stem(word) == words[0]


def _said(value: JsonValue) -> str:
    if isinstance(value, list):
        return " and ".join(map(_said, value))
    return value if isinstance(value, str) else dump(value)
