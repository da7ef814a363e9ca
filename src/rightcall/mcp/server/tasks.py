"""Long calls as tasks, an extension of the protocol: begun, asked after, answered and cancelled.

The SDK has no runtime for them. A task is one of our calls that goes on after its request was answered:
what it returns, and what it asks, is kept until the client fetches it. Tasks live as long as the server.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from secrets import token_urlsafe
from time import monotonic
from typing import Any, Literal, TypeAlias

import mcp_types as types
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from msgspec import Struct
from pydantic import TypeAdapter, ValidationError

from rightcall.log import logger

EXTENSION = "io.modelcontextprotocol/tasks"
_HEADER_MISMATCH = -32020
_POLL = 500
"""Milliseconds after which a client should ask again."""
_LIFE = 600.0
"""Seconds for which a task that has ended is kept."""
_FIRST_QUESTION = 1.0
"""Seconds that a tool has to ask what it wants to know before it becomes a task."""
_RESPONSE: TypeAdapter[types.InputResponse] = TypeAdapter(types.InputResponse)
_Status: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]
Run: TypeAlias = Callable[[types.CallToolRequestParams], Awaitable[Any]]
"""Runs one round of a call: the result, or the questions that come first."""


class TaskSupport(Struct, frozen=True, kw_only=True):
    """How a tool runs as a task."""

    required: bool = False
    """A client that knows no tasks is refused; otherwise it waits for the result, as for any call."""
    asks_first: bool = False
    """The tool asks at its beginning, and becomes a task once it was answered."""


class TaskParams(types.RequestParams):
    """The parameters of ``tasks/get`` and ``tasks/cancel``."""

    task_id: str


class TaskUpdateParams(TaskParams):
    """The parameters of ``tasks/update``."""

    input_responses: dict[str, Any]
    """Read one by one: answers to what was not asked do no harm."""


class _Task:
    """One task: a call in the background."""

    def __init__(self, owner: str) -> None:
        self.id = token_urlsafe(16)
        self.owner = owner
        self.status: _Status = "working"
        self.created = self.updated = _now()
        self.ended: float | None = None
        self.outcome: dict[str, Any] = {}
        self.questions: dict[str, Any] = {}
        self.answers: dict[str, types.InputResponse] = {}
        self.job: asyncio.Task[None] | None = None
        self._is_answered = asyncio.Event()

    async def run(self, run: Run, params: types.CallToolRequestParams) -> None:
        """Run the call to its end, with a pause for each round of questions."""
        try:
            result = await run(params)
            while isinstance(result, types.InputRequiredResult):
                self.questions = dict(result.input_requests or {})
                self._settle("input_required")
                await self._is_answered.wait()
                self._is_answered.clear()
                answered = {"request_state": result.request_state, "input_responses": dict(self.answers)}
                result = await run(params.model_copy(update=answered))
            self.outcome = {"result": to_json(result)}
            self._settle("completed")
        except MCPError as error:
            self.outcome = {"error": to_json(error.error)}
            self._settle("failed")
        except asyncio.CancelledError:
            self._settle("cancelled")
        except Exception:
            logger.exception("a task could not be taken to its end")
            self.outcome = {"error": {"code": types.INTERNAL_ERROR, "message": "the task failed"}}
            self._settle("failed")

    def answer(self, given: Mapping[str, Any]) -> None:
        """Take answers; once there is one to every question, the call goes on."""
        for name in given.keys() & self.questions.keys():
            try:
                self.answers[name] = _RESPONSE.validate_python(given[name])
            except ValidationError as error:
                raise MCPError(types.INVALID_PARAMS, f"this is no answer: {name}") from error
            del self.questions[name]
        if self.status == "input_required" and not self.questions:
            self._settle("working")
            self._is_answered.set()

    def describe(self) -> dict[str, Any]:
        """The task as a client sees it."""
        return {
            "taskId": self.id,
            "status": self.status,
            "createdAt": self.created,
            "lastUpdatedAt": self.updated,
            "ttlMs": int(_LIFE * 1000),
            "pollIntervalMs": _POLL,
        }

    def _settle(self, status: _Status) -> None:
        self.status = status
        self.updated = _now()
        if status in {"completed", "failed", "cancelled"}:
            self.ended = monotonic()


class Tasks:
    """The tasks of a server, up to a number of them."""

    def __init__(self, support: Mapping[str, TaskSupport], most: int) -> None:
        self._support = support
        self._most = most
        self._tasks: OrderedDict[str, _Task] = OrderedDict()

    async def call(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams, run: Run
    ) -> Any:
        """The answer to ``tools/call``: the result, or that it has become a task."""
        support = self._support.get(params.name)
        if support is None or not _knows_tasks(context):
            if support is not None and support.required:
                raise _missing()
            return await run(params)
        if support.asks_first and params.request_state is None:
            asking = asyncio.ensure_future(run(params))
            try:
                return await asyncio.wait_for(asyncio.shield(asking), _FIRST_QUESTION)
            except TimeoutError:

                async def go_on(_: types.CallToolRequestParams) -> Any:
                    return await asking

                return self._begin(go_on, params)
        return self._begin(run, params)

    async def get(self, context: ServerRequestContext[Any, Any], params: TaskParams) -> dict[str, Any]:
        """Handle ``tasks/get``."""
        task = self._find(context, params)
        told = {"resultType": "complete", **task.describe(), **task.outcome}
        if task.status == "input_required":
            told["inputRequests"] = {name: to_json(each) for name, each in task.questions.items()}
        return told

    async def update(
        self, context: ServerRequestContext[Any, Any], params: TaskUpdateParams
    ) -> dict[str, Any]:
        """Handle ``tasks/update``."""
        self._find(context, params).answer(params.input_responses)
        return {"resultType": "complete"}

    async def cancel(
        self, context: ServerRequestContext[Any, Any], params: TaskParams
    ) -> dict[str, Any]:
        """Handle ``tasks/cancel``."""
        task = self._find(context, params)
        if task.job is not None:
            task.job.cancel()
        return {"resultType": "complete"}

    async def close(self) -> None:
        """Cancel what still runs."""
        jobs = [task.job for task in self._tasks.values() if task.job is not None]
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs, timeout=1.0)

    def _begin(self, run: Run, params: types.CallToolRequestParams) -> dict[str, Any]:
        now = monotonic()
        for name, task in [*self._tasks.items()]:
            if task.ended is not None and now - task.ended > _LIFE:
                del self._tasks[name]
        if len(self._tasks) >= self._most:
            raise MCPError(types.INTERNAL_ERROR, f"there are {self._most} tasks already; try later")
        task = _Task(_owner())
        task.job = asyncio.get_running_loop().create_task(task.run(run, params))
        self._tasks[task.id] = task
        return {"resultType": "task", **task.describe()}

    def _find(self, context: ServerRequestContext[Any, Any], params: TaskParams) -> _Task:
        if not _knows_tasks(context):
            raise _missing()
        request = context.request
        if request is not None and request.headers.get("mcp-name", "").strip() != params.task_id:
            raise MCPError(_HEADER_MISMATCH, "the header Mcp-Name must be the id of the task")
        task = self._tasks.get(params.task_id)
        if task is None or task.owner != _owner():
            raise MCPError(types.INVALID_PARAMS, "there is no such task")
        return task


def to_json(value: Any) -> Any:
    """A value of the SDK as it is on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _owner() -> str:
    token = get_access_token()
    return "" if token is None else token.subject or token.client_id


def _knows_tasks(context: ServerRequestContext[Any, Any]) -> bool:
    capabilities = context.session.client_capabilities
    return capabilities is not None and EXTENSION in (capabilities.extensions or {})


def _missing() -> MCPError:
    return MCPError(
        code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        message=f"this needs a client that declares {EXTENSION}",
        data={"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
    )
