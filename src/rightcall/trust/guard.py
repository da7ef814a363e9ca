"""Decides whether a call may run, by what was typed, stated and read, without asking the model.

Every verdict follows from the transcript, the tools' facts, the rules and the stated intents, so that a
run that is resumed, recovered or inspected later gets the same verdicts. No sentence is read.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice

import msgspec
from msgspec.structs import replace

from rightcall.core.decision import Allow, Ask, Deny, Evidence, Origin
from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonValue, dump, is_key, leaves
from rightcall.core.message import Message, Reply, Results, Transcript, User
from rightcall.core.options import check_keywords
from rightcall.core.parts import Call, Result
from rightcall.core.ports import Tools
from rightcall.core.tool import CheckedCall, Tool
from rightcall.trust.evidence import (
    CallEvidence,
    ToolKnowledge,
    evidence_at,
    find_followed,
    tool_knowledge,
)
from rightcall.trust.facts import WORST
from rightcall.trust.intent_book import MOST_SHOWN, IntentBook, IntentMatch
from rightcall.trust.pieces import Label, Piece, attached_pieces, pieces_of
from rightcall.trust.rules import (
    Finding,
    RuleCase,
    Rules,
    apply_policy,
    describe_unvouched,
    secrets_in,
    strictness,
)
from rightcall.trust.seen_results import SeenResult, SeenResults
from rightcall.trust.spelling import spell, without_links
from rightcall.trust.tally import Tally, Use
from rightcall.trust.task_intents import TaskIntents
from rightcall.trust.traces import EARLIER, content_of, restore_label
from rightcall.trust.typed_values import TypedValues, number_of

_NO_GOAL = ("amount", "date")
_RAN = frozenset({"returned", "failed", "timed_out", "interrupted"})
_MOST_EVIDENCE = 200
GO_ON = "What was refused stays refused. Go on with the rest of the task without it."
"""The message to the model, in a turn of its own, after results that include a refused call."""
_COUNTED: Use = ("n/", 0.0)
"""A use that says that there are no others."""
_GONE = ToolKnowledge(
    Tool("gone", "A tool that is not there any more."), WORST, frozenset(), frozenset(), {}
)


class Guard:
    """Applies trust rules to one run. Show it every message in order; ask it about every call."""

    @check_keywords("rc.trust.Guard")
    def __init__(
        self,
        rules: Rules,
        tools: Tools,
        *,
        system: str = "",
        intents: TaskIntents | None = None,
        above: "Guard | None" = None,
    ) -> None:
        self.rules = rules
        self.tainted: bool = above is not None and above.tainted
        """Whether the run has read untrusted text."""
        self.private: bool = above is not None and above.private
        """Whether the run has read private data."""
        self.suspected: bool = above is not None and above.suspected
        """Whether a screen suspected something that was read of being an attack."""
        self._above = above
        self.typed: TypedValues = TypedValues(rules.vouched, None if above is None else above.typed)
        """What the user and the developer have typed."""
        self.seen: SeenResults = SeenResults(self.typed, None if above is None else above.seen)
        """What the run has read."""
        self.tally: Tally = Tally(None if above is None else above.tally)
        """What the calls of the task have used up."""
        self.book: IntentBook | None = None if above is None else above.book
        """What the task may do, if somebody stated it: nothing else may be done then."""
        self.typed.add(system, "developer")
        self.tools = tools
        self._facts: dict[int, ToolKnowledge] = {}
        self._calls: dict[str, Call] = {}
        """The calls of the last reply, by id, in order."""
        self._ran: Counter[str] = Counter()
        self._led = False
        """Whether outsiders could have led the model when it wrote the last reply."""
        if intents is not None:
            self.state(intents)

    def state(self, intents: TaskIntents) -> None:
        """Let the run do what is stated, and nothing else."""
        self.book = IntentBook(intents, self.typed, self.tally)

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
                self.seen.add_text(tool.description, tool.origin)

    def inert(self, answer: str) -> str:
        """An answer to show: in a tainted run, without the links that nobody vouched for.

        A picture is loaded when it is shown, which sends its URL to the host that serves it.
        """
        if not self.tainted:
            return answer
        return without_links(answer, self._is_unknown_link)

    def _is_unknown_link(self, link: str) -> bool:
        if self.typed.origin_of(link, "web") is not None:
            return False
        return not self.seen.system_that_lists(link, "web")

    # Reading.

    def see(self, message: Message) -> None:
        """Read the next message."""
        match message:
            case User():
                self._see_user(message)
            case Reply():
                self._calls = {call.id: call for call in message.calls}
                self._led = self.tainted
                self.tally.end_reply()
            case Results(results):
                for result in results:
                    self._see_result(result)
                self.tally.end_reply()

    def _see_user(self, message: User) -> None:
        author = message.author
        if author == "user" and self._above is not None:
            # An inner run has no user: its user messages come from the outer run.
            author = "agent"
        match author:
            case "user" | "developer":
                self.typed.add(message.text, author)
            case "runtime":
                pass
            case "agent":
                # A model's message to another is as trusted as what that model had read.
                if self._above is None:
                    self.seen.add_text(message.text, "agent")
                    self.tainted = True
        for piece in attached_pieces(message.content):
            self.tainted = True
            self.seen.add_text(piece.text, piece.label.source)

    def _see_result(self, result: Result) -> None:
        knowledge = self._tool_knowledge(result.name)
        facts = knowledge.facts
        ran = result.outcome in _RAN
        if ran:
            self._ran[result.name] += 1
            self._count_result(result, knowledge)
        if facts.is_consequential and (ran or result.withheld) and self._led:
            # The call may have stored them where a later result returns them as the system's own data.
            written = self._arguments(result)
            self.seen.add_written(written, facts.targets, self._followed(written, knowledge))
        for piece in attached_pieces(result.content):
            self.tainted = True
            self.seen.add_text(piece.text, piece.label.source)
        is_own = result.own or result.outcome not in ("returned", "failed")
        if is_own:
            return
        is_outside = result.source is not None and not isinstance(facts.untrusted, tuple)
        if result.source is not None or facts.untrusted is True or result.planted:
            self.tainted = True
        self.private = self.private or facts.reads_private
        self.suspected = self.suspected or result.suspected
        seen = SeenResult(
            result,
            facts,
            self._arguments(result),
            is_outside=is_outside or facts.untrusted is True,
            is_led=self._led,
        )
        self.seen.add(seen)
        if not self.tainted and self._has_identity(seen):
            self.tainted = True

    def _has_identity(self, seen: SeenResult) -> bool:
        """Whether somebody from outside says in a result who they are."""
        facts = seen.facts
        if facts.identity == () or facts.effect == "pure":
            return False
        if facts.identity is None:
            return any(map(facts.is_identity, seen.keys()))
        return not seen.keys().isdisjoint([each.rpartition(".")[2] for each in facts.identity])

    def _count_result(self, result: Result, knowledge: ToolKnowledge) -> None:
        """Count what a call that ran has used up. Its result says so, unless nobody saw it end."""
        uses = result.uses
        if not uses and knowledge.facts.is_consequential:
            call = self._calls.get(result.call_id)
            if call is not None:
                uses = self._uses_of(call, decode_arguments(call), knowledge)
        self.tally.release(result.call_id)
        self.tally.count(uses)
        if self.book is None or result.outcome != "returned":
            return
        for name, _ in uses:
            if name.startswith("m/"):
                self.book.note_result(int(name[2:]), content_of(result), knowledge)

    def _uses_of(self, call: Call, arguments: JsonValue, knowledge: ToolKnowledge) -> tuple[Use, ...]:
        """What a call uses up: typed amounts, and what the intent says that it fits."""
        if not isinstance(arguments, dict):
            return ()
        uses = self._amounts_used(arguments, knowledge)
        if self.book is not None and self.book.covers(knowledge.tool.name):
            match = self.book.match(arguments, knowledge, call.id)
            if isinstance(match, IntentMatch):
                uses = (*uses, *match.uses)
        return uses

    def uses_of(self, checked: CheckedCall) -> tuple[Use, ...]:
        """What a call that is about to run uses up; it becomes part of its result."""
        knowledge = self._tool_knowledge(checked.tool.name, checked.tool)
        if not knowledge.facts.is_consequential:
            return ()
        reserved = self.tally.reserved_for(checked.call.id)
        if reserved:
            return reserved
        return self._uses_of(checked.call, checked.arguments, knowledge)

    def _amounts_used(self, arguments: JsonValue, knowledge: ToolKnowledge) -> tuple[Use, ...]:
        """The typed amounts that a call uses up, each for the targets that it goes to."""
        facts = knowledge.facts
        if not knowledge.spends or not isinstance(arguments, dict):
            return ()
        goals = _goals(arguments, knowledge)
        uses = []
        for place, text in leaves(arguments):
            number = number_of(text)
            if number and facts.is_amount(place) and not is_key(place):
                uses.append((f"n/{goals}/{number}", 1.0))
        return tuple(uses)

    def label(self, message: Message) -> tuple[Piece, ...]:
        """The pieces of a message that was seen, each with its label."""
        match message:
            case User():
                return (self._label_user(message), *attached_pieces(message.content))
            case Reply():
                return (self._written_by_model(message.text),)
            case Results(results):
                pieces: list[Piece] = []
                for result in results:
                    pieces += self._label_result(result)
                return tuple(pieces)

    def _label_user(self, message: User) -> Piece:
        author = message.author
        if author == "user" and self._above is not None:
            author = "agent"
        match author:
            case "user" | "developer":
                return Piece(message.text, Label(writer=author))
            case "runtime" if message.compaction is not None:
                # A summary says what others said: it is nobody's order, and vouches for nothing.
                return self._written_by_model(message.text)
            case "runtime":
                return Piece(message.text, Label(writer="runtime", private=self.private))
            case "agent":
                return self._written_by_model(message.text)

    def _written_by_model(self, text: str) -> Piece:
        """What a model wrote: an outsider could have, if it has read untrusted text."""
        writer = "outsider" if self.tainted else "model"
        return Piece(text, Label(writer=writer, private=self.private))  # type: ignore[arg-type]

    def _label_result(self, result: Result) -> Iterator[Piece]:
        facts = self._tool_knowledge(result.name).facts
        back = self.seen.back_in(result)
        for piece in pieces_of(result, facts):
            label = piece.label
            if label.writer == "tool" and piece.text in back:
                label = replace(label, writer="outsider", source=f"{label.source}{EARLIER}")
                yield replace(piece, label=label)
            else:
                yield piece

    def _followed(self, arguments: JsonValue, knowledge: ToolKnowledge) -> tuple[str, ...]:
        """The values in a call for which a record vouches now, before its result is read."""
        if not isinstance(arguments, dict):
            return ()
        return tuple(find_followed(arguments, knowledge, self.typed, self.seen))

    def _arguments(self, result: Result) -> JsonValue:
        return decode_arguments(self._calls.get(result.call_id))

    def traces_of(self, checked: CheckedCall) -> frozenset[str]:
        """The traces by which a later run must recognise what a call writes; empty for most calls."""
        knowledge = self._tool_knowledge(checked.tool.name, checked.tool)
        if not self.tainted or not knowledge.facts.is_consequential:
            return frozenset()
        return self.seen.traces_written(checked.arguments, knowledge.facts.targets)

    def recall(self, message: Message) -> Message:
        """A message of an earlier run, relabelled: its labels may not all have been stored."""
        if isinstance(message, Results):
            results = []
            for result in message.results:
                restored = restore_label(result, self._tool_knowledge(result.name).facts)
                # What was done of another task's intents is not counted in this one.
                uses = [each for each in restored.uses if each[0].startswith("n/")]
                results.append(replace(restored, uses=(*uses, _COUNTED)))
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
                self.seen.add_text(written, source)
        return message

    def _tool_knowledge(self, name: str, tool: Tool | None = None) -> ToolKnowledge:
        """Returns a tool with its facts, and what its schema says about its parameters."""
        tool = tool or self.tools.get(name)
        if tool is None:
            return _GONE
        found = self._facts.get(id(tool))
        if found is None or found.tool is not tool:
            found = self._facts[id(tool)] = tool_knowledge(tool)
        return found

    # Judging.

    @check_keywords("rc.trust.Guard.judge")
    def judge(self, checked: CheckedCall, *, early: bool = False) -> Finding:
        """Returns the verdict on a call. ``early``: its reply is incomplete, and not seen yet."""
        knowledge = self._tool_knowledge(checked.tool.name, checked.tool)
        if self.rules.policy is None and not knowledge.facts.is_consequential:
            return Finding()
        case = self._case(checked, knowledge)
        flow = self._flow(case, knowledge)
        if self.rules.policy is None or isinstance(flow.decision, Deny):
            return flow
        ordinary = apply_policy(self.rules.policy, case)
        if early and any(rule.after is not None for rule in self.rules.policy):
            return Finding(decision=Ask(), reason="calls are counted")
        return max(flow, ordinary, key=strictness)

    def review(self, checked: CheckedCall) -> Finding:
        """Returns the verdict on a call whose arguments a policy has rewritten."""
        knowledge = self._tool_knowledge(checked.tool.name, checked.tool)
        return self._flow(self._case(checked, knowledge), knowledge)

    def trace(self, value: JsonValue) -> tuple[Evidence, ...]:
        """Returns where every part of a value was seen."""
        found = []
        for place, leaf in leaves(value, ("value",)):
            said = self.typed.origin_of(leaf)
            if said is not None:
                found.append(evidence_at(place, leaf, said))
                continue
            listing = self.seen.system_that_lists(leaf, None)
            source = listing or self.seen.source_of(leaf)
            origin: Origin = "listed" if listing else "untrusted" if source else "nowhere"
            found.append(evidence_at(place, leaf, origin, source))
        return tuple(found)

    def _case(self, checked: CheckedCall, knowledge: ToolKnowledge) -> RuleCase:
        facts = knowledge.facts
        self._reserve_earlier(checked.call.id)
        targets: tuple[Evidence, ...] = ()
        links: tuple[Evidence, ...] = ()
        bounds: tuple[Evidence, ...] = ()
        is_exposed = facts.is_consequential and (self.tainted or self.private)
        is_by_book = self.book is not None and (facts.acts or self.book.covers(checked.tool.name))
        if (is_exposed or self.rules.policy is not None) and not is_by_book:
            seen = CallEvidence(checked, knowledge, self.typed, self.seen)
            # A lookup outside tells others what is looked for.
            is_telling = facts.reach == "outside" and not facts.acts
            named = seen.content()
            if is_telling and self.tainted and self.private:
                named = chain(named, seen.words())
            targets = _limit_evidence(seen.targets())
            links = _limit_evidence(named)
            if knowledge.spends or knowledge.widens:
                goals = _goals(checked.arguments, knowledge)
                bounds = _limit_evidence(seen.bounds(partial(self._spent, goals, checked.call.id)))
        return RuleCase(
            checked=checked,
            facts=facts,
            tainted=self.tainted,
            private=self.private,
            suspected=self.suspected,
            targets=targets,
            links=links,
            bounds=bounds,
            calls=self._ran[knowledge.tool.name] + self._same_before(checked),
        )

    def _spent(self, goals: str, call_id: str, number: float) -> int:
        return int(self.tally.used(f"n/{goals}/{number}", but=call_id))

    def _same_before(self, checked: CheckedCall) -> int:
        """How many calls of the tool stand before a call in the same reply: they may run, too."""
        if checked.call.id not in self._calls:
            return 0
        same = 0
        for call in self._calls.values():
            if call.id == checked.call.id:
                break
            same += call.name == checked.tool.name
        return same

    def _reserve_earlier(self, call_id: str) -> None:
        """Reserve what the calls before a call in the same reply use up: they may still run."""
        if call_id not in self._calls:
            return
        for call in self._calls.values():
            if call.id == call_id:
                return
            if self.tally.is_reserved(call.id):
                continue
            knowledge = self._tool_knowledge(call.name)
            if knowledge.facts.is_consequential and knowledge is not _GONE:
                uses = self._uses_of(call, decode_arguments(call), knowledge)
                self.tally.reserve(call.id, uses)

    def _flow(self, case: RuleCase, knowledge: ToolKnowledge) -> Finding:
        """The verdict of the rules that apply whatever the policy is."""
        facts = case.facts
        checked = case.checked
        name = checked.tool.name
        if self.rules.secrets and facts.reach == "outside":
            for leak in secrets_in(checked, self._is_typed_or_stated):
                why = f"what looks like a key or a password would go outside, at {leak.path}"
                return replace(self._refuse_call(why, (leak,)), each_time=True)
        book = self.book
        if book is not None and facts.is_consequential and (facts.acts or book.covers(name)):
            return self._judge_by_intents(book, checked, knowledge)
        is_exposed = case.tainted or (case.private and facts.reach == "outside")
        if not facts.is_consequential or not is_exposed:
            return Finding()
        needed = case.evidence if case.tainted else case.targets
        unvouched = [each for each in needed if not each.is_vouched]
        if unvouched:
            return self._refuse_call(describe_unvouched(unvouched, facts), tuple(unvouched))
        if facts.acts and not any(_names_something(each) for each in (*case.targets, *case.bounds)):
            why = (
                f"{name} does something, and nothing in the call was typed by the user: "
                f"state it as an intent, or allow it"
            )
            return replace(self._refuse_call(why, ()), refuses=_whole(checked))
        if checked.call.id in self._calls:
            self.tally.reserve(checked.call.id, self._amounts_used(checked.arguments, knowledge))
        why = "everything that says who or where was typed"
        return Finding(decision=Allow(), reason=why, evidence=case.evidence)

    def _is_typed_or_stated(self, text: str) -> bool:
        if self.typed.origin_of(text) is not None:
            return True
        return self.book is not None and self.book.is_stated(text)

    def _judge_by_intents(
        self, book: IntentBook, checked: CheckedCall, knowledge: ToolKnowledge
    ) -> Finding:
        """The verdict on a call of a run for which somebody has stated what it may do."""
        match = book.match(checked.arguments, knowledge, checked.call.id)
        if not isinstance(match, IntentMatch):
            evidence = tuple([self._blame(each) for each in match.evidence])
            words = f"{match.reason}{_where_from(evidence)}"
            if match.is_delegated and self.rules.otherwise == "ask":
                return Finding(
                    decision=Ask(words),
                    reason=words,
                    evidence=evidence,
                    remember=_told(evidence),
                    refuses=match.spent or _whole(checked),
                )
            refuses = match.spent or _whole(checked)
            return replace(self._refuse_call(words, evidence), refuses=refuses)
        seen = CallEvidence(checked, knowledge, self.typed, self.seen, book.is_stated)
        stated = book.intents[match.number].values
        links = []
        for each in seen.content():
            name = each.path.removeprefix("$.").partition(".")[0].partition("[")[0]
            if not each.is_vouched and not book.is_bound(stated.get(name)):
                links.append(each)
        if links:
            words = f"{describe_unvouched(links, knowledge.facts)}; it was neither typed nor stated"
            return self._refuse_call(words, tuple(links))
        if match.asked and self.rules.otherwise == "deny":
            return self._refuse_call("what it names rests on what outsiders wrote or chose", match.asked)
        if checked.call.id in self._calls:
            uses = (*self._amounts_used(checked.arguments, knowledge), *match.uses)
            self.tally.reserve(checked.call.id, uses)
        if match.asked:
            if wide := book.too_wide(match.number, self._kind_of):
                return self._refuse_call(wide, match.asked)
            whole = book.outside_values(self._kind_of) or match.asked
            if len(whole) > MOST_SHOWN:
                words = f"the task's intents rest on {len(whole)} such values, and a question shows"
                return self._refuse_call(f"{words} {MOST_SHOWN}: narrow them", match.asked)
            if not book.are_shown(match.asked, whole):
                # A yes to what is shown for the task says nothing about this.
                why = "what it names rests on what outsiders wrote or chose"
                told = _told(match.asked)
                return Finding(decision=Ask(why), reason=why, evidence=match.asked, remember=told)
            why = (
                "the task's stated intents rest on these values, which outsiders wrote or chose, "
                "which nobody typed, or of which it is not stated which is meant; you are asked once "
                "for all of them"
            )
            return Finding(decision=Ask(why), reason=why, evidence=whole, is_for_task=True)
        why = f"it is what was stated: {book.intents[match.number].tool}"
        return Finding(decision=Allow(), reason=why)

    def _kind_of(self, tool: str, parameter: str) -> Kind | None:
        return self._tool_knowledge(tool).facts.kind_of(parameter)

    def _blame(self, evidence: Evidence) -> Evidence:
        """A value that fits no intent, with who could have written it."""
        if not evidence.value:
            return evidence
        said = self.typed.origin_of(evidence.value)
        if said is not None:
            return replace(evidence, origin="unfit", source="typed")
        source = self.seen.source_of(evidence.value)
        if source:
            return replace(evidence, origin="untrusted", source=source)
        listing = self.seen.system_that_lists(evidence.value, None)
        if listing:
            return replace(evidence, origin="listed", source=listing)
        return evidence

    def _refuse_call(self, why: str, evidence: tuple[Evidence, ...]) -> Finding:
        remember = _told(evidence)
        if self.rules.otherwise == "ask":
            return Finding(decision=Ask(why), reason=why, evidence=evidence, remember=remember)
        return Finding(decision=Deny(why, GO_ON), reason=why, evidence=evidence)


def _told(evidence: tuple[Evidence, ...]) -> tuple[str, ...]:
    """The values that a person is asked about; what they answer is remembered for these."""
    return tuple(dict.fromkeys([each.value for each in evidence if each.value]))


def _whole(checked: CheckedCall) -> str:
    """A call as it is, in one text."""
    return f"{checked.tool.name} {dump(checked.arguments)}"


def _names_something(evidence: Evidence) -> bool:
    return bool(evidence.value) and evidence.is_vouched and evidence.source != "default"


def _where_from(evidence: tuple[Evidence, ...]) -> str:
    """Who could have written the values that fit no intent."""
    for each in evidence:
        if each.origin == "untrusted":
            return f"; what is at {each.path} came from what {each.source} returned"
    return ""


def _goals(arguments: JsonValue, knowledge: ToolKnowledge) -> str:
    """To what a call goes, in one text."""
    if not isinstance(arguments, dict):
        return ""
    facts = knowledge.facts
    found = []
    for name in facts.targets:
        if name in facts.sources or name in facts.bounded or facts.kind_of(name) in _NO_GOAL:
            continue
        for place, text in leaves(arguments.get(name), (name,)):
            if not facts.is_amount(place):
                found.append(spell(text))
    return ",".join(found)


@check_keywords("rc.trust.labels")
def labels(
    transcript: Transcript, tools: Tools, rules: Rules | None = None
) -> tuple[tuple[Piece, ...], ...]:
    """The pieces of every message of a transcript, each with its label."""
    guard = Guard(rules or Rules(), tools)
    found = []
    for message in transcript:
        guard.see(message)
        found.append(guard.label(message))
    return tuple(found)


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


def decode_arguments(call: Call | None) -> JsonValue:
    """The arguments of a call; empty if they are not valid JSON: such a call does not run."""
    if call is None:
        return {}
    try:
        arguments: JsonValue = msgspec.json.decode(call.as_json or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return arguments
