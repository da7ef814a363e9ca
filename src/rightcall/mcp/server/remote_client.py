"""The client behind a running call: who it is, and what a tool may ask of it meanwhile.

Up to the protocol of 2025-11-25 a question is a request to the client, and the tool waits for the
answer. Since that of 2026-07-28 there are no such requests: the call ends with the questions, and the
client makes it again with the answers. A tool that asks is then run again from its start, so it should
ask before it acts.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias, get_args

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    InputResponse,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from rightcall.core.handler import CallProgress
from rightcall.errors import ToolFailure
from rightcall.mcp.server.client_questions import (
    Answer,
    Question,
    answer_from,
    can_answer,
    capability_for,
    request_for,
    result_type,
)

Level: TypeAlias = Literal["debug", "info", "warning", "error"]
Send: TypeAlias = Callable[[float, float | None, str], Awaitable[None]]
_ORDER: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
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
        given: Mapping[str, InputResponse],
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
        return "" if params is None else f"{params.client_info.name} {params.client_info.version}"

    @property
    def user(self) -> str:
        """The user that the client's token stands for, if an authorization server issued it."""
        token = get_access_token()
        return "" if token is None else token.subject or token.client_id

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
            return self._answers(questions)
        return {name: await self._request(question) for name, question in questions.items()}

    async def log(self, text: str, level: Level = "info") -> None:
        """Send the client a log message, if it wants messages of that level."""
        context = self._context
        allowed = level in allowed_log_levels(context.protocol_version, context.meta)
        if not (allowed and self._levels.wants(context, level)):
            return
        line = LoggingMessageNotificationParams(level=level, data=text, logger="rightcall")
        await context.session.send_notification(
            LoggingMessageNotification(params=line), context.request_id
        )

    async def progress(self, done: float, total: float | None, text: str) -> None:
        """Send the client the progress of the call, if it asked for it."""
        await self._context.session.report_progress(done, total, text or None)

    def _answers(self, questions: Mapping[str, Question]) -> dict[str, Answer]:
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

    async def _request(self, question: Question) -> Answer:
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        request, wanted = request_for(question), result_type(question)
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
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message=f"the tool needs a client that offers {' and '.join(self.lacking)}",
            data={"requiredCapabilities": {name: {} for name in self.lacking}},
        )


@contextmanager
def calling(who: Caller) -> Iterator[None]:
    """Make ``who`` the caller for the code in this scope."""
    # A tool in a thread may start an event loop of its own with anyio.run.
    before, named = _current.set(who), _library.set(None)
    try:
        yield
    finally:
        _library.reset(named)
        _current.reset(before)


class LogLevels:
    """The log level that each session has set. Only the older protocols have sessions and levels."""

    def __init__(self) -> None:
        self._set: OrderedDict[str, LoggingLevel] = OrderedDict()

    def choose(self, context: ServerRequestContext[Any, Any], level: LoggingLevel) -> None:
        """Remember a client's level."""
        self._set[_session(context)] = level
        self._set.move_to_end(_session(context))
        if len(self._set) > _MOST:
            self._set.popitem(last=False)

    def wants(self, context: ServerRequestContext[Any, Any], level: LoggingLevel) -> bool:
        """Whether a client wants messages of that level; all of them unless it set a level."""
        least = self._set.get(_session(context), _ORDER[0])
        return _ORDER.index(level) >= _ORDER.index(least)


def _session(context: ServerRequestContext[Any, Any]) -> str:
    """The id of the session: empty over stdio, where there is only one."""
    request = context.request
    return "" if request is None else str(request.headers.get("mcp-session-id", ""))


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
            self._next, self._sent = None, word.done
            await self._send(word.done, word.total, word.text)
