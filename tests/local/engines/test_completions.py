"""Servers of raw completions: llama.cpp's own with a real model, and one that answers as vLLM does."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from local.engines.kit import ENDLESS, EXACT, HELLO, REPEAT, said, that_begins
from request.server import dropped, endless, serving, streamed, whole
from rightcall.core.message import user_text as message
from rightcall.core.parts import Usage
from rightcall.core.request import Request
from rightcall.core.transport import Timeouts
from rightcall.errors import ProtocolError, TransportError, TruncatedStream, UsageError, VendorError
from rightcall.local.engine import MOST_TOKENS, Card, Finish, Grammar, Piece, Sampling
from rightcall.local.engines.llama_server import LlamaServer
from rightcall.local.engines.vllm import ADVICE, Vllm
from rightcall.local.local_model import LocalModel
from rightcall.local.template.template_file import model_folder
from rightcall.transport.http import HttpTransport

SERVER = Path(__file__).with_name("llama_server.py")


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A server whose model wants a beginning before its prompts, which it must not get twice."""
    place = that_begins(tmp_path_factory.mktemp("model"))
    pipe = subprocess.PIPE
    command = [sys.executable, str(SERVER), str(place)]
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as process:
        yield process.stdout.readline().strip()
        process.kill()


@pytest.fixture
async def transport():
    carrier = HttpTransport()
    yield carrier
    await carrier.close()


@pytest.fixture
def engine(url, transport):
    return LlamaServer(url, transport, key="opens")


async def slots(engine):
    return json.loads(await engine._server.get("/slots"))


async def test_the_server_says_what_it_serves(engine):
    card = await engine.ready()
    assert (card.name, card.bos, card.eos) == ("begins", "<|im_start|>", "<|im_end|>")
    assert card.context_window == 512
    assert "{% for message in messages %}" in card.template
    assert engine.syntax == "gbnf"


async def test_text_is_streamed_and_its_end_is_not_part_of_it(engine):
    pieces = [piece async for piece in engine.complete(HELLO, sampling=EXACT)]
    text = "".join(piece.text for piece in pieces[:-1])
    assert len(pieces) > 5
    assert text.strip()
    assert "<|im_end|>" not in text
    assert pieces[-1].stop == "end"
    assert pieces[-1].usage.output_tokens == len(pieces)


@pytest.mark.parametrize("prompt", [HELLO, "no marker"], ids=["marked", "plain"])
async def test_no_beginning_is_put_before_the_prompt(engine, prompt):
    _, finish = await said(engine.complete(prompt, sampling=Sampling(max_tokens=1)))
    assert finish.usage.input_tokens == await engine.count_tokens(prompt)


async def test_limits_and_stop_sequences_are_kept(engine):
    whole_text, _ = await said(engine.complete(HELLO, sampling=EXACT))
    word = whole_text[10:18]
    text, finish = await said(engine.complete(HELLO, sampling=Sampling(temperature=0, stop=(word,))))
    assert (text, finish.stop, finish.stop_word) == (
        whole_text.partition(word)[0],
        "stop_sequence",
        word,
    )
    _, finish = await said(engine.complete(HELLO, sampling=Sampling(temperature=0, max_tokens=3)))
    assert (finish.stop, finish.usage.output_tokens) == ("length", 3)


async def test_a_lazy_grammar_governs_from_its_trigger(engine):
    lazy = Grammar(syntax="gbnf", text='root ::= "<call>[" [0-9]+ "]"', triggers=("<call>",))
    text, finish = await said(engine.complete(REPEAT, grammar=lazy, sampling=EXACT))
    assert re.fullmatch(r" hello <call>\[[0-9]+\]", text)
    assert finish.stop == "end"


async def test_special_tokens_that_are_named_come_out_as_text(engine):
    bias = Sampling(temperature=0, max_tokens=2, extra={"logit_bias": [[6, 100.0]]})
    hidden, _ = await said(engine.complete(HELLO, sampling=bias))
    assert hidden == ""
    named = ("<filename>", "<|im_end|>")
    text, _ = await said(engine.complete(HELLO, sampling=replace(bias, special=named)))
    assert text == "<filename>" * 2
    text, finish = await said(engine.complete(HELLO, sampling=replace(EXACT, special=named)))
    assert "<|im_end|>" not in text
    assert finish.stop == "end"


async def test_a_conversation_is_read_only_where_it_has_grown(engine):
    talk, cached = "Dan likes tea. " * 8, []
    for _ in range(3):
        text, finish = await said(engine.complete(talk, sampling=Sampling(temperature=0, max_tokens=4)))
        cached.append(finish.usage.cached_tokens)
        talk += f"{text} and then, "
    assert cached == sorted(set(cached))


async def test_hanging_up_stops_the_server(engine):
    prompt = "Once upon a time, long before this test,"
    stream = engine.complete(prompt, sampling=ENDLESS)
    for _ in range(5):
        await anext(stream)
    await stream.aclose()
    async with asyncio.timeout(10):
        while any(slot["is_processing"] for slot in await slots(engine)):
            await asyncio.sleep(0.01)
    last = max(await slots(engine), key=lambda slot: slot.get("id_task", -1))
    # Far from the 500 that would have fitted.
    assert last["n_prompt_tokens"] - await engine.count_tokens(prompt) < 60


async def test_a_prompt_that_is_too_long_is_refused_in_words(engine):
    with pytest.raises(VendorError, match="and room for 512") as caught:
        await said(engine.complete("word " * 600))
    assert (caught.value.status, caught.value.vendor_code) == (400, "exceed_context_size_error")


async def test_a_wrong_key_is_refused(url, transport):
    with pytest.raises(VendorError) as caught:
        await said(LlamaServer(url, transport, key="wrong").complete(HELLO))
    assert (caught.value.status, caught.value.retryable) == (401, False)


async def test_a_server_that_is_not_there_is_a_transport_error(transport):
    async with serving(dropped) as server:
        engine = LlamaServer(server.url, transport)
        with pytest.raises(TransportError):
            await engine.ready()


PROPS = whole(b'{"chat_template": "t", "eos_token": ""}')
NO_TOKENS = whole(b'{"tokens": []}')


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (streamed(b'data: {"content": "a"}\n\n'), TruncatedStream),
        (streamed(b'data: {"content": "a"}\n\n', end=False), TransportError),
        (streamed(b"data: {not json\n\n"), ProtocolError),
        (streamed(b'data: {"content": 7}\n\n'), ProtocolError),
        (streamed(b'data: {"stop": true, "stop_type": "whim"}\n\n'), ProtocolError),
        (streamed(b'data: {"error": {"code": 500, "message": "m", "type": "t"}}\n\n'), VendorError),
        (whole(b'{"error": {"code": 503, "message": "Loading model"}}', status=503), VendorError),
        (whole(b"<html>", status=502), VendorError),
    ],
    ids=["cut", "lost", "garbage", "types", "reason", "fault", "busy", "proxy"],
)
async def test_what_goes_wrong_on_the_way_is_told_apart(transport, answer, error):
    async with serving(PROPS, NO_TOKENS, answer) as server:
        with pytest.raises(error):
            await said(LlamaServer(server.url, transport).complete("a"))


async def test_a_stream_without_end_is_refused(transport, monkeypatch):
    monkeypatch.setattr("rightcall.local.engines.remote.MAX_REPLY_BYTES", 1_000_000)
    on = endless(b'data: {"content": "on and "}\n\n' * 100)
    async with serving(PROPS, NO_TOKENS, on) as server, asyncio.timeout(20):
        with pytest.raises(ProtocolError, match="longer than 1,000,000 bytes"):
            await said(LlamaServer(server.url, transport).complete("a"))


async def test_a_server_that_is_still_loading_may_be_asked_again(transport):
    async with serving(whole(b'{"error": {"message": "Loading model"}}', status=503)) as server:
        with pytest.raises(VendorError) as caught:
            await LlamaServer(server.url, transport).ready()
    assert caught.value.retryable


async def test_what_is_asked_of_llama_cpp(transport):
    done = streamed(b'data: {"stop": true, "stop_type": "eos"}\n\n')
    grammar = Grammar(syntax="gbnf", text="root ::= x", triggers=("<a>",), special=("<b>",))
    sampling = Sampling(
        temperature=0.5,
        top_p=0.9,
        seed=-3,
        max_tokens=9,
        stop=("z",),
        special=("<c>",),
        extra={"top_k": 1},
    )
    async with serving(PROPS, whole(b'{"tokens": [7, 8]}'), done) as server:
        engine = LlamaServer(server.url + "/", transport, timeouts=Timeouts(whole=9.0))
        assert await said(engine.complete("p", grammar=grammar, sampling=sampling)) == (
            "",
            Finish("end", Usage()),
        )
    assert [path for path, _, _ in server.requests] == ["/props", "/tokenize", "/completion"]
    body = json.loads(server.requests[-1][2])
    assert len(body.pop("response_fields")) == 6
    assert body == {
        "prompt": [7, 8],
        "stream": True,
        "cache_prompt": True,
        "return_progress": True,
        "n_predict": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 2**32 - 4,
        "stop": ["z"],
        "top_k": 1,
        "grammar": "root ::= x",
        "grammar_lazy": True,
        "grammar_triggers": [{"type": 1, "value": "<a>"}],
        "preserved_tokens": ["<c>", "<b>", "<a>"],
    }


async def test_a_prompt_that_begins_with_a_special_token_is_not_counted(transport):
    done = streamed(b'data: {"stop": true, "stop_type": "eos"}\n\n')
    props = whole(b'{"default_generation_settings": {"n_ctx": 512}}')
    answers = (props, whole(b'{"tokens": [3]}'), whole(b'{"tokens": [7, 8]}'), done, done)
    async with serving(*answers) as server:
        engine = LlamaServer(server.url, transport)
        await said(engine.complete("<|im_start|>user"))
        await said(engine.complete("<|im_start|>system", sampling=Sampling(max_tokens=9)))
    paths = [path for path, _, _ in server.requests]
    assert paths == ["/props", "/tokenize", "/tokenize", "/completion", "/completion"]
    first, second = [json.loads(body) for path, _, body in server.requests if path == "/completion"]
    assert (first["prompt"], first["n_predict"]) == ([3, "user"], 512)
    assert (second["prompt"], second["n_predict"]) == ([3, "system"], 9)


async def test_a_prompt_that_only_looks_like_it_is_counted(transport):
    done = streamed(b'data: {"stop": true, "stop_type": "eos"}\n\n')
    plain, whole_prompt = whole(b'{"tokens": [3]}'), whole(b'{"tokens": [3, 4]}')
    async with serving(PROPS, plain, plain, whole_prompt, done) as server:
        engine = LlamaServer(server.url, transport)
        await said(engine.complete("<p>text", sampling=Sampling(max_tokens=9)))
    assert json.loads(server.requests[-1][2])["prompt"] == [3, 4]


MODELS = whole(b'{"object": "list", "data": [{"id": "m", "max_model_len": 4096}]}')
NOT_FOUND = whole(b'{"detail": "Not Found"}', status=404)


def counted(tokens):
    return whole(json.dumps({"count": tokens}).encode())


def event(value):
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def part(*texts, reason="stop", stopped=None, prompt=5, written=2, cached=None):
    """A stream as vLLM sends it: texts, a last choice, the usage, the end."""
    last = {"index": 0, "text": "", "finish_reason": reason, "stop_reason": stopped}
    usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    return streamed(
        *(event({"choices": [{"index": 0, "text": text, "finish_reason": None}]}) for text in texts),
        event({"choices": [last]}),
        event({"choices": [], "usage": usage}),
        b"data: [DONE]\n\n",
    )


COMMON = {
    "model": "m",
    "max_tokens": 4090,
    "stream": True,
    "stream_options": {"include_usage": True},
    "add_special_tokens": False,
    "skip_special_tokens": False,
    "spaces_between_special_tokens": False,
    "include_stop_str_in_output": False,
}


async def test_what_is_asked_of_vllm(transport):
    grammar = Grammar(syntax="gbnf", text="root ::= x")
    sampling = Sampling(
        temperature=0.5, top_p=0.9, seed=7, max_tokens=9, stop=("z",), extra={"top_k": 1}
    )
    async with serving(MODELS, NOT_FOUND, part("a", "b", cached=3)) as server:
        engine = Vllm(server.url, transport, key="k")
        found = [each async for each in engine.complete("p", grammar=grammar, sampling=sampling)]
    usage = Usage(input_tokens=5, output_tokens=2, cached_tokens=3)
    assert found == [Piece("a"), Piece("b"), Finish("end", usage)]
    assert [path for path, _, _ in server.requests] == [
        "/v1/models",
        "/tokenizer_info",
        "/v1/completions",
    ]
    _, headers, body = server.requests[-1]
    assert headers["authorization"] == "Bearer k"
    assert json.loads(body) == {
        **COMMON,
        "prompt": "p",
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "stop": ["z"],
        "top_k": 1,
        "structured_outputs": {"grammar": "root ::= x"},
    }


async def test_a_dummy_key_changes_no_word_of_a_servers_refusal(transport):
    body = b'{"error": {"message": "max_tokens must be less than the rest", "key": "e"}}'
    async with serving(MODELS, NOT_FOUND, whole(body, 400)) as server:
        with pytest.raises(VendorError) as caught:
            await said(Vllm(server.url, transport, key="e").complete(HELLO))
    assert str(caught.value).endswith("max_tokens must be less than the rest")
    assert caught.value.body == body.decode().replace('"e"', '"[key]"')


async def test_a_lazy_grammar_is_two_requests_to_vllm(transport):
    grammar = Grammar(syntax="gbnf", text="root ::= x", triggers=("<call>",))
    first = part("Let me ", "see. ", stopped="<call>", written=4)
    second = part("<call>", "{}", prompt=9, written=3, cached=8)
    sampling = Sampling(stop=("z",))
    async with serving(MODELS, NOT_FOUND, counted(6), first, counted(96), second) as server:
        text, finish = await said(
            Vllm(server.url, transport).complete("p:", grammar=grammar, sampling=sampling)
        )
    assert text == "Let me see. <call>{}"
    assert finish == Finish("end", Usage(input_tokens=14, output_tokens=7, cached_tokens=8))
    bodies = [json.loads(body) for path, _, body in server.requests if path == "/v1/completions"]
    assert bodies == [
        {**COMMON, "prompt": "p:", "stop": ["z", "<call>"]},
        {
            **COMMON,
            "prompt": "p:Let me see. ",
            "max_tokens": 4000,
            "stop": ["z"],
            "structured_outputs": {"grammar": "root ::= x"},
        },
    ]


@pytest.mark.parametrize(
    ("answer", "sampling", "expected"),
    [
        (
            part("a", stopped="z"),
            Sampling(stop=("z",), max_tokens=9),
            Finish("stop_sequence", Usage(), "z"),
        ),
        (part("a", stopped=128009), Sampling(max_tokens=9), Finish("end", Usage())),
        (part("a", reason="length"), Sampling(max_tokens=9), Finish("length", Usage())),
        (part("a", stopped="<call>", written=2), Sampling(max_tokens=2), Finish("length", Usage())),
    ],
    ids=["stop sequence", "stop token", "length", "at a trigger"],
)
async def test_why_vllm_stopped(transport, answer, sampling, expected):
    grammar = Grammar(syntax="gbnf", text="root ::= x", triggers=("<call>",))
    async with serving(MODELS, NOT_FOUND, answer) as server:
        _, finish = await said(
            Vllm(server.url, transport).complete("p", grammar=grammar, sampling=sampling)
        )
    usage = Usage(input_tokens=5, output_tokens=2)
    assert finish == Finish(expected.stop, usage, expected.stop_word)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (streamed(event({"choices": [{"text": "a"}]})), TruncatedStream),
        (streamed(b"data: [DONE]\n\n"), TruncatedStream),
        (streamed(b"data: {\n\n"), ProtocolError),
        (streamed(event({"error": {"message": "m", "type": "t", "code": 400}})), VendorError),
        (part("a", reason="abort"), VendorError),
        (
            whole(b'{"error": {"message": "too long", "type": "BadRequestError"}}', status=400),
            VendorError,
        ),
    ],
    ids=["cut", "empty", "garbage", "fault", "abort", "refusal"],
)
async def test_what_goes_wrong_with_vllm_is_told_apart(transport, answer, error):
    async with serving(MODELS, NOT_FOUND, answer) as server:
        with pytest.raises(error):
            await said(Vllm(server.url, transport).complete("p", sampling=Sampling(max_tokens=9)))


async def test_vllm_is_asked_for_what_the_prompt_leaves_of_the_window(transport):
    async with serving(MODELS, NOT_FOUND, counted(2100), part("a")) as server:
        await said(Vllm(server.url, transport).complete("p"))
    assert json.loads(server.requests[-1][2])["max_tokens"] == 4096 - 2100


async def test_a_server_that_does_not_count_is_said_to_need_a_number(transport):
    async with serving(MODELS, NOT_FOUND, NOT_FOUND) as server:
        with pytest.raises(UsageError, match="max_tokens="):
            await said(Vllm(server.url, transport).complete("p"))


async def test_a_refusal_to_count_is_told_as_it_is(transport):
    no = whole(b'{"error": {"message": "no", "type": "t"}}', status=401)
    async with serving(MODELS, NOT_FOUND, no) as server:
        with pytest.raises(VendorError, match="no"):
            await said(Vllm(server.url, transport).complete("p"))


async def test_without_a_window_vllm_is_asked_for_a_modest_number(transport):
    models = whole(b'{"data": [{"id": "m"}]}')
    async with serving(models, NOT_FOUND, part("a")) as server:
        await said(Vllm(server.url, transport).complete("p"))
    assert json.loads(server.requests[-1][2])["max_tokens"] == MOST_TOKENS


@pytest.mark.parametrize(
    ("given", "told", "expected"),
    [
        (None, NOT_FOUND, Card(name="m", context_window=4096, advice=ADVICE)),
        (
            None,
            whole(b'{"chat_template": "t", "bos_token": {"content": "<s>"}, "eos_token": "</s>"}'),
            Card(name="m", template="t", bos="<s>", eos="</s>", context_window=4096, advice=ADVICE),
        ),
        (
            Card(name="other", template="mine", context_window=99),
            NOT_FOUND,
            Card(name="m", template="mine", context_window=99),
        ),
    ],
    ids=["silent", "told", "given"],
)
async def test_what_is_known_of_a_model_behind_vllm(transport, given, told, expected):
    async with serving(MODELS, told) as server:
        assert await Vllm(server.url, transport, card=given).ready() == expected


async def asked_of_vllm(transport, *answers):
    """What a model behind a default vLLM is asked: the prompt of its completion."""
    async with serving(*answers, part("Hi")) as server:
        model = LocalModel(Vllm(server.url, transport))
        request = Request(messages=(message("Hello"),), max_tokens=9)
        assert [event async for event in model.stream(request)]
    return json.loads(server.requests[-1][2])["prompt"]


TEMPLATE = "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}<bot>"


async def test_without_a_template_the_flag_and_the_option_are_named(transport):
    with pytest.raises(UsageError, match=r"--enable-tokenizer-info-endpoint.*template='Qwen/Qwen3-8B'"):
        await asked_of_vllm(transport, MODELS, NOT_FOUND)


async def test_the_template_is_taken_from_the_folder_that_vllm_serves(transport, tmp_path):
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    models = whole(json.dumps({"data": [{"id": "m", "root": str(tmp_path)}]}).encode())
    assert await asked_of_vllm(transport, models, NOT_FOUND) == "<user>Hello<bot>"


async def test_the_template_is_taken_from_the_hubs_cache(transport, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    kept = tmp_path / "models--Qwen--Qwen3-8B"
    for revision, text in (("old", "none"), ("new", TEMPLATE), ("other", "none")):
        (kept / "snapshots" / revision).mkdir(parents=True)
        (kept / "snapshots" / revision / "tokenizer_config.json").write_text(
            json.dumps({"chat_template": text})
        )
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("new")
    models = whole(b'{"data": [{"id": "served", "root": "Qwen/Qwen3-8B"}]}')
    assert await asked_of_vllm(transport, models, NOT_FOUND) == "<user>Hello<bot>"
    assert model_folder("Qwen/Qwen3-8B") == kept / "snapshots" / "new"
    assert [model_folder(name) for name in ("", "Qwen/Other", "../x", "no/such/name")] == [None] * 4


async def test_a_model_that_vllm_does_not_serve_is_named(transport):
    async with serving(MODELS) as server:
        with pytest.raises(UsageError, match="'n'; it serves m"):
            await Vllm(server.url, transport, model="n").ready()


async def test_tokens_are_counted_by_vllm(transport):
    async with serving(MODELS, NOT_FOUND, whole(b'{"count": 3, "tokens": [1, 2, 3]}')) as server:
        assert await Vllm(server.url, transport).count_tokens("abc") == 3
    assert json.loads(server.requests[-1][2]) == {
        "model": "m",
        "prompt": "abc",
        "add_special_tokens": False,
    }


async def test_a_grammar_in_another_language_is_refused(transport):
    lark = Grammar(syntax="lark", text="start: /a/")
    with pytest.raises(UsageError, match="gbnf"):
        await said(Vllm("http://127.0.0.1:1", transport).complete("p", grammar=lark))
