"""What becomes of a trace when runs stream, break, branch and wait."""

import asyncio
import threading

import pytest
from msgspec.structs import replace
from opentelemetry import trace
from opentelemetry.trace import StatusCode

import rightcall as rc
from rightcall.core.outcome import OutcomeKind
from rightcall.errors import VendorError
from rightcall.models import Request
from rightcall.testing import ScriptedModel, call, reply
from rightcall.testing.scripted_model import Break, Turn


def current() -> str:
    return trace.get_current_span().name


@rc.tool(effect="read")
async def aside(what: str) -> str:
    """Looks, and says which span it is in."""
    await asyncio.sleep(0)
    return f"{current()} in {threading.current_thread() is threading.main_thread()}"


@rc.tool
def in_thread(what: str) -> str:
    """Does something, and says which span it is in."""
    return f"{current()} in {threading.current_thread() is threading.main_thread()}"


async def test_the_span_is_the_current_one_inside_tools_and_threads(kept):
    model = ScriptedModel([reply(call("aside", what="a"), call("in_thread", what="b")), "Done."])
    result = await rc.Agent(model, [aside, in_thread], observers=[kept.observer()]).run("Go.")
    assert [each.result.text for each in result.calls] == [
        "execute_tool aside in True",
        "execute_tool in_thread in False",
    ]
    assert kept.tree() == {
        "invoke_agent agent": "",
        "chat scripted": "invoke_agent agent",
        "execute_tool aside": "invoke_agent agent",
        "execute_tool in_thread": "invoke_agent agent",
    }
    assert not trace.get_current_span().get_span_context().is_valid


async def test_a_call_that_starts_early_is_the_run_s_and_says_so(kept):
    model = ScriptedModel([reply(call("aside", what="a"), call("aside", what="b")), "Done."])
    await rc.Agent(model, [aside], observers=[kept.observer()]).run("Go.")
    tools = [each for each in kept.spans if each.name == "execute_tool aside"]
    agent = kept.span("invoke_agent agent")
    assert {each.parent.span_id for each in tools} == {agent.context.span_id}
    assert [each.attributes.get("rightcall.tool.early", False) for each in tools] == [True, True]


async def test_streaming_gives_the_same_trace(kept):
    model = ScriptedModel([reply(call("aside", what="a")), "Done."])
    agent = rc.Agent(model, [aside], observers=[kept.observer()])
    async for _ in agent.stream("Go."):
        assert not trace.get_current_span().get_span_context().is_valid
    assert [each.name for each in kept.spans] == [
        "chat scripted",
        "execute_tool aside",
        "chat scripted",
        "invoke_agent agent",
    ]


async def test_the_program_s_own_span_is_around_it(kept):
    tracer = kept.tracers.get_tracer("app")
    with tracer.start_as_current_span("request"):
        await rc.Agent(ScriptedModel(["Hi."]), observers=[kept.observer()]).run("Hi?")
    assert kept.tree()["invoke_agent agent"] == "request"


def test_a_run_of_code_that_cannot_await_is_below_the_program_s_span_too(kept):
    tracer = kept.tracers.get_tracer("app")
    with tracer.start_as_current_span("request"):
        rc.Agent(ScriptedModel(["Hi."]), observers=[kept.observer()]).run_sync("Hi?")
    assert kept.tree()["invoke_agent agent"] == "request"


async def test_what_was_started_early_for_nothing_is_no_error(kept):
    @rc.tool(effect="read")
    async def waits(what: str) -> str:
        """Waits."""
        await asyncio.sleep(60)
        return what

    cut = Turn(
        reply=reply(call("waits", what="a"), call("waits", what="b")), pause=0.01, breaks=Break(after=9)
    )
    agent = rc.Agent(ScriptedModel([cut, "Oh."]), [waits], observers=[kept.observer()])
    await agent.run("Go.")
    early = next(each for each in kept.spans if each.attributes.get("rightcall.tool.early"))
    assert early.attributes["rightcall.tool.outcome"] == "cancelled"
    assert "error.type" not in early.attributes


async def test_subagents_nest_and_need_no_observer_of_their_own(kept):
    inner = rc.Agent(ScriptedModel([reply(call("aside", what="x")), "Found."]), [aside], name="helper")
    model = ScriptedModel([reply(call("helper", task="Look.")), "Done."], name="outer-model")
    outer = rc.Agent(model, [inner.as_tool()], name="boss", observers=[kept.observer()])
    await outer.run("Go.")
    assert kept.tree() == {
        "invoke_agent boss": "",
        "chat outer-model": "invoke_agent boss",
        "execute_tool helper": "invoke_agent boss",
        "invoke_agent helper": "execute_tool helper",
        "chat scripted": "invoke_agent helper",
        "execute_tool aside": "invoke_agent helper",
    }


async def test_a_subagent_with_the_same_observer_is_told_of_once(kept):
    observer = kept.observer()
    inner = rc.Agent(ScriptedModel(["Found."]), name="helper", observers=[observer])
    model = ScriptedModel([reply(call("helper", task="Look.")), "Done."])
    await rc.Agent(model, [inner.as_tool()], observers=[observer]).run("Go.")
    assert len([each for each in kept.spans if each.name == "invoke_agent helper"]) == 1


@rc.tool
def breaks() -> str:
    """Breaks."""
    raise ValueError("secret words")


@rc.tool(timeout=0.01)
async def sleeps() -> str:
    """Sleeps."""
    await asyncio.sleep(10)
    return ""


@rc.tool
def hidden() -> str:
    """Taken out of every request."""
    return ""


def without_hidden(request: Request) -> Request:
    return replace(request, specs=tuple(spec for spec in request.specs if spec.name != "hidden"))


OUTCOMES: list[tuple[object, OutcomeKind, str]] = [
    (call("breaks"), "failed", "ValueError"),
    (call("sleeps"), "timed_out", "timed_out"),
    (call("aside"), "invalid", "invalid"),
    (call("nobody"), "unknown", "unknown"),
    (call("in_thread", what="no"), "denied", "denied"),
    (call("hidden"), "not_offered", "not_offered"),
]


@pytest.mark.parametrize(("asked", "outcome", "kind"), OUTCOMES, ids=lambda each: str(each)[:12])
async def test_what_a_call_came_to_is_in_span_and_metric(kept, asked, outcome, kind):
    model = ScriptedModel([reply(asked), "Oh."])
    agent = rc.Agent(
        model,
        [aside, in_thread, breaks, sleeps, hidden],
        hooks=rc.Hooks(before_model=without_hidden),
        policy=lambda checked: rc.Deny() if checked.tool.name == "in_thread" else None,
        observers=[kept.observer()],
    )
    await agent.run("Go.")
    (span,) = [each for each in kept.spans if each.name.startswith("execute_tool")]
    assert span.attributes["rightcall.tool.outcome"] == outcome
    assert (span.attributes["error.type"], span.status.status_code) == (kind, StatusCode.ERROR)
    assert "secret words" not in f"{span.status.description} {dict(span.attributes)} {span.events}"
    (point,) = kept.metrics()["rightcall.tool.calls"]
    assert point.attributes["rightcall.tool.outcome"] == outcome
    ran = outcome in ("failed", "timed_out")
    assert ("gen_ai.execute_tool.duration" in kept.metrics()) is ran


async def test_a_name_that_a_model_made_up_is_no_span_s_and_no_metric_s(kept):
    model = ScriptedModel([reply(call("x" * 500)), "Oh."])
    await rc.Agent(model, [aside], observers=[kept.observer()]).run("Go.")
    span = kept.span("execute_tool")
    assert span.attributes["gen_ai.tool.name"] == "x" * 128
    (point,) = kept.metrics()["rightcall.tool.calls"]
    assert point.attributes["gen_ai.tool.name"] == "_OTHER"


async def test_a_model_that_refuses_is_an_error_of_both_spans(kept):
    def refuse(_):
        raise VendorError("slow down", status=429)

    with pytest.raises(VendorError):
        await rc.Agent(ScriptedModel(refuse), observers=[kept.observer()]).run("Go.")
    for span in kept.spans:
        assert (span.status.status_code, span.attributes["error.type"]) == (
            StatusCode.ERROR,
            "rate_limit",
        )
    assert "gen_ai.response.finish_reasons" not in kept.span("chat scripted").attributes
    (point,) = kept.metrics()["gen_ai.client.operation.duration"]
    assert point.attributes["error.type"] == "rate_limit"


async def test_a_stream_that_was_cut_is_an_error_with_what_came(kept):
    cut = Turn(reply=reply("Half of the answ"), breaks=Break(after=2))
    result = await rc.Agent(ScriptedModel([cut]), observers=[kept.observer(content=True)]).run("Go.")
    assert result.stop.reason == "error"
    span = kept.span("chat scripted")
    assert span.attributes["gen_ai.response.finish_reasons"] == ("error",)
    assert span.attributes["error.type"] == "error"
    assert '"finish_reason":"error"' in span.attributes["gen_ai.output.messages"]
    assert kept.span("invoke_agent agent").attributes["error.type"] == "error"


async def test_a_limit_is_an_error_and_an_answer_is_none(kept):
    model = ScriptedModel(lambda _: reply(call("in_thread", what="x")))
    agent = rc.Agent(model, [in_thread], budget=rc.Budget(turns=1), observers=[kept.observer()])
    await agent.run("Go.")
    assert kept.span("invoke_agent agent").attributes["error.type"] == "limit"


async def test_a_cancelled_run_ends_its_spans(kept):
    began = asyncio.Event()

    @rc.tool
    async def waits() -> str:
        """Waits."""
        began.set()
        await asyncio.sleep(60)
        return ""

    agent = rc.Agent(ScriptedModel([reply(call("waits"))]), [waits], observers=[kept.observer()])
    task = asyncio.create_task(agent.run("Go."))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert kept.span("execute_tool waits").attributes["rightcall.tool.outcome"] == "cancelled"
    assert kept.span("invoke_agent agent").attributes["error.type"] == "CancelledError"


async def test_runs_beside_each_other_keep_to_their_own_traces(kept):
    agent = rc.Agent(
        ScriptedModel(lambda r: "Done." if len(r.messages) > 1 else reply(call("aside", what="x"))),
        [aside],
        observers=[kept.observer()],
    )
    await asyncio.gather(*[agent.run("Go.") for _ in range(5)])
    traces = [each.context.trace_id for each in kept.spans]
    assert {traces.count(each) for each in traces} == {4}


async def test_the_model_that_answered_is_named_where_another_was_asked_first(kept):
    def refuse(_):
        raise VendorError("busy", status=529, kind="overloaded")

    first, second = ScriptedModel(refuse, name="first"), ScriptedModel(["Hi."], name="second")
    await rc.Agent([first, second], observers=[kept.observer()]).run("Hi?")
    assert kept.span("chat second").attributes["gen_ai.request.model"] == "second"


async def test_a_program_inside_a_call_is_part_of_the_trace(kept):
    pytest.importorskip("pydantic_monty")

    @rc.tool(effect="read")
    def look(what: str) -> str:
        """Looks."""
        return what

    program = "await look(what='x')"
    model = ScriptedModel([reply(call("run_program", program=program)), "Done."])
    agent = rc.Agent(model, [rc.programs.code([look])], observers=[kept.observer()])
    await agent.run("Go.")
    tree = kept.tree()
    assert tree["execute_tool look"] == "invoke_agent"
    assert tree["invoke_agent"] == "execute_tool run_program"
