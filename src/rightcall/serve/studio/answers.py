"""Values into answers of the API: JSON whose every text is safe to display, and errors as text."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from rightcall.core.decision import Allow, Answer, Deny, FinalDecision, Rewrite
from rightcall.core.sanitize import encodable, spelled
from rightcall.errors import AlreadyDecided, JournalError, RightcallError, RunHeld
from rightcall.serve.studio.run_actions import NoAgent, NotFitting
from rightcall.serve.studio.run_reader import NoRun
from rightcall.serve.studio.to_json import Json, decision_json

_RAW = frozenset({"run", "parent", "call_id"})
"""Members that clients send back unchanged, and that are never displayed; each has a displayed twin."""
_NO_AGENT = "This needs an agent: start the studio with --agent module:agent."


class Refused(Exception):
    """A request that is refused, and why."""

    def __init__(self, status: int, code: str, words: str, **more: Any) -> None:
        super().__init__(words)
        self.status, self.code, self.words, self.more = status, code, words, more


def shown(value: Any, *, raw: bool = False) -> Any:
    """A value without anything that a screen would obey: escapes and bidi marks are made visible."""
    match value:
        case str():
            return encodable(value) if raw else spelled(value)
        case dict():
            return {
                shown(str(key), raw=True): shown(each, raw=key in _RAW) for key, each in value.items()
            }
        case list() | tuple():
            return [shown(each, raw=raw) for each in value]
        case bytes():
            return f"({len(value):,} bytes)"
        case _:
            return value


def answer(value: Json, status: int = 200) -> Response:
    """A JSON answer that a browser cannot take for anything else."""
    text = json.dumps(shown(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Response(text.encode(), status, media_type="application/json")


def refusal(error: Refused) -> Response:
    """An error as the API sends it."""
    return answer({"error": {"code": error.code, "message": error.words, **error.more}}, error.status)


def _stands(decisions: Mapping[str, FinalDecision]) -> str:
    """Somebody else's decisions, as a sentence."""
    said = {
        Allow: "allowed",
        Deny: "denied",
        Rewrite: "allowed with other arguments",
        Answer: "answered",
    }
    told = ", ".join(f"{call_id} was {said[type(each)]}" for call_id, each in decisions.items())
    return f"Somebody was faster: {told}." if told else "Somebody was faster, and the run goes on."


def refused(error: Exception) -> Refused | None:
    """The answer to an error; None for an unexpected one."""
    match error:
        case Refused():
            return error
        case NoRun():
            return Refused(404, "not_found", "There is no such run.")
        case NoAgent():
            return Refused(409, "no_agent", _NO_AGENT)
        case NotFitting(problems=problems):
            told = [{"path": each.path, "message": each.message} for each in problems]
            return Refused(400, "bad_request", str(error), problems=told)
        case AlreadyDecided(decisions=decisions):
            stands = {call_id: decision_json(each) for call_id, each in decisions.items()}
            words = "Somebody has decided already, and what they said stands."
            return Refused(409, "already_decided", words, stands=stands, told=_stands(decisions))
        case RunHeld(holder=holder):
            words = f"Somebody else is at this run: {holder}."
            return Refused(409, "run_held", words, holder=holder)
        case JournalError():
            return Refused(409, "damaged", f"The record cannot be read: {error}")
        case RightcallError():
            return Refused(400, "bad_request", str(error))
        case _:
            return None
