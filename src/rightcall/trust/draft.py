"""Drafts facts from a tool's name, schemas and formats, each with its reason, for a person to confirm.

No sentence of its docs is read, except for a few words that make a draft stricter. What names and
schemas do not show is left unsaid, and the rules then assume the worst; what is a guess is listed as
unsure. Names can lie, and those of third parties often do.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from rightcall.core.facts import Danger, Effect, Facts, Kind
from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.options import NameCheckedMeta, check_keywords
from rightcall.core.references import follow
from rightcall.core.tool import Tool
from rightcall.declare.returns import returns_of
from rightcall.declare.toolbox import Toolbox
from rightcall.trust.facts import enum_values, properties_of
from rightcall.trust.facts_file import schema_hash
from rightcall.trust.kinds import is_contact, is_identity, kind_of, named_words, words_of

_SYSTEMS: frozenset[Kind] = frozenset({"record", "date", "amount", "account", "address"})
"""Kinds of values in fields that a system fills in, unless the field's name says whose it is."""
_MOST_DEPTH = 12
_READS = named_words(
    "get list search find read check show view lookup look fetch retrieve describe count status diff "
    "browse inspect explain preview compare history summarize summarise verify validate calculate "
    "compute estimate query"
)
"""Verbs with which the name of a tool begins that only reads."""
_ACTS = named_words(
    "accept activate add adjust append apply approve archive assign authorize ban block book broadcast "
    "buy call cancel capture change charge clear close comment commit confirm create credit deactivate "
    "debit delete deliver deploy deposit disable discard dismiss dispatch drop edit email enable erase "
    "exchange execute expire extend forward freeze fork grant import increase insert install invite "
    "issue join kick kill launch lock make mark merge message modify move notify open order patch pause "
    "pay pin place post print process publish purchase purge push put raise react reboot redeem refund "
    "register reject release remove rename renew reopen replace reply request reschedule reserve reset "
    "resize restart restore resume return revoke run save schedule send set share ship sign start stop "
    "store submit subscribe suspend sync tag terminate toggle transfer trash trigger unlock unsubscribe "
    "update upgrade upload upsert vote wipe wire withdraw write"
)
"""Verbs with an effect."""
_DELETES = named_words(
    "archive ban cancel clear close delete discard drop erase expire kick kill overwrite purge remove "
    "reset revoke stop terminate trash truncate unsubscribe wipe"
)
_RUNS = named_words("run execute exec eval invoke shell bash terminal command script sql code rpc")
"""Words in the names of tools that can be told to do anything."""
_CODE = named_words("sql code script command cmd shell function expression program statement pipeline")
"""Last words of parameters that can tell a tool to do anything."""
_MONEY = named_words(
    "pay payment payments payee transfer refund charge buy purchase checkout invoice withdraw deposit "
    "money donate order book reserve reservation rent subscribe invest loan bill voucher price wallet "
    "card credit debit wire payout"
)
_CREDENTIALS = named_words(
    "password passwords passphrase secret secrets token tokens credential credentials key keys otp mfa "
    "login auth oauth ssh permission permissions role roles privilege admin sudo certificate"
)
_OUTSIDE = named_words(
    "web website webpage internet url urls uri http link links browser crawl scrape download dns whois "
    "online webhook site domain feed rss"
)
_OWN = named_words(
    "mail email emails inbox message messages thread note notes file files folder drive document "
    "documents calendar event events contact contacts channel channels ticket tickets order orders "
    "customer customers account accounts transaction transactions user users member members record "
    "records database memory memories task tasks project invoice invoices lead deal product products my "
    "own local"
)
"""Words for what a user or their house keeps: to search in it tells nobody outside."""
_LOOKED_FOR = named_words("query q search term terms keyword keywords question topic prompt")
_DIRECTORY = named_words("contact contacts addressbook phonebook")
_CONTENT = named_words(
    "body text content contents message messages description subject summary note notes comment "
    "comments caption reason feedback markdown html prompt memo remark"
)
"""Last words of parameters whose text is passed on, and is no target."""
_ACT_IN_DOCS = re.compile(r"\w+")
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?!\w*\d{3})")
_SQL = re.compile(r"\bSQL\b")
_BLANK = asdict(Facts())


class Draft(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """Suggested facts for a tool, with reasons."""

    tool: str
    effect: Effect | None = None
    """None: the effect stays as declared."""
    facts: Facts = Facts()
    reasons: Mapping[str, str] = field(default_factory=dict)
    """By fact, including ``effect``: what it was derived from."""
    unsure: Mapping[str, str] = field(default_factory=dict)
    """By fact that was drafted and may be wrong: what to look at."""
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
def suggest(
    tools: Any,
    *,
    outputs: Mapping[str, JsonObject] | None = None,
    samples: Mapping[str, Any] | None = None,
) -> tuple[Draft, ...]:
    """Draft facts for tools, functions, a toolbox or an agent's tools, for a person to review.

    They are taken from names, schemas and formats; the same every time. What a function returns is known
    from its annotations; for a function that returns a ``dict``, give what it returned once in
    ``samples``, by tool. ``outputs`` has the schemas of other tools' results.
    """
    drafts = []
    for tool in _tools_of(tools):
        output = (outputs or {}).get(tool.name)
        if output is None and samples is not None and tool.name in samples:
            output = _schema_of(samples[tool.name])
        # Nobody has checked what a third party's tool says that it returns.
        if not output and not tool.origin and (returns := returns_of(tool)) is not None:
            output = returns.schema
        drafts.append(draft(tool, output))
    return tuple(drafts)


def _tools_of(source: Any) -> Iterator[Tool]:
    """The tools that are meant; a plain function is taken for the tool that it would be."""
    source = getattr(source, "tools", source)
    for each in [source] if callable(source) or isinstance(source, Tool) else source:
        if isinstance(each, Tool):
            yield each
        else:
            yield from Toolbox(each)


def _schema_of(sample: JsonValue) -> JsonObject:
    """The schema of a value that a tool returned."""
    if isinstance(sample, Mapping):
        members = {str(name): _schema_of(value) for name, value in sample.items()}
        return {"type": "object", "properties": members}
    if isinstance(sample, list | tuple):
        return {"type": "array", "items": _schema_of(sample[0]) if sample else {"type": "null"}}
    if isinstance(sample, bool) or sample is None:
        return {"type": "boolean"}
    if isinstance(sample, int | float):
        return {"type": "number"}
    if _ISO_DAY.match(str(sample)):
        return {"type": "string", "format": "date"}
    return {"type": "string"}


def draft(tool: Tool, output: JsonObject | None = None) -> Draft:
    """Returns the draft for one tool. ``output`` is the schema of its results, if that is known."""
    drafter = _Drafter(tool)
    effect: Effect | None = None
    anything = drafter.takes_code()
    if anything:
        drafter.leave("effect", anything)
    elif tool.effect in ("pure", "read") or drafter.looks():
        effect = "read" if tool.effect == "write" else None
        drafter.draft_read()
        drafter.draft_result(output)
    elif not _ACTS.isdisjoint(drafter.words):
        drafter.draft_write()
        drafter.draft_result(output)
    elif "effect" not in drafter.unsaid:
        drafter.leave("effect", "the name holds no verb that is known")
    return Draft(
        tool=tool.name,
        effect=effect,
        facts=Facts(**drafter.facts),
        reasons=drafter.reasons,
        unsure=drafter.unsure,
        unsaid=drafter.unsaid,
    )


class _Drafter:
    """What a tool's name and schemas show, with the facts and reasons found so far."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.words = words_of(tool.name)
        self.facts: dict[str, Any] = {}
        self.reasons: dict[str, str] = {}
        self.unsure: dict[str, str] = {}
        self.unsaid: dict[str, str] = {}
        self._last: dict[str, str] = {}
        """By parameter: the last word of its name."""
        self._kinds: dict[str, Kind | None] = {}
        self._choices: set[str] = set()
        """The parameters whose values are listed."""
        for name, schema in properties_of(tool.parameters).items():
            self._last[name] = (words_of(name) or ("",))[-1]
            self._kinds[name] = kind_of(name, schema)
            if _is_choice(tool.parameters, schema):
                self._choices.add(name)

    def say(self, why: str, **facts: Any) -> None:
        self.facts.update(facts)
        self.reasons.update(dict.fromkeys(facts, why))

    def leave(self, fact: str, why: str) -> None:
        self.unsaid[fact] = why

    def takes_code(self) -> str:
        """The reason why a call of the tool could do anything; empty if there is none."""
        if self.words and self.words[0] in _RUNS:
            return f"its name says {self.words[0]!r}: a call could do anything"
        for name, schema in properties_of(self.tool.parameters).items():
            docs = str(schema.get("description") or "") if isinstance(schema, Mapping) else ""
            if self._last[name] in _CODE or _SQL.search(docs):
                return f"it takes {name!r}: a call could do anything"
        return ""

    def looks(self) -> bool:
        """Whether the tool's name says that it only reads, and no word in it or its docs an act."""
        verb = _first_of(self.words, _READS)
        if not verb or _first_of(self.words, _READS | _ACTS) != verb:
            return False
        after = self.words[self.words.index(verb) + 1 :]
        joined = {"and", "or", "then"}.intersection(after)
        act = _first_of(after, _ACTS) if joined or not after or after[-1] in _ACTS else ""
        if act and (joined or act not in _MONEY):
            self.leave("effect", f"its name says {verb!r}, and also {act!r}")
            return False
        for word in _ACT_IN_DOCS.findall(self.tool.description.lower()):
            stem = word.removesuffix("s")
            if stem in _ACTS and stem not in self.words and word != "returns" and stem not in _AMBIGUOUS:
                self.leave("effect", f"its name says {verb!r}, but its docs say {word!r}")
                return False
        self.reasons["effect"] = f"its name says {verb!r}"
        self.unsure["effect"] = "confirm that it changes nothing, and tells nobody"
        return True

    def draft_read(self) -> None:
        """Draft the facts of a tool that only reads, except those of its results."""
        if self.tool.effect == "pure":
            return
        self.say("it only looks", dangers=())
        webs = [
            name for name, kind in self._kinds.items() if kind == "web" and name not in self._choices
        ]
        if webs:
            self.say(f"{', '.join(webs)} says where outside to look", reach="outside")
            self.say("whoever is asked learns of it", targets=tuple(webs))
            return
        outside = _first_of(self.words, _OUTSIDE)
        question = _first_of(self._last.values(), _LOOKED_FOR)
        if outside:
            self.say(f"its name says {outside!r}", reach="outside")
            self.leave("targets", "whoever is asked outside learns of what is asked")
        elif question and _OWN.isdisjoint(self.words):
            why = f"it takes {question!r}, and nothing shows that it searches the user's own"
            self.leave("reach", why)
            self.leave("targets", "whoever is asked outside learns of what is asked")
        else:
            self.say("it only looks, and nothing that it takes says where outside", reach="user")
            self.say("it only looks", targets=())

    def draft_result(self, output: JsonObject | None) -> None:
        """Draft the facts of the tool's results, from their schema."""
        fields = None if output is None else _fields_in(output)
        if fields is None:
            self.say("its fields are not declared: outsiders may have written any of it", untrusted=True)
            self.unsure["untrusted"] = (
                "name the fields that outsiders write, as ('note',): the others count as the system's; "
                "samples={name: what it returned} shows them"
            )
        elif not _DIRECTORY.isdisjoint(self.words):
            self.say("it is called after what the user entered: contacts", untrusted=False, identity=())
            self.unsure["identity"] = "confirm that nobody else can enter contacts"
        elif fields:
            self.say("somebody may have typed them", untrusted=fields)
            self.unsure["untrusted"] = (
                "leave out the fields that only your own system fills in, and add what customers typed "
                "themselves: an address, an account"
            )
        else:
            self.say("it returns numbers, days, identifiers and addresses only", untrusted=False)
            self.unsure["untrusted"] = "confirm that nobody outside can choose them"
        self.say("nothing shows that everybody may see what it returns", private=True)
        self.unsure["private"] = "False, if anybody may see it"

    def draft_write(self) -> None:
        """Draft the facts of a tool with an effect, except those of its results."""
        dangers = self._dangers()
        why = "; ".join(dangers.values()) or "neither its name nor its parameters speak of any"
        self.say(why, dangers=tuple(dangers))
        kinds = self._kinds
        outside = [
            name for name, kind in kinds.items() if kind in ("address", "account", "web", "channel")
        ]
        if outside:
            self.say(f"{outside[0]} says whom it reaches", reach="outside")
        else:
            self.leave("reach", "nothing shows that it stays with the user")
        targets = []
        for name, kind in kinds.items():
            is_content = self._last[name] in _CONTENT or kind in ("amount", "date")
            if not is_content and name not in self._choices:
                targets.append(name)
        why = "all but words that are passed on, amounts, days, and choices that are listed"
        self.say(why, targets=tuple(targets))
        if self._choices:
            self.unsure["targets"] = (
                f"add {', '.join(sorted(self._choices))}, if a wrong choice does harm"
            )

    def _dangers(self) -> dict[Danger, str]:
        """The dangers of a tool, each with what shows it."""
        found: dict[Danger, str] = {}
        words = [*self.words]
        for name in self._kinds:
            if name not in self._choices:
                words += words_of(name)
        tables: Mapping[Danger, frozenset[str]] = {"money": _MONEY, "credentials": _CREDENTIALS}
        for danger, table in tables.items():
            if word := _first_of(words, table):
                found[danger] = f"it speaks of {word!r}"
        if word := _first_of(self.words, _DELETES):
            found["deletes"] = f"it says {word!r}"
        return found


_AMBIGUOUS = _MONEY | named_words(
    "archive call close comment commit email file issue mark message open place post print process "
    "record release request return run schedule set share sign start store tag trash update vote"
)
"""Those of the acts that are things as well: in a sentence, nobody knows."""


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


def _fields_in(schema: JsonObject) -> tuple[str, ...] | None:
    """The fields that a person may have typed into; None if some text is outside the declared fields.

    Fields that say who got in touch are left out: the trust rules know them by their names.
    """
    typed: dict[str, None] = {}
    for name, kind in _leaves(schema, schema, "", 0):
        if not name:
            return None
        if is_identity(name):
            continue
        if kind not in _SYSTEMS or is_contact(name):
            typed[name] = None
    return tuple(typed)


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
    for name, why in each.unsure.items():
        yield f"# {name}, unsure: {why}"
    for name, why in each.unsaid.items():
        yield f"# {name} is not said, and taken for the worst: {why}"
