"""A recorded run into what the rules of trust say of it: labels, and why a call would be refused.

Not all labels and findings are recorded: they follow from the transcript, the tools' facts and the rules
(``trust/guard.py``), and are recomputed here. Without the agent, its rules and its tools' facts are
unknown, and the default rules and the worst assumptions on tools are used.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.decision import Evidence
from rightcall.core.jsontext import is_key, leaves
from rightcall.core.message import Reply, Results, User
from rightcall.core.problem import json_path
from rightcall.core.tool import CheckedCall, Tool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import RightcallError
from rightcall.gate.call_check import check, takes_long
from rightcall.gate.gate import decision_for
from rightcall.serve.studio.agents import StudioAgent
from rightcall.serve.studio.run_view import RunView
from rightcall.serve.studio.to_json import Json, label_json, result_label
from rightcall.trust.guard import Guard
from rightcall.trust.pieces import Piece
from rightcall.trust.rules import Finding, Rules

_UNKNOWN = (
    "As recorded. The agent is not here, so that its rules and the facts of its tools are not known: "
    "where values come from is worked out as if any tool's result could be an outsider's."
)
_WITHOUT = "As recorded: the agent has no rules of trust."
_WITH = "Worked out again with the agent's rules."


class TrustVerdicts(Struct, frozen=True, kw_only=True):
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


def judge(reading: RunView, here: StudioAgent | None, wanted: Collection[str] = ()) -> TrustVerdicts:
    """Go through a run with a guard; ``wanted`` are the ids of the calls to judge again."""
    start = reading.start
    retraced = reading.retraced
    if start is None or retraced is None:
        return TrustVerdicts(note="There is nothing to judge by.")
    rules = here.rules if here is not None else None
    recorded = TrustVerdicts(
        note=_UNKNOWN if here is None else _WITHOUT,
        tainted=any(isinstance(m, Reply) and m.tainted for m in retraced.result.transcript),
    )
    if rules is None and not wanted:
        return recorded
    if here is not None:
        tools = here.agent.tools
    else:
        # Of the tools only the recorded specs are known. One that was declared under other rules than
        # today's is treated as a tool that no longer exists.
        known = []
        for spec in start.specs:
            with suppress(RightcallError):
                known.append(Tool(spec.name, spec.description, spec.parameters, origin=spec.origin))
        tools = Toolbox(known)
    # With what its references gave then: the run has recorded it.
    intents = retraced.result.state.intents
    guard = Guard(rules or Rules(), tools, system=start.system, intents=intents)
    walk = _TrustWalk(guard, here, wanted)
    walk.go(reading)
    if rules is None:
        return replace(recorded, findings=walk.findings, values=walk.values)
    return TrustVerdicts(
        how="recomputed",
        note=_WITH,
        tainted=guard.tainted,
        private=guard.private,
        labels=walk.labels,
        findings=walk.findings,
        values=walk.values,
    )


class _TrustWalk:
    """Shows a guard every message, as the run did."""

    def __init__(self, guard: Guard, here: StudioAgent | None, wanted: Collection[str]) -> None:
        self.guard = guard
        self.labels: dict[str, Json] = {}
        self.findings: dict[str, Finding] = {}
        self.values: dict[str, tuple[Evidence, ...]] = {}
        self._here = here
        self._wanted = wanted

    def go(self, reading: RunView) -> None:
        assert reading.start is not None
        assert reading.retraced is not None
        first = len(reading.start.messages)
        turn = 0
        notes = 0
        for index, message in enumerate(reading.retraced.result.transcript):
            is_history = index < first - 1
            self.guard.see(self.guard.recall(message) if is_history else message)
            pieces = self.guard.label(message)
            match message:
                case Results(results):
                    for result in results:
                        # The worst label of any piece of a result; the recorded one if no piece is its
                        # own.
                        mine = [each for each in pieces if each.label.source.startswith(result.name)]
                        if not mine:
                            self.labels[result.call_id] = result_label(result)
                        else:
                            outside = [each for each in mine if each.label.writer == "outsider"]
                            worst = (outside or mine)[0].label
                            self.labels[result.call_id] = label_json(
                                worst.writer,
                                worst.source,
                                private=any(each.label.private for each in mine),
                                suspected=any(each.label.suspected for each in mine),
                                how="recomputed",
                            )
                case Reply() if index >= first:
                    turn = turn + 1
                    notes = 0
                    self.labels[f"t{turn}"] = _of_piece(pieces[0])
                    for call in message.calls:
                        if call.id in self._wanted and not takes_long(call, self.guard.tools):
                            checked = check(call, self.guard.tools)
                            if isinstance(checked, CheckedCall):
                                self._judge(call.id, checked)
                case User() if index >= first:
                    self.labels[f"n{turn}.{notes}"] = _of_piece(pieces[0])
                    notes += 1
                case _:
                    self.labels[f"m{index}"] = _of_piece(pieces[0])

    def _judge(self, call_id: str, checked: CheckedCall) -> None:
        # Where every value in the arguments was seen, without the names of members.
        evidence = []
        for place, leaf in leaves(checked.arguments):
            if not is_key(place):
                (seen,) = self.guard.trace(leaf)
                evidence.append(replace(seen, path=json_path(list(place)), value=leaf))
        self.values[call_id] = tuple(evidence)
        finding = Finding()
        if self._here is not None:
            guard = self.guard if self._here.rules is not None else None
            try:
                finding = decision_for(checked, self._here.policy, guard)
            except RightcallError as error:
                finding = Finding(reason=f"the policy failed: {error}")
        self.findings[call_id] = finding


def _of_piece(piece: Piece) -> Json:
    label = piece.label
    return label_json(
        label.writer, label.source, private=label.private, suspected=label.suspected, how="recomputed"
    )
