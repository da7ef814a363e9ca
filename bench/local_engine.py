"""The embedded model: what the library costs beside raw xllamacpp, what a grammar costs per token, and
what the prompt cache saves.

CPU time is what counts, of this process and of the one that the model runs in; ratios are of the same
run, in which those that are compared take turns. The floor of the grammars is the same model writing the
same number of tokens with nothing asked of it.
"""

import asyncio
import json
import platform
import statistics
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

from cpu_time import cpu_seconds
from msgspec import Struct

from rightcall.core.events import ReplyEnd, TextDelta
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import user_text
from rightcall.core.parts import Usage
from rightcall.core.request import Request
from rightcall.local.engine import Finish, Grammar, Sampling
from rightcall.local.engines.llamacpp import BATCH, LlamaCpp, _cores, embedded_path
from rightcall.local.local_model import LocalModel
from rightcall.local.prompt import render_prompt
from rightcall.local.template.chat_template import ChatTemplate

TOKENS = 96
ROUNDS = 5
TURNS = 10
FEW, MANY = 6, 40
"""Tokens and rounds where only the first token counts."""
PAUSE = 0.05
"""Seconds between two completions, so that none pays for what another leaves to be done."""

PROMPT = "<|im_start|>user\nList what you know of the sea.<|im_end|>\n<|im_start|>assistant\n"
JSON = r"""
root   ::= "[" object ("," object){60,} "]"
object ::= "{\"name\": \"" [a-zA-Z ]{3,40} "\", \"depth\": " [1-9] [0-9]{0,4} "}"
"""
GRAMMARS = {
    "no grammar": None,
    "a grammar that waits for its trigger": Grammar(syntax="gbnf", text=JSON, triggers=("<never>",)),
    "a grammar of any text": Grammar(syntax="gbnf", text=r"root ::= [^\x00]*"),
    "a grammar of objects": Grammar(syntax="gbnf", text=JSON),
}


class Cost(Struct, frozen=True):
    """What a completion took, in seconds of CPU time, and what it says of itself."""

    first: float
    rest: float
    usage: Usage
    text: str


async def spend(
    engine: LlamaCpp, prompt: str, sampling: Sampling, grammar: Grammar | None = None
) -> Cost:
    start = first = cpu_seconds()
    pieces: list[str] = []
    async for each in engine.complete(prompt, grammar=grammar, sampling=sampling):
        if isinstance(each, Finish):
            return Cost(first - start, cpu_seconds() - first, each.usage, "".join(pieces))
        if not pieces:
            first = cpu_seconds()
        pieces.append(each.text)
    raise AssertionError("an engine always finishes")


async def grammars(engine: LlamaCpp) -> None:
    sampling = Sampling(temperature=0, max_tokens=TOKENS, extra={"ignore_eos": True})
    times: dict[str, list[float]] = {name: [] for name in GRAMMARS}
    await spend(engine, PROMPT, sampling)
    for _ in range(ROUNDS):
        for name, grammar in GRAMMARS.items():
            cost = await spend(engine, PROMPT, sampling, grammar)
            assert cost.usage.output_tokens == TOKENS, (name, cost.usage)
            times[name].append(cost.rest / (TOKENS - 1) * 1000)
    print(f"{TOKENS} tokens after the same prompt, median of {ROUNDS}")
    floor = statistics.median(times["no grammar"])
    for name, samples in times.items():
        median = statistics.median(samples)
        print(
            f"  {name:38} {median:6.2f} ms CPU per token {1000 / median:7.0f} tokens/s "
            f"{median - floor:+6.2f} ms {median / floor:6.2f} x floor"
        )


async def turns(engine: LlamaCpp) -> None:
    talk, prompts, warm = "", [], []
    for turn in range(1, TURNS + 1):
        talk += f"<|im_start|>user\nTurn {turn}. Tell me one more thing about ships, and be brief"
        talk += " please.<|im_end|>\n<|im_start|>assistant\n"
        prompts.append(talk)
        warm.append(await spend(engine, talk, Sampling(temperature=0, max_tokens=16)))
        talk += f"{warm[-1].text}<|im_end|>\n"
    forgetful = Sampling(temperature=0, max_tokens=2, extra={"cache_prompt": False})
    cold = [await spend(engine, prompt, forgetful) for prompt in prompts]
    print(f"a conversation of {TURNS} turns: CPU time to the first token, with the cache and without")
    print(f"  {'turn':>4} {'prompt':>7} {'cached':>7} {'ms':>8} {'without':>8} {'x':>6}")
    for turn, (once, again) in enumerate(zip(warm, cold, strict=True), 1):
        usage = once.usage
        print(
            f"  {turn:4} {usage.input_tokens:7} {usage.cached_tokens:7} {once.first * 1000:8.0f} "
            f"{again.first * 1000:8.0f} {again.first / once.first:6.1f}"
        )
    less, more = sum(each.first for each in warm), sum(each.first for each in cold)
    print(f"  in all {less:.2f} s against {more:.2f} s: {more / less:.1f} times less")


class Pace(Struct, frozen=True):
    """Seconds to the first token, and from there to the last; the same in CPU time."""

    first: float
    rest: float
    cpu_first: float
    cpu_rest: float
    text: str


async def paced(stream: Callable[[Callable[[str], None]], Awaitable[object]]) -> Pace:
    """What a stream takes that tells of each piece of text."""
    pieces: list[str] = []
    start = time.perf_counter(), cpu_seconds()
    first = start

    def take(text: str) -> None:
        nonlocal first
        if not pieces:
            first = time.perf_counter(), cpu_seconds()
        pieces.append(text)

    await stream(take)
    end = time.perf_counter(), cpu_seconds()
    spans = [late - early for early, late in zip((*start, *first), (*first, *end), strict=True)]
    return Pace(spans[0], spans[2], spans[1], spans[3], "".join(pieces))


def raw_server() -> Any:
    """xllamacpp as it is used without a library."""
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    options = {
        "n_ctx": 2048,
        "n_parallel": 1,
        "n_batch": BATCH,
        "n_ubatch": BATCH,
        "special": True,
        "verbosity": 0,
        "warmup": False,
        "fit_params": False,
        "ui": False,
    }
    for name, value in options.items():
        setattr(params, name, value)
    params.model.path = str(embedded_path())
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _cores()
    return xllamacpp.Server(params)


def from_raw(
    server: Any, prompt: str, extra: JsonObject, tokens: int
) -> Callable[..., Awaitable[object]]:
    body = {"prompt": prompt, "n_predict": tokens, "temperature": 0.0, "stream": True, **extra}

    async def stream(take: Callable[[str], None]) -> None:
        def chunk(raw: bytes) -> bool:
            for choice in json.loads(raw).get("choices", ()):
                if choice.get("text"):
                    take(choice["text"])
            return False

        await asyncio.to_thread(server.handle_completions, json.dumps(body).encode(), chunk)

    return stream


def from_engine(
    engine: LlamaCpp, prompt: str, extra: JsonObject, tokens: int
) -> Callable[..., Awaitable[object]]:
    sampling = Sampling(temperature=0, max_tokens=tokens, extra=extra)

    async def stream(take: Callable[[str], None]) -> None:
        async for each in engine.complete(prompt, sampling=sampling):
            if not isinstance(each, Finish):
                take(each.text)

    return stream


def from_model(
    model: LocalModel, text: str, extra: JsonObject, tokens: int
) -> Callable[..., Awaitable[object]]:
    options: JsonObject = {"temperature": 0, "extra": extra}
    request = Request(messages=(user_text(text),), max_tokens=tokens, options=options)

    async def stream(take: Callable[[str], None]) -> None:
        async for event in model.stream(request):
            if isinstance(event, TextDelta):
                take(event.text)
            elif isinstance(event, ReplyEnd):
                assert event.reply.usage.output_tokens == tokens

    return stream


def told(name: str, tokens: int, found: list[Pace], raw: list[Pace]) -> None:
    """A line of figures; ratios are medians of those of each round."""
    rates = [(tokens - 1) / each.cpu_rest for each in found]
    speed = statistics.median(b.cpu_rest / a.cpu_rest for a, b in zip(found, raw, strict=True))
    first = statistics.median(a.cpu_first / b.cpu_first for a, b in zip(found, raw, strict=True))
    clock = statistics.median(b.rest / a.rest for a, b in zip(found, raw, strict=True))
    soon = statistics.median(a.first / b.first for a, b in zip(found, raw, strict=True))
    wait = statistics.median(each.cpu_first for each in found) * 1000
    print(
        f"  {name:14} {statistics.median(rates):6.1f} tokens per CPU second {speed:5.2f} x raw, by "
        f"the clock {clock:5.2f}; first token "
        f"{wait:7.1f} ms CPU {first:5.3f} x raw, by the clock {soon:5.2f}"
    )


async def beside_raw() -> None:
    """The same tokens by raw xllamacpp, by our engine and by our model, in turns."""
    engine = LlamaCpp(embedded_path(), context=2048, parallel=1)
    model = LocalModel(engine)
    await engine.ready()
    server = await asyncio.to_thread(raw_server)
    question = "List what you know of the sea. " + "The sea is wide and deep and cold. " * 20
    template = ChatTemplate.from_card(await engine.ready())
    prompt = render_prompt(Request(messages=(user_text(question),)), template).text
    for name, cached, tokens, rounds in (
        ("a prompt that is read anew", False, TOKENS, ROUNDS),
        ("a prompt in the cache", True, TOKENS, ROUNDS),
        ("a prompt in the cache", True, FEW, MANY),
    ):
        extra: JsonObject = {"ignore_eos": True, "cache_prompt": cached}
        ways = {
            "raw xllamacpp": from_raw(server, prompt, extra, tokens),
            "LlamaCpp": from_engine(engine, prompt, extra, tokens),
            "LocalModel": from_model(model, question, extra, tokens),
        }
        found: dict[str, list[Pace]] = {way: [] for way in ways}
        for turn in range(rounds + 1):
            for way, stream in ways.items():
                await asyncio.sleep(PAUSE)
                pace = await paced(stream)
                if turn:
                    found[way].append(pace)
        texts = {pace.text for paces in found.values() for pace in paces}
        size = await engine.count_tokens(prompt)
        print(f"{name}: {size} tokens, {tokens} after it, {rounds} rounds, {len(texts)} different texts")
        for way, paces in found.items():
            told(way, tokens, paces, found["raw xllamacpp"])
    await engine.close()


async def main() -> None:
    await beside_raw()
    engine = LlamaCpp(embedded_path())
    start = time.perf_counter()
    card = await engine.ready()
    loaded = time.perf_counter() - start
    print(f"Python {platform.python_version()}, xllamacpp {version('xllamacpp')}")
    print(f"{card.name}, loaded in {loaded:.2f} s")
    await grammars(engine)
    await turns(engine)
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main())
