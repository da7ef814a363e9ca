"""Conversations by id: what is stored, for whom it waits, and what a crash leaves."""

import asyncio
import json

import pytest

import rightcall as rc
from loop.sound import assert_sound
from rightcall.core.message import user_text
from rightcall.errors import AlreadyDecided, ConversationBusy, UsageError, VendorError
from rightcall.loop.replay import forget_decisions
from rightcall.record import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply


def counting():
    """A model that says how many messages of the user it has seen."""
    return ScriptedModel(
        lambda request: f"{sum(isinstance(m, rc.User) for m in request.messages)} so far"
    )


def agent_for(store, model=None, tools=(), **options):
    return rc.Agent(model or counting(), tools, conversations=store, **options)


async def texts(store, conversation):
    return [message.text for message in await store.messages(conversation)]


async def test_a_run_loads_what_was_said_and_appends_what_is_said(store):
    agent = agent_for(store)
    first = await agent.run("One.", conversation="user-7")
    second = await agent.run("Two.", conversation="user-7")
    other = await agent.run("One.", conversation="user-8")
    assert [first.text, second.text, other.text] == ["1 so far", "2 so far", "1 so far"]
    assert await texts(store, "user-7") == ["One.", "1 so far", "Two.", "2 so far"]
    assert await store.messages("user-7") == second.transcript
    runs = await store.runs("user-7")
    assert [(each.run, each.status, each.start, each.count) for each in runs] == [
        (first.run, "done", 0, 2),
        (second.run, "done", 2, 2),
    ]


async def test_another_process_reads_the_same(address, store):
    if not address:
        pytest.skip("memory is this process's own")
    await agent_for(store).run("One.", conversation="user-7")
    async with rc.Conversations(address) as elsewhere:
        await agent_for(elsewhere).run("Two.", conversation="user-7")
    result = await agent_for(store).run("Three.", conversation="user-7")
    assert result.text == "3 so far", "what was cached here is not believed once it has changed"


async def test_pages_lists_titles_forks_exports_and_deletes(store):
    await store.append("a", [user_text(str(number)) for number in range(10)])
    assert [m.text for m in await store.messages("a", last=3)] == ["7", "8", "9"]
    assert [m.text for m in await store.messages("a", last=3, before=7)] == ["4", "5", "6"]
    assert await store.messages("nobody") == ()
    await store.fork("a", "b", at=4)
    await store.rename("b", id="c", title="The first four")
    info = await store.info("c")
    assert (info.id, info.title, info.length) == ("c", "The first four", 4)
    assert [each.id for each in await store.list()] == ["c", "a"]
    assert [each.id for each in await store.list(before=info.updated)] == ["a"]
    written = await store.export("c")
    assert json.loads(written)["messages"][3]["content"][0]["text"] == "3"
    assert "## User\n\n3\n" in await store.export("c", form="markdown")
    assert await store.restore(written, id="d") == "d"
    assert await texts(store, "d") == await texts(store, "c")
    assert await store.delete("c")
    assert not await store.delete("c")
    with pytest.raises(UsageError, match="no conversation 'c'"):
        await store.info("c")
    with pytest.raises(UsageError, match="already"):
        await store.fork("a", "d")
    with pytest.raises(UsageError, match="has 10 messages"):
        await store.fork("a", "e", at=11)
    assert [each.id for each in await store.list()] == ["d", "a"], "a fork that failed left nothing"


async def test_two_at_once_come_one_after_the_other(store):
    agent = agent_for(store)
    results = await asyncio.gather(
        *(agent.run(f"{n}.", conversation="user-7") for n in range(8)),
        *(agent.run(f"{n}.", conversation="user-8") for n in range(4)),
    )
    assert sorted(each.text for each in results[:8]) == [f"{n} so far" for n in range(1, 9)]
    assert len(await store.messages("user-7")) == 16
    assert len(await store.messages("user-8")) == 8


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_who_does_not_want_to_wait_is_told(address, where):
    if where == "elsewhere" and not address:
        pytest.skip("memory is this process's own")
    entered, go = asyncio.Event(), asyncio.Event()

    @rc.tool
    async def wait() -> str:
        """Wait."""
        entered.set()
        await go.wait()
        return "waited"

    async with rc.Conversations(address, wait=0) as store, rc.Conversations(address, wait=0) as other:
        agent = agent_for(store, ScriptedModel([reply(call("wait")), "Done."]), [wait])
        going = asyncio.create_task(agent.run("Wait.", conversation="user-7"))
        await entered.wait()
        with pytest.raises(ConversationBusy) as busy:
            await agent_for(store if where == "here" else other).run("?", conversation="user-7")
        assert (busy.value.conversation, busy.value.waits) == ("user-7", False)
        go.set()
        await going
        assert len(await store.messages("user-7")) == 4


class Fails:
    """A model that refuses, from a turn on."""

    profile = rc.models.Profile()

    def __init__(self, *before):
        self.before = list(before)

    async def stream(self, request):
        if not self.before:
            raise VendorError("no", status=400)
        async for event in ScriptedModel([self.before.pop(0)]).stream(request):
            yield event


async def test_a_run_that_fails_before_any_reply_appends_nothing_and_may_be_said_again(store):
    with pytest.raises(VendorError):
        await agent_for(store, Fails()).run("One.", conversation="user-7")
    assert await store.messages("user-7") == ()
    assert [each.status for each in await store.runs("user-7")] == ["failed"]
    assert (await agent_for(store).run("One.", conversation="user-7")).text == "1 so far"


async def test_what_had_happened_when_a_run_failed_stays(store):
    @rc.tool
    def pay() -> str:
        """Pay."""
        return "paid"

    with pytest.raises(VendorError):
        await agent_for(store, Fails(reply(call("pay"))), [pay]).run("Pay.", conversation="user-7")
    messages = await store.messages("user-7")
    assert [type(each).__name__ for each in messages] == ["User", "Reply", "Results"]
    assert_sound(messages)


def asking():
    @rc.tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    model = ScriptedModel(
        lambda request: (
            reply(call("pay")) if isinstance(request.messages[-1], rc.User) else "It is done."
        )
    )
    return model, [pay]


async def test_a_run_that_waits_for_a_person_resumes_into_its_conversation(store):
    agent = agent_for(store, *asking())
    paused = await agent.run("Pay.", conversation="user-7")
    assert paused.pending
    assert await store.messages("user-7") == ()
    with pytest.raises(ConversationBusy) as busy:
        await agent.run("And?", conversation="user-7")
    assert (busy.value.run, busy.value.waits) == (paused.run, True)
    waiting = await store.waiting("user-7")
    result = await agent.resume(waiting, {waiting.pending[0].call_id: True})
    assert result.text == "It is done."
    assert await store.messages("user-7") == result.transcript
    assert await store.waiting("user-7") is None


async def test_who_resumes_without_the_conversations_is_told(store):
    paused = await agent_for(store, *asking()).run("Pay.", conversation="user-7")
    waiting = await store.waiting("user-7")
    decisions = {paused.pending[0].call_id: True}
    for each in (paused, waiting, rc.RunResult.from_json(paused.to_json())):
        with pytest.raises(UsageError, match="waits in the conversation 'user-7': resume it"):
            await rc.Agent(*asking()).resume(each, decisions)
    async with rc.Conversations() as others:
        with pytest.raises(UsageError, match="it was deleted, or is stored elsewhere"):
            await agent_for(others, *asking()).resume(waiting, decisions)


async def test_of_those_who_resume_at_once_one_pays(address, store):
    """Two processes: nothing but the store says which of them came first."""
    paid = []

    @rc.tool(approval=True)
    async def pay() -> str:
        """Pay."""
        paid.append("paid")
        # What this process remembers must not be what decides.
        forget_decisions(paused.run)
        return "paid"

    agent = agent_for(store, ScriptedModel([reply(call("pay"))]), [pay])
    paused = await agent.run("Pay.", conversation="user-7")
    decisions = {paused.pending[0].call_id: True}
    async with rc.Conversations(address) as elsewhere:
        both = store, (elsewhere if address else store)
        going = []
        for each in both:
            one = rc.Agent(ScriptedModel(["Done."]), [pay], conversations=each)
            going.append(one.resume(paused, decisions))
        ends = await asyncio.gather(*going, return_exceptions=True)
    assert sorted(type(each).__name__ for each in ends) == ["AlreadyDecided", "RunResult"]
    assert paid == ["paid"]
    forget_decisions(paused.run)
    with pytest.raises(AlreadyDecided, match="what it said is in the conversation 'user-7'"):
        await rc.Agent(ScriptedModel([]), [pay], conversations=store).resume(paused, decisions)
    assert paid == ["paid"]


async def test_a_resumed_run_that_failed_after_its_call_waits_no_longer(store):
    _, tools = asking()
    agent = agent_for(store, Fails(reply(call("pay"))), tools)
    paused = await agent.run("Pay.", conversation="user-7")
    decisions = {paused.pending[0].call_id: True}
    with pytest.raises(VendorError):
        await agent.resume(paused, decisions)
    forget_decisions(paused.run)
    with pytest.raises(AlreadyDecided):
        await agent.resume(paused, decisions)
    assert_sound(await store.messages("user-7"))
    assert len(await store.messages("user-7")) == 3


async def test_a_wait_can_be_given_up(store):
    agent = agent_for(store, *asking())
    await agent.run("Pay.", conversation="user-7")
    waiting = await store.waiting("user-7")
    assert await store.abandon("user-7")
    with pytest.raises(AlreadyDecided, match="its wait in 'user-7' was given up"):
        await agent.resume(waiting, {waiting.pending[0].call_id: True})
    assert not await store.abandon("user-7")
    messages = await store.messages("user-7")
    assert "No result was recorded" in messages[2].results[0].text
    assert_sound(messages)


async def died(store, run, keeper):
    """Leave what a process leaves that died in a run: it began, and nothing ended it."""
    await store.begin("user-7", run, user_text("One."), keeper)


async def test_a_run_whose_process_died_is_recovered_before_the_next(store):
    journal = MemoryJournal()
    await rc.Agent(counting(), journal=journal).run("One.", run="first")
    await died(store, "first", "journal")
    result = await agent_for(store, journal=journal).run("Two.", conversation="user-7")
    assert await texts(store, "user-7") == ["One.", "1 so far", "Two.", "2 so far"]
    assert result.text == "2 so far"


@pytest.mark.parametrize("keeper", ["journal", ""])
async def test_what_the_user_said_to_a_run_that_no_journal_has_is_kept(store, keeper):
    await died(store, "first", keeper)
    agent = agent_for(store, journal=MemoryJournal() if keeper else None)
    result = await agent.run("Two.", conversation="user-7")
    assert await texts(store, "user-7") == ["One.", "Two.", "2 so far"]
    assert result.text == "2 so far"
    assert [each.status for each in await store.runs("user-7")] == ["lost", "done"]


async def test_recovering_a_run_by_hand_appends_it_once(store):
    journal = MemoryJournal()
    await rc.Agent(counting(), journal=journal).run("One.", run="first")
    await died(store, "first", "journal")
    agent = agent_for(store, journal=journal)
    for _ in range(2):
        await agent.recover("first")
    assert await texts(store, "user-7") == ["One.", "1 so far"]
    await agent.run("Two.", conversation="user-7")
    await agent.recover("first")
    assert len(await store.messages("user-7")) == 4, "what came later stays"


async def test_durable_runs_continue_a_conversation(tmp_path, store):
    agent = agent_for(store, name="support")
    async with rc.durable.App(f"sqlite:///{tmp_path / 'runs.db'}", agents=[agent]) as app:
        handles = [await app.submit("support", f"{n}.", conversation="user-7") for n in range(2)]
        results = [await handle.result() for handle in handles]
    assert sorted(each.text for each in results) == ["1 so far", "2 so far"]
    assert len(await store.messages("user-7")) == 4


async def test_a_durable_run_that_is_executed_again_appends_once(store):
    steps = KeptSteps()
    for _ in range(2):
        agent = agent_for(store)
        result = await agent.run("One.", conversation="user-7", run="r", steps=steps)
    assert await store.messages("user-7") == result.transcript
    assert len(result.transcript) == 2


async def test_others_wait_for_a_run_that_an_engine_keeps(address):
    async with rc.Conversations(address, wait=0.1) as store:
        await died(store, "first", "steps")
        with pytest.raises(ConversationBusy) as busy:
            await agent_for(store).run("Two.", conversation="user-7")
        assert busy.value.run == "first"
        assert await store.abandon("user-7")
        await agent_for(store).run("Two.", conversation="user-7")
        assert await texts(store, "user-7") == ["One.", "Two.", "2 so far"]


class KeptSteps:
    """The steps of a durable engine, in memory."""

    def __init__(self):
        self.entries = {}

    async def step(self, key, body):
        if key not in self.entries:
            self.entries[key] = await body()
        return self.entries[key]

    async def note(self, key, entry):
        return self.entries.setdefault(f"note {key}", entry) is entry

    def was_started(self, key):
        return False

    def recorded(self, key):
        return self.entries.get(key)


async def test_a_message_that_is_added_to_a_run_is_in_the_conversation(store):
    entered, go = asyncio.Event(), asyncio.Event()

    @rc.tool
    async def wait() -> str:
        """Wait."""
        entered.set()
        await go.wait()
        return "waited"

    run = agent_for(store, ScriptedModel([reply(call("wait")), "Done."]), [wait]).start(
        "Wait.", conversation="user-7"
    )
    await entered.wait()
    await run.say("Quick!")
    go.set()
    await run
    users = [each.text for each in await store.messages("user-7") if isinstance(each, rc.User)]
    assert users == ["Wait.", "Quick!"]


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (["hello"], r"messages\[0\] of conversations.append is no message"),
        ("hello", r"takes a list, as \[rc.User"),
        (3, "takes a list"),
        ([rc.User("fine"), 3], r"messages\[1\]"),
        ([{"role": "user", "content": "x"}], "rc.wire.from_messages"),
        (rc.User("bare"), r"takes a list of messages: \[User"),
        ([rc.Reply("text")], "could not be read again"),
    ],
)
async def test_what_is_no_message_is_not_appended(messages, words):
    async with rc.Conversations() as conversations:
        with pytest.raises(UsageError, match=words):
            await conversations.append("a", messages)
        assert await conversations.list() == []


async def test_a_message_of_a_text_is_appended_and_read(store):
    await store.append("a", [rc.User("hello")])
    assert await store.messages("a") == (user_text("hello"),)
    with pytest.raises(UsageError, match="takes a text or parts"):
        rc.User(("hello",))
    result = await agent_for(store).run("And?", conversation="a")
    assert result.text == "2 so far"


async def test_what_is_appended_or_renamed_while_a_run_goes_on_comes_after_it(store):
    begun, go = asyncio.Event(), asyncio.Event()

    @rc.tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await go.wait()
        return "over"

    agent = agent_for(store, ScriptedModel([reply(call("wait")), "Done."]), [wait])
    run = asyncio.create_task(agent.run("Wait.", conversation="a"))
    await begun.wait()
    with pytest.raises(ConversationBusy, match=r"has 0 messages, not 5: read it again"):
        await store.append("a", [rc.User("Never.")], at=5)
    appended = asyncio.create_task(store.append("a", [rc.User("And?")]))
    await asyncio.sleep(0.02)
    renamed = asyncio.create_task(store.rename("a", id="b"))
    await store.rename("a", title="At once")
    assert not appended.done()
    assert not renamed.done()
    go.set()
    await asyncio.gather(run, appended, renamed)
    assert await store.messages("a") == ()
    messages = await store.messages("b")
    assert [type(each).__name__ for each in messages] == ["User", "Reply", "Results", "Reply", "User"]
    assert (await store.info("b")).title == "At once"


async def test_nothing_is_appended_to_a_conversation_that_waits_for_a_person(store):
    await agent_for(store, *asking()).run("Pay.", conversation="a")
    with pytest.raises(ConversationBusy) as busy:
        await store.append("a", [rc.User("And?")])
    assert busy.value.waits


async def test_what_is_wrong_is_said():
    store = rc.Conversations()
    with pytest.raises(UsageError, match="wait is seconds"):
        rc.Conversations(wait=-1)
    for ask, name in ((store.messages("a", last=-1), "last"), (store.list(limit=-1), "limit")):
        with pytest.raises(UsageError, match=f"{name} is 0 or more"):
            await ask
    agent = rc.Agent(counting())
    with pytest.raises(UsageError, match=r"conversations=rc\.Conversations"):
        await agent.run("One.", conversation="a")
    agent = agent_for(store)
    with pytest.raises(UsageError, match="not both"):
        await agent.run("One.", conversation="a", history=[user_text("x")])
    with pytest.raises(UsageError, match="not blank"):
        await agent.run("One.", conversation=" ")
    with pytest.raises(UsageError, match="mysql"):
        rc.Conversations("mysql://x")
    await agent.run("One.", conversation="a", run="r")
    with pytest.raises(UsageError, match="a run 'r' already"):
        await agent.run("Two.", conversation="a", run="r")
    assert len(await store.messages("a")) == 2
    await store.close()
    with pytest.raises(UsageError, match="closed"):
        await store.messages("a")
