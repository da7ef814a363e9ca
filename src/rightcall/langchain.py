"""LangChain's tools as ours, ours as LangChain's, and an agent as a node of a LangGraph graph.

Needs ``rightcall[langchain]``; LangChain is imported when one of these is called.
"""

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast

from msgspec import to_builtins

from rightcall.agent import Agent
from rightcall.background import run_sync
from rightcall.core.handler import Context
from rightcall.core.jsontext import dump
from rightcall.core.message import User
from rightcall.core.optional_libraries import require
from rightcall.core.options import check_keywords
from rightcall.core.parts import Call, Media, Part, Result, Text
from rightcall.core.proposal import Proposal
from rightcall.core.tool import Tool
from rightcall.declare.attachment import file
from rightcall.declare.function import ToolOptions
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import ToolFailure, UsageError
from rightcall.gate.executor import Executor
from rightcall.gate.gate import Approve, Decisions, validate_decisions
from rightcall.loop.result import RunResult
from rightcall.loop.settings import ResumeOptions, RunOptions
from rightcall.wire.history import ChatHistory, from_messages, to_messages
from rightcall.wire.payload import data_url

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable
    from langchain_core.tools import BaseTool

__all__ = ["from_langchain", "langgraph_node", "to_langchain"]

_CHAT = "openai_chat"
"""The format in which LangChain's messages are converted."""


def from_langchain(tool: "BaseTool", /, **options: Unpack[ToolOptions]) -> Tool:
    """A LangChain tool as a rightcall tool, behind the gate like any other.

    Its name, description and schema are its own unless ``options`` override them. A ToolException is a
    failure with its message.
    """
    require("langchain_core")
    from langchain_core.tools import BaseTool, ToolException  # noqa: PLC0415 - an extra

    if not isinstance(tool, BaseTool):
        raise UsageError(f"a tool of LangChain's, and not {type(tool).__name__}")

    async def invoke(context: Context[Any], **arguments: Any) -> Any:
        call = {"type": "tool_call", "id": context.call_id, "name": tool.name, "args": arguments}
        try:
            answer = await tool.ainvoke(call)
        except ToolException as error:
            raise ToolFailure(str(error)) from error
        return _return_value(answer)

    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        parameters = schema
    else:
        parameters = schema.model_json_schema()
    said: dict[str, Any] = {"name": tool.name, "description": tool.description, "errors": "neutral"}
    said |= options
    bare = dict(parameters)
    # The tool itself has the title and the description.
    bare.pop("title", None)
    bare.pop("description", None)
    return Tool(parameters=bare, handler=invoke, **said)


@check_keywords("rightcall.langchain.to_langchain")
def to_langchain(
    tool: ToolSource, /, *, dependencies: Any = None, approve: Approve | None = None
) -> "BaseTool":
    """A rightcall tool as a LangChain tool. Every call goes through the gate.

    Failures are ToolExceptions, whose message LangChain gives to the model. ``dependencies`` and
    ``approve`` are as in ``run_calls``.
    """
    require("langchain_core")
    from langchain_core.tools import StructuredTool, ToolException  # noqa: PLC0415 - an extra

    box = Toolbox(tool)
    if len(box) != 1:
        raise UsageError(f"one tool at a time, and not {len(box)}: {', '.join(box.names())}")
    (ours,) = box
    executor = Executor(approve=approve)

    async def invoke(**arguments: Any) -> Any:
        call = Call(id="langchain", name=ours.name, arguments=dump(arguments))
        (execution,) = await executor.execute([call], box, dependencies=dependencies)
        if execution.result.is_error:
            raise ToolException(execution.result.text)
        return _content(execution.result)

    def invoke_sync(**arguments: Any) -> Any:
        return run_sync(invoke(**arguments))

    made: BaseTool = StructuredTool(
        name=ours.name,
        description=ours.description,
        args_schema=dict(ours.parameters),
        func=invoke_sync,
        coroutine=invoke,
        handle_tool_error=True,
    )
    return made


@check_keywords("rightcall.langchain.langgraph_node")
def langgraph_node(
    agent: Agent[Any, Any],
    *,
    messages: str = "messages",
    output: str | None = None,
    **options: Unpack[RunOptions],
) -> "Runnable[Any, dict[str, Any]]":
    """An agent as a node of a graph: it continues with the state's messages, and adds new ones.

    ``messages`` is the member of the state with the messages; ``output`` the one for the agent's
    output. ``options`` are those of ``agent.run``. If a call needs approval, the graph is interrupted
    with the pending calls, and continues with ``Command(resume={call_id: True})``, or True or False for
    all of them. That needs a graph with a checkpointer; otherwise give the agent ``approve=``.
    """
    if options.get("history") is not None:
        raise UsageError("the history of a run in a graph is what the state holds")
    require("langchain_core")
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages  # noqa: PLC0415
    from langchain_core.runnables import RunnableLambda  # noqa: PLC0415 - an extra

    def work(state: Any, *, may_wait: bool) -> "_Working":
        if isinstance(state, Mapping):
            given = state[messages]
        else:
            given = getattr(state, messages)
        said = from_messages(convert_to_openai_messages(given), _CHAT)
        if not said.messages or not isinstance(last := said.messages[-1], User):
            raise UsageError(
                f"the last of the state's {messages} is not the user's; say something first"
            )
        result = yield from _run(agent, last, said, options, may_wait=may_wait)
        new = to_messages(result.transcript[result.begins + 1 :], _CHAT)
        made = {messages: convert_to_messages(new)}
        if output is None:
            return made
        return {**made, output: result.output}

    async def node(state: Any, config: Any) -> dict[str, Any]:
        return await _drive(work(state, may_wait=_is_kept(config)), is_kept=_is_kept(config))

    def node_sync(state: Any, config: Any) -> dict[str, Any]:
        return _drive_sync(work(state, may_wait=_is_kept(config)), is_kept=_is_kept(config))

    made: Runnable[Any, dict[str, Any]] = RunnableLambda(node_sync, afunc=node, name=agent.name)
    return made


_Work: TypeAlias = Callable[[], Coroutine[Any, Any, str]]
"""Runs an agent up to its next pause or its end, and returns the result as JSON. An interrupted node
starts from its beginning when it continues. As tasks of the graph, these are not run again: their
results are in its checkpoint."""
_Working: TypeAlias = Generator[_Work, str, dict[str, Any]]
"""A node's work: yields each piece when the one before is done; then returns what it adds to the
state."""


def _run(
    agent: Agent[Any, Any], prompt: User, said: ChatHistory, options: RunOptions, *, may_wait: bool
) -> Generator[_Work, str, RunResult[Any]]:
    told: RunOptions = {**options, "history": ChatHistory(said.messages[:-1], said.system)}
    again: ResumeOptions[Any] = {}
    for each in _AGAIN:
        if each in options:
            again[each] = options[each]  # type: ignore[literal-required]

    async def begin() -> str:
        return (await agent.run(prompt, **told)).to_json().decode()

    async def go_on(paused: RunResult[Any], decisions: Any) -> str:
        return (await agent.resume(paused, decisions, **again)).to_json().decode()

    result = RunResult.from_json((yield begin))
    while result.pending:
        if not may_wait:
            waiting = ", ".join(proposal.name for proposal in result.pending)
            raise UsageError(
                f"a person must approve {waiting}; compile the graph with a checkpointer, which can be "
                "interrupted, or give the agent approve="
            )
        result = RunResult.from_json((yield partial(go_on, result, _decisions(result.pending))))
    return agent._config.with_output(result)  # noqa: SLF001 - the form that it was made with


_AGAIN = tuple(ResumeOptions.__annotations__)
"""Options of a run that are passed again when it is resumed."""


def _decisions(pending: Sequence[Proposal]) -> Decisions:
    """Returns a person's decisions about the pending calls; asks again if they are invalid."""
    from langgraph.types import interrupt  # noqa: PLC0415 - an extra

    asked: dict[str, Any] = {"calls": [to_builtins(each) for each in pending]}
    while True:
        said = interrupt(asked)
        if isinstance(said, bool):
            decisions = {each.call_id: said for each in pending}
        else:
            decisions = said
        try:
            validate_decisions(pending, decisions)
        except UsageError as error:
            asked = {**asked, "problem": str(error)}
        else:
            return cast("Decisions", decisions)


async def _drive(working: _Working, *, is_kept: bool) -> dict[str, Any]:
    work = next(working)
    while True:
        if is_kept:
            given = await _task_of(work)()
        else:
            given = await work()
        try:
            work = working.send(given)
        except StopIteration as end:
            return cast("dict[str, Any]", end.value)


def _drive_sync(working: _Working, *, is_kept: bool) -> dict[str, Any]:
    work = next(working)
    while True:
        if is_kept:
            given = _task_of(partial(_run_blocking, work))().result()
        else:
            given = _run_blocking(work)
        try:
            work = working.send(given)
        except StopIteration as end:
            return cast("dict[str, Any]", end.value)


def _is_kept(config: Any) -> bool:
    """Whether this is a node of a graph with a checkpointer; LangGraph marks it by a private key."""
    return config.get("configurable", {}).get("__pregel_checkpointer") is not None


def _task_of(work: Callable[[], Any]) -> Any:
    from langgraph.func import task  # noqa: PLC0415 - an extra

    return task(work, name="rightcall")


def _run_blocking(work: _Work) -> str:
    return run_sync(work())


def _return_value(answer: Any) -> Any:
    """Converts the answer of a LangChain tool to the return value of one of ours."""
    content = getattr(answer, "content", None)
    if not isinstance(content, str | list):
        raise ToolFailure(f"It gave a {type(answer).__name__}, which is of use within LangGraph only.")
    blocks = [content] if isinstance(content, str) else content
    texts = []
    values: list[Any] = []
    for block in blocks:
        part = _part(block)
        if isinstance(part, Text):
            texts.append(part.text)
            values.append(part.text)
        else:
            values.append(part)
    if getattr(answer, "status", "") == "error":
        raise ToolFailure("\n".join(texts))
    if len(values) == 1:
        return values[0]
    return values


def _part(block: Any) -> Part:
    match block:
        case str():
            return Text(block)
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return file(url)
        case {"type": "image" | "file" | "audio" | "video", "url": str(url)}:
            return file(url, media_type=str(block.get("mime_type") or ""))
        case {"type": "image" | "file" | "audio" | "video", "base64": str(data), "mime_type": str(kind)}:
            return file(f"data:{kind};base64,{data}")
        case _:
            return Text(dump(block))


def _content(result: Result) -> Any:
    """Returns a result as the content of a LangChain message: text, or blocks if it is not only text."""
    if all(isinstance(part, Text) for part in result.content):
        return result.text
    return [_block(part) for part in result.content]


def _block(part: Part) -> dict[str, Any]:
    if isinstance(part, Media):
        if part.kind == "image" and part.id is None:
            return {"type": "image_url", "image_url": {"url": data_url(part)}}
        return {"type": "text", "text": f"[{part.about}]"}
    return {"type": "text", "text": part.text}
