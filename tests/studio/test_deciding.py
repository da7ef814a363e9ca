"""What a studio that may write does: decisions, forks, replays, tries, talk."""

import asyncio

import pytest

import rightcall as rc
from rightcall.core.decision import Deny
from rightcall.core.entry import RunPaused, RunResumed, RunStarted
from rightcall.record.steps import Holding
from rightcall.testing import ScriptedModel, call, reply
from studio import stories
from studio.kit import serving


@pytest.fixture
def journal(tmp_path):
    with rc.record.SqliteJournal(tmp_path / "runs.sqlite") as journal:
        yield journal


def goes_on(*replies):
    """An agent as it is when a paused run is gone on with."""
    return stories.agent(*(replies or (("Paid.",),)))


async def waiting(studio, run="paused"):
    (pending,) = (await studio.get("/api/pending"))["pending"]
    assert pending["run"] == run
    return pending


def yes(pending, **decision):
    decided = {pending["call_id"]: {"kind": "allow", **decision}}
    return {"run": pending["run"], "pause": pending["pause"], "decisions": decided}


async def test_a_studio_that_only_shows_refuses_every_change(journal):
    await stories.paused(journal)
    before = journal.entries("paused")
    async with serving(journal, agents=goes_on()) as studio:
        pending = await waiting(studio)
        assert (pending["can_decide"], bool(pending["why_not"])) == (False, True)
        for path, body in {
            "/api/run/decide": yes(pending),
            "/api/run/fork": {"run": "paused", "before_turn": 1},
            "/api/run/replay": {"run": "paused", "tools": "live"},
            "/api/run/stop": {"run": "paused"},
            "/api/try": {"agent": "shop", "tool": "look", "arguments": {"what": "x"}},
            "/api/chat": {"agent": "shop", "prompt": "hi"},
        }.items():
            status, told = await studio.post(path, body)
            assert (status, told["error"]["code"]) == (403, "read_only"), path
        status, told = await studio.post("/api/run/replay", {"run": "paused"})
        assert (status, told["same"]) == (200, True)
    assert journal.entries("paused") == before


async def test_a_person_allows_a_call_and_the_run_goes_on(journal):
    await stories.paused(journal)
    async with serving(journal, agents=goes_on(), write=True) as studio:
        pending = await waiting(studio)
        assert pending["arguments"] == {"amount": 120}
        assert pending["lines"][0] == {"text": "The model wants to run pay with", "from_outside": False}
        assert pending["lines"][1]["from_outside"] is True
        assert pending["rules"]["says"] == "ask"
        status, told = await studio.post("/api/run/decide", yes(pending))
        assert (status, told["state"]) == (200, "resumed")
        row = await studio.until("paused", "ended")
        found = await studio.get("/api/run", run="paused")
    assert row["answer"] == "Paid."
    made = found["items"][1]["calls"][0]
    assert made["result"]["parts"][0]["text"] == "paid 120 to bob"
    assert (made["decision"]["kind"], made["decision"]["by"]) == ("allow", "person")


async def test_what_a_call_reaches_and_moves_stands_first(journal):
    facts = rc.Facts(targets=("to",))

    @rc.tool(approval=True, facts=facts)
    def wire(memo: str, amount: int, to: str) -> str:
        """Wire money."""
        return "done"

    def agent():
        wired = call("wire", memo="rent " * 1000, amount=99999, to="XX99EVIL" * 100)
        return rc.Agent(ScriptedModel([reply(wired)]), [wire], journal=journal)

    await agent().run("Go.", run="paused")
    for agents in ((), agent()):
        async with serving(journal, agents=agents) as studio:
            pending = await waiting(studio)
        words = [each["text"] for each in pending["lines"]]
        assert "amount: 99999" in words
        if agents:
            assert words[1].startswith('to: "XX99EVIL')
            assert "".join(words).count("XX99EVIL") == 100


async def test_a_person_denies_with_words_that_the_model_reads(journal):
    await stories.paused(journal)
    agent = goes_on(("I will not.",))
    async with serving(journal, agents=agent, write=True) as studio:
        pending = await waiting(studio)
        said = {"kind": "deny", "reason": "not before Friday"}
        body = yes(pending) | {"decisions": {pending["call_id"]: said}}
        assert (await studio.post("/api/run/decide", body))[0] == 200
        await studio.until("paused", "ended")
        found = await studio.get("/api/run", run="paused")
    made = found["items"][1]["calls"][0]
    assert made["result"]["outcome"] == "denied"
    assert made["why"] == "A person said no: not before Friday."
    assert "not before Friday" in made["result"]["parts"][0]["text"]


async def test_changed_arguments_are_checked_and_then_run(journal):
    await stories.paused(journal)
    async with serving(journal, agents=goes_on(), write=True) as studio:
        pending = await waiting(studio)
        wrong = yes(pending) | {
            "decisions": {pending["call_id"]: {"kind": "rewrite", "arguments": {"amount": "much"}}}
        }
        status, told = await studio.post("/api/run/decide", wrong)
        assert (status, told["error"]["problems"][0]["path"]) == (400, "$.amount")
        right = yes(pending) | {
            "decisions": {pending["call_id"]: {"kind": "rewrite", "arguments": {"amount": 5}}}
        }
        assert (await studio.post("/api/run/decide", right))[0] == 200
        await studio.until("paused", "ended")
        found = await studio.get("/api/run", run="paused")
    assert found["items"][1]["calls"][0]["result"]["parts"][0]["text"] == "paid 5 to bob"


async def test_a_yes_for_this_run_covers_the_later_calls(journal):
    await stories.paused(journal)
    agent = goes_on((call("pay", amount=7),), ("Paid twice.",))
    async with serving(journal, agents=agent, write=True) as studio:
        await studio.post("/api/run/decide", yes(await waiting(studio), scope="run"))
        row = await studio.until("paused", "ended", "paused")
    assert (row["state"], row["calls"], row["answer"]) == ("ended", 2, "Paid twice.")


async def test_of_two_studios_the_slower_one_is_told_what_was_decided(journal):
    await stories.paused(journal)
    async with serving(journal, write=True) as slower:
        pending = await waiting(slower)
        async with Holding(journal, "paused") as faster:
            asked = asyncio.create_task(slower.post("/api/run/decide", yes(pending)))
            await asyncio.sleep(0.2)
            assert not asked.done(), "the holder has decided nothing yet"
            said_no = RunResumed(decisions={pending["call_id"]: Deny("no")})
            await faster.steps().note("t1.resumed", said_no)
            status, told = await asked
    assert (status, told["error"]["code"]) == (409, "already_decided")
    assert told["error"]["stands"][pending["call_id"]]["kind"] == "deny"


async def test_a_run_that_is_held_and_not_decided_is_said_to_be_held(journal):
    await stories.paused(journal)
    async with serving(journal, write=True) as studio, Holding(journal, "paused"):
        status, told = await studio.post("/api/run/decide", yes(await waiting(studio)))
    assert (status, told["error"]["code"]) == (409, "run_held")


async def test_of_two_people_one_is_first_and_the_other_is_told(journal):
    await stories.paused(journal)
    async with serving(journal, agents=goes_on(), write=True) as studio:
        pending = await waiting(studio)
        no = yes(pending) | {"decisions": {pending["call_id"]: {"kind": "deny", "reason": "no"}}}
        answers = await asyncio.gather(
            studio.post("/api/run/decide", yes(pending)), studio.post("/api/run/decide", no)
        )
        first, second = sorted(answers, key=lambda each: each[0])
        assert (first[0], second[0]) == (200, 409)
        assert second[1]["error"]["code"] == "already_decided"
        await studio.until("paused", "ended")
        status, told = await studio.post("/api/run/decide", no)
    assert (status, told["error"]["code"]) == (409, "already_decided")
    assert told["error"]["stands"][pending["call_id"]]["kind"] in ("allow", "deny")
    assert sum(isinstance(entry, RunResumed) for entry in journal.entries("paused")) == 1


async def test_without_its_agent_a_decision_is_recorded_and_waits_for_the_program(journal):
    await stories.paused(journal)
    async with serving(journal, write=True) as studio:
        pending = await waiting(studio)
        assert pending["rules"]["says"] == "unknown"
        status, told = await studio.post("/api/run/decide", yes(pending))
        assert (status, told["state"]) == (200, "recorded")
        assert (await studio.get("/api/run", run="paused"))["row"]["state"] == "decided"
        wrong = {"run": "paused", "decisions": {"call_x": {"kind": "allow"}}}
        assert (await studio.post("/api/run/decide", wrong))[1]["error"]["code"] == "already_decided"
    agent = stories.agent(("Paid.",), journal=journal)
    assert (await agent.recover("paused")).calls[0].result.text == "paid 120 to bob"


async def test_another_agent_than_the_runs_own_does_not_go_on_with_it(journal):
    await stories.paused(journal)
    other = rc.Agent(ScriptedModel([]), name="somebody-else")
    async with serving(journal, agents=other, write=True) as studio:
        pending = await waiting(studio)
        assert pending["rules"]["says"] == "unknown"
        status, told = await studio.post("/api/run/decide", yes(pending))
        assert (status, told["state"]) == (200, "recorded")


async def test_a_decision_that_is_none_is_refused(journal):
    await stories.paused(journal)
    async with serving(journal, write=True) as studio:
        pending = await waiting(studio)
        for decisions in (
            None,
            {},
            {pending["call_id"]: "yes"},
            {pending["call_id"]: {"kind": "maybe"}},
            {pending["call_id"]: {"kind": "allow", "scope": "always"}},
            {"somebody": {"kind": "allow"}},
        ):
            body = {"run": "paused", "pause": pending["pause"], "decisions": decisions}
            status, told = await studio.post("/api/run/decide", body)
            assert (status, told["error"]["code"]) == (400, "bad_request"), decisions
        assert (await studio.post("/api/run/decide", {"run": "none", "decisions": {}}))[0] == 404


async def test_a_run_is_forked_before_a_turn_with_another_message_or_with_more_said(journal):
    await stories.looked(journal)
    model = ScriptedModel(lambda request: f"I was asked: {request.messages[-1].text}")
    agent = rc.Agent(model, [stories.pay, stories.look], name="shop")
    async with serving(journal, agents=agent, write=True) as studio:
        edited = {"run": "looked", "message": {"index": 0, "text": "Is there milk?"}, "as": "milk"}
        status, told = await studio.post("/api/run/fork", edited)
        assert (status, told["run"], told["state"]) == (200, "milk", "running")
        assert (await studio.until("milk", "ended"))["answer"] == "I was asked: Is there milk?"
        more = {"run": "looked", "before_turn": 2, "say": "And bread?"}
        _, told = await studio.post("/api/run/fork", more)
        assert (await studio.until(told["run"], "ended"))["answer"] == "I was asked: And bread?"
        found = await studio.get("/api/run", run="looked")
        assert {row["run"] for row in found["forks"]} == {"milk", told["run"]}
        assert (await studio.get("/api/runs", parent="looked"))["total"] == 2
        for wrong in (
            {"run": "looked", "before_turn": 9},
            {"run": "looked", "message": {"index": 5, "text": "x"}},
            {"run": "looked", "before_turn": 1, "as": "milk"},
        ):
            assert (await studio.post("/api/run/fork", wrong))[0] == 400
    (start,) = [e for e in journal.entries("milk") if isinstance(e, RunStarted)]
    assert start.parent == "looked"


async def test_a_fork_without_an_agent_is_written_down(journal):
    await stories.looked(journal)
    async with serving(journal, write=True) as studio:
        body = {"run": "looked", "before_turn": 2, "as": "half"}
        status, told = await studio.post("/api/run/fork", body)
        assert (status, told["state"]) == (200, "recorded")
        status, told = await studio.post("/api/run/fork", body | {"as": "x", "model": "openai:gpt-6"})
        assert (status, told["error"]["code"]) == (409, "no_agent")
    again = await stories.agent(("Yes, both.",), journal=journal).recover("half")
    assert (again.text, len(again.calls)) == ("Yes, both.", 2)


async def test_talk_streams_and_goes_on_from_an_earlier_run(journal):
    agent = stories.agent(("Hello ", "there."), ("You said hi.",))
    async with serving(journal, agents=agent, write=True) as studio:
        _, told = await studio.post("/api/chat", {"agent": "shop", "prompt": "Hi."})
        async with asyncio.timeout(10), studio.events("/api/run/events", run=told["run"]) as events:
            async for name, data in events:
                if name == "ended" and data["state"] == "ended":
                    break
        _, second = await studio.post(
            "/api/chat", {"agent": "shop", "prompt": "What did I say?", "after": told["run"]}
        )
        await studio.until(second["run"], "ended")
        found = await studio.get("/api/run", run=second["run"])
        assert [item["history"] for item in found["items"][:3]] == [True, True, False]
        status, told = await studio.post("/api/chat", {"agent": "nobody", "prompt": "x"})
        assert (status, told["error"]["code"]) == (404, "not_found"), (
            "there is an agent, of another name"
        )


async def test_a_run_that_is_begun_here_asks_here_whoever_its_agent_would_ask(journal):
    async def approve(_):
        raise AssertionError("nobody sits there")

    agent = stories.agent((call("pay", amount=3),), ("Paid.",), approve=approve)
    async with serving(journal, agents=agent, write=True) as studio:
        _, told = await studio.post("/api/chat", {"agent": "shop", "prompt": "Pay."})
        await studio.until(told["run"], "paused")
        await studio.post("/api/run/decide", yes(await waiting(studio, told["run"])))
        assert (await studio.until(told["run"], "ended"))["answer"] == "Paid."
    assert agent._journal is None


async def test_what_streams_is_told_while_it_streams_and_can_be_stopped(journal):
    slow = rc.testing.Turn(reply=reply("One two three four five."), pause=0.2)
    agent = rc.Agent(ScriptedModel([slow]), name="shop")
    async with serving(journal, agents=agent, write=True) as studio:
        _, told = await studio.post("/api/chat", {"agent": "shop", "prompt": "Count."})
        run = told["run"]
        async with asyncio.timeout(10), studio.events("/api/run/events", run=run) as events:
            async for name, data in events:
                if name == "delta" and data["kind"] == "text":
                    break
        assert data["text"]
        assert (await studio.post("/api/run/stop", {"run": run}))[0] == 200
        async with asyncio.timeout(10):
            while (await studio.post("/api/run/stop", {"run": run}))[0] != 409:
                await asyncio.sleep(0.02)
        assert (await studio.get("/api/run", run=run))["row"]["state"] == "cut_off"


async def test_a_message_is_added_to_a_run_that_goes_on_here(journal):
    looked = asyncio.Event()

    @rc.tool(effect="read")
    async def look() -> str:
        """Look for a long time."""
        looked.set()
        await asyncio.sleep(3600)
        return "seen"

    model = ScriptedModel([reply(call("look")), "I see."])
    agent = rc.Agent(model, [look], name="shop")
    async with serving(journal, agents=agent, write=True) as studio:
        _, told = await studio.post("/api/chat", {"agent": "shop", "prompt": "Look."})
        run = told["run"]
        await asyncio.wait_for(looked.wait(), 10)
        said = {"run": run, "text": "Enough.", "now": True}
        assert await studio.post("/api/run/say", said) == (200, {"state": "queued"})
        shown = await studio.until(run, "ended")
        texts = [item.get("text") for item in (await studio.get("/api/run", run=run))["items"]]
        assert "Enough." in texts
        status, refused = await studio.post("/api/run/say", said)
        assert (status, refused["error"]["code"]) == (409, "run_held")
    assert shown


async def test_a_tool_is_tried_through_the_gate(journal):
    async with serving(journal, agents=goes_on(), write=True) as studio:
        (agent,) = (await studio.get("/api/agents"))["agents"]
        assert [tool["name"] for tool in agent["tools"]] == ["pay", "look"]

        async def attempt(tool, arguments, **more):
            body = {"agent": "shop", "tool": tool, "arguments": arguments, **more}
            return await studio.post("/api/try", body)

        status, done = await attempt("look", {"what": "tea"})
        assert (status, done["outcome"]) == (200, "returned")
        assert done["result"]["parts"] == [{"type": "text", "text": "tea is there"}]
        _, wrong = await attempt("look", {"what": 3})
        assert (wrong["outcome"], wrong["problems"][0]["path"]) == ("invalid", "$.what")
        _, asked = await attempt("pay", {"amount": 3})
        assert (asked["outcome"], asked["proposal"]["name"]) == ("", "pay")
        _, allowed = await attempt("pay", {"amount": 3}, approve=True)
        assert allowed["result"]["parts"][0]["text"] == "paid 3 to bob"
        _, dry = await attempt("pay", {"amount": 3}, dry_run=True)
        assert dry["outcome"] == "dry_run"
        assert (await attempt("nothing", {}))[0] == 404


async def test_a_tool_is_tried_under_the_agents_own_policy(journal):
    def policy(checked):
        return rc.Deny("not today") if checked.arguments.get("what") == "safe" else None

    async with serving(journal, agents=stories.agent(policy=policy), write=True) as studio:
        body = {"agent": "shop", "tool": "look", "arguments": {"what": "safe"}}
        _, done = await studio.post("/api/try", body)
    assert (done["outcome"], "not today" in done["result"]["parts"][0]["text"]) == ("denied", True)


class Store:
    """Runs elsewhere, which go on by themselves when somebody has decided."""

    def __init__(self, kept):
        self.kept, self.decided = kept, []

    async def runs(self):
        return self.kept.runs()

    async def entries(self, run):
        return self.kept.entries(run)

    async def append(self, run, entry):
        raise AssertionError("nobody but the store writes there")

    async def decide(self, run, decisions):
        if self.decided:
            raise rc.errors.AlreadyDecided(run, self.decided[0])
        self.decided.append(decisions)


async def test_a_store_that_goes_on_by_itself_is_told_and_not_written_to(journal):
    await stories.paused(journal)
    store = Store(journal)
    async with serving(store, write=True) as studio:
        pending = await waiting(studio)
        status, told = await studio.post("/api/run/decide", yes(pending))
        assert (status, told["state"]) == (200, "resumed")
        status, told = await studio.post("/api/run/decide", yes(pending))
    assert (status, told["error"]["code"]) == (409, "already_decided")
    assert store.decided == [{pending["call_id"]: rc.Allow()}]


async def test_what_the_client_of_a_server_is_asked_is_not_decided_here(journal):
    await stories.paused(journal)
    for entry in journal.entries("paused"):
        is_pause = isinstance(entry, RunPaused)
        journal.append(
            "served", RunPaused(key="t1.0.pay.asked", call_ids=entry.call_ids) if is_pause else entry
        )
    async with serving(journal, write=True) as studio:
        found = (await studio.get("/api/pending"))["pending"]
        (pending,) = [each for each in found if each["run"] == "served"]
        assert (pending["can_decide"], "over MCP" in pending["why_not"]) == (False, True)
        status, told = await studio.post("/api/run/decide", yes(pending))
    assert (status, "client" in told["error"]["message"]) == (400, True)
