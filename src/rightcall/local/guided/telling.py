"""Puts the unchanged result of a call into a fixed sentence.

A model of this size garbles numbers when it repeats them, and makes wrong statements with the right
number. So it is not asked: the sentence names the tool, the result and the arguments, so that a wrong
argument can be seen.
"""

import re
from collections.abc import Mapping, Sequence

from rightcall.core.jsontext import JsonError, JsonValue, dump, parse
from rightcall.core.parts import Call, Result

_LONGEST_INLINE = 240
"""The longest result, in characters, that still reads as part of a sentence."""
_LONGEST_SHOWN = 1200
_MOST_MEMBERS = 12
_WORD = re.compile(r"[a-z]{3,}")
_WANTING = re.compile(
    r"[\w-]+ needs a value that you did not give: ([\w$.-]+(?:, [\w$.-]+)*)\. What should it be\?$"
)
_ASKS = re.compile(r"\s*(?:what|which|when|where|who|whose|why|how)\b", re.IGNORECASE)


def told(question: str, call: Call | None, result: Result) -> str:
    """A sentence with the result in it, or the result below a line that names its tool."""
    name, about = result.name, _about(call)
    text = result.text.strip()
    if result.is_error:
        return f"{about}{name} could not answer: {_cut(text) or 'it did not say why.'}"
    said = _members(text, question) or _bare(text)
    if not said:
        return f"{about}{name} answered without a word."
    if len(said) > _LONGEST_INLINE or "\n" in said:
        return f"{about}{name} says:\n{_cut(said)}"
    return f"{about}{name} says {said}{'' if said[-1] in '.!?' else '.'}"


def unfit(text: str, names: list[str]) -> str:
    """The reply to a question or a request that no tool fits; this model would make something up."""
    verb = "answer" if is_question(text) else "do"
    return f"None of the tools here can {verb} that ({', '.join(names)})."


def wanting(name: str, missing: Sequence[str]) -> str:
    """The reply if a tool fits, but the question lacks its required values."""
    return f"{name} needs a value that you did not give: {', '.join(missing)}. What should it be?"


def wanted_in(text: str) -> tuple[str, ...]:
    """The value that a sentence of ``wanting`` asks for; empty for any other text."""
    found = _WANTING.search(text)
    return tuple(found[1].split(", ")) if found else ()


def idle(names: list[str]) -> str:
    """The reply to small talk if the model produced nothing safe."""
    return f"I am here for what my tools can do ({', '.join(names)})."


def is_question(text: str) -> bool:
    """Whether the user wants to know something, and not just to talk."""
    return text.rstrip().endswith("?") or _ASKS.match(text) is not None


def _about(call: Call | None) -> str:
    """The arguments in words; empty if there were none, or too many for a sentence."""
    given = _parsed("" if call is None else call.arguments)
    if not isinstance(given, Mapping) or not given:
        return ""
    values = {name: _word(value) for name, value in given.items()}
    words = list(values.values())
    if len(values) > 1:
        words = [f"{name} {value}" for name, value in values.items()]
    about = f"For {', '.join(words)}, "
    return about if len(about) <= _LONGEST_INLINE and about.isprintable() else ""


def _members(text: str, question: str) -> str:
    """A small flat object in words: the members that the question names, or all of them."""
    value = _parsed(text)
    if not isinstance(value, Mapping) or not 0 < len(value) <= _MOST_MEMBERS:
        return ""
    if any(isinstance(each, Mapping | list) for each in value.values()):
        return ""
    asked = _WORD.findall(question.lower())
    named = {
        name: each
        for name, each in value.items()
        if any(name.lower().startswith(word) or name.lower().endswith(word) for word in asked)
    }
    return ", ".join(f"{name} {_word(each)}" for name, each in (named or value).items())


def _bare(text: str) -> str:
    value = _parsed(text)
    return value.strip() if isinstance(value, str) else text


def _parsed(text: str) -> JsonValue:
    try:
        return parse(text)
    except JsonError:
        return None


def _word(value: JsonValue) -> str:
    return value if isinstance(value, str) else dump(value)


def _cut(text: str) -> str:
    more = len(text) - _LONGEST_SHOWN
    return text if more <= 0 else f"{text[:_LONGEST_SHOWN]}… ({more} more characters)"
