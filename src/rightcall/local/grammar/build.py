"""Builds the grammar of a reply from a request's tools, its tool choice and the family.

Grammars are cached by structure, a digest of what a schema allows: two toolboxes that differ only in
descriptions share a grammar. A schema's digest is cached by its identity, so that a repeated request
costs a lookup. The rule for a whole reply is a thought, or its rest, and then calls.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Generic, TypeVar

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.options import check_keywords
from rightcall.core.request import Named, ToolChoice
from rightcall.core.tool import Spec
from rightcall.errors import DeclarationError, UsageError
from rightcall.local.engine import Grammar, Syntax
from rightcall.local.families.family import Channels, Family, JsonForm, NamedForm, PythonForm, markers_of
from rightcall.local.families.reader import parse_prompt_tail
from rightcall.local.grammar.call_rules import CallRules, compile_within_limits
from rightcall.local.grammar.compiler import Compiler
from rightcall.local.grammar.flat_schema import SubSchema, structure
from rightcall.local.grammar.notation import JSON
from rightcall.local.grammar.printers import print_grammar
from rightcall.local.grammar.regex import ALL_SPACES
from rightcall.local.grammar.rulebook import (
    ANY_CHAR,
    EMPTY,
    Findings,
    GrammarRules,
    Node,
    Reference,
    Until,
    chars,
    choice,
    optional,
    other_than,
    repeat,
    row,
    word,
)

MOST_CALLS = 16
"""The most calls in one reply; a small model would never stop."""
_INDENT = 5
"""The most white space around the calls of a list: a line break and four spaces."""
_TOKENS = re.compile(r"<[^<>\n]+>|\[[^\[\]\n]+\]")


class PromptEnd(Struct, frozen=True, gc=False):
    """Where in a reply the prompt ends, as far as it matters to a grammar."""

    thought_end: str = ""
    """The marker that ends the open thought."""
    is_thought_over: bool = False
    """A thought was opened and closed, and no other will come."""
    is_call_begun: bool = False
    """The marker before a call was written."""


def find_prompt_end(family: Family, tail: str) -> PromptEnd:
    """The state that a prompt ends in."""
    begun = parse_prompt_tail(family, tail)
    channels = family.channels
    if channels is not None:
        if channels.message in begun.text.rpartition(channels.start)[2]:
            return PromptEnd(thought_end=_message_end(family, channels))
        return PromptEnd()
    last = ""
    opened = -1
    for mark in family.thoughts.open:
        at = begun.text.rfind(mark)
        if not last or at > opened:
            last = mark
            opened = at
    closed = max([begun.text.rfind(mark) for mark in family.thoughts.close], default=-1)
    is_open = closed < opened or (begun.in_thought and closed < 0)
    is_call_begun = bool(family.call.open) and begun.text.endswith(family.call.open[0])
    if not is_open:
        return PromptEnd(is_thought_over=closed >= 0, is_call_begun=is_call_begun)
    return PromptEnd(thought_end=_end_of(family, last))


class ReplyRules:
    """The replies of a family that call a tool."""

    def __init__(
        self, family: Family, rules: GrammarRules, calls: Mapping[str, Node], where: PromptEnd
    ) -> None:
        self._family = family
        self._rules = rules
        self._calls = calls
        self._where = where

    def forced_reply(self, *, several: bool) -> Node:
        """A reply that must call: optionally a thought, then one call or more."""
        before = _thought(self._family, self._rules, self._where)
        return row(before, self._calls_in_format(several=several), self._after())

    def lazy_reply(self, *, several: bool) -> Node:
        """What follows a trigger, from its first character on."""
        if self._family.channels is not None:
            return self._headed_call(is_lazy=True)
        options = [self._sections(several=several)]
        if self._family.is_bare:
            options.append(self._several(several=several, is_bare=True))
        elif self._family.section.open and self._family.call.open:
            # Models sometimes close a section that was never opened.
            options.append(row(self._several(several=several), optional(self._section_close())))
        if self._where.is_call_begun:
            options.append(self._calls_after_marker(several=several))
        return row(choice(*options), self._after())

    def call_or_answer(self, *, several: bool) -> Node:
        """A call, or an answer that does not begin like one."""
        begins = chars(*{self._first_mark()[:1], "{", "[", "<"})
        first = other_than(ALL_SPACES, other_than(begins, ANY_CHAR))
        answer = self._rules.define("answer", row(first, repeat(ANY_CHAR)), token=True)
        before = _thought(self._family, self._rules, self._where)
        return row(before, choice(row(self._calls_in_format(several=several), self._after()), answer))

    def triggers(self) -> tuple[str, ...]:
        """The triggers of the lazy rule; each is a possible beginning."""
        family = self._family
        form = self._family.form
        channels = family.channels
        triggers: list[str] = []
        if channels is not None:
            for name in self._calls:
                if channels.constrain:
                    triggers.append(f" to={channels.prefix}{name} ")
                triggers.append(f" to={channels.prefix}{name}<")
            return tuple(triggers)
        mark = self._first_mark()
        if isinstance(form, NamedForm) and form.text_name:
            triggers = [f"{mark}{name}{form.marks[0][0]}" for name in self._calls]
            if self._where.is_call_begun:
                triggers += [f"{name}{form.marks[0][0]}" for name in self._calls]
        elif mark.isalpha():
            # A plain word may also occur in the answer, unless the bracket follows.
            triggers.append(f"{mark}[")
        elif mark:
            triggers.append(mark)
        if family.is_bare and isinstance(form, JsonForm):
            # JSON with a name may be an answer; with a tool's name it is a call.
            begin = f'{{"{form.name_keys[0]}":'
            if form.is_array:
                begin = f"[{begin}"
            for name in self._calls:
                triggers += [f'{begin} "{name}"', f'{begin}"{name}"']
        elif family.is_bare and isinstance(form, PythonForm) and form.is_list:
            triggers += [f"[{name}(" for name in self._calls]
        elif family.section.open and not family.is_bare:
            triggers += family.call.open[:1]
        return tuple(dict.fromkeys(triggers))

    def special(self) -> tuple[str, ...]:
        """The markers that a reply may contain."""
        marks = [*markers_of(self._family, 1), self._first_mark()]
        # A part of a marker, beside line breaks or another marker, may be a token by itself.
        parts = _TOKENS.findall("\n".join(marks))
        return tuple(dict.fromkeys(filter(str.strip, [*parts, *marks])))

    def _first_mark(self) -> str:
        """What opens the first section, or the first call if there are no sections."""
        opens = self._family.section.open or self._family.call.open
        for mark in opens:
            # A text that contains the end of the turn could not be written in one turn.
            if not any(end in mark for end in self._family.ends):
                return mark.removeprefix(self._begun_by_turn(mark))
        return ""

    def _begun_by_turn(self, mark: str) -> str:
        """The part of a marker that the prompt ends with."""
        for turn in self._family.turn:
            if mark.startswith(turn):
                return turn
        return ""

    def _calls_in_format(self, *, several: bool) -> Node:
        """One call or more, in the family's format."""
        family = self._family
        if family.channels is not None:
            return self._headed_call(is_lazy=False)
        if self._where.is_call_begun:
            return self._calls_after_marker(several=several)
        # Without a text, these are empty.
        lead = optional(word(family.lead))
        turn: Node = EMPTY
        if family.section.open:
            turn = optional(word(self._begun_by_turn(family.section.open[0])))
        marked = row(lead, turn, self._sections(several=several))
        # If the template shows the tools, it also shows calls without any marker.
        if family.is_bare and family.shows_specs == "template":
            return choice(self._several(several=several, is_bare=True), marked)
        return marked

    def _sections(self, *, several: bool) -> Node:
        family = self._family
        several = several and family.parallel != "none"
        if family.parallel == "sections":
            one = self._several(several=False)
            again = self._rules.define("section", self._section(one, family.section.open[0]))
            first = self._section(one, self._first_mark())
            if several:
                return row(first, self._more(again))
            return first
        return self._section(self._several(several=several), self._first_mark())

    def _section(self, inside: Node, mark: str) -> Node:
        family = self._family
        if not family.section.open:
            return inside
        # If a marker is not a single token, its last token may include a little white space.
        opening = row(word(mark), self._gap(2) if family.inner else EMPTY)
        if not family.section.close:
            return row(opening, inside)
        # A bracket has closed the list, and not every model goes on to close the markers around it.
        close = self._section_close()
        if self._is_list():
            close = optional(close)
        return row(opening, inside, close)

    def _section_close(self) -> Node:
        closes = self._family.section.close
        if closes:
            return row(self._inner(), word(closes[0]))
        return EMPTY

    def _after(self) -> Node:
        """The optional end of the turn's wrapping after the calls."""
        wrappers = self._family.wrappers
        if wrappers:
            return optional(word(wrappers[-1]))
        return EMPTY

    def _gap(self, most: int) -> Node:
        return optional(self._rules.define("gap", repeat(chars(" \n"), 1, most), token=True))

    def _inner(self) -> Node:
        if self._family.inner:
            return optional(word(self._family.inner))
        return EMPTY

    def _is_list(self) -> bool:
        form = self._family.form
        if isinstance(form, JsonForm):
            return form.is_array
        return isinstance(form, PythonForm) and form.is_list

    def _several(self, *, several: bool, is_bare: bool = False) -> Node:
        """The calls of a section. Without its marker, a list must begin with a call at once."""
        family = self._family
        inside = one = self._one()
        if several and family.parallel != "none":
            inside = row(one, self._more(one))
        if not self._is_list():
            return inside
        if is_bare:
            begin = word("[")
        else:
            begin = row(word("["), self._gap(_INDENT))
        return row(begin, inside, self._gap(_INDENT), word("]"))

    def _one(self) -> Node:
        """One call with the markers around it."""
        open_ = ""
        if self._family.call.open:
            open_ = self._family.call.open[0]
        return self._rules.define("call", row(word(open_), choice(*self._calls.values()), self._close()))

    def _calls_after_marker(self, *, several: bool) -> Node:
        """Calls of which the first has its marker in the prompt."""
        one = row(choice(*self._calls.values()), self._close())
        if several and self._family.parallel != "none":
            return row(one, self._more(self._one()))
        return one

    def _close(self) -> Node:
        family = self._family
        if not family.call.close:
            return EMPTY
        close = family.call.close[0]
        space = close[: len(close) - len(close.lstrip())]
        ends = family.ends
        if family.channels is not None:
            ends = (*ends, *family.channels.ends)
        # A closing marker that also ends the turn may be the token that ends generation, and then it is
        # never written.
        if close in ends:
            return optional(word(close))
        return row(optional(word(space)), word(close.lstrip()))

    def _more(self, one: Node) -> Node:
        """Further calls, or sections, each after a separator."""
        family = self._family
        bare = family.separator.strip()
        space = word(family.separator[len(bare) :])
        if self._is_list():
            space = self._gap(_INDENT)
        elif bare or family.call.open or family.parallel == "sections":
            # Markers separate calls even without the white space between them.
            space = optional(space)
        return repeat(row(word(bare), space, one), 0, MOST_CALLS - 1)

    def _headed_call(self, *, is_lazy: bool) -> Node:
        """A call whose name is in the head of a message; a second would be another turn."""
        family = self._family
        channels = self._family.channels
        assert channels is not None
        options: list[Node] = []
        for name, call in self._calls.items():
            to = word(f" to={channels.prefix}{name}")
            if not channels.channel:
                one = row(word(family.call.open[0]), call, self._close())
                options.append(row(to, word(channels.message), self._section(one, self._first_mark())))
                continue
            kind = word(f"{channels.channel}commentary")
            any_kind = choice(kind, word(f"{channels.channel}{channels.thoughts[0]}"))
            # gpt-oss sometimes omits the marker before the type.
            json = optional(choice(word(f" {channels.constrain}json"), word(" json")))
            if is_lazy:
                heads = row(to, optional(any_kind), json)
            else:
                heads = choice(row(kind, to, json), row(to, kind, json))
            options.append(row(heads, word(channels.message), call, self._close()))
        return choice(*options)


def _thought(family: Family, rules: GrammarRules, where: PromptEnd) -> Node:
    """The rest of an open thought, or an optional thought."""
    if family.channels is not None:
        # A thought that is a message of its own, and the beginning of the next message.
        channels = family.channels
        rest = row(Until(_message_end(family, channels)), word(f"{channels.start}assistant"))
        if where.thought_end:
            return rest
        if channels.channel:
            kind = f"{channels.channel}{channels.thoughts[0]}"
        else:
            kind = f" to={channels.thoughts[0]}"
        return optional(row(word(f"{kind}{channels.message}"), rest))
    # Some turns begin anew after the thought. Some calls bring line breaks of their own.
    turn: Node = EMPTY
    if family.turn[:1] and family.turn[0] in family.wrappers:
        turn = word(family.turn[0])
    space: Node = EMPTY
    if not family.lead:
        space = rules.define("space", repeat(word("\n"), 1, 2), token=True)
    after = row(optional(space), optional(turn))
    if where.thought_end:
        return row(Until(where.thought_end), after)
    if where.is_thought_over or where.is_call_begun or not family.thoughts.open:
        return EMPTY
    mark = family.thoughts.open[0]
    return optional(row(word(mark), Until(_end_of(family, mark)), after))


def _message_end(family: Family, channels: Channels) -> str:
    """The end of a message that is no call."""
    return next(end for end in channels.ends if end not in family.call.close)


def _end_of(family: Family, mark: str) -> str:
    """The marker that closes a thought opened by this one: its counterpart, if they come in pairs."""
    opens = family.thoughts.open
    closes = family.thoughts.close
    if mark and len(opens) == len(closes):
        return closes[opens.index(mark)]
    return closes[0]


T = TypeVar("T")

MOST_CACHED = 256
"""How many grammars are cached; the least recently used is dropped first."""
_MOST_DIGESTS = 4096


class LruCache(Generic[T]):
    """A bounded, thread-safe LRU cache."""

    def __init__(self, most: int = MOST_CACHED) -> None:
        self._most = most
        self._cached: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The cached value of a key; made now if there is none. Two threads may make it at once."""
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
        made = make()
        with self._lock:
            cached = self._cached.setdefault(key, made)
            self._cached.move_to_end(key)
            while len(self._cached) > self._most:
                self._cached.popitem(last=False)
        return cached

    def __len__(self) -> int:
        with self._lock:
            return len(self._cached)

    def clear(self) -> None:
        """Clear the cache."""
        with self._lock:
            self._cached.clear()


_grammars: LruCache[Grammar] = LruCache()
_digests: LruCache[tuple[JsonObject, bytes]] = LruCache(_MOST_DIGESTS)


def digest(schema: JsonObject) -> bytes:
    """A digest: equal for schemas that allow the same, in the same words and order."""

    def make() -> tuple[JsonObject, bytes]:
        return schema, blake2b(dump(structure(schema)).encode(), digest_size=16).digest()

    # The schema is cached with its digest, so that no other object can get its identity meanwhile.
    return _digests.get(id(schema), make)[1]


@check_keywords("rc.local.grammar_for")
def grammar_for(
    specs: Sequence[Spec],
    family: Family,
    choice: ToolChoice,
    *,
    syntax: Syntax,
    parallel: bool = True,
    tail: str = "",
    decide: bool = False,
) -> Grammar | None:
    """The grammar that restricts a reply to valid calls; None if the model must call nothing.

    ``auto`` leaves the text unrestricted up to a family's opening marker; with ``decide`` it is
    restricted from the start to either a call or an answer, which helps small models. ``tail`` is the
    end of the prompt: it may have opened a thought. Raises DeclarationError for a tool that no arguments
    can satisfy.
    """
    if not isinstance(choice, Named):
        if choice == "required" and not specs:
            raise UsageError("a call is required, but no tools are offered")
        offered = tuple(specs)
    else:
        found = tuple(spec for spec in specs if spec.name == choice.name)
        if not found:
            raise UsageError(
                f"the model must call {choice.name!r}, which is not among the tools offered"
            )
        offered = found
    if choice == "none" or not offered:
        return None
    where = find_prompt_end(family, tail)
    several = parallel and not isinstance(choice, Named)
    if choice == "auto" and not decide:
        way = "lazy"
    elif choice == "auto":
        way = "decided"
    else:
        way = "forced"
    structures = tuple([(spec.name, digest(spec.parameters)) for spec in offered])
    key = (syntax, family.name, family.form, where, several, way, structures)

    def make() -> Grammar:
        rules = GrammarRules()
        calls = CallRules(family, rules)
        nodes = {spec.name: calls.call(spec) for spec in offered}
        reply = ReplyRules(family, rules, nodes, where)
        match way:
            case "lazy":
                root = reply.lazy_reply(several=several)
                triggers = reply.triggers()
            case "decided":
                root = reply.call_or_answer(several=several)
                triggers = ()
            case _:
                root = reply.forced_reply(several=several)
                triggers = ()
        book = rules.book(root)
        for name, node in nodes.items():
            if not isinstance(node, Reference) or node.name not in book.rules:
                place = "parameters"
                if calls.findings[name].impossible:
                    place = f"parameters at {calls.findings[name].impossible[0]}"
                raise DeclarationError(
                    name,
                    f"no arguments can satisfy it as models of the family {family.name!r} write them.",
                    where=place,
                    fix="Give what is required a schema that some value fits, and a name that can be "
                    "written.",
                )
        return Grammar(
            syntax=syntax, text=print_grammar(book, syntax), triggers=triggers, special=reply.special()
        )

    return _grammars.get(key, make)


@check_keywords("rc.local.grammar_for_output")
def grammar_for_output(schema: JsonObject, *, syntax: Syntax) -> Grammar:
    """The grammar that restricts a whole reply to JSON that satisfies a schema."""

    def make() -> Grammar:
        rules = GrammarRules()
        node, _ = _compile_schema(schema, rules)
        book = rules.book(node)
        if not book.rules:
            raise UsageError("no JSON value satisfies the output schema, so no answer could be given")
        return Grammar(syntax=syntax, text=print_grammar(book, syntax))

    return _grammars.get((syntax, "output", digest(schema)), make)


def unheld(schema: JsonObject) -> tuple[str, ...]:
    """What a grammar does not enforce of a schema, as paths to keywords; the gate checks it afterwards.

    Last comes what it enforces beyond the schema, each as ``(stricter: …)``: the order of members, white
    space, how a value is spelt. In nothing else does a grammar refuse what the schema allows.
    """
    findings = _compile_schema(schema, GrammarRules())[1]
    return (*dict.fromkeys(findings.unheld), *[f"(stricter: {each})" for each in findings.stricter])


def _compile_schema(schema: JsonObject, rules: GrammarRules) -> tuple[Node, Findings]:
    def write(known: SubSchema, into: GrammarRules, findings: Findings) -> Node:
        return Compiler(known, into, JSON, findings).value(known, "$")

    return compile_within_limits(schema, {}, rules, write)
