"""Drafts facts from a tool's name, docs and schemas, each with its reason, for a person to confirm.

It is conservative: it states what words and schemas show. Where they show nothing it states nothing, and
the trust rules then assume the worst. A person must check the draft: names can lie, and those of third
parties often do.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from rightcall.core.facts import Danger, Effect, Facts, Kind
from rightcall.core.jsontext import JsonObject
from rightcall.core.options import Spelt
from rightcall.core.tool import Tool
from rightcall.trust.facts import listed
from rightcall.trust.fields import NAMED, Fields, fields_in, is_list_of_texts, resolved
from rightcall.trust.words import verbs
from rightcall.trust.words.kinds import kind_of, kind_of_name, words_of
from rightcall.trust.words.looking import act_in_docs, act_in_name

_GENERIC = frozenset({"to", "recipient", "recipients", "destination", "target", "payee"})


_VERBS = verbs.READS | verbs.WRITES | verbs.DELETES


class Draft(Struct, frozen=True, kw_only=True, metaclass=Spelt):
    """Suggested facts for a tool, with reasons."""

    tool: str
    effect: Effect | None = None
    """None: the effect stays as declared."""
    facts: Facts = Facts()
    reasons: Mapping[str, str] = field(default_factory=dict)
    """By fact, including ``effect``: what it was derived from."""
    unsaid: Mapping[str, str] = field(default_factory=dict)
    """By fact that was left unstated, so that the rules assume the worst: why."""

    def over(self, tool: Tool) -> Tool:
        """The tool with the drafted facts. Facts that its author stated are not changed."""
        drafted, stated = asdict(self.facts), asdict(tool.facts)
        blank = asdict(Facts())
        known = {name: value for name, value in drafted.items() if stated[name] == blank[name]}
        return tool.replace(effect=self.effect or tool.effect, facts=replace(tool.facts, **known))


class _Saying:
    """The facts and reasons found so far."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.reasons: dict[str, str] = {}
        self.unsaid: dict[str, str] = {}

    def say(self, why: str, **facts: Any) -> None:
        self.facts.update(facts)
        self.reasons.update(dict.fromkeys(facts, why))

    def leave(self, fact: str, why: str) -> None:
        self.unsaid[fact] = why


def draft(tool: Tool, output: JsonObject | None = None) -> Draft:
    """Returns the draft for one tool. ``output`` is the schema of its results, if that is known."""
    saying = _Saying()
    words = words_of(tool.name)
    kinds = dict(_kinds_in_docs(tool))
    if kinds:
        saying.say(f"the docs of {', '.join(kinds)} say so", kinds=kinds)
    anything = _takes_code(tool, words)
    verb = next((word for word in words if word in _VERBS), "")
    effect: Effect | None = None
    if anything:
        saying.leave("effect", anything)
    elif tool.effect in ("pure", "read") or _looks(tool, words, verb, saying):
        effect = "read" if tool.effect == "write" else None
        _draft_read(tool, words, kinds, saying)
        _draft_result(words, output, saying)
    elif verb in verbs.WRITES | verbs.DELETES:
        _draft_write(tool, words, kinds, saying)
        _draft_result((), output, saying)
    elif "effect" not in saying.unsaid:
        saying.leave("effect", "the name holds no verb that is known")
    return Draft(
        tool=tool.name,
        effect=effect,
        facts=Facts(**saying.facts),
        reasons=saying.reasons,
        unsaid=saying.unsaid,
    )


def _properties(parameters: JsonObject) -> Mapping[str, Any]:
    found = parameters.get("properties")
    return found if isinstance(found, Mapping) else {}


def _last(name: str) -> str:
    return (words_of(name) or ("",))[-1]


def _kinds_in_docs(tool: Tool) -> Iterator[tuple[str, Kind]]:
    """The kinds that parameters' docs show, where the name shows none or is generic, such as ``to``."""
    for name, schema in _properties(tool.parameters).items():
        docs = schema.get("description") if isinstance(schema, Mapping) else None
        named = kind_of(name, schema)
        if _is_choice(tool.parameters, schema):
            continue
        if not isinstance(docs, str) or not (named is None or _last(name) in _GENERIC):
            continue
        if _last(name) in verbs.CONTENT | verbs.PAGING | verbs.LOOKED_FOR:
            continue
        said: list[Kind] = [kind for kind, pattern in verbs.KINDS_IN_DOCS if pattern.search(docs)]
        if len(said) == 1 and said[0] != named:
            yield name, said[0]


def _takes_code(tool: Tool, words: tuple[str, ...]) -> str:
    """The reason why a call of the tool could do anything; empty if there is none."""
    found = [word for word in words if word in verbs.RUNS]
    # In the name of a tool that gets, lists or creates a script, the script is only its object.
    if found and not (words[0] in _VERBS and words[0] not in verbs.RUNS):
        return f"its name says {found[0]!r}: a call could do anything"
    for name, schema in _properties(tool.parameters).items():
        docs = schema.get("description") if isinstance(schema, Mapping) else None
        if _last(name) in verbs.CODE or (isinstance(docs, str) and verbs.CODE_IN_DOCS.search(docs)):
            return f"it takes {name!r}: a call could do anything"
    return ""


def _looks(tool: Tool, words: tuple[str, ...], verb: str, saying: _Saying) -> bool:
    """Whether the tool's name and docs agree that it only reads."""
    if verb not in verbs.READS:
        return False
    if act := act_in_name(words, verb):
        saying.leave("effect", f"its name says {verb!r}, and also {act!r}")
        return False
    if act := act_in_docs(tool.description, words) or _saves(tool):
        saying.leave("effect", f"its name says {verb!r}, but its docs say {act!r}")
        return False
    saying.reasons["effect"] = f"its name says {verb!r}, and its docs name no act"
    return True


def _saves(tool: Tool) -> str:
    """What the docs of a parameter say of storing something; empty if they do not."""
    for schema in _properties(tool.parameters).values():
        docs = schema.get("description") if isinstance(schema, Mapping) else None
        if isinstance(docs, str) and (puts := verbs.SAVES_IN_DOCS.search(docs)):
            return puts[0]
    return ""


def _draft_read(tool: Tool, words: tuple[str, ...], kinds: Mapping[str, Kind], saying: _Saying) -> None:
    if tool.effect == "pure":
        return
    saying.say("it only looks", dangers=())
    places = [
        name
        for name, schema in _properties(tool.parameters).items()
        if kinds.get(name, kind_of(name, schema)) == "web" and not _is_choice(tool.parameters, schema)
    ]
    if places:
        saying.say(f"{', '.join(places)} says where outside to look", reach="outside")
        saying.say("whoever is asked learns of it", targets=tuple(places))
        return
    said = [word for word in (*words, *words_of(tool.description)) if word in verbs.OUTSIDE]
    if said:
        saying.say(f"it speaks of {said[0]!r}", reach="outside")
        saying.leave("targets", "whoever is asked outside learns of what is asked")
        return
    asked = [name for name in _properties(tool.parameters) if _last(name) in verbs.ASKED_OF]
    told = {word.removesuffix("s") for word in (*words, *words_of(tool.description))}
    if asked and verbs.OWN.isdisjoint(told):
        saying.leave(
            "reach", f"it takes {asked[0]!r}, and nothing shows that it searches the user's own"
        )
        saying.leave("targets", "whoever is asked outside learns of what is asked")
        return
    saying.say("it only looks, and nothing that it takes says where outside", reach="user")
    saying.say("it only looks", targets=())


def _draft_result(words: tuple[str, ...], output: JsonObject | None, saying: _Saying) -> None:
    if verbs.NOW.intersection(words) and verbs.CLOCK.intersection(words):
        saying.say("it tells the time", untrusted=False, private=False)
        return
    saying.leave("private", "nothing shows that everybody may see what it returns")
    fields = None if output is None else fields_in(output)
    if fields is None and output is not None and (kind := _listed_kind(words, output)) is not None:
        saying.say(f"it lists what the system knows: each is a {kind}", names=True)
        saying.say("the names are outsiders', as was said", untrusted=())
        saying.say(f"the name says {kind!r}", kinds={**saying.facts.get("kinds", {}), "*": kind})
    elif fields is None:
        saying.leave("untrusted", "what it returns has no fields that are declared")
    elif verbs.DIRECTORY.intersection(words):
        saying.say("it is called after what the user entered: contacts", untrusted=False)
        saying.say("check that nobody else can enter contacts", directory=True)
    else:
        _draft_fields(fields, saying)


def _listed_kind(words: tuple[str, ...], output: JsonObject) -> Kind | None:
    """The kind of what a tool lists, if it returns only a list of names that the system knows."""
    if not words or words[0] not in ("get", "list") or not is_list_of_texts(output):
        return None
    found = {kind for word in words[1:] if (kind := kind_of_name(word)) is not None}
    return found.pop() if len(found) == 1 and not found.isdisjoint(NAMED) else None


def _draft_fields(fields: Fields, saying: _Saying) -> None:
    if fields.names:
        saying.say("files and channels have the names that somebody gave them", names=fields.names)
    if fields.words:
        saying.say("somebody may have typed them", untrusted=fields.words)
    elif not fields.names:
        saying.say("it returns numbers, days and identifiers only", untrusted=False)
    else:
        saying.say("the rest is numbers, days and identifiers", untrusted=())


def _draft_write(tool: Tool, words: tuple[str, ...], kinds: Mapping[str, Kind], saying: _Saying) -> None:
    parameters = _properties(tool.parameters)
    dangers = dict(_dangers(tool, words))
    saying.say(
        "; ".join(dangers.values()) or "neither name, docs nor parameters speak of any",
        dangers=tuple(dangers),
    )
    of = {name: kinds.get(name, kind_of(name, schema)) for name, schema in parameters.items()}
    outside = [name for name, kind in of.items() if kind in ("address", "account", "web", "channel")]
    if outside:
        saying.say(f"{outside[0]} says whom it reaches", reach="outside")
    else:
        saying.leave("reach", "nothing shows that it stays with the user")
    # What is booked by the day costs by the day, so that dates matter if there is no amount.
    is_paid_by_day = "money" in dangers and "amount" not in of.values()
    harmless: tuple[Kind, ...] = ("amount",) if is_paid_by_day else ("amount", "date")
    content = [name for name in parameters if _last(name) in verbs.CONTENT or of[name] in harmless]
    chosen = [name for name, schema in parameters.items() if _is_choice(tool.parameters, schema)]
    targets = tuple(name for name in parameters if name not in content and name not in chosen)
    why = "all but words that are passed on, amounts, days, and choices that are listed"
    if is_paid_by_day:
        why = "all but words that are passed on and choices that are listed: it costs by the day"
    saying.say(why, targets=targets)


def _is_choice(whole: JsonObject, schema: Any) -> bool:
    """Whether a schema, or each of its alternatives, lists its values."""
    schema = resolved(whole, schema)
    if not isinstance(schema, Mapping):
        return False
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return all(_is_choice(whole, each) for each in choices)
    return bool(listed(schema)) or schema.get("type") in ("boolean", "null")


def _dangers(tool: Tool, words: tuple[str, ...]) -> Iterator[tuple[Danger, str]]:
    parameters = [
        word
        for name, schema in _properties(tool.parameters).items()
        # The trust rules find the choices that give more access by themselves.
        if not _is_choice(tool.parameters, schema)
        for word in words_of(name)
    ]
    tables: tuple[tuple[Danger, frozenset[str]], ...] = (
        ("money", verbs.MONEY),
        ("credentials", verbs.CREDENTIALS),
    )
    for danger, table in tables:
        if found := [word for word in (*words, *parameters) if word in table]:
            yield danger, f"it speaks of {found[0]!r}"
    removing = [word for word in words if word in verbs.DELETES]
    told = verbs.DELETES_IN_DOCS.search(tool.description)
    if removing or told:
        yield "deletes", f"it says {removing[0] if removing else told[0] if told else ''!r}"
