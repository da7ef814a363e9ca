"""The embedded model in this process: what a grammar costs per token, and what the prompt cache saves.

CPU time of the process is what counts, the model's own threads included; ratios are of the same run. The
floor is the same model writing the same number of tokens with nothing asked of it.
"""

import asyncio
import platform
import statistics
import time
from importlib.metadata import version

from msgspec import Struct

from rightcall.core.parts import Usage
from rightcall.local.engine import Finish, Grammar, Sampling
from rightcall.local.engines.llamacpp import LlamaCpp, embedded_path

TOKENS = 96
ROUNDS = 5
TURNS = 10

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
    start = first = time.process_time()
    pieces: list[str] = []
    async for each in engine.complete(prompt, grammar=grammar, sampling=sampling):
        if isinstance(each, Finish):
            return Cost(first - start, time.process_time() - first, each.usage, "".join(pieces))
        if not pieces:
            first = time.process_time()
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


async def main() -> None:
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
