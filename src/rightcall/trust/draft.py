"""Drafts facts from a tool's name, docs and schemas, each with its reason, for a person to confirm.

It is conservative: it states what words and schemas show. Where they show nothing it states nothing, and
the trust rules then assume the worst. A person must check the draft: names can lie, and those of third
parties often do.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from rightcall.core.facts import Danger, Effect, Facts, Kind
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.options import NameCheckedMeta, check_keywords
from rightcall.core.references import follow
from rightcall.core.tool import Tool
from rightcall.declare.returns import returns_of
from rightcall.trust import draft_words as verbs
from rightcall.trust.facts import enum_values, properties_of
from rightcall.trust.facts_file import schema_hash
from rightcall.trust.kinds import is_identity, kind_of, kind_of_name, words_of

_SYSTEMS: frozenset[Kind] = frozenset({"record", "date", "amount"})
"""Kinds of values that a system generates, and nobody types."""
_NAMED: frozenset[Kind] = frozenset({"path", "channel"})
"""Kinds of things that a person named, and that the system knows to exist."""
_MOST_DEPTH = 12
_GENERIC = frozenset({"to", "recipient", "recipients", "destination", "target", "payee"})
_VERBS = verbs.READS | verbs.WRITES | verbs.DELETES
_BLANK = asdict(Facts())


class Draft(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
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
        stated = asdict(tool.facts)
        known = {}
        for name, value in asdict(self.facts).items():
            if stated[name] == _BLANK[name]:
                known[name] = value
        return tool.replace(effect=self.effect or tool.effect, facts=replace(tool.facts, **known))


@check_keywords("rc.trust.suggest")
def suggest(tools: Any, *, outputs: Mapping[str, JsonObject] | None = None) -> tuple[Draft, ...]:
    """Draft facts for tools, a toolbox or an agent's tools, for a person to review.

    They are taken from names, docs, schemas and formats; the same every time. What a function returns
    is known from its annotations; ``outputs`` has the schemas of other tools' results, by tool.
    """
    drafts = []
    for tool in getattr(tools, "tools", tools):
        output = (outputs or {}).get(tool.name)
        # Nobody has checked what a third party's tool says that it returns.
        if not output and not tool.origin and (returns := returns_of(tool)) is not None:
            output = returns.schema
        drafts.append(draft(tool, output))
    return tuple(drafts)


def draft(tool: Tool, output: JsonObject | None = None) -> Draft:
    """Returns the draft for one tool. ``output`` is the schema of its results, if that is known."""
    drafter = _Drafter(tool)
    effect: Effect | None = None
    verb = _first_of(drafter.words, _VERBS)
    anything = drafter.takes_code()
    if anything:
        drafter.leave("effect", anything)
    elif tool.effect in ("pure", "read") or drafter.looks(verb):
        effect = "read" if tool.effect == "write" else None
        drafter.draft_read()
        drafter.draft_result(output, drafter.words)
    elif verb in verbs.WRITES | verbs.DELETES:
        drafter.draft_write()
        drafter.draft_result(output, ())
    elif "effect" not in drafter.unsaid:
        drafter.leave("effect", "the name holds no verb that is known")
    return Draft(
        tool=tool.name,
        effect=effect,
        facts=Facts(**drafter.facts),
        reasons=drafter.reasons,
        unsaid=drafter.unsaid,
    )


class _Drafter:
    """What a tool's words and schema show, with the facts and reasons found so far."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.words = words_of(tool.name)
        self.facts: dict[str, Any] = {}
        self.reasons: dict[str, str] = {}
        self.unsaid: dict[str, str] = {}
        self._last: dict[str, str] = {}
        """By parameter: the last word of its name."""
        self._docs: dict[str, str] = {}
        self._kinds: dict[str, Kind | None] = {}
        self._choices: set[str] = set()
        """The parameters whose values are listed."""
        in_docs: dict[str, Kind] = {}
        for name, schema in properties_of(tool.parameters).items():
            docs = schema.get("description") if isinstance(schema, Mapping) else None
            self._docs[name] = docs if isinstance(docs, str) else ""
            self._last[name] = (words_of(name) or ("",))[-1]
            self._kinds[name] = kind_of(name, schema)
            if _is_choice(tool.parameters, schema):
                self._choices.add(name)
            elif (kind := self._kind_in_docs(name)) is not None:
                in_docs[name] = kind
        if in_docs:
            self._kinds |= in_docs
            self.say(f"the docs of {', '.join(in_docs)} say so", kinds=in_docs)

    def _kind_in_docs(self, name: str) -> Kind | None:
        """The kind that a parameter's docs show, where its name shows none or is generic: ``to``."""
        last = self._last[name]
        kind = self._kinds[name]
        if kind is not None and last not in _GENERIC:
            return None
        if last in verbs.CONTENT | verbs.PAGING | verbs.LOOKED_FOR:
            return None
        shown = []
        for each, pattern in verbs.KINDS_IN_DOCS:
            if pattern.search(self._docs[name]):
                shown.append(each)
        if len(shown) == 1 and shown[0] != kind:
            return shown[0]
        return None

    def say(self, why: str, **facts: Any) -> None:
        self.facts.update(facts)
        self.reasons.update(dict.fromkeys(facts, why))

    def leave(self, fact: str, why: str) -> None:
        self.unsaid[fact] = why

    def takes_code(self) -> str:
        """The reason why a call of the tool could do anything; empty if there is none."""
        run = _first_of(self.words, verbs.RUNS)
        # In the name of a tool that gets, lists or creates a script, the script is only its object.
        if run and (self.words[0] not in _VERBS or self.words[0] in verbs.RUNS):
            return f"its name says {run!r}: a call could do anything"
        for name, docs in self._docs.items():
            if self._last[name] in verbs.CODE or verbs.CODE_IN_DOCS.search(docs):
                return f"it takes {name!r}: a call could do anything"
        return ""

    def looks(self, verb: str) -> bool:
        """Whether the tool's name and docs agree that it only reads."""
        if verb not in verbs.READS:
            return False
        if self.words[0] != verb:
            # In a name that begins with a noun, an act may follow: ``mail_get_and_delete``.
            other = _first_of(self.words, verbs.ACTS - verbs.NOUNS - {verb})
            if other:
                self.leave("effect", f"its name says {verb!r}, and also {other!r}")
                return False
        for docs in (self.tool.description, *self._docs.values()):
            act = verbs.ACTS_IN_DOCS.search(docs) or verbs.SAVES_IN_DOCS.search(docs)
            if act is not None:
                self.leave("effect", f"its name says {verb!r}, but its docs say {act[0]!r}")
                return False
        self.reasons["effect"] = f"its name says {verb!r}, and its docs name no act"
        return True

    def draft_read(self) -> None:
        """Draft the facts of a tool that only reads, except those of its results."""
        if self.tool.effect == "pure":
            return
        self.say("it only looks", dangers=())
        webs = []
        for name, kind in self._kinds.items():
            if kind == "web" and name not in self._choices:
                webs.append(name)
        if webs:
            self.say(f"{', '.join(webs)} says where outside to look", reach="outside")
            self.say("whoever is asked learns of it", targets=tuple(webs))
            return
        words = (*self.words, *words_of(self.tool.description))
        outside = _first_of(words, verbs.OUTSIDE)
        question = ""
        for name, last in self._last.items():
            if not question and last in verbs.ASKED_OF:
                question = name
        if outside:
            self.say(f"it speaks of {outside!r}", reach="outside")
            self.leave("targets", "whoever is asked outside learns of what is asked")
        elif question and verbs.OWN.isdisjoint([word.removesuffix("s") for word in words]):
            self.leave(
                "reach", f"it takes {question!r}, and nothing shows that it searches the user's own"
            )
            self.leave("targets", "whoever is asked outside learns of what is asked")
        else:
            self.say("it only looks, and nothing that it takes says where outside", reach="user")
            self.say("it only looks", targets=())

    def draft_result(self, output: JsonObject | None, words: tuple[str, ...]) -> None:
        """Draft the facts of the tool's results; ``words`` are those of its name, if it only reads."""
        if verbs.NOW.intersection(words) and verbs.CLOCK.intersection(words):
            self.say("it tells the time", untrusted=False, private=False)
            return
        self.leave("private", "nothing shows that everybody may see what it returns")
        fields = None if output is None else _fields_in(output)
        if fields is None:
            kind = None if output is None else _listed_kind(words, output)
            if kind is None:
                self.leave("untrusted", "what it returns has no fields that are declared")
                return
            self.say(f"it lists names that somebody gave: each is a {kind}", untrusted=True)
            self.say(f"the name says {kind!r}", kinds={**self.facts.get("kinds", {}), "*": kind})
            return
        if verbs.DIRECTORY.intersection(words):
            self.say("it is called after what the user entered: contacts", untrusted=False)
            self.say("check that nobody else can enter contacts", identity=())
            return
        typed, names = fields
        written = (*typed, *names)
        if written:
            self.say("somebody may have typed them", untrusted=written)
        else:
            self.say("it returns numbers, days and identifiers only", untrusted=False)

    def draft_write(self) -> None:
        """Draft the facts of a tool with an effect, except those of its results."""
        dangers = self._dangers()
        why = "; ".join(dangers.values()) or "neither name, docs nor parameters speak of any"
        self.say(why, dangers=tuple(dangers))
        kinds = self._kinds
        outside = [
            name for name, kind in kinds.items() if kind in ("address", "account", "web", "channel")
        ]
        if outside:
            self.say(f"{outside[0]} says whom it reaches", reach="outside")
        else:
            self.leave("reach", "nothing shows that it stays with the user")
        why = "all but words that are passed on, amounts, days, and choices that are listed"
        harmless: tuple[Kind, ...] = ("amount", "date")
        # What is booked by the day costs by the day, so that dates matter if there is no amount.
        if "money" in dangers and "amount" not in kinds.values():
            why = "all but words that are passed on and choices that are listed: it costs by the day"
            harmless = ("amount",)
        targets = []
        for name, kind in kinds.items():
            is_content = self._last[name] in verbs.CONTENT or kind in harmless
            if not is_content and name not in self._choices:
                targets.append(name)
        self.say(why, targets=tuple(targets))

    def _dangers(self) -> dict[Danger, str]:
        """The dangers of a tool, each with what shows it."""
        found: dict[Danger, str] = {}
        words = [*self.words]
        for name in self._kinds:
            # The trust rules find the choices that give more access by themselves.
            if name not in self._choices:
                words += words_of(name)
        tables: Mapping[Danger, frozenset[str]] = {
            "money": verbs.MONEY,
            "credentials": verbs.CREDENTIALS,
        }
        for danger, table in tables.items():
            if word := _first_of(words, table):
                found[danger] = f"it speaks of {word!r}"
        in_docs = verbs.DELETES_IN_DOCS.search(self.tool.description)
        if word := _first_of(self.words, verbs.DELETES):
            found["deletes"] = f"it says {word!r}"
        elif in_docs:
            found["deletes"] = f"it says {in_docs[0]!r}"
        return found


def _first_of(words: Iterable[str], table: Collection[str]) -> str:
    """The first word that is in the table; empty if none is."""
    return next(filter(table.__contains__, words), "")


def _is_choice(whole: JsonObject, schema: Any) -> bool:
    """Whether a schema, or each of its alternatives, lists its values."""
    schema = follow(whole, schema)
    if not isinstance(schema, Mapping):
        return False
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return all(map(partial(_is_choice, whole), choices))
    return bool(enum_values(schema)) or schema.get("type") in ("boolean", "null")


def _fields_in(schema: JsonObject) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The fields that a person may have typed into, and those with names of what the system knows.

    None if some text is outside the declared fields. Fields that say who got in touch are left out: the
    trust rules know them by their names.
    """
    typed: dict[str, None] = {}
    names: dict[str, None] = {}
    for name, kind in _leaves(schema, schema, "", 0):
        if not name:
            return None
        if kind in _NAMED and not is_identity(name):
            names[name] = None
        elif kind not in _SYSTEMS and not is_identity(name):
            typed[name] = None
    return tuple(typed), tuple(names)


def _leaves(whole: Any, schema: Any, name: str, depth: int) -> Iterator[tuple[str, Kind | None]]:
    """Every field that could hold text, with its kind; the name is empty for text outside any field."""
    schema = follow(whole, schema)
    if not isinstance(schema, Mapping) or depth > _MOST_DEPTH:
        yield name, None
        return
    choices = [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ()), *(schema.get("allOf") or ())]
    if choices:
        for each in choices:
            yield from _leaves(whole, each, name, depth + 1)
        return
    match schema.get("type"):
        case "object":
            properties = schema.get("properties")
            if not isinstance(properties, Mapping) or schema.get("additionalProperties"):
                # Its keys may be untrusted text.
                yield name, None
                return
            for key, each in properties.items():
                # A result that is no object is wrapped in a member ``result``, which names no field.
                is_wrapper = depth == 0 and key == "result" and len(properties) == 1
                yield from _leaves(whole, each, name if is_wrapper else key, depth + 1)
        case "array":
            yield from _leaves(whole, schema.get("items"), name, depth + 1)
        case "number" | "integer" | "boolean" | "null":
            return
        case _ if enum_values(schema):
            return
        case _:
            yield name, kind_of(name, schema) if name else None


def _listed_kind(words: tuple[str, ...], output: JsonObject) -> Kind | None:
    """The kind of what a tool lists, if it returns only a list of names that the system knows."""
    properties = properties_of(output)
    inner = properties.get("result") if len(properties) == 1 else None
    items = inner.get("items") if isinstance(inner, Mapping) else None
    is_list_of_texts = isinstance(items, Mapping) and items.get("type") == "string"
    if not is_list_of_texts or not words or words[0] not in ("get", "list"):
        return None
    found = set(map(kind_of_name, words[1:])) - {None}
    if len(found) == 1 and not found.isdisjoint(_NAMED):
        return found.pop()
    return None


def as_python(drafts: Iterable[Draft]) -> str:
    """Drafts as options of ``@rc.tool``, each with its reasons."""
    blocks = []
    for each in drafts:
        facts = ", ".join(f"{name}={_literal(value)}" for name, value in _stated_facts(each.facts))
        effect = f'effect="{each.effect}", ' if each.effect else ""
        lines = [f"# {each.tool}", *_comments(each), f"@rc.tool({effect}facts=rc.Facts({facts}))"]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _literal(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{dump(key)}: {_literal(each)}" for key, each in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, str):
        return dump(value)
    return repr(value)


@check_keywords("rc.trust.as_toml")
def as_toml(
    drafts: Iterable[Draft], tools: Iterable[Tool], names: Mapping[str, str] | None = None
) -> str:
    """Drafts as an operator's file of facts, each with its reasons, and bound to the present schema.

    ``names`` maps tools that are renamed here to the server's own names, which the file uses.
    """
    pins = {tool.name: schema_hash(tool) for tool in tools}
    blocks = []
    for each in drafts:
        own = (names or {}).get(each.tool, each.tool)
        lines = [*_comments(each), f"[tools.{dump(own)}]"]
        if each.tool in pins:
            lines.append(f"schema = {dump(pins[each.tool])}")
        if each.effect:
            lines.append(f"effect = {dump(each.effect)}")
        lines += [f"{name} = {_toml_value(value)}" for name, value in _stated_facts(each.facts)]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _toml_value(value: Any) -> str:
    if isinstance(value, Mapping):
        members = ", ".join(f"{dump(key)} = {_toml_value(each)}" for key, each in value.items())
        return f"{{ {members} }}"
    return dump(value)


def _stated_facts(facts: Facts) -> Iterator[tuple[str, Any]]:
    for name, value in asdict(facts).items():
        if value != _BLANK[name]:
            yield name, value


def _comments(each: Draft) -> Iterator[str]:
    for name, why in each.reasons.items():
        yield f"# {name}: {why}"
    for name, why in each.unsaid.items():
        yield f"# {name} is not said, and taken for the worst: {why}"
