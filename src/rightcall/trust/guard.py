"""Decides whether a call may run, by what the run has read, without asking the model.

Every verdict follows from the transcript, the tools' facts and the rules, so that a run that is resumed,
recovered or inspected later gets the same verdicts.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice, zip_longest

import msgspec
from msgspec.structs import replace

from rightcall.core.decision import Allow, Ask, Deny, Evidence, Grant
from rightcall.core.jsontext import JsonValue, Place, is_key, leaves
from rightcall.core.message import Message, Reply, Results, Transcript, User
from rightcall.core.options import check_keywords
from rightcall.core.parts import Call, Result
from rightcall.core.ports import Tools
from rightcall.core.tool import CheckedCall, Tool
from rightcall.trust.asked.described import Described
from rightcall.trust.asked.superlatives import Rank, ranks_in, singled_out
from rightcall.trust.asked.terms import is_allowed, looked_at
from rightcall.trust.evidence import (
    CallEvidence,
    ToolKnowledge,
    can_do,
    change_in,
    meant_in,
    tool_knowledge,
)
from rightcall.trust.facts import STRICT, WORST, ResolvedFacts
from rightcall.trust.pieces import Label, Piece, attached_pieces, pieces_of, says_who
from rightcall.trust.provenance import Provenance
from rightcall.trust.rules import (
    Finding,
    RuleCase,
    Rules,
    apply_policy,
    describe_unvouched,
    matches_any,
    secret_in,
    strictness,
)
from rightcall.trust.traces import EARLIER, NO_ECHO, Echo, WrittenTraces, echo_of, restore_label
from rightcall.trust.words.counts import is_number
from rightcall.trust.words.plain import plain
from rightcall.trust.words.spelling import without_links

_NO_GOAL = ("amount", "date")
_RAN = frozenset({"returned", "failed", "timed_out", "interrupted"})
_UNVOUCHED = ("listed", "unfit", "untrusted", "nowhere")
_MOST_EVIDENCE = 200
GO_ON = "What was refused stays refused. Go on with the rest of the task without it."
"""The message to the model, in a turn of its own, after results that include a refused call."""
_GONE = ToolKnowledge(
    Tool("gone", "A tool that is not there any more."), WORST, frozenset(), frozenset(), {}
)


class PaidAmounts:
    """The amounts of the calls that ran, summed by target.

    Naming 50 once does not permit 50 again and again.
    """

    def __init__(self, above: "PaidAmounts | None" = None) -> None:
        self._sums: Counter[str] = Counter()
        if above is not None:
            # One sum for a run and its inner runs: they spend what the same user named.
            self._sums = above._sums  # noqa: SLF001

    def add(self, arguments: JsonValue, facts: ResolvedFacts) -> None:
        """Add the amounts of a call that may have run."""
        if not isinstance(arguments, dict):
            return
        amount = 0.0
        for place, text in leaves(arguments):
            if facts.is_amount(place) and is_number(text):
                amount += abs(float(text))
        if amount:
            for goal in dict.fromkeys(_goals(arguments, facts)):
                self._sums[goal] += amount  # type: ignore[assignment] # amounts need not be whole

    def to(self, arguments: JsonValue, facts: ResolvedFacts) -> float:
        """The amount that already went to a target of the call; the largest, if it has several."""
        if not self._sums:
            return 0
        return max(map(self._sums.__getitem__, _goals(arguments, facts)), default=0)


def _goals(arguments: JsonValue, facts: ResolvedFacts) -> Iterator[str]:
    if not isinstance(arguments, dict):
        return
    for name in facts.targets:
        if name in facts.sources or name in facts.bounded or facts.kind_of(name) in _NO_GOAL:
            continue
        for place, text in leaves(arguments.get(name), (name,)):
            if not facts.is_amount(place):
                yield plain(text).strip().lower()


class Guard:
    """Applies trust rules to one run. Show it every message in order; ask it about every call."""

    @check_keywords("rc.trust.Guard")
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
        if grant is None and isinstance(rules.grant, Grant):
            grant = rules.grant
        self.tainted: bool = above is not None and above.tainted
        """Whether the run has read untrusted text."""
        self.private: bool = above is not None and above.private
        """Whether the run has read private data."""
        self.suspected: bool = above is not None and above.suspected
        """Whether a screen suspected something that was read of being an attack."""
        self._above = above
        allowed = tuple(rules.vouched)
        if grant is not None:
            allowed = (*allowed, *grant.targets)
        self.provenance: Provenance = Provenance(allowed)
        """Who has named which values so far."""
        self._described: Described = Described()
        """The records seen so far, and the words that describe them."""
        self._written: WrittenTraces = WrittenTraces()
        self._paid: PaidAmounts = PaidAmounts()
        self._ranks: frozenset[Rank] = frozenset()
        """The ranks by which the user has singled something out, such as the newest."""
        if above is not None:
            self.provenance = Provenance(allowed, above.provenance)
            self._described = Described(above._described)  # noqa: SLF001
            self._written = WrittenTraces(above._written)  # noqa: SLF001
            self._paid = PaidAmounts(above._paid)  # noqa: SLF001
            self._ranks = above._ranks  # noqa: SLF001
        self.grant = grant
        self.provenance.vouch(system, "developer")
        self.tools = tools
        self._facts: dict[int, ToolKnowledge] = {}
        self._calls: dict[str, Call] = {}
        """The calls of the last reply, by id, in order."""
        self._ran: Counter[str] = Counter()

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
                return (self._see_user(message), *self._see_attachments(message))
            case Reply():
                self._calls = {call.id: call for call in message.calls}
                return (self._written_by_model(message.text),)
            case Results(results):
                # Results of one turn come from calls of one reply: the model had read none of them yet.
                echoes = list(map(self._echo, results))
                if self._ranks:
                    self._single_out(results)
                free = list(map(self._is_free, results))
                for result, is_free in zip(results, free, strict=True):
                    facts = self._tool_knowledge(result.name).facts
                    is_system = not facts.is_consequential and facts.untrusted is not True
                    if result.outcome == "returned" and is_system:
                        self._described.see(result, facts, is_free=is_free)
                        self.provenance.exclude_in(result.text)
                pieces: list[Piece] = []
                for result, echo in zip(results, echoes, strict=True):
                    pieces.extend(self._see_result(result, echo))
                return tuple(pieces)

    def _written_by_model(self, text: str) -> Piece:
        """What a model wrote: an outsider could have, if it has read untrusted text."""
        if self.tainted:
            return Piece(text, Label(writer="outsider", private=self.private))
        return Piece(text, Label(writer="model", private=self.private))

    def _see_user(self, message: User) -> Piece:
        author = message.author
        if author == "user" and self._above is not None:
            # An inner run has no user: its user messages come from the outer run.
            author = "agent"
        match author:
            case "user" | "developer":
                self.provenance.vouch(message.text, author)
                self._described.hear(message.text)
                self._ranks |= ranks_in(message.text)
                return Piece(message.text, Label(writer=author))
            case "runtime" if message.compaction is not None:
                # A summary says what others said: it is nobody's order, and vouches for nothing.
                return self._written_by_model(message.text)
            case "runtime":
                return Piece(message.text, Label(writer="runtime", private=self.private))
            case "agent":
                # A model's message to another is as trusted as what that model had read.
                if self._above is None:
                    self.provenance.taint(message.text, "agent")
                    self.tainted = True
                return self._written_by_model(message.text)

    def _see_attachments(self, message: User) -> Iterator[Piece]:
        for piece in attached_pieces(message.content):
            self.tainted = True
            self.provenance.taint(piece.text, piece.label.source)
            yield piece

    def _see_result(self, result: Result, echo: Echo) -> Iterator[Piece]:
        facts = self._tool_knowledge(result.name).facts
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
        back = self._written.back_in(result)
        taken = set[tuple[str, str]]()
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

    def _is_free(self, result: Result) -> bool:
        """Whether the model had no choice in what a result is about.

        It had read nothing untrusted, or the user had named everything in its call.
        """
        if not self.tainted:
            return True
        for place, leaf in leaves(self._arguments(result)):
            if _is_name(place) or not leaf.strip():
                continue
            is_named = self.provenance.of(leaf)[0] in ("user", "developer", "operator")
            if not is_named and not self._described.is_given(leaf):
                return False
        return True

    def _single_out(self, results: tuple[Result, ...]) -> None:
        """Record what the user singled out by rank, in lists that no hijacked model has filtered."""
        for result in results:
            facts = self._tool_knowledge(result.name).facts
            if result.outcome != "returned" or facts.untrusted is True:
                continue
            call = self._calls.get(result.call_id)
            is_whole = not self.tainted or (call is not None and call.as_json in ("", "{}"))
            is_whole = is_whole and not self._written.back_in(result)
            # A call that looks something up by identifier alone filters no list, either.
            arguments = self._arguments(result)
            kinds = set[str | None]()
            if isinstance(arguments, dict):
                kinds.update(map(facts.kind_of, arguments))
            if not is_whole and kinds != {"record"}:
                continue
            for rank, text in singled_out(result, facts, self._ranks):
                # If both the cheapest and the dearest are named, one is meant for something else.
                if not any(map(rank.is_opposite, self._ranks)):
                    self._described.choose(text)
                if is_whole:
                    self.provenance.choose(rank.nouns, text)

    def _echo(self, result: Result) -> Echo:
        """What a result may merely repeat: the values in its call that nobody vouched for."""
        if not self.tainted:
            return NO_ECHO
        given = self._unvouched_values(self._arguments(result), self._tool_knowledge(result.name))
        return echo_of(*given, self._is_vouched)

    def _arguments(self, result: Result) -> JsonValue:
        return decode_arguments(self._calls.get(result.call_id))

    def _is_vouched(self, text: str) -> bool:
        return self.provenance.of(text)[0] not in _UNVOUCHED

    def _unvouched_values(self, arguments: JsonValue, of: ToolKnowledge) -> tuple[list[str], list[str]]:
        """The values in a call that nobody has vouched for, and those of them that are targets."""
        values = []
        targets = []
        for place, leaf in leaves(arguments):
            if not _is_name(place) and not self._is_vouched(leaf):
                values.append(leaf)
                if place and place[0] in of.facts.targets:
                    targets.append(leaf)
        return values, targets

    def traces_of(self, checked: CheckedCall) -> frozenset[str]:
        """The traces by which a later run must recognise what a call writes; empty for most calls."""
        of = self._tool_knowledge(checked.tool.name, checked.tool)
        if not self.tainted or not of.facts.is_consequential:
            return frozenset()
        return self._written.traces(*self._unvouched_values(checked.arguments, of), self._is_vouched)

    def recall(self, message: Message) -> Message:
        """A message of an earlier run, relabelled: its labels may not all have been stored."""
        if isinstance(message, Results):
            results = []
            for result in message.results:
                results.append(restore_label(result, self._tool_knowledge(result.name).facts))
            return Results(tuple(results))
        written = ""
        tainted: bool | None = None
        if isinstance(message, Reply) and message.tainted is not False:
            written = message.text
            tainted = message.tainted
            source = "an earlier answer"
        elif isinstance(message, User) and message.compaction is not None:
            mark = message.compaction
            written = mark.summary if mark.tainted is not False else ""
            tainted = mark.tainted
            source = "an earlier summary"
        if written:
            there = [name for name in self.tools.names() if self.tools.get(name) is not None]
            known = map(self._tool_knowledge, there)
            if tainted or any(each.facts.untrusted for each in known):
                self.tainted = True
                self.provenance.taint(written, source)
        return message

    def _tool_knowledge(self, name: str, tool: Tool | None = None) -> ToolKnowledge:
        """Returns a tool with its facts, and what its schema says about its parameters."""
        tool = tool or self.tools.get(name)
        if tool is None:
            return _GONE
        found = self._facts.get(id(tool))
        if found is None:
            is_directory = matches_any(tool.name, self.rules.directories)
            found = self._facts[id(tool)] = tool_knowledge(tool, is_directory=is_directory)
        return found

    @check_keywords("rc.trust.Guard.judge")
    def judge(self, checked: CheckedCall, *, early: bool = False) -> Finding:
        """Returns the verdict on a call. ``early``: its reply is incomplete, and not seen yet."""
        case = self._case(checked)
        flow = self._flow(case)
        if self.rules.policy is None or isinstance(flow.decision, Deny):
            return flow
        ordinary = apply_policy(self.rules.policy, case)
        if early and any(rule.after is not None for rule in self.rules.policy):
            return Finding(decision=Ask(), reason="calls are counted")
        return max(flow, ordinary, key=strictness)

    def review(self, checked: CheckedCall) -> Finding:
        """Returns the verdict on a call whose arguments a policy has rewritten."""
        return self._flow(self._case(checked))

    def trace(self, value: JsonValue) -> tuple[Evidence, ...]:
        """Returns where every part of a value was seen."""
        return tuple(self.provenance.trace(value, "value"))

    def _case(self, checked: CheckedCall) -> RuleCase:
        of = self._tool_knowledge(checked.tool.name, checked.tool)
        facts = of.facts
        # Earlier calls in the same reply have not run yet, but may.
        same = []
        if checked.call.id in self._calls:
            for call in self._calls.values():
                if call.id == checked.call.id:
                    break
                if call.name == of.tool.name:
                    same.append(call)
        # The amount that already went, or is about to go, to the targets of the call.
        paid = 0.0
        if facts.acts:
            now = PaidAmounts()
            for call in same:
                now.add(decode_arguments(call), facts)
            paid = self._paid.to(checked.arguments, facts) + now.to(checked.arguments, facts)
        targets: tuple[Evidence, ...] = ()
        links: tuple[Evidence, ...] = ()
        bounds: tuple[Evidence, ...] = ()
        is_exposed = facts.is_consequential and (self.tainted or self.private)
        if is_exposed or self.rules.policy is not None:
            can = partial(can_do, lambda: map(self._tool_knowledge, self.tools.names()))
            meant = meant_in(checked, of, self._described, can)
            seen = CallEvidence(checked, of, self.provenance, meant, self._described)
            # A lookup outside tells others what is looked for.
            is_telling = facts.reach == "outside" and not facts.acts
            named = seen.content()
            if is_telling and self.tainted and self.private:
                named = chain(named, seen.words())
            targets = _limit_evidence(seen.targets())
            links = _limit_evidence(named)
            bounds = _limit_evidence(seen.bounds(paid))
        return RuleCase(
            checked=checked,
            facts=facts,
            tainted=self.tainted,
            private=self.private,
            suspected=self.suspected,
            targets=targets,
            links=links,
            bounds=bounds,
            calls=self._ran[of.tool.name] + len(same),
        )

    def _flow(self, case: RuleCase) -> Finding:
        """The verdict of the rules that apply whatever the policy is."""
        facts = case.facts
        name = case.checked.tool.name
        grant = self.grant
        if self.rules.secrets and facts.reach == "outside" and (leak := secret_in(case.checked)):
            why = "what looks like a key or a password would go outside"
            return replace(self._refuse_call(why, (leak,)), each_time=True)
        if facts.allowed_when:
            change = change_in(case.checked, facts, self._described)
            if not is_allowed(facts.allowed_when, change):
                why = f"{name} needs a look at what it would act on: the run has not read it"
                if looked_at(facts.allowed_when, change):
                    why = f"what {name} would act on is not what its author allows"
                # The user may want it; the house does not do it, and the user cannot allow it.
                deny = Deny(why, GO_ON)
                return Finding(decision=deny, reason=why, evidence=case.targets, each_time=True)
        is_granted = grant is None or matches_any(name, grant.tools)
        if case.tainted and not is_granted and (facts.is_consequential or facts.reads_private):
            return self._refuse_call(f"the request does not call for {name}", case.evidence)
        is_exposed = case.tainted or (case.private and facts.reach == "outside")
        if not facts.is_consequential or not is_exposed:
            return Finding()
        # What cannot be undone must be named: that a system knows of it is no order.
        is_strict = not STRICT.isdisjoint(facts.dangers)
        unvouched = []
        needed = case.targets
        if case.tainted:
            needed = case.evidence
        for each in needed:
            if not each.is_vouched or (is_strict and each.origin == "trusted"):
                unvouched.append(each)
        if unvouched:
            return self._refuse_call(describe_unvouched(unvouched), tuple(unvouched))
        is_open_ended = not case.targets and facts.acts
        if grant is None and is_open_ended and (facts.reach == "outside" or facts.dangers):
            return self._refuse_call(f"nobody has asked for {name}, and it names no target", ())
        why = "everything that says who or where is vouched for"
        return Finding(decision=Allow(), reason=why, evidence=case.evidence)

    def _refuse_call(self, why: str, evidence: tuple[Evidence, ...]) -> Finding:
        if self.rules.otherwise == "ask":
            return Finding(decision=Ask(why), reason=why, evidence=evidence)
        return Finding(decision=Deny(why, GO_ON), reason=why, evidence=evidence)


@check_keywords("rc.trust.labels")
def labels(
    transcript: Transcript, tools: Tools, rules: Rules | None = None
) -> tuple[tuple[Piece, ...], ...]:
    """The pieces of every message of a transcript, each with its label."""
    guard = Guard(rules or Rules(), tools)
    return tuple(map(guard.see, transcript))


@check_keywords("rc.trust.inert")
def inert(transcript: Transcript, tools: Tools, rules: Rules | None = None) -> str:
    """The answer at the end of a transcript, without the links that are not vouched for."""
    guard = Guard(rules or Rules(), tools)
    answer = ""
    for message in transcript:
        guard.see(message)
        if isinstance(message, Reply):
            answer = message.text
    return guard.inert(answer)


def _limit_evidence(evidence: Iterator[Evidence]) -> tuple[Evidence, ...]:
    """As much evidence as a person can read; if there is more, the rest counts as not vouched for."""
    found = tuple(islice(evidence, _MOST_EVIDENCE))
    more = next(evidence, None)
    if more is None:
        return found
    return (*found, Evidence(more.path, "and more", "nowhere"))


def _is_name(place: Place) -> bool:
    """Whether the text at a place in the arguments is a parameter's name."""
    return len(place) == 1 and is_key(place)


def decode_arguments(call: Call | None) -> JsonValue:
    """The arguments of a call; empty if they are not valid JSON: such a call does not run."""
    if call is None:
        return {}
    try:
        arguments: JsonValue = msgspec.json.decode(call.as_json or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return arguments
