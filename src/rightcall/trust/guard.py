"""Reads a run's messages in order, and decides whether a call may run, without asking the model.

Every verdict follows from the transcript, the tools' facts and the rules, so that a run that is resumed,
recovered or inspected later gets the same verdicts.
"""

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain, islice, takewhile, zip_longest

import msgspec
from msgspec.structs import replace

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Allow, Ask, Deny, Evidence, Grant
from rightcall.core.jsontext import JsonValue, Place, is_key, leaves
from rightcall.core.message import Message, Reply, Results, Transcript, User
from rightcall.core.options import checked
from rightcall.core.parts import Result
from rightcall.core.ports import Tools
from rightcall.core.tool import Tool
from rightcall.trust.asked.described import Described
from rightcall.trust.asked.superlatives import Rank, ranks_in, singled_out
from rightcall.trust.bounds import bounds_in
from rightcall.trust.evidence import (
    Known,
    asks_by_record,
    can_do,
    content_in,
    keeps_terms,
    known,
    meant_in,
    words_in,
)
from rightcall.trust.facts import STRICT, WORST, Settled
from rightcall.trust.finding import Finding, by_policy, secret_in, strictness, told
from rightcall.trust.paid import Paid
from rightcall.trust.pieces import Label, Piece, pieces_of, says_who
from rightcall.trust.provenance import Provenance
from rightcall.trust.rules import Case, Rules
from rightcall.trust.targets import targets_in
from rightcall.trust.words.spelling import without_links
from rightcall.trust.written import EARLIER, NO_ECHO, Echo, Written, echo_of, relabelled

_RAN = frozenset({"returned", "failed", "timed_out", "interrupted"})
GO_ON = "What was refused stays refused. Go on with the rest of the task without it."
"""The message to the model, in a turn of its own, after results that include a refused call."""
_MOST_EVIDENCE = 200
_UNVOUCHED = ("listed", "unfit", "untrusted", "nowhere")


class Guard:
    """Applies trust rules to one run. Show it every message in order; ask it about every call."""

    @checked("rc.trust.Guard")
    def __init__(
        self,
        rules: Rules,
        tools: Tools,
        *,
        system: str = "",
        grant: Grant | None = None,
        above: "Guard | None" = None,
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
        return _decoded(self._calls.get(result.call_id))

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

    @checked("rc.trust.Guard.judge")
    def judge(self, checked: CheckedCall, *, early: bool = False) -> Finding:
        """Returns the verdict on a call. ``early``: its reply is incomplete, and not seen yet."""
        case = self._case(checked)
        flow = self._flow(case)
        if self.rules.policy is None or isinstance(flow.decision, Deny):
            return flow
        ordinary = by_policy(self.rules.policy, case)
        if early and any(rule.after is not None for rule in self.rules.policy):
            return Finding(decision=Ask(), reason="calls are counted")
        return max(flow, ordinary, key=strictness)

    def review(self, checked: CheckedCall) -> Finding:
        """Returns the verdict on a call whose arguments a policy has rewritten."""
        return self._flow(self._case(checked))

    def trace(self, value: JsonValue) -> tuple[Evidence, ...]:
        """Returns where every part of a value was seen."""
        return tuple(self.provenance.trace(value, "value"))

    def _case(self, checked: CheckedCall) -> Case:
        of = self._known(checked.tool.name, checked.tool)
        tool, facts = of.tool, of.facts
        # Earlier calls in the same reply have not run yet, but may.
        earlier = takewhile(lambda call: call.id != checked.call.id, self._calls.values())
        is_here = checked.call.id in self._calls
        same = [call for call in earlier if call.name == tool.name] if is_here else []
        paid = self._paid_before(checked, facts, same) if facts.acts and (same or self._paid) else 0
        exposed = facts.is_consequential and (self.tainted or self.private)
        watched = exposed or self.rules.policy is not None
        given = (checked, of, self.provenance)
        meant = meant_in(checked, of, self._described, partial(can_do, self._every_tool))
        # A lookup outside tells others what is looked for.
        telling = self.tainted and self.private and facts.reach == "outside" and not facts.acts
        return Case(
            checked=checked,
            facts=facts,
            tainted=self.tainted,
            private=self.private,
            suspected=self.suspected,
            targets=_bounded(targets_in(*given, meant, self._described)) if watched else (),
            links=_bounded(chain(content_in(*given), words_in(*given) if telling else ()))
            if watched
            else (),
            bounds=_bounded(bounds_in(*given, meant, paid)) if watched else (),
            calls=self._ran[tool.name] + len(same),
        )

    def _every_tool(self) -> Iterator[Known]:
        return map(self._known, self.tools.names())

    def _paid_before(self, checked: CheckedCall, facts: Settled, same: list[Call]) -> float:
        """The amount that already went, or is about to go, to the targets of a call."""
        now = Paid()
        for call in same:
            now.add(_decoded(call), facts)
        return self._paid.to(checked.arguments, facts) + now.to(checked.arguments, facts)

    def _flow(self, case: Case) -> Finding:
        """The verdict of the rules that apply whatever the policy is."""
        facts, name, grant = case.facts, case.checked.tool.name, self.grant
        if self.rules.secrets and facts.reach == "outside" and (leak := secret_in(case.checked)):
            why = "what looks like a key or a password would go outside"
            return replace(self._refused(why, (leak,)), each_time=True)
        if facts.allowed_when and not keeps_terms(case.checked, facts, self._described):
            why = f"what {name} would act on is not what its author allows, or nobody has looked at it"
            # The user may want it; the house does not do it, and the user cannot allow it.
            return Finding(decision=Deny(why, GO_ON), reason=why, evidence=case.targets, each_time=True)
        is_granted = grant is None or any(fnmatchcase(name, each) for each in grant.tools)
        if case.tainted and not is_granted and (facts.is_consequential or facts.reads_private):
            return self._refused(f"the request does not call for {name}", case.evidence)
        if not facts.is_consequential or not (
            case.tainted or (case.private and facts.reach == "outside")
        ):
            return Finding()
        strict = not STRICT.isdisjoint(facts.dangers)
        named = case.evidence if case.tainted else case.targets
        unvouched = tuple([e for e in named if not e.is_vouched or (strict and e.origin == "trusted")])
        if unvouched:
            return self._refused(told(unvouched), unvouched)
        if grant is None and case.is_open_ended:
            return self._refused(f"nobody has asked for {name}, and it names no target", ())
        why = "everything that says who or where is vouched for"
        return Finding(decision=Allow(), reason=why, evidence=case.evidence)

    def _refused(self, why: str, evidence: tuple[Evidence, ...]) -> Finding:
        if self.rules.otherwise == "ask":
            return Finding(decision=Ask(why), reason=why, evidence=evidence)
        return Finding(decision=Deny(why, GO_ON), reason=why, evidence=evidence)

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


@checked("rc.trust.labels")
def labels(
    transcript: Transcript, tools: Tools, rules: Rules | None = None
) -> tuple[tuple[Piece, ...], ...]:
    """The pieces of every message of a transcript, each with its label."""
    guard = Guard(rules or Rules(), tools)
    return tuple([guard.see(message) for message in transcript])


@checked("rc.trust.inert")
def inert(transcript: Transcript, tools: Tools, rules: Rules | None = None) -> str:
    """The answer at the end of a transcript, without the links that are not vouched for."""
    guard, answer = Guard(rules or Rules(), tools), ""
    for message in transcript:
        guard.see(message)
        answer = message.text if isinstance(message, Reply) else answer
    return guard.inert(answer)


def _bounded(evidence: Iterator[Evidence]) -> tuple[Evidence, ...]:
    """As much evidence as a person can read; if there is more, the rest counts as not vouched for."""
    found = tuple(islice(evidence, _MOST_EVIDENCE))
    more = next(evidence, None)
    return found if more is None else (*found, Evidence(more.path, "and more", "nowhere"))


def _is_name(place: Place) -> bool:
    """Whether the text at a place in the arguments is a parameter's name."""
    return len(place) == 1 and is_key(place)


def _decoded(call: Call | None) -> JsonValue:
    """The arguments of a call; empty if they are not valid JSON: such a call does not run."""
    try:
        return msgspec.json.decode(call.as_json or "{}") if call is not None else {}
    except (msgspec.DecodeError, RecursionError):
        return {}
