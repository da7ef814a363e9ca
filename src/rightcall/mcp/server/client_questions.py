"""What a tool may ask of the client that called it, and the answers, as values.

There are three kinds: a form that a person fills in (elicitation), a reply of the client's own model
(sampling), and the folders the client works in (roots). A client declares which of them it supports. A
person's approval of a call is such a form, too.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from mcp_types import (
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputResponse,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from msgspec import Struct, field

from rightcall.core.decision import Allow, Deny, FinalDecision, Proposal
from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.schema import Schema
from rightcall.trust.asking import question

QUESTION = "rightcall_approval"
"""The name of the question for approval."""


class Form(Struct, frozen=True, kw_only=True):
    """A form for the person at the client. It is flat: text, numbers, yes or no, choices."""

    message: str
    fields: Mapping[str, JsonValue]
    """The JSON Schema of each field, by name."""
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the whole form."""
        whole: dict[str, JsonValue] = {"type": "object", "properties": dict(self.fields)}
        return {**whole, "required": list(self.required)} if self.required else whole


class Filled(Struct, frozen=True, kw_only=True):
    """The answer to a form."""

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject = field(default_factory=dict)
    """The filled-in fields, which fit the form. Empty unless it was accepted."""


class Sample(Struct, frozen=True, kw_only=True):
    """A request to the client's own model."""

    prompt: str
    system: str = ""
    max_tokens: int = 1000


class Sampled(Struct, frozen=True, kw_only=True):
    """The reply of the client's model."""

    text: str
    model: str = ""


class Roots(Struct, frozen=True):
    """Asks which folders the client works in."""


class RootList(Struct, frozen=True, kw_only=True):
    """The folders, as URIs."""

    uris: tuple[str, ...]


Question: TypeAlias = Form | Sample | Roots
Answer: TypeAlias = Filled | Sampled | RootList


_IN_MCP: Mapping[type[Question], tuple[str, type[InputResponse]]] = {
    Form: ("elicitation", ElicitResult),
    Sample: ("sampling", CreateMessageResult),
    Roots: ("roots", ListRootsResult),
}
"""For each kind of question: the capability that a client must have declared, and MCP's answer type."""


def capability_for(question: Question) -> str:
    """The capability that a client must have declared to be asked this."""
    return _IN_MCP[type(question)][0]


def can_answer(capabilities: ClientCapabilities | None, question: Question) -> bool:
    """Whether a client with these capabilities may be asked this."""
    if capabilities is None:
        return False
    match question:
        case Form():
            forms = capabilities.elicitation
            # A client that names no mode supports forms, the only mode when it was written.
            return forms is not None and (forms.form is not None or forms.url is None)
        case Sample():
            return capabilities.sampling is not None
        case Roots():
            return capabilities.roots is not None


def request_for(question: Question) -> InputRequest:
    """The question as an MCP request."""
    match question:
        case Form(message=message):
            schema = dict(question.schema)
            return ElicitRequest(
                params=ElicitRequestFormParams(message=message, requested_schema=schema)
            )
        case Sample(prompt=prompt, system=system, max_tokens=max_tokens):
            said = SamplingMessage(role="user", content=TextContent(text=prompt))
            return CreateMessageRequest(
                params=CreateMessageRequestParams(
                    messages=[said], system_prompt=system or None, max_tokens=max_tokens
                )
            )
        case Roots():
            return ListRootsRequest()


def result_type(question: Question) -> type[InputResponse]:
    """The type of MCP's answer to a question."""
    return _IN_MCP[type(question)][1]


def answer_from(question: Question, response: InputResponse) -> Answer | None:
    """The client's answer; None if it does not fit the question."""
    match question, response:
        case Form(), ElicitResult(action="accept", content=content):
            filled: JsonObject = dict(content or {})
            fits = not Schema(question.schema).problems(filled)
            return Filled(action="accept", content=filled) if fits else None
        case Form(), ElicitResult(action=action):
            return Filled(action=action)
        case Sample(), CreateMessageResult() | CreateMessageResultWithTools():
            blocks = response.content if isinstance(response.content, list) else [response.content]
            text = "".join([block.text for block in blocks if isinstance(block, TextContent)])
            return Sampled(text=text, model=response.model)
        case Roots(), ListRootsResult(roots=roots):
            return RootList(uris=tuple([str(root.uri) for root in roots]))
        case _:
            return None


def form_for(proposal: Proposal) -> Form:
    """The form for a person's decision: the call, why they are asked, and what is doubtful in it."""
    return Form(
        message=question(proposal),
        fields={
            "allow": {"type": "boolean", "title": "Run it"},
            "reason": {"type": "string", "title": "Why not", "description": "For the model to read"},
        },
        required=("allow",),
    )


def decision_from(answer: Answer) -> FinalDecision:
    """The decision in an answer: only an explicit yes allows the call."""
    if not isinstance(answer, Filled) or answer.action != "accept":
        return Deny()
    if answer.content.get("allow") is True:
        return Allow()
    reason = answer.content.get("reason")
    return Deny(reason if isinstance(reason, str) else "")
