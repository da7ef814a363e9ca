"""LangChain and LangGraph, the real ones, which ``make test WHAT=langchain`` has; elsewhere skipped."""

import base64
from typing import Annotated, Any

import pytest

import rightcall as rc
from rightcall.errors import UsageError
from rightcall.langchain import from_langchain, langgraph_node, to_langchain
from rightcall.testing import ScriptedModel, call, reply

pytest.importorskip("langchain_core", reason="LangChain is not installed: make test WHAT=langchain")
pytest.importorskip("langgraph", reason="LangGraph is not installed: make test WHAT=langchain")

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import (
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    ToolException,
)
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from pydantic import BaseModel

PNG = b"\x89PNG\r\n\x1a\n"


@langchain_tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def called(name: str, arguments: str = "{}") -> list[rc.Call]:
    return [rc.Call(id="c1", name=name, arguments=arguments)]


async def test_a_tool_of_langchains_is_one_of_ours():
    ours = from_langchain(add, effect="pure")
    assert (ours.name, ours.description, ours.effect) == ("add", "Add two numbers.", "pure")
    assert ours.parameters["required"] == ["a"]
    good, bad = await rc.run_calls([*called("add", '{"a": 1}'), *called("add", '{"a": "one"}')], ours)
    assert good.result.text == "3"
    assert bad.result.outcome == "invalid"
    model = ScriptedModel([reply(call("add", a=1, b=1)), "2"])
    assert (await rc.Agent(model, [ours]).run("1 + 1?")).text == "2"


async def test_an_async_tool_and_what_langchain_injects():
    @langchain_tool
    async def note(
        text: str,
        user: Annotated[str, InjectedToolArg] = "ann",
        *,
        call_id: Annotated[str, InjectedToolCallId],
    ) -> str:
        """Note it."""
        return f"{user} {call_id}: {text}"

    ours = from_langchain(note)
    assert set(ours.parameters["properties"]) == {"text"}
    (done,) = await rc.run_calls(called("note", '{"text": "x"}'), ours)
    assert done.result.text == "ann c1: x"


@pytest.mark.parametrize("handled", [False, True])
async def test_a_tool_exception_is_a_failure_in_its_words(handled):
    def find() -> str:
        raise ToolException("no such account")

    theirs = StructuredTool.from_function(find, description="Find.", handle_tool_error=handled)
    (done,) = await rc.run_calls(called("find"), from_langchain(theirs))
    assert (done.result.outcome, done.result.text) == ("failed", "no such account")


async def test_pictures_come_and_go():
    data = base64.b64encode(PNG).decode()

    @langchain_tool
    def see() -> list[Any]:
        """See."""
        return [
            {"type": "text", "text": "Here"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
            {"type": "image", "base64": data, "mime_type": "image/png"},
        ]

    ours = from_langchain(see)
    (done,) = await rc.run_calls(called("see"), ours)
    picture = rc.models.Media(PNG, "image/png")
    assert done.result.content == (rc.models.Text("Here"), picture, picture)
    message = await to_langchain(ours).ainvoke(
        {"type": "tool_call", "id": "x", "name": "see", "args": {}}
    )
    assert message.content[1] == {
        "type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"},
    }  # fmt: skip


@rc.tool
def weather(city: str, days: int = 1) -> str:
    """The weather in a city.

    Args:
        city: Which.
    """
    if city == "Atlantis":
        raise rc.ToolFailure("There is no such city.")
    return f"{city}: sunny for {days}"


def tool_call(**arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": "x", "name": "weather", "args": arguments}


async def test_a_tool_of_ours_is_one_of_langchains():
    theirs = to_langchain(weather)
    assert (theirs.name, theirs.description) == ("weather", "The weather in a city.")
    assert theirs.tool_call_schema["properties"]["city"]["description"] == "Which."
    assert theirs.invoke({"city": "Bern"}) == "Bern: sunny for 1"
    assert await theirs.ainvoke({"city": "Bern", "days": 2}) == "Bern: sunny for 2"


async def test_every_call_of_it_passes_the_gate():
    theirs = to_langchain(weather)
    for arguments, words in (
        ({"city": 1}, "its arguments do not fit"),
        ({"town": "Bern"}, "its arguments do not fit"),
        ({"city": "Atlantis"}, "There is no such city."),
    ):
        message = await theirs.ainvoke(tool_call(**arguments))
        assert (message.status, words in message.content) == ("error", True)
        assert theirs.invoke(tool_call(**arguments)).status == "error"
    guarded = weather.replace(approval=True)
    assert "nobody to ask" in (await to_langchain(guarded).ainvoke(tool_call(city="Bern"))).content

    async def approve(_: rc.gate.Proposal) -> bool:
        return True

    message = await to_langchain(guarded, approve=approve).ainvoke(tool_call(city="Bern"))
    assert message.content == "Bern: sunny for 1"


def test_the_prebuilt_tool_node_runs_our_tools():
    asked = AIMessage("", tool_calls=[{"id": "1", "name": "weather", "args": {"city": "Bern"}}])
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([to_langchain(weather)]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    last = graph.compile().invoke({"messages": [asked]})["messages"][-1]
    assert isinstance(last, ToolMessage)
    assert last.content == "Bern: sunny for 1"


def graph_of(node: Any, state: Any = MessagesState, **options: Any) -> Any:
    graph = StateGraph(state)
    graph.add_node("agent", node)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    return graph.compile(**options)


HISTORY = [
    SystemMessage("Be brief."),
    HumanMessage("Weather in Rome?"),
    AIMessage("", tool_calls=[{"id": "0", "name": "weather", "args": {"city": "Rome"}}]),
    ToolMessage("Rome: rain", tool_call_id="0"),
    AIMessage("Rain."),
    HumanMessage(
        [
            {"type": "text", "text": "And here?"},
            {"type": "image_url", "image_url": {"url": "https://example.com/bern.png"}},
        ]
    ),
]


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_agent_is_a_node_of_a_graph(is_async):
    model = ScriptedModel([reply(call("weather", city="Bern")), "Sunny."])
    graph = graph_of(langgraph_node(rc.Agent(model, [weather])))
    given = {"messages": HISTORY}
    state = await graph.ainvoke(given) if is_async else graph.invoke(given)
    asked, answered, said = state["messages"][len(HISTORY) :]
    assert asked.tool_calls[0]["args"] == {"city": "Bern"}
    assert (answered.content, answered.tool_call_id) == ("Bern: sunny for 1", asked.tool_calls[0]["id"])
    assert (type(said), said.content) == (AIMessage, "Sunny.")
    request = model.requests[0]
    assert request.system == "Be brief."
    assert request.messages[2].results[0].text == "Rome: rain"
    assert request.messages[-1].content[1].url == "https://example.com/bern.png"


async def test_the_output_goes_into_the_state():
    class Weather(BaseModel):
        sunny: bool

    class State(MessagesState):
        weather: Any

    model = ScriptedModel(lambda request: reply(call(request.specs[0].name, sunny=True)))
    agent = rc.Agent(model, output=Weather)
    graph = graph_of(langgraph_node(agent, output="weather"), State)
    state = await graph.ainvoke({"messages": [HumanMessage("Weather?")]})
    assert state["weather"] == Weather(sunny=True)


async def test_what_a_node_cannot_do_is_said():
    agent = rc.Agent(
        ScriptedModel([reply(call("weather", city="Bern"))]), [weather.replace(approval=True)]
    )
    with pytest.raises(
        UsageError, match="a person must approve weather; compile the graph with a check"
    ):
        await graph_of(langgraph_node(agent)).ainvoke({"messages": [HumanMessage("Hi")]})
    with pytest.raises(UsageError, match="is not the user's"):
        await graph_of(langgraph_node(agent)).ainvoke({"messages": [AIMessage("Hi")]})
    with pytest.raises(UsageError, match="not FunctionTool"):
        from_langchain(weather)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="one tool at a time, and not 2"):
        to_langchain([weather, from_langchain(add)])


class Desk:
    """An agent that notes, asks to send, and asks to send again; and what was really done."""

    def __init__(self) -> None:
        self.done = list[str]()

    def node(self) -> Any:
        @rc.tool
        def note(what: str) -> str:
            self.done.append(what)
            return "noted"

        @rc.tool(approval=True)
        def send(to: str) -> str:
            self.done.append(to)
            return f"sent to {to}"

        script = [
            reply(call("note", what="begun")),
            reply(call("send", id="a", to="Ann")),
            reply(call("note", what="half"), call("send", id="b", to="Bob")),
            "Both.",
        ]

        def say(request: Any) -> Any:
            return script[sum(type(each).__name__ == "Reply" for each in request.messages)]

        return langgraph_node(rc.Agent(ScriptedModel(say), [note, send]))


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_pause_interrupts_the_graph_and_nothing_is_done_twice(is_async):
    desk, kept = Desk(), InMemorySaver()
    thread = {"configurable": {"thread_id": "1"}}

    async def go(given: Any) -> dict[str, Any]:
        # Another graph each time, as another process would build it; only the checkpoints are the same.
        graph = graph_of(desk.node(), checkpointer=kept)
        return await graph.ainvoke(given, thread) if is_async else graph.invoke(given, thread)

    state = await go({"messages": [HumanMessage("Send them.")]})
    (waiting,) = state["__interrupt__"]
    assert waiting.value == {"calls": [{"call_id": "a", "name": "send", "arguments": {"to": "Ann"}}]}
    assert desk.done == ["begun"]
    state = await go(Command(resume={"x": True}))
    assert state["__interrupt__"][0].value["problem"] == "no decision about a"
    assert desk.done == ["begun"]
    state = await go(Command(resume={"a": True}))
    assert state["__interrupt__"][0].value["calls"][0]["arguments"] == {"to": "Bob"}
    assert desk.done == ["begun", "Ann"]
    state = await go(Command(resume=False))
    assert desk.done == ["begun", "Ann", "half"]
    assert state["messages"][-1].content == "Both."
    answers = [each.content for each in state["messages"] if isinstance(each, ToolMessage)]
    assert answers[:3] == ["noted", "sent to Ann", "noted"]
    assert "__interrupt__" not in state
