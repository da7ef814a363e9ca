"""Builds the rule for a whole reply: a thought, or its rest, and then calls; and its triggers."""

import re
from collections.abc import Mapping

from msgspec import Struct

from rightcall.local.families.family import (
    Channels,
    Family,
    JsonForm,
    NamedForm,
    PythonForm,
    markers_of,
)
from rightcall.local.families.opening import opened
from rightcall.local.grammar.nodes import (
    ANY_CHAR,
    EMPTY,
    Node,
    Until,
    chars,
    choice,
    optional,
    other_than,
    repeat,
    row,
    word,
)
from rightcall.local.grammar.regex import ALL_SPACES
from rightcall.local.grammar.rulebook import Rules

MOST_CALLS = 16
"""The most calls in one reply; a small model would never stop."""
_INDENT = 5
"""The most white space around the calls of a list: a line break and four spaces."""
_TOKENS = re.compile(r"<[^<>\n]+>|\[[^\[\]\n]+\]")


class Place(Struct, frozen=True, gc=False):
    """Where in a reply the prompt ends, as far as it matters to a grammar."""

    thought_end: str = ""
    """The marker that ends the open thought."""
    is_thought_over: bool = False
    """A thought was opened and closed, and no other will come."""
    is_call_begun: bool = False
    """The marker before a call was written."""


def place(family: Family, tail: str) -> Place:
    """The state that a prompt ends in."""
    begun = opened(family, tail)
    channels = family.channels
    if channels is not None:
        inside = channels.message in begun.text.rpartition(channels.start)[2]
        return Place(thought_end=_message_end(family, channels) if inside else "")
    opens = {mark: begun.text.rfind(mark) for mark in family.thoughts.open}
    last = max(opens, key=lambda mark: opens[mark], default="")
    closed = max([begun.text.rfind(mark) for mark in family.thoughts.close], default=-1)
    is_open = closed < (opens[last] if last else -1) or (begun.in_thought and closed < 0)
    is_call_begun = bool(family.call.open) and begun.text.endswith(family.call.open[0])
    if not is_open:
        return Place(is_thought_over=closed >= 0, is_call_begun=is_call_begun)
    return Place(thought_end=_end_of(family, last))


class ReplyRules:
    """The replies of a family that call a tool."""

    def __init__(self, family: Family, rules: Rules, calls: Mapping[str, Node], where: Place) -> None:
        self._family = family
        self._rules = rules
        self._calls = calls
        self._where = where

    def forced(self, *, several: bool) -> Node:
        """A reply that must call: optionally a thought, then one call or more."""
        before = _thought(self._family, self._rules, self._where)
        return row(before, self._written(several=several), self._after())

    def lazy(self, *, several: bool) -> Node:
        """What follows a trigger, from its first character on."""
        if self._family.channels is not None:
            return self._addressed(is_lazy=True)
        options = [self._sections(several=several)]
        if self._family.is_bare:
            options.append(self._several(several=several, is_bare=True))
        elif self._family.section.open and self._family.call.open:
            # Models sometimes close a section that was never opened.
            options.append(row(self._several(several=several), optional(self._section_close())))
        if self._where.is_call_begun:
            options.append(self._unopened(several=several))
        return row(choice(*options), self._after())

    def decided(self, *, several: bool) -> Node:
        """A call, or an answer that does not begin like one."""
        begins = chars(*{self._first_mark()[:1], "{", "[", "<"})
        first = other_than(ALL_SPACES, other_than(begins, ANY_CHAR))
        answer = self._rules.define("answer", row(first, repeat(ANY_CHAR)), token=True)
        before = _thought(self._family, self._rules, self._where)
        return row(before, choice(row(self._written(several=several), self._after()), answer))

    def triggers(self) -> tuple[str, ...]:
        """The triggers of the lazy rule; each is a possible beginning."""
        family, form = self._family, self._family.form
        channels = family.channels
        if channels is not None:
            ends = (" ", "<") if channels.constrain else ("<",)
            return tuple(f" to={channels.prefix}{name}{end}" for name in self._calls for end in ends)
        mark = self._first_mark()
        found = [mark] if mark else []
        if isinstance(form, NamedForm) and form.text_name:
            opens = [mark, ""] if self._where.is_call_begun else [mark]
            found = [f"{each}{name}{form.marks[0][0]}" for each in opens for name in self._calls]
        elif mark.isalpha():
            # A plain word may also occur in the answer, unless the bracket follows.
            found = [f"{mark}["]
        if family.is_bare:
            found += self._bare_triggers()
        elif family.section.open:
            found += family.call.open[:1]
        return tuple(dict.fromkeys(found))

    def special(self) -> tuple[str, ...]:
        """The markers that a reply may contain."""
        marks = [*markers_of(self._family, 1), self._first_mark()]
        # A part of a marker, beside line breaks or another marker, may be a token by itself.
        parts = [part for mark in marks for part in _TOKENS.findall(mark)]
        return tuple(dict.fromkeys(mark for mark in (*parts, *marks) if mark.strip()))

    def _first_mark(self) -> str:
        """What opens the first section, or the first call if there are no sections."""
        opens = self._family.section.open or self._family.call.open
        # A text that contains the end of the turn could not be written in one turn.
        whole = [mark for mark in opens if not any(end in mark for end in self._family.ends)]
        mark = next(iter(whole), "")
        return mark.removeprefix(self._begun_by_turn(mark))

    def _begun_by_turn(self, mark: str) -> str:
        """The part of a marker that the prompt ends with."""
        return next((turn for turn in self._family.turn if mark.startswith(turn)), "")

    def _bare_triggers(self) -> list[str]:
        match self._family.form:
            case JsonForm(name_keys=(key, *_), is_array=is_array):
                # JSON with a name may be an answer; with a tool's name it is a call.
                begin = f'{"[" if is_array else ""}{{"{key}":'
                return [f'{begin}{space}"{name}"' for name in self._calls for space in (" ", "")]
            case PythonForm(is_list=True):
                return [f"[{name}(" for name in self._calls]
            case _:
                return []

    def _written(self, *, several: bool) -> Node:
        """One call or more, in the family's format."""
        family = self._family
        if family.channels is not None:
            return self._addressed(is_lazy=False)
        if self._where.is_call_begun:
            return self._unopened(several=several)
        lead = optional(word(family.lead)) if family.lead else EMPTY
        turn = (
            optional(word(self._begun_by_turn(family.section.open[0]))) if family.section.open else EMPTY
        )
        marked = row(lead, turn, self._sections(several=several))
        # If the template shows the tools, it also shows calls without any marker.
        is_shown_bare = family.is_bare and family.shows_specs == "template"
        return choice(self._several(several=several, is_bare=True), marked) if is_shown_bare else marked

    def _sections(self, *, several: bool) -> Node:
        family = self._family
        several = several and family.parallel != "none"
        if family.parallel == "sections":
            one = self._several(several=False)
            again = self._rules.define("section", self._section(one, family.section.open[0]))
            return row(self._section(one, self._first_mark()), self._more(again) if several else EMPTY)
        return self._section(self._several(several=several), self._first_mark())

    def _section(self, inside: Node, mark: str) -> Node:
        family = self._family
        if not family.section.open:
            return inside
        opening = row(word(mark), self._after_mark())
        if not family.section.close:
            return row(opening, inside)
        # A bracket has closed the list, and not every model goes on to close the markers around it.
        close = self._section_close()
        return row(opening, inside, optional(close) if self._is_list() else close)

    def _section_close(self) -> Node:
        closes = self._family.section.close
        return row(self._inner(), word(closes[0])) if closes else EMPTY

    def _after(self) -> Node:
        """The optional end of the turn's wrapping after the calls."""
        wrappers = self._family.wrappers
        return optional(word(wrappers[-1])) if wrappers else EMPTY

    def _gap(self, most: int) -> Node:
        return optional(self._rules.define("gap", repeat(chars(" \n"), 1, most), token=True))

    def _after_mark(self) -> Node:
        """A little white space: if a marker is not a single token, its last token may include some."""
        if not self._family.inner:
            return EMPTY
        return self._gap(2)

    def _inner(self) -> Node:
        return optional(word(self._family.inner)) if self._family.inner else EMPTY

    def _is_list(self) -> bool:
        form = self._family.form
        if isinstance(form, JsonForm):
            return form.is_array
        return isinstance(form, PythonForm) and form.is_list

    def _several(self, *, several: bool, is_bare: bool = False) -> Node:
        """The calls of a section. Without its marker, a list must begin with a call at once."""
        family = self._family
        one = self._one()
        inside = row(one, self._more(one) if several and family.parallel != "none" else EMPTY)
        if not self._is_list():
            return inside
        begin = word("[") if is_bare else row(word("["), self._gap(_INDENT))
        return row(begin, inside, self._gap(_INDENT), word("]"))

    def _one(self) -> Node:
        """One call with the markers around it."""
        open_ = self._family.call.open[0] if self._family.call.open else ""
        return self._rules.define("call", row(word(open_), choice(*self._calls.values()), self._close()))

    def _unopened(self, *, several: bool) -> Node:
        """Calls of which the first has its marker in the prompt."""
        one = row(choice(*self._calls.values()), self._close())
        is_several = several and self._family.parallel != "none"
        return row(one, self._more(self._one()) if is_several else EMPTY)

    def _close(self) -> Node:
        family = self._family
        close = family.call.close[0] if family.call.close else ""
        space = close[: len(close) - len(close.lstrip())]
        ends = (*family.ends, *(family.channels.ends if family.channels is not None else ()))
        # A closing marker that also ends the turn may be the token that ends generation, and then it is
        # never written.
        if close in ends:
            return optional(word(close))
        return row(optional(word(space)), word(close.lstrip()))

    def _more(self, one: Node) -> Node:
        """Further calls, or sections, each after a separator."""
        family = self._family
        bare = family.separator.strip()
        before, space = (bare, family.separator[len(bare) :]) if bare else ("", family.separator)
        # Markers separate calls even without the white space between them.
        is_marked = bool(bare or family.call.open or family.parallel == "sections")
        between = row(word(before), optional(word(space)) if is_marked else word(space))
        if self._is_list():
            between = row(word(before), self._gap(_INDENT))
        return repeat(row(between, one), 0, MOST_CALLS - 1)

    def _addressed(self, *, is_lazy: bool) -> Node:
        """A call whose name is in the head of a message; a second would be another turn."""
        family, channels = self._family, self._family.channels
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
            heads = (
                row(to, optional(any_kind), json)
                if is_lazy
                else choice(row(kind, to, json), row(to, kind, json))
            )
            options.append(row(heads, word(channels.message), call, self._close()))
        return choice(*options)


def _thought(family: Family, rules: Rules, where: Place) -> Node:
    """The rest of an open thought, or an optional thought."""
    if family.channels is not None:
        return _message(family, family.channels, where)
    # Some turns begin anew after the thought. Some calls bring line breaks of their own.
    turn = word(family.turn[0]) if family.turn[:1] and family.turn[0] in family.wrappers else EMPTY
    space = rules.define("space", repeat(word("\n"), 1, 2), token=True) if not family.lead else EMPTY
    after = row(optional(space), optional(turn))
    if where.thought_end:
        return row(Until(where.thought_end), after)
    if where.is_thought_over or where.is_call_begun or not family.thoughts.open:
        return EMPTY
    mark = family.thoughts.open[0]
    return optional(row(word(mark), Until(_end_of(family, mark)), after))


def _message(family: Family, channels: Channels, where: Place) -> Node:
    """A thought that is a message of its own, and the beginning of the next message."""
    rest = row(Until(_message_end(family, channels)), word(f"{channels.start}assistant"))
    if where.thought_end:
        return rest
    kind = (
        f"{channels.channel}{channels.thoughts[0]}"
        if channels.channel
        else f" to={channels.thoughts[0]}"
    )
    return optional(row(word(f"{kind}{channels.message}"), rest))


def _message_end(family: Family, channels: Channels) -> str:
    """The end of a message that is no call."""
    return next(end for end in channels.ends if end not in family.call.close)


def _end_of(family: Family, mark: str) -> str:
    """The marker that closes a thought opened by this one: its counterpart, if they come in pairs."""
    opens, closes = family.thoughts.open, family.thoughts.close
    return closes[opens.index(mark)] if mark and len(opens) == len(closes) else closes[0]
