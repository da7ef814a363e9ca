"""A recorded run into what the rules of trust say of it: labels, and why a call would be refused.

Not all labels and findings are recorded: they follow from the transcript, the tools' facts and the rules
(``trust/guard.py``), and are recomputed here. Without the agent, its rules and its tools' facts are
unknown, and the default rules and the worst assumptions on tools are used.
"""

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct, field

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Evidence
from rightcall.core.entry import RunStarted
from rightcall.core.jsontext import is_key, leaves
from rightcall.core.message import Reply, Results, User
from rightcall.core.ports import Tools
from rightcall.core.problem import json_path
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import RightcallError
from rightcall.gate.check import check, takes_long
from rightcall.gate.gate import decision_for
from rightcall.serve.studio.agents import AgentHere
from rightcall.serve.studio.reading import Reading
from rightcall.serve.studio.to_json import Json, label_json, result_label
from rightcall.trust.finding import Finding
from rightcall.trust.guard import Guard
from rightcall.trust.pieces import Piece
from rightcall.trust.rules import Rules

_UNKNOWN = (
    "As recorded. The agent is not here, so that its rules and the facts of its tools are not known: "
    "where values come from is worked out as if any tool's result could be an outsider's."
)
_WITHOUT = "As recorded: the agent has no rules of trust."
_WITH = "Worked out again with the agent's rules."


class Judged(Struct, frozen=True, kw_only=True):
    """The verdicts of the rules on a run."""

    how: str = "recorded"
    note: str = ""
    tainted: bool = False
    private: bool = False
    labels: Mapping[str, Json] = field(default_factory=dict)
    """By the id of an item, or of the call whose result it is."""
    findings: Mapping[str, Finding] = field(default_factory=dict)
    """By call id: the verdict of the rules and the policy on each wanted call."""
    values: Mapping[str, tuple[Evidence, ...]] = field(default_factory=dict)
    """By call id: where every value in the arguments was seen."""


def judge(reading: Reading, here: AgentHere | None, wanted: Collection[str] = ()) -> Judged:
    """Go through a run with a guard; ``wanted`` are the ids of the calls to judge again."""
    start, retraced = reading.start, reading.retraced
    if start is None or retraced is None:
        return Judged(note="There is nothing to judge by.")
    rules = here.rules if here is not None else None
    note = _WITH if rules is not None else _WITHOUT if here is not None else _UNKNOWN
    recorded = any(isinstance(m, Reply) and m.tainted for m in retraced.result.transcript)
    if rules is None and not wanted:
        return Judged(note=note, tainted=recorded)
    tools: Tools = here.agent.tools if here is not None else _tools_of(start)
    walk = _Walk(Guard(rules or Rules(), tools, system=start.system, grant=start.grant), here, wanted)
    walk.go(reading)
    how = "recomputed" if rules is not None else "recorded"
    return Judged(
        how=how,
        note=note,
        tainted=walk.guard.tainted if rules is not None else recorded,
        private=walk.guard.private if rules is not None else False,
        labels=walk.labels if rules is not None else {},
        findings=walk.findings,
        values=walk.values,
    )


def _tools_of(start: RunStarted) -> Tools:
    """Tools of which only the recorded specs are known."""
    return Toolbox(list(_known(start)))


def _known(start: RunStarted) -> Iterator[Tool]:
    for spec in start.specs:
        try:
            yield Tool(spec.name, spec.description, spec.parameters, origin=spec.origin)
        except RightcallError:
            # Declared under other rules than today's: it is treated as a tool that no longer exists.
            continue


class _Walk:
    """Shows a guard every message, as the run did."""

    def __init__(self, guard: Guard, here: AgentHere | None, wanted: Collection[str]) -> None:
        self.guard = guard
        self.labels: dict[str, Json] = {}
        self.findings: dict[str, Finding] = {}
        self.values: dict[str, tuple[Evidence, ...]] = {}
        self._here = here
        self._wanted = wanted

    def go(self, reading: Reading) -> None:
        assert reading.start is not None
        assert reading.retraced is not None
        first, turn, notes = len(reading.start.messages), 0, 0
        for index, message in enumerate(reading.retraced.result.transcript):
            is_history = index < first - 1
            pieces = self.guard.see(self.guard.recall(message) if is_history else message)
            match message:
                case Results(results):
                    for result in results:
                        self.labels[result.call_id] = _of_result(
                            pieces, result_label(result), result.name
                        )
                case Reply() if index >= first:
                    turn, notes = turn + 1, 0
                    self.labels[f"t{turn}"] = _of_piece(pieces[0])
                    self._judge(message)
                case User() if index >= first:
                    self.labels[f"n{turn}.{notes}"] = _of_piece(pieces[0])
                    notes += 1
                case _:
                    self.labels[f"m{index}"] = _of_piece(pieces[0])

    def _judge(self, reply: Reply) -> None:
        for call in reply.calls:
            if call.id not in self._wanted or takes_long(call, self.guard.tools):
                continue
            checked = check(call, self.guard.tools)
            if isinstance(checked, CheckedCall):
                self.values[call.id] = tuple(self._seen(checked))
                self.findings[call.id] = self._found(call, checked)

    def _seen(self, checked: CheckedCall) -> Iterator[Evidence]:
        """Where every value in the arguments was seen, without the names of members."""
        for place, leaf in leaves(checked.arguments):
            if not is_key(place):
                origin, source = self.guard.provenance.of(leaf)
                yield Evidence(json_path(list(place)), leaf, origin, source)

    def _found(self, _: Call, checked: CheckedCall) -> Finding:
        if self._here is None:
            return Finding()
        guard = self.guard if self._here.rules is not None else None
        try:
            return decision_for(checked, self._here.policy, guard)
        except RightcallError as error:
            return Finding(reason=f"the policy failed: {error}")


def _of_piece(piece: Piece) -> Json:
    label = piece.label
    return label_json(
        label.writer, label.source, private=label.private, suspected=label.suspected, how="recomputed"
    )


def _of_result(pieces: tuple[Piece, ...], recorded: Json, name: str) -> Json:
    """The worst label of any piece of a result; the recorded one if no piece is its own."""
    mine = [each for each in pieces if each.label.source.startswith(name)]
    if not mine:
        return recorded
    worst = next((each for each in mine if each.label.writer == "outsider"), mine[0]).label
    return label_json(
        worst.writer,
        worst.source,
        private=any(each.label.private for each in mine),
        suspected=any(each.label.suspected for each in mine),
        how="recomputed",
    )
