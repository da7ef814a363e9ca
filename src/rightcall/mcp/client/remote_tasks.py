"""Calls that a server goes on with as tasks: asked after until they end, cancelled with the call.

Only the newest protocol has them, by an extension that we declare; to a caller they are calls.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import anyio
import mcp_types as types
from mcp.client.context import ClientRequestContext
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError

_LEAST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0
_CANCEL_SECONDS = 2.0


class CreatedTask(types.Result):
    """The answer to a call that goes on as a task."""

    result_type: Literal["task"] = "task"
    task_id: str
    poll_interval_ms: int | None = None


class TaskState(types.Result):
    """How a task stands, with its result or its questions."""

    status: str
    result: types.CallToolResult | None = None
    error: types.ErrorData | None = None
    input_requests: types.InputRequests | None = None


class _TaskReference(types.RequestParams):
    task_id: str


class _TaskAnswers(_TaskReference):
    input_responses: dict[str, Any]


class _GetTask(types.Request[_TaskReference, Literal["tasks/get"]]):
    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/get"] = "tasks/get"
    params: _TaskReference


class _CancelTask(types.Request[_TaskReference, Literal["tasks/cancel"]]):
    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: _TaskReference


class _UpdateTask(types.Request[_TaskAnswers, Literal["tasks/update"]]):
    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/update"] = "tasks/update"
    params: _TaskAnswers


class TasksExtension(ClientExtension):
    """Declares that we know tasks, and follows them to their end."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """What the SDK hands us in place of a result."""
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=self._follow)]

    async def _follow(self, created: CreatedTask, context: ClaimContext) -> types.CallToolResult:
        session = context.session
        reference = _TaskReference(task_id=created.task_id)
        pause = min(max((created.poll_interval_ms or 0) / 1000, _LEAST_PAUSE), _LONGEST_PAUSE)
        try:
            while True:
                state = await session.send_request(_GetTask(params=reference), TaskState)
                if state.result is not None:
                    return state.result
                if state.error is not None:
                    raise MCPError.from_error_data(state.error)
                if state.status == "cancelled":
                    raise MCPError(types.INTERNAL_ERROR, "the server cancelled the task")
                if state.input_requests:
                    answers = await self._answer(state.input_requests, context)
                    told = _TaskAnswers(task_id=created.task_id, input_responses=answers)
                    await session.send_request(_UpdateTask(params=told), types.EmptyResult)
                await asyncio.sleep(pause)
        except asyncio.CancelledError:
            with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
                await session.send_request(_CancelTask(params=reference), types.EmptyResult)
            raise

    async def _answer(self, asked: types.InputRequests, context: ClaimContext) -> dict[str, Any]:
        """Answer by the same callbacks as any question of the server."""
        answers: dict[str, Any] = {}
        for name, request in asked.items():
            about = ClientRequestContext(session=context.session, request_id=name, meta=None)
            answer = await context.session.dispatch_input_request(about, request)
            if isinstance(answer, types.ErrorData):
                raise MCPError.from_error_data(answer)
            answers[name] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        return answers
