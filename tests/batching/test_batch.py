"""Batches against vendors on loopback: submitted once, watched, resumed, and read in order."""

import asyncio
import signal
import sys
from collections.abc import Sequence

import pytest
from pydantic import BaseModel

import rightcall as rc
from batching.vendors import Anthropic, Gemini, OpenAI, Vendor, open_for_business
from rightcall.batching import gemini as gemini_format
from rightcall.batching import openai as openai_format
from rightcall.core.entry import StepDone
from rightcall.errors import JournalError, TransportError, UsageError, VendorError

ASKED = ["one", "bad", "three"]
VENDORS = {
    "openai:gpt-5.2": OpenAI,
    "openai-responses:gpt-5.2": OpenAI,
    "anthropic:claude-opus-4-8": Anthropic,
    "gemini:gemini-3-pro": Gemini,
}
every_vendor = pytest.mark.parametrize("name", VENDORS)


class Age(BaseModel):
    years: int


def agent_at(vendor: Vendor, name: str, **options) -> rc.Agent:
    model = rc.connect(name, base_url=vendor.url, api_key="key", retry=rc.models.Retry(attempts=1))
    return rc.Agent(model, instructions="Be brief.", **options)


def told(result: Sequence) -> list[str]:
    return [item.text or f"{item.error.kind} {item.error.vendor_code}".strip() for item in result]


@every_vendor
async def test_a_batch_is_watched_and_its_results_come_in_order(name):
    async with open_for_business(VENDORS[name](looks=2)) as vendor:
        job = rc.batching.batch(agent_at(vendor, name), ASKED, poll=0.001)
        seen = [progress async for progress in job]
        assert [(each.is_over, each.total) for each in seen] == [(False, 3), (False, 3), (True, 3)]
        assert (seen[-1].done, seen[-1].failed) == (2, 1)
        result = await job
        one, bad, three = result
        assert (one.text, three.text) == ("re: one", "re: three")
        assert (bad.result, bad.error.kind, bad.error.status) == (None, "bad_request", 400)
        assert "no such thing" in str(bad.error)
        assert one.result.stop.reason == "end"
        assert len(vendor.batches) == 1
        assert result.failed == (bad,)
        assert (result.usage.input_tokens, result.usage.output_tokens) == (20, 10)


async def test_a_batch_costs_half():
    async with open_for_business(OpenAI()) as vendor:
        model = rc.connect("openai:gpt-4.1", base_url=vendor.url, api_key="key")
        result = await rc.batching.batch(rc.Agent(model), ["one"], poll=0.001)
        # Two dollars for a million tokens in, eight for a million out.
        assert result.usage.cost == pytest.approx((10 * 2 + 5 * 8) / 1e6 / 2)


@every_vendor
async def test_an_output_is_validated_and_a_bad_one_is_said_to_be(name):
    class Clerk(VENDORS[name]):
        def say(self, prompt):
            return f'{{"years": {prompt}}}'

    async with open_for_business(Clerk()) as vendor:
        agent = agent_at(vendor, name, output=Age)
        good, bad = await rc.batching.batch(agent, ["7", '"seven"'], poll=0.001)
        assert (good.output, good.is_answer) == (Age(years=7), True)
        assert (bad.output, bad.is_answer, bad.result.stop.reason) == (None, False, "no_output")


@pytest.mark.parametrize(
    ("name", "ends", "expected"),
    [
        ("openai:m", "expired", ["re: one", "timeout expired", "timeout expired"]),
        ("anthropic:m", "expired", ["re: one", "timeout expired", "timeout expired"]),
        ("gemini:m", "expired", ["timeout expired"] * 3),
        ("openai:m", "failed", ["bad_request invalid_json_line"] * 3),
        ("gemini:m", "failed", ["server failed"] * 3),
    ],
)
async def test_what_has_no_reply_says_why_in_a_common_word(name, ends, expected):
    (kind,) = [each for full, each in VENDORS.items() if full.split(":")[0] == name.split(":")[0]]
    async with open_for_business(kind()) as vendor:
        vendor.ends = ends
        assert (
            told(await rc.batching.batch(agent_at(vendor, name), ["one", "two", "three"], poll=0.001))
            == expected
        )


@every_vendor
async def test_a_batch_is_cancelled_from_elsewhere(name, tmp_path):
    journal = rc.record.JsonLinesJournal(tmp_path / "runs.jsonl")
    async with open_for_business(VENDORS[name](looks=10**9)) as vendor:
        agent = agent_at(vendor, name, journal=journal)
        with pytest.raises(UsageError, match="not submitted"):
            await rc.batching.batch(agent, ASKED, run="names").cancel()
        async for progress in (job := rc.batching.batch(agent, ["one", "two"], run="names", poll=0.001)):
            if not progress.is_over and not any("cancel" in each[1] for each in vendor.requests):
                await rc.batching.batch(agent, ["one", "two"], run="names").cancel()
        assert told(job.result)[1] == "cancelled cancelled"


KILLED = """
import asyncio, sys
import rightcall as rc
url, path = sys.argv[1:]
model = rc.connect("openai:gpt-5.2", base_url=url, api_key="key")
agent = rc.Agent(model, instructions="Be brief.", journal=rc.record.JsonLinesJournal(path))
asyncio.run(rc.batching.batch(agent, ["one", "bad", "three"], run="names")._whole())
"""


async def test_a_process_that_is_killed_while_it_submits_is_followed_by_one_that_finds_the_batch(
    tmp_path,
):
    path = tmp_path / "runs.jsonl"
    async with open_for_business(OpenAI()) as vendor:
        vendor.hang_after_create = asyncio.Event()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, vendor.url, str(path)
        )
        await asyncio.wait_for(vendor.hang_after_create.wait(), 30)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        vendor.hang_after_create = None
        journal = rc.record.JsonLinesJournal(path)
        agent = agent_at(vendor, "openai:gpt-5.2", journal=journal)
        with pytest.raises(UsageError, match="of 3 prompts, and these are 1"):
            await rc.batching.batch(agent, ["one"], run="names", poll=0.001)
        with pytest.raises(UsageError, match="other prompts"):
            await rc.batching.batch(agent, ["one", "bad", "four"], run="names", poll=0.001)
        first = await rc.batching.batch(agent, ASKED, run="names", poll=0.001)
        assert len(vendor.batches) == 1
        # What is recorded is asked of nobody again.
        count = len(vendor.requests)
        again = await rc.batching.batch(agent, ASKED, run="names", poll=0.001)
        assert len(vendor.requests) == count
        assert (
            told(again) == told(first) == ["re: one", "bad_request invalid_request_error", "re: three"]
        )


async def test_a_vendor_that_keeps_no_names_is_asked_again_once_the_batch_is_over():
    async with open_for_business(Anthropic()) as vendor:
        agent = agent_at(vendor, "anthropic:m")
        job = rc.batching.batch(agent, ["one"], poll=0.001)
        vendor.drop_after_create = True
        with pytest.raises(TransportError):
            await job
        with pytest.raises(
            UsageError, match="It may be msgbatch_0, which cannot be told until it is over"
        ):
            await job
        vendor.batches["msgbatch_0"]["looks"] = 10
        assert told(await job) == ["re: one"]
        assert len(vendor.batches) == 1


async def test_a_batch_can_be_named_or_submitted_anew_by_hand():
    async with open_for_business(Anthropic()) as vendor:
        agent = agent_at(vendor, "anthropic:m")
        for adopt, batches in (("msgbatch_0", 1), ("new", 3)):
            job = rc.batching.batch(agent, ["one"], poll=0.001, adopt=adopt)
            vendor.drop_after_create = True
            with pytest.raises(TransportError):
                await job
            vendor.drop_after_create = False
            assert told(await job) == ["re: one"]
            assert len(vendor.batches) == batches


async def test_many_prompts_are_several_batches(monkeypatch):
    monkeypatch.setattr(openai_format.OpenAIFormat, "most_requests", 2)
    async with open_for_business(OpenAI()) as vendor:
        result = await rc.batching.batch(agent_at(vendor, "openai:m"), list("abcde"), poll=0.001)
        assert told(result) == [f"re: {each}" for each in "abcde"]
        assert len(vendor.batches) == 3


async def test_large_batches_of_gemini_go_and_come_as_files(monkeypatch):
    monkeypatch.setattr(gemini_format, "_MOST_INLINE", 10)
    async with open_for_business(Gemini()) as vendor:
        result = await rc.batching.batch(agent_at(vendor, "gemini:m"), ASKED, poll=0.001)
        assert [item.text for item in result] == ["re: one", "", "re: three"]
        assert "files/in" in vendor.files


async def test_the_key_is_not_taken_to_another_host():
    class Elsewhere(Gemini):
        def answer(self, method, target, headers, body):
            status, more, answer = super().answer(method, target, headers, body)
            return status, dict.fromkeys(more, "http://127.0.0.2:9/x"), answer

    async with open_for_business(Elsewhere()) as vendor:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gemini_format, "_MOST_INLINE", 10)
            with pytest.raises(rc.errors.ProtocolError, match="points to another host"):
                await rc.batching.batch(agent_at(vendor, "gemini:m"), ASKED, poll=0.001)


async def test_what_a_batch_cannot_do_is_said_before_anything_is_sent(tmp_path):
    @rc.tool
    def look(at: str) -> str:
        """Look."""
        return at

    model = rc.connect("openai:m", base_url="http://127.0.0.1:9", api_key="key")
    with pytest.raises(UsageError, match="nobody is there to run tools; 'agent' has look"):
        rc.batching.batch(rc.Agent(model, [look]), ["one"])
    with pytest.raises(UsageError, match="hooks around the model"):
        rc.batching.batch(rc.Agent(model, hooks=rc.Hooks(after_model=lambda reply: None)), ["one"])
    with pytest.raises(UsageError, match="a batch goes to one vendor"):
        rc.batching.batch(rc.Agent([model, model]), ["one"])
    with pytest.raises(UsageError, match="at least one"):
        rc.batching.batch(rc.Agent(model), [])
    bedrock = rc.connect("bedrock:m", base_url="http://127.0.0.1:9", api_key="key")
    with pytest.raises(UsageError, match="bedrock has no batch API"):
        rc.batching.batch(rc.Agent(bedrock), ["one"])
    journal = rc.record.MemoryJournal()
    agent = rc.Agent(rc.testing.ScriptedModel(["hi"]), journal=journal)
    await agent.run("hi", run="taken")
    with pytest.raises(UsageError, match="that is no batch"):
        await rc.batching.batch(rc.Agent(model), ["one"], run="taken", journal=journal)
    journal.append("odd", StepDone(key="batch.plan", value='{"mark": 1}'))
    with pytest.raises(JournalError, match=r"the step batch\.plan: not as a batch writes it"):
        await rc.batching.batch(rc.Agent(model), ["one"], run="odd", journal=journal)


async def test_a_refused_submission_raises_and_can_be_tried_again():
    class Busy(OpenAI):
        left = 1

        def answer(self, method, target, headers, body):
            if target == "/batches" and method == "POST" and self.left:
                self.left -= 1
                return 400, {}, {"error": {"message": "enqueued token limit reached", "code": "x"}}
            return super().answer(method, target, headers, body)

    async with open_for_business(Busy()) as vendor:
        job = rc.batching.batch(agent_at(vendor, "openai:m"), ["one"], poll=0.001)
        with pytest.raises(VendorError, match="token limit"):
            await job
        assert told(await job) == ["re: one"]
