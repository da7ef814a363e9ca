"""A server's question to a person into a proposal, and the decision on it into the server's answer.

The person is asked as about any call that needs approval, by the function that an agent has for that.
What they give is checked against the form that the server asked for before it goes out. An address is
only shown: nothing here opens one.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, assert_never

from mcp.client.context import ClientRequestContext
from mcp_types import (
    INVALID_REQUEST,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
)

from rightcall.core.decision import Allow, Answer, Deny, FinalDecision, Proposal, Rewrite
from rightcall.core.jsontext import JsonError, JsonObject, parse
from rightcall.core.schema import Schema, SchemaError
from rightcall.mcp.client.notes import Notes

Approve: TypeAlias = Callable[[Proposal], Awaitable[FinalDecision | bool]]
"""Asks a person about a proposal, here and now; what an agent's ``approve`` is."""

_LONGEST = 4000


class Elicitation:
    """Asks a person what a server wants to know."""

    def __init__(self, server: str, approve: Approve, notes: Notes) -> None:
        self._server = server
        self._approve = approve
        self._notes = notes

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """The SDK's port for elicitation."""
        self._notes.add("asked", f"a person is asked: {params.message}")
        call_id = f"{self._server}:{context.request_id}"
        reason = f"the server {self._server} asks: {params.message[:_LONGEST]}"
        if isinstance(params, ElicitRequestURLParams):
            proposal = Proposal(
                call_id=call_id, name="elicit_url", arguments={"url": params.url}, reason=reason
            )
            return _agreed(await self._decision(proposal))
        form: JsonObject = dict(params.requested_schema)
        try:
            schema = Schema(form)
        except SchemaError as error:
            return ErrorData(code=INVALID_REQUEST, message=f"the form is no schema: {error}")
        proposal = Proposal(
            call_id=call_id,
            name="elicit",
            arguments={"form": form, "defaults": defaults(form)},
            reason=reason,
        )
        return _filled(await self._decision(proposal), form, schema)

    async def _decision(self, proposal: Proposal) -> FinalDecision:
        try:
            decision = await self._approve(proposal)
        except Exception as error:  # noqa: BLE001 - the SDK would send its words to the server
            self._notes.add("asked", f"nobody could be asked: {type(error).__name__}: {error}")
            return Deny()
        # Only a clear yes is one: a truthy answer of another kind may well mean no.
        if isinstance(decision, Allow | Deny | Rewrite | Answer):
            return decision
        return Allow() if decision is True else Deny()


def defaults(form: JsonObject) -> dict[str, Any]:
    """What the server suggests for the fields of its form."""
    fields = form.get("properties")
    if not isinstance(fields, Mapping):
        return {}
    return {
        name: field["default"]
        for name, field in fields.items()
        if isinstance(field, Mapping) and "default" in field
    }


def _agreed(decision: FinalDecision) -> ElicitResult:
    return ElicitResult(action="accept" if isinstance(decision, Allow) else "decline")


def _filled(decision: FinalDecision, form: JsonObject, schema: Schema) -> ElicitResult:
    content = _content(decision, form)
    # A form that is not filled in properly is not sent: the person has not answered.
    if content is None:
        return ElicitResult(action="decline")
    if schema.problems(content):
        return ElicitResult(action="cancel")
    return ElicitResult(action="accept", content=content)


def _content(decision: FinalDecision, form: JsonObject) -> dict[str, Any] | None:
    match decision:
        case Allow():
            return defaults(form)
        case Rewrite(arguments):
            return {**defaults(form), **arguments}
        case Answer(text):
            return {**defaults(form), **_answered(text, form)}
        case Deny():
            return None
        case _:
            assert_never(decision)


def _answered(text: str, form: JsonObject) -> JsonObject:
    """A person's words as the content of a form: as JSON, or as its only required or only field."""
    try:
        value = parse(text)
    except JsonError:
        value = None
    if isinstance(value, dict):
        return value
    fields, required = form.get("properties"), form.get("required")
    for names in (required, list(fields) if isinstance(fields, Mapping) else ()):
        if isinstance(names, list) and len(names) == 1:
            return {str(names[0]): text}
    return {}
