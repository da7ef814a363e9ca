"""Whatever a developer names is there, and of the right kind; or is refused with what was meant."""

import asyncio
import copy
import inspect
import pickle
from collections.abc import Callable, Sequence
from typing import Literal

import pytest

import rightcall as rc
from rightcall.core.limits import LimitOptions, Limits
from rightcall.core.options import fits
from rightcall.core.request import MODEL_OPTIONS, ModelOptions, Request
from rightcall.core.tool import RawOptions, Tool
from rightcall.declare.function import ToolOptions
from rightcall.errors import DeclarationError, RightcallError, UsageError
from rightcall.testing import ScriptedModel, call, reply


def agent(**options) -> rc.Agent:
    return rc.Agent(ScriptedModel(["Hi."]), **options)


@rc.tool(approval=True)
def send() -> str:
    """Send."""
    return "sent"


async def words_of(act: Callable) -> str:
    async def do() -> None:
        done = act()
        if inspect.isawaitable(done):
            await done
        async for _ in done:
            pass

    with pytest.raises(RightcallError) as caught:
        await do()
    assert isinstance(caught.value, UsageError | DeclarationError)
    return str(caught.value)


NAMES = {
    "agent": (lambda: agent(budjet=1), "rc.Agent takes no", "did you mean 'budget'?"),
    "run": (lambda: agent().run("x", budjet=1), "agent.run takes no", "did you mean 'budget'?"),
    "run_sync": (lambda: agent().run_sync("x", histroy=()), "agent.run_sync", "'history'"),
    "stream": (lambda: agent().stream("x", depndencies=1), "agent.stream", "'dependencies'"),
    "resume": (lambda: agent().resume(None, {}, waite=1), "agent.resume", "'wait'"),
    "recover": (lambda: agent().recover("r", dependancies=1), "agent.recover", "'dependencies'"),
    "as_tool": (lambda: agent().as_tool(nmae="x"), "agent.as_tool", "'name'"),
    "ask": (lambda: rc.ask("x", modle="m"), "rc.ask", "'model'"),
    "a reply's calls": (lambda: reply(calls=[]), "rc.testing.reply", "as in reply(call(…))"),
    "ask, of an agent": (lambda: rc.ask("x", journal=None), "rc.ask", "rc.Agent(…, journal=…)"),
    "connect": (lambda: rc.connect("openai:m", api_kye="k"), "rc.connect", "'api_key'"),
    "budget": (lambda: rc.Budget(trns=1), "rc.Budget takes no", "'turns'"),
    "limits": (lambda: rc.Limits(timout=1), "rc.Limits takes no", "'timeout'"),
    "output": (lambda: rc.Output(type=int, mod="text"), "rc.Output takes no", "'mode'"),
    "hooks": (lambda: rc.Hooks(before_modl=len), "rc.Hooks takes no", "'before_model'"),
    "retry": (lambda: rc.models.Retry(atempts=1), "rc.models.Retry takes no", "'attempts'"),
    "timeouts": (lambda: rc.models.Timeouts(conect=1), "rc.models.Timeouts takes no", "'connect'"),
    "window": (lambda: rc.conversation.Window(token=1), "rc.conversation.Window takes no", "'tokens'"),
    "fallback": (lambda: rc.fallback("openai:m", one="timeout"), "rc.fallback takes no", "'on'"),
    "facts": (lambda: rc.Facts(untrustd=True), "rc.Facts takes no", "'untrusted'"),
    "profile": (lambda: rc.models.Profile(contextwindow=1), "rc.models.Profile", "'context_window'"),
    "tool": (lambda: rc.tool(lambda: 1, effct="read"), "options: no", "'effect'"),
    "decorator": (lambda: rc.tool(effct="read")(lambda: 1), "options: no", "'effect'"),
    "raw tool": (lambda: rc.Tool("t", "", apprval=True), "tool 't'", "'approval'"),
    "replaced": (lambda: send.replace(apprval=True), "tool 'send'", "'approval'"),
    "model options": (lambda: agent(options={"temprature": 1}), "options takes no", "'temperature'"),
    "request": (lambda: Request(messages=(), options={"temprature": 1}), "options", "'temperature'"),
    "a vendor's": (lambda: agent(options={"logit_bias": {}}), "options", "goes into 'extra'"),
}


@pytest.mark.parametrize(("act", "where", "meant"), NAMES.values(), ids=NAMES)
async def test_an_unknown_name_is_refused_with_the_nearest(act, where, meant):
    words = await words_of(act)
    assert where in words
    assert meant in words
    assert "There is: " in words


ELSEWHERE = {
    "deps": "dependencies=… of agent.run",
    "max_turns": "budget=rc.Budget(turns=…)",
    "max_steps": "budget=rc.Budget(turns=…)",
    "system_prompt": "instructions=… of rc.Agent",
    "response_model": "output=… of rc.Agent",
    "output_type": "output=… of rc.Agent",
    "message_history": "history=… of agent.run",
    "tool_choice": "choice=… of agent.run",
    "temperature": "it belongs to options: options={'temperature': …}",
    "reasoning_effort": "options={'reasoning': …} of rc.Agent",
    "api_key": "rc.Agent(rc.connect(name, api_key=…))",
    "thread_id": "run=… of agent.run",
    "instrument": "observers=[rc.observe.OpenTelemetry()] of rc.Agent",
    "middleware": "hooks=rc.Hooks(…) of rc.Agent",
    "handoffs": "tools=[other.as_tool()] of rc.Agent",
    "fallbacks": "rc.Agent([first, second])",
    "deferred_tool_results": "agent.resume(paused, {call_id: True})",
}


@pytest.mark.parametrize("word", ELSEWHERE)
async def test_another_librarys_word_is_answered_with_ours(word):
    assert ELSEWHERE[word] in await words_of(lambda: agent(**{word: 1}))
    assert ELSEWHERE[word] in await words_of(lambda: agent().run("x", **{word: 1}))


ATTRIBUTES = {
    "run_stream": (lambda: agent().run_stream, "agent.stream(…)"),
    "tool": (lambda: agent().tool, "@rc.tool, and tools=[…] of rc.Agent"),
    "invoke": (lambda: agent().invoke, "agent.run_sync(…)"),
    "tool_calls": (lambda: agent().run_sync("x").tool_calls, "result.calls"),
    "finish_reason": (lambda: agent().run_sync("x").finish_reason, "result.stop.reason"),
    "final_output": (lambda: agent().run_sync("x").final_output, "result.text or result.output"),
    "all_messages": (lambda: agent().run_sync("x").all_messages, "result.transcript"),
    "interruptions": (lambda: agent().run_sync("x").interruptions, "result.pending"),
}


@pytest.mark.parametrize(("look", "here"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_another_librarys_attribute_is_answered_with_ours(look, here):
    with pytest.raises(AttributeError) as caught:
        look()
    assert f"(here it is {here})" in str(caught.value)


def test_any_other_attribute_is_missing_in_pythons_words():
    result = agent().run_sync("x")
    for owner, kind in ((agent(), "Agent"), (result, "RunResult")):
        assert not hasattr(owner, "nonsense")
        with pytest.raises(AttributeError, match=f"'{kind}' object has no attribute 'nonsense'$"):
            _ = owner.nonsense
    assert copy.deepcopy(result) == pickle.loads(pickle.dumps(result)) == result


KINDS = {
    "budget": (lambda: agent().run("x", budget=5), "a Budget or None, not 5 (as in rc.Budget("),
    "agent's budget": (lambda: agent(budget="5"), "budget must be a Budget or None, not '5'"),
    "choice": (lambda: agent().run("x", choice="requird"), "did you mean 'required'?"),
    "tool as choice": (lambda: agent().run("x", choice="send"), "rc.models.Named("),
    "history": (
        lambda: agent().run("x", history="Hi"),
        "history must be a Sequence or a ChatHistory",
    ),
    "hooks": (lambda: agent(hooks=len), "hooks must be a Hooks"),
    "policy": (lambda: agent(policy="no"), "policy must be a function or None, not 'no'"),
    "journal": (lambda: agent(journal="runs.db"), "journal must be a Journal"),
    "options": (lambda: agent(options=1), "options must be a ModelOptions"),
    "temperature": (lambda: agent(options={"temperature": "hot"}), "temperature must be a number"),
    "turns": (lambda: rc.Budget(turns="5"), "turns must be a whole number or None, not '5'"),
    "a model": (lambda: rc.Agent(None), "an object with profile and stream"),
    "models": (lambda: rc.fallback(["a:b", "c:d"]), "and not of the type list"),
    "less than nothing": (lambda: rc.Budget(turns=-1), "turns must not be less than 0, not -1"),
    "nan": (lambda: rc.Budget(seconds=float("nan")), "seconds must not be less than 0, not nan"),
    "no slots": (lambda: agent(concurrency=0), "concurrency must be more than 0"),
    "a hook": (lambda: rc.Hooks(before_model=1), "before_model must be a function or None, not 1"),
    "timeout": (lambda: rc.Limits(timeout="5"), "timeout must be a number, not '5'"),
    "rate": (lambda: rc.Limits(rate=5), "as in (5, 60)"),
    "retry_on": (lambda: rc.Limits(retries=1, retry_on=(int,)), "takes classes of exceptions"),
    "retry_on of none": (lambda: rc.Limits(retry_on=(OSError,)), "add retries=3"),
    "mode": (lambda: rc.Output(mode="jsn"), "did you mean 'json'?"),
    "streaming": (lambda: rc.connect("a:b", streaming="no"), "streaming must be True or False"),
    "tool limits": (lambda: rc.tool(send, timeout=0), "timeout must be more than 0"),
    "limits of a tool": (lambda: rc.tool(send, limits=5), "limits must be rc.Limits"),
    "no limits": (lambda: rc.Tool("t", "", limits=None), "limits must be rc.Limits"),
    "by position": (lambda: rc.Budget(5), "Give by name: turns, calls, seconds"),
    "no description": (lambda: rc.Tool("t"), "Missing required argument 'description'"),
    "a tool of none": (lambda: agent().run("x", choice=rc.models.Named("t")), "there are none at all"),
    "infinite": (lambda: rc.Budget(turns=float("inf")), "turns must be a whole number"),
    "twice": (lambda: rc.tool(send, timeout=5, limits=rc.Limits(timeout=6)), "timeout is given twice"),
    "named": (
        lambda: agent(tools=[send]).run("x", choice=rc.models.Named("sned")),
        "did you mean 'send'?",
    ),
}


@pytest.mark.parametrize(("act", "words"), KINDS.values(), ids=KINDS)
async def test_a_value_of_another_kind_is_refused_in_words(act, words):
    assert words in await words_of(act)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (1, float, True),
        (True, float, False),
        (1.5, int, False),
        (1e6, int, True),
        ("a", Literal["a", "b"], True),
        (1, Literal[True], False),
        ("ab", Sequence[str], False),
        (["a"], Sequence[str], True),
        (None, int | None, True),
        (len, Callable[..., int], True),
        (rc.record.MemoryJournal(), rc.record.Journal, True),
    ],
)
def test_kinds_are_told_apart(value, kind, expected):
    assert fits(value, kind) is expected


async def test_an_unknown_option_does_nothing_before_it_is_refused():
    model = ScriptedModel(["Hi."])
    with pytest.raises(UsageError):
        await rc.Agent(model).run("x", budjet=rc.Budget(turns=0))
    assert model.requests == []


def test_the_signatures_show_the_options():
    run = inspect.signature(rc.Agent.run).parameters
    assert {"prompt", "budget", "dependencies", "dry_run"} <= run.keys()
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in run.values())
    assert {"model", "tools", "output", "budget", "policy"} <= inspect.signature(
        rc.Agent
    ).parameters.keys()
    assert {"effect", "timeout", "limits"} <= inspect.signature(rc.tool).parameters.keys()
    assert inspect.iscoroutinefunction(rc.Agent.run)


_OWN = {"name", "description", "parameters", "handler", "delegates", "inside", "unpriced"}


def test_the_flat_limits_are_the_limits():
    assert tuple(LimitOptions.__annotations__) == Limits.__struct_fields__
    fields = set(Tool.__struct_fields__) - _OWN
    assert set(RawOptions.__annotations__) == fields | set(LimitOptions.__annotations__)
    assert set(ToolOptions.__annotations__) - {"name", "description"} <= set(RawOptions.__annotations__)
    assert MODEL_OPTIONS.kinds == ModelOptions.__annotations__


@pytest.mark.parametrize(
    "tool",
    [
        rc.tool(lambda: 1, name="t", timeout=0.5, retries=2),
        rc.Tool("t", "", timeout=0.5, retries=2),
        rc.tool(rc.Tool("t", "", retries=2), timeout=0.5),
        rc.Tool("t", "", limits=rc.Limits(retries=2)).replace(timeout=0.5),
        rc.tool(lambda: 1, name="t", timeout=0.5, limits=rc.Limits(retries=2)),
    ],
)
def test_limits_may_be_given_one_by_one(tool):
    assert tool.limits == rc.Limits(timeout=0.5, retries=2)


async def test_a_flat_timeout_holds():
    @rc.tool(timeout=0.01)
    async def wait() -> None:
        """Wait."""
        await asyncio.sleep(5)

    (done,) = await rc.run_calls([call("wait", id="1")], [wait])
    assert done.outcome.kind == "timed_out"


async def test_none_leaves_an_option_to_the_vendor():
    model = ScriptedModel([reply("Hi.")])
    await rc.Agent(model, options={"temperature": None}).run("x")  # type: ignore[typeddict-item]
    assert len(model.requests) == 1


async def test_vendors_extras_still_have_their_way():
    model = ScriptedModel([reply("Hi.")])
    await rc.Agent(model, options={"extra": {"logit_bias": {}}}).run("x")
    assert model.requests[0].options == {"extra": {"logit_bias": {}}}
