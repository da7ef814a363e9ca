"""The client behind a running call: who it is, and what a tool may ask of it meanwhile.

Up to the protocol of 2025-11-25 a question is a request to the client, and the tool waits for the
answer. Since that of 2026-07-28 there are no such requests: the call ends with the questions, and the
client makes it again with the answers. A tool that asks is then run again from its start, so it should
ask before it acts.

There are three kinds of questions: a form that a person fills in (elicitation), a reply of the client's
own model (sampling), and the folders the client works in (roots). A client declares which of them it
supports. A person's approval of a call is such a form, too.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, get_args

import mcp_types as types
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct, field
from pydantic import ValidationError

from rightcall.core.decision import Allow, Deny, FinalDecision
from rightcall.core.handler import CallProgress
from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.options import NameCheckedMeta
from rightcall.core.proposal import Proposal, question
from rightcall.core.schema import Schema, SchemaError
from rightcall.errors import ToolFailure, UsageError
from rightcall.mcp.approval_form import FIELDS, REQUIRED

QUESTION = "rightcall_approval"
"""The name of the question for approval."""


class Form(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """A form for the person at the client. It is flat: text, numbers, yes or no, choices."""

    message: str
    fields: Mapping[str, JsonValue]
    """The JSON Schema of each field, by name."""
    required: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.fields or not isinstance(self.fields, Mapping):
            raise UsageError(
                'fields of a Form are JSON Schemas by name, as {"size": {"type": "string"}}'
            )
        for name, described in self.fields.items():
            if not isinstance(described, Mapping):
                raise UsageError(
                    f'Form: the field {name!r} must be a JSON Schema, as {{"type": "string"}}, '
                    f"and not {described!r}"
                )
            try:
                Schema(described)
            except SchemaError as error:
                raise UsageError(f"Form: the field {name!r} is no JSON Schema: {error}") from error
        for name in self.required:
            if name not in self.fields:
                near = get_close_matches(name, self.fields, n=1)
                meant = f"did you mean {near[0]!r}? " if near else ""
                raise UsageError(
                    f"Form: required={name!r} is no field; {meant}There is {', '.join(self.fields)}"
                )

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the whole form."""
        whole: dict[str, JsonValue] = {"type": "object", "properties": dict(self.fields)}
        if self.required:
            return {**whole, "required": list(self.required)}
        return whole


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


_IN_MCP: Mapping[type[Question], tuple[str, type[types.InputResponse]]] = {
    Form: ("elicitation", types.ElicitResult),
    Sample: ("sampling", types.CreateMessageResult),
    Roots: ("roots", types.ListRootsResult),
}
"""For each kind of question: the capability that a client must have declared, and MCP's answer type."""


def capability_for(question: Question) -> str:
    """The capability that a client must have declared to be asked this."""
    return _IN_MCP[type(question)][0]


def can_answer(capabilities: types.ClientCapabilities | None, question: Question) -> bool:
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


def request_for(question: Question) -> types.InputRequest:
    """The question as an MCP request."""
    match question:
        case Form(message=message):
            schema = dict(question.schema)
            return types.ElicitRequest(
                params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
            )
        case Sample(prompt=prompt, system=system, max_tokens=max_tokens):
            said = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
            return types.CreateMessageRequest(
                params=types.CreateMessageRequestParams(
                    messages=[said], system_prompt=system or None, max_tokens=max_tokens
                )
            )
        case Roots():
            return types.ListRootsRequest()


def result_type(question: Question) -> type[types.InputResponse]:
    """The type of MCP's answer to a question."""
    return _IN_MCP[type(question)][1]


def answer_from(question: Question, response: types.InputResponse) -> Answer | None:
    """The client's answer; None if it does not fit the question."""
    match question, response:
        case Form(), types.ElicitResult(action="accept", content=content):
            filled: JsonObject = dict(content or {})
            if Schema(question.schema).problems(filled):
                return None
            return Filled(action="accept", content=filled)
        case Form(), types.ElicitResult(action=action):
            return Filled(action=action)
        case Sample(), types.CreateMessageResult() | types.CreateMessageResultWithTools():
            blocks = response.content if isinstance(response.content, list) else [response.content]
            text = "".join([block.text for block in blocks if isinstance(block, types.TextContent)])
            return Sampled(text=text, model=response.model)
        case Roots(), types.ListRootsResult(roots=roots):
            return RootList(uris=tuple([str(root.uri) for root in roots]))
        case _:
            return None


def form_for(proposal: Proposal) -> Form:
    """The form for a person's decision: the call, why they are asked, and what is doubtful in it."""
    return Form(
        message=question(proposal),
        fields=FIELDS,
        required=REQUIRED,
    )


def decision_from(answer: Answer) -> FinalDecision:
    """The decision in an answer: only an explicit yes allows the call."""
    if not isinstance(answer, Filled) or answer.action != "accept":
        return Deny()
    if answer.content.get("allow") is True:
        return Allow()
    reason = answer.content.get("reason")
    return Deny(reason if isinstance(reason, str) else "")


Level: TypeAlias = Literal["debug", "info", "warning", "error"]
Send: TypeAlias = Callable[[float, float | None, str], Awaitable[None]]
_ORDER: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
"""From the least to the most severe, as the protocol lists them."""
_MOST = 1024
"""Clients whose log level is remembered."""

_current: ContextVar["Caller | None"] = ContextVar("rightcall_mcp_caller", default=None)

try:
    from sniffio import current_async_library_cvar as _library
except ImportError:  # anyio does without it, and then never looks
    _library = ContextVar("rightcall_mcp_library", default=None)


@contextmanager
def loop_named() -> Iterator[None]:
    """Say which event loop this is, as ``anyio.run`` does: the SDK asks at every step of a request."""
    before = _library.set("asyncio")
    try:
        yield
    finally:
        _library.reset(before)


def caller() -> "Caller | None":
    """The client whose call is being judged or run; None if no MCP client made it."""
    return _current.get()


class Caller:
    """The client behind one call. A tool gets it from ``caller()``."""

    def __init__(
        self,
        context: ServerRequestContext[Any, Any],
        given: Mapping[str, types.InputResponse],
        *,
        levels: "LogLevels",
        patience: float,
    ) -> None:
        self._context = context
        self._given = given
        self._levels = levels
        self._patience = patience
        self.open: dict[str, Question] = {}
        """The unanswered questions that the call needs; sent to the client when the call ends."""
        self.lacking: tuple[str, ...] = ()
        """The capabilities that the tool needs and the client does not have."""

    @property
    def name(self) -> str:
        """The client's own name and version; empty if it gives none."""
        params = self._context.session.client_params
        if params is None:
            return ""
        return f"{params.client_info.name} {params.client_info.version}"

    @property
    def user(self) -> str:
        """The user that the client's token stands for, if an authorization server issued it."""
        token = get_access_token()
        if token is None:
            return ""
        return token.subject or token.client_id

    @property
    def is_modern(self) -> bool:
        """Whether questions end the call instead of being requests."""
        return self._context.protocol_version in MODERN_PROTOCOL_VERSIONS

    def can(self, question: Question) -> bool:
        """Whether the client declares that it can answer such a question."""
        session = self._context.session
        reachable = self.is_modern or session.can_send_request
        return reachable and can_answer(session.client_capabilities, question)

    async def ask(self, **questions: Question) -> dict[str, Answer]:
        """Ask all of these at once; returns the answers by the same names.

        Raises ToolFailure if the client cannot answer, does not in time, or sends an invalid answer.
        """
        if lacking := {capability_for(each) for each in questions.values() if not self.can(each)}:
            self.lacking = tuple(sorted(lacking))
            raise ToolFailure(f"The client does not offer {' and '.join(self.lacking)}.")
        if self.is_modern:
            answers = {
                name: answer
                for name, question in questions.items()
                if (response := self._given.get(name)) is not None
                and (answer := answer_from(question, response)) is not None
            }
            self.open = {name: each for name, each in questions.items() if name not in answers}
            if self.open:
                raise ToolFailure("The call waits for the client's answers.")
            return answers
        return {name: await self._request(question) for name, question in questions.items()}

    async def log(self, text: str, level: Level = "info") -> None:
        """Send the client a log message, if it wants messages of that level."""
        context = self._context
        allowed = level in allowed_log_levels(context.protocol_version, context.meta)
        if not (allowed and self._levels.wants(context, level)):
            return
        line = types.LoggingMessageNotificationParams(level=level, data=text, logger="rightcall")
        await context.session.send_notification(
            types.LoggingMessageNotification(params=line), context.request_id
        )

    async def progress(self, done: float, total: float | None, text: str) -> None:
        """Send the client the progress of the call, if it asked for it."""
        await self._context.session.report_progress(done, total, text or None)

    async def _request(self, question: Question) -> Answer:
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        request = request_for(question)
        wanted = result_type(question)
        try:
            response = await self._context.session.send_request(
                request, wanted, request_read_timeout_seconds=self._patience, metadata=related
            )
        except (MCPError, ValidationError) as error:
            raise ToolFailure("The client did not answer what it was asked.") from error
        answer = answer_from(question, response)
        if answer is None:
            raise ToolFailure("The client's answer does not fit what it was asked.")
        return answer

    def missing(self) -> MCPError:
        """The protocol's error for a call that needs more than the client offers."""
        return MCPError(
            code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message=f"the tool needs a client that offers {' and '.join(self.lacking)}",
            data={"requiredCapabilities": {name: {} for name in self.lacking}},
        )


@contextmanager
def calling(who: Caller) -> Iterator[None]:
    """Make ``who`` the caller for the code in this scope."""
    # A tool in a thread may start an event loop of its own with anyio.run.
    before = _current.set(who)
    named = _library.set(None)
    try:
        yield
    finally:
        _library.reset(named)
        _current.reset(before)


class LogLevels:
    """The log level that each session has set. Only the older protocols have sessions and levels."""

    def __init__(self) -> None:
        self._set: OrderedDict[str, types.LoggingLevel] = OrderedDict()

    def choose(self, context: ServerRequestContext[Any, Any], level: types.LoggingLevel) -> None:
        """Remember a client's level."""
        self._set[session_of(context)] = level
        self._set.move_to_end(session_of(context))
        if len(self._set) > _MOST:
            self._set.popitem(last=False)

    def wants(self, context: ServerRequestContext[Any, Any], level: types.LoggingLevel) -> bool:
        """Whether a client wants messages of that level; all of them unless it set a level."""
        least = self._set.get(session_of(context), _ORDER[0])
        return _ORDER.index(level) >= _ORDER.index(least)


def session_of(context: ServerRequestContext[Any, Any]) -> str:
    """The id of the session: empty over stdio, where there is only one."""
    request = context.request
    if request is None:
        return ""
    return str(request.headers.get("mcp-session-id", ""))


class ProgressSender:
    """Sends the newest progress, one notification at a time; newer progress replaces what waits.

    The protocol requires the number to grow with every notification; one that does not is left out.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._next: CallProgress | None = None
        self._sent = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def tell(self, progress: CallProgress) -> None:
        """Take a progress report. Called in the event loop."""
        if not progress.done > self._sent:
            return
        self._next = progress
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def finish(self) -> None:
        """Wait until the last progress is sent: nothing may follow the result."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def stop(self) -> None:
        """Send nothing more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while (word := self._next) is not None:
            self._next = None
            self._sent = word.done
            await self._send(word.done, word.total, word.text)
