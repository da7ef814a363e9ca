"""Everything that a run has read so far, message by message: who named what, and what is tainted.

It follows from the transcript and the tools' facts alone, so that a run that is resumed, recovered or
inspected later knows the same.
"""

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import zip_longest

import msgspec
from msgspec.structs import replace

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Grant
from rightcall.core.jsontext import JsonValue, Place, is_key, leaves
from rightcall.core.message import Message, Reply, Results, User
from rightcall.core.options import checked
from rightcall.core.parts import Result
from rightcall.core.ports import Tools
from rightcall.core.tool import Tool
from rightcall.trust.asked.described import Described
from rightcall.trust.asked.superlatives import Rank, ranks_in, singled_out
from rightcall.trust.evidence import Known, asks_by_record, known
from rightcall.trust.facts import WORST
from rightcall.trust.paid import Paid
from rightcall.trust.pieces import Label, Piece, pieces_of, says_who
from rightcall.trust.provenance import Provenance
from rightcall.trust.rules import Rules
from rightcall.trust.words.spelling import without_links
from rightcall.trust.written import EARLIER, NO_ECHO, Echo, Written, echo_of, relabelled

_RAN = frozenset({"returned", "failed", "timed_out", "interrupted"})
_UNVOUCHED = ("listed", "unfit", "untrusted", "nowhere")


class Seen:
    """What one run has read. Show it every message in order."""

    @checked("rc.trust.Guard")
    def __init__(
        self,
        rules: Rules,
        tools: Tools,
        *,
        system: str = "",
        grant: Grant | None = None,
        above: "Seen | None" = None,
    ) -> None:
        self.rules = rules
        grant = grant if grant is not None or not isinstance(rules.grant, Grant) else rules.grant
        self.tainted: bool = above is not None and above.tainted
        """Whether the run has read untrusted text."""
        self.private: bool = above is not None and above.private
        """Whether the run has read private data."""
        self.suspected: bool = above is not None and above.suspected
        """Whether a screen suspected something that was read of being an attack."""
        self._above = above
        allowed = (*rules.vouched, *(grant.targets if grant is not None else ()))
        self.provenance: Provenance = Provenance(allowed, None if above is None else above.provenance)
        """Who has named which values so far."""
        self.grant = grant
        self.provenance.vouch(system, "developer")
        self._described: Described = Described(None if above is None else above._described)  # noqa: SLF001
        """The records seen so far, and the words that describe them."""
        self.tools = tools
        self._facts: dict[int, Known] = {}
        self._calls: dict[str, Call] = {}
        """The calls of the last reply, by id, in order."""
        self._ran: Counter[str] = Counter()
        self._written: Written = Written(None if above is None else above._written)  # noqa: SLF001
        self._paid: Paid = Paid(None if above is None else above._paid)  # noqa: SLF001
        self._ranks: frozenset[Rank] = frozenset() if above is None else above._ranks  # noqa: SLF001
        """The ranks by which the user has singled something out, such as the newest."""

    @property
    def grant(self) -> Grant | None:
        """What the request may do once the run has read untrusted text; None if nobody stated it."""
        return self._grant

    @grant.setter
    def grant(self, grant: Grant | None) -> None:
        self._grant = grant
        if grant is not None and grant.named is not None:
            self.provenance.state(grant.named)

    @property
    def tools(self) -> Tools:
        """The tools that are available now."""
        return self._tools

    @tools.setter
    def tools(self, tools: Tools) -> None:
        self._tools = tools
        for tool in map(tools.get, tools.names()):
            # A third party's description of a tool is untrusted text, read before any result.
            if tool is not None and tool.origin:
                self.tainted = True
                self.provenance.taint(tool.description, tool.origin)

    def inert(self, answer: str) -> str:
        """An answer to show: in a tainted run, without the links that nobody vouched for.

        A picture is loaded when it is shown, which sends its URL to the host that serves it.
        """
        if not self.tainted:
            return answer
        return without_links(answer, lambda link: self.provenance.of(link)[0] in _UNVOUCHED)

    def see(self, message: Message) -> tuple[Piece, ...]:
        """Read the next message. Returns its pieces, each with its label."""
        match message:
            case User():
                return (self._see_user(message),)
            case Reply():
                self._calls = {call.id: call for call in message.calls}
                writer = Label(writer="outsider" if self.tainted else "model", private=self.private)
                return (Piece(message.text, writer),)
            case Results(results):
                # Results of one turn come from calls of one reply: the model had read none of them yet.
                echoes = [self._echoes(each) if self.tainted else NO_ECHO for each in results]
                if self._ranks:
                    self._single_out(results)
                free = [not self.tainted or self._is_free(each) for each in results]
                for result, is_free in zip(results, free, strict=True):
                    self._describe(result, is_free=is_free)
                found = zip(results, echoes, strict=True)
                return tuple([piece for each in found for piece in self._see_result(*each)])

    def _see_user(self, message: User) -> Piece:
        # An inner run has no user: its user messages come from the outer run.
        match "agent" if message.author == "user" and self._above is not None else message.author:
            case "user" | "developer" as author:
                self.provenance.vouch(message.text, author)
                self._described.hear(message.text)
                self._ranks |= ranks_in(message.text)
                return Piece(message.text, Label(writer=author))
            case "runtime":
                return Piece(message.text, Label(writer="runtime", private=self.private))
            case "agent":
                # A model's message to another is as trusted as what that model had read.
                if self._above is None:
                    self.provenance.taint(message.text, "agent")
                    self.tainted = True
                writer = Label(writer="outsider" if self.tainted else "model", private=self.private)
                return Piece(message.text, writer)

    def _see_result(self, result: Result, echo: Echo) -> Iterator[Piece]:
        facts = self._known(result.name).facts
        ran = result.outcome in _RAN
        self._ran[result.name] += ran
        if ran and facts.acts:
            self._paid.add(self._arguments(result), facts)
        if facts.acts and result.outcome in ("returned", "failed"):
            self._described.note(result.name, self._arguments(result), result.outcome == "returned")
        if facts.is_consequential and (ran or result.withheld):
            # The call may have stored them where a later result returns them as the system's own data.
            self.provenance.distrust(echo.keys)
            self._written.add(echo.texts, echo.targets, self._is_vouched)
        back, taken = self._written.back_in(result), set[tuple[str, str]]()
        is_made = (facts.derived or echo.is_opaque) and bool(echo.keys)
        for piece in pieces_of(result, facts):
            label = piece.label
            if label.writer == "tool" and piece.text in back:
                label = replace(label, writer="outsider", source=f"{label.source}{EARLIER}")
                piece = replace(piece, label=label)  # noqa: PLW2901 - the same, seen through
            if label.writer == "outsider":
                self.tainted = True
                self.provenance.taint(piece.text, label.source)
            elif label.writer == "tool" and not is_made and (piece.text, piece.field) not in taken:
                # Field names recur in every record; reading them once is enough.
                taken.add((piece.text, piece.field))
                but = echo.keys_in(piece.text)
                self.provenance.believe(piece, facts.kind_in(piece.field), but)
            self.private = self.private or label.private
            self.suspected = self.suspected or label.suspected
            yield piece
        fields = result.fields[len(result.vouched) :]
        for name, field in zip_longest(result.names if facts.names else (), fields, fillvalue=""):
            if name not in back and not says_who(name, field, facts):
                kind = facts.kind_in(field) or ("free" if field else None)
                self.provenance.name(name, result.name, kind, echo.keys)

    def _describe(self, result: Result, *, is_free: bool) -> None:
        """Read the records in a trusted result."""
        facts = self._known(result.name).facts
        if result.outcome == "returned" and not facts.is_consequential and facts.untrusted is not True:
            self._described.see(result, facts, is_free=is_free)
            self.provenance.exclude_in(result.text)

    def _is_free(self, result: Result) -> bool:
        """Whether a tainted run's model had no choice in what a result is about: the user named it."""
        given = [leaf for place, leaf in leaves(self._arguments(result)) if not _is_name(place)]
        return all(
            not leaf.strip()
            or self.provenance.of(leaf)[0] in ("user", "developer", "operator")
            or self._described.is_given(leaf)
            for leaf in given
        )

    def _single_out(self, results: tuple[Result, ...]) -> None:
        """Record what the user singled out by rank, in lists that no hijacked model has filtered."""
        for result in results:
            call, of = self._calls.get(result.call_id), self._known(result.name)
            if result.outcome != "returned" or of.facts.untrusted is True:
                continue
            is_whole = not self.tainted or (call is not None and call.as_json in ("", "{}"))
            is_whole = is_whole and not self._written.back_in(result)
            if not (is_whole or asks_by_record(call, of)):
                continue
            for rank, text in singled_out(result, of.facts, self._ranks):
                # If both the cheapest and the dearest are named, one is meant for something else.
                if not any(each.is_opposite(rank) for each in self._ranks):
                    self._described.choose(text)
                if is_whole:
                    self.provenance.choose(rank.nouns, text)

    def _echoes(self, result: Result) -> Echo:
        """What a result may merely repeat: the values in its call that nobody vouched for."""
        given = self._unvouched(self._arguments(result), self._known(result.name))
        return echo_of(*given, self._is_vouched)

    def _arguments(self, result: Result) -> JsonValue:
        """The arguments of the call that a result answers."""
        return decoded(self._calls.get(result.call_id))

    def _is_vouched(self, text: str) -> bool:
        return self.provenance.of(text)[0] not in _UNVOUCHED

    def _unvouched(self, arguments: JsonValue, of: Known) -> tuple[list[str], list[str]]:
        """The values in a call that nobody has vouched for, and those of them that are targets."""
        given = [each for each in leaves(arguments) if not _is_name(each[0])]
        found = [each for each in given if not self._is_vouched(each[1])]
        named = [leaf for place, leaf in found if place and place[0] in of.facts.targets]
        return [leaf for _, leaf in found], named

    def traces_of(self, checked: CheckedCall) -> frozenset[str]:
        """The traces by which a later run must recognise what a call writes; empty for most calls."""
        of = self._known(checked.tool.name, checked.tool)
        if not self.tainted or not of.facts.is_consequential:
            return frozenset()
        return self._written.traces(*self._unvouched(checked.arguments, of), self._is_vouched)

    def recall(self, message: Message) -> Message:
        """A message of an earlier run, relabelled: its labels may not all have been stored."""
        if isinstance(message, Results):
            given = [relabelled(each, self._known(each.name).facts) for each in message.results]
            return Results(tuple(given))
        if isinstance(message, Reply) and message.text and message.tainted is not False:
            tools = map(self.tools.get, self.tools.names())
            known = (self._known(tool.name, tool).facts for tool in tools if tool is not None)
            if message.tainted or any(facts.untrusted for facts in known):
                self.tainted = True
                self.provenance.taint(message.text, "an earlier answer")
        return message

    def _known(self, name: str, tool: Tool | None = None) -> Known:
        """Returns a tool with its facts, and what its schema says about its parameters."""
        tool = tool or self.tools.get(name)
        if tool is None:
            return _GONE
        found = self._facts.get(id(tool))
        if found is None:
            is_directory = any(fnmatchcase(tool.name, each) for each in self.rules.directories)
            found = self._facts[id(tool)] = known(tool, is_directory=is_directory)
        return found


_GONE = Known(Tool("gone", "A tool that is not there any more."), WORST, frozenset(), frozenset(), {})


def _is_name(place: Place) -> bool:
    """Whether the text at a place in the arguments is a parameter's name."""
    return len(place) == 1 and is_key(place)


def decoded(call: Call | None) -> JsonValue:
    """The arguments of a call; empty if they are not valid JSON: such a call does not run."""
    try:
        return msgspec.json.decode(call.as_json or "{}") if call is not None else {}
    except (msgspec.DecodeError, RecursionError):
        return {}
