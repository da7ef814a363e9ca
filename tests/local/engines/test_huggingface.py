"""Hugging Face transformers in this process, with a tiny model that is made up here."""

import asyncio
import re
import threading

import pytest

from local.engines.kit import said
from rightcall.errors import UsageError, VendorError
from rightcall.local.engine import Card, Grammar, Piece, Sampling
from rightcall.local.engines.huggingface import HuggingFace

REASON = "torch and transformers are not installed: they have an environment of their own"
torch = pytest.importorskip("torch", reason=REASON)
tokenizers = pytest.importorskip("tokenizers", reason=REASON)
transformers = pytest.importorskip("transformers", reason=REASON)

SPECIAL = ["<s>", "<|end|>", "<call>"]
START, END, CALL = range(3)
WARM = Sampling(temperature=1.0, seed=1, max_tokens=20)


def prefer(*tokens):
    """Makes the model, which has no preferences, all but choose some tokens."""
    return {"sequence_bias": [[[token], 50.0] for token in tokens]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tiny")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {text: number for number, text in enumerate([*SPECIAL, *letters])}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.add_special_tokens([tokenizers.AddedToken(text, special=True) for text in SPECIAL])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="<|end|>", chat_template="{{ messages }}"
    )
    # Threads that share their cores with others are slower than one.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=256,
        bos_token_id=START,
        eos_token_id=END,
    )
    tokenizer.save_pretrained(place)
    transformers.LlamaForCausalLM(config).save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def engine(folder):
    made = HuggingFace(folder)
    yield made
    asyncio.run(made.close())


def token(text):
    return len(SPECIAL) + sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()).index(text)


async def test_the_model_says_what_it_is(engine, folder):
    assert await engine.ready() == Card(
        name=folder.name, template="{{ messages }}", bos="<s>", eos="<|end|>", context_window=256
    )
    assert engine.syntax == "lark"
    assert await engine.count_tokens("<s>ab<call>") == 4


async def test_text_is_streamed_until_the_limit(engine):
    pieces = [piece async for piece in engine.complete("abc", sampling=WARM)]
    assert len(pieces) > 5
    assert all(isinstance(piece, Piece) for piece in pieces[:-1])
    assert (pieces[-1].stop, pieces[-1].usage.input_tokens, pieces[-1].usage.output_tokens) == (
        "length",
        3,
        20,
    )


async def test_the_same_seed_gives_the_same_text(engine):
    async def sample(seed):
        return (
            await said(
                engine.complete("abc", sampling=Sampling(temperature=1.0, seed=seed, max_tokens=9))
            )
        )[0]

    assert await sample(7) == await sample(7)
    assert len({await sample(seed) for seed in range(4)}) > 1


async def test_the_token_that_ends_a_reply_is_not_part_of_it(engine):
    sampling = Sampling(temperature=0, extra=prefer(END))
    text, finish = await said(engine.complete("abc", sampling=sampling))
    assert (text, finish.stop, finish.usage.output_tokens) == ("", "end", 1)


async def test_a_hook_has_its_say_in_the_scores_of_each_token(folder):
    seen = []

    def logits(tokens, scores):
        seen.append(tokens.shape[-1])
        wanted = torch.full_like(scores, -100.0)
        wanted[:, CALL] = 100.0
        return wanted

    hooked = HuggingFace(folder, logits=logits)
    try:
        text, _ = await said(hooked.complete("abc", sampling=Sampling(temperature=0, max_tokens=2)))
    finally:
        await hooked.close()
    assert (text, seen) == ("<call><call>", [3, 4])


async def test_an_order_of_samplers_is_refused(engine):
    with pytest.raises(UsageError, match="one order"):
        await said(engine.complete("abc", sampling=Sampling(samplers=("top_k",))))


async def test_other_special_tokens_are_text(engine):
    sampling = Sampling(temperature=0, max_tokens=2, extra=prefer(CALL))
    assert (await said(engine.complete("abc", sampling=sampling)))[0] == "<call><call>"


async def test_a_stop_sequence_ends_the_text_before_it(engine):
    sampling = Sampling(temperature=0, max_tokens=9, stop=("all><c",), extra=prefer(CALL))
    text, finish = await said(engine.complete("abc", sampling=sampling))
    assert (text, finish.stop, finish.stop_word) == ("<c", "stop_sequence", "all><c")


async def test_characters_of_several_tokens_come_whole(engine):
    grammar = Grammar(syntax="lark", text='start: "é" "é"')
    assert await engine.count_tokens("é") == 2
    pieces = [piece async for piece in engine.complete("abc", grammar=grammar, sampling=WARM)]
    assert pieces[:-1] == [Piece("é"), Piece("é")]


async def test_a_grammar_governs_from_the_start(engine):
    grammar = Grammar(syntax="lark", text='start: "n=" /[0-9]{3}/')
    text, finish = await said(engine.complete("abc", grammar=grammar, sampling=WARM))
    assert re.fullmatch("n=[0-9]{3}", text)
    assert (finish.stop, finish.usage.output_tokens) == ("end", 6)


@pytest.mark.parametrize(
    ("trigger", "wanted"), [("<call>", (CALL,)), ("qq", ("q",))], ids=["a special token", "text"]
)
async def test_a_lazy_grammar_governs_from_its_trigger(engine, trigger, wanted):
    grammar = Grammar(
        syntax="lark",
        text=f'start: "{trigger}" "{{" /[a-p]{{2,4}}/ "}}"',
        triggers=(trigger,),
        special=("<call>",),
    )
    tokens = [each if isinstance(each, int) else token(each) for each in wanted]
    # Enough to come soon, and not at once.
    bias = {"sequence_bias": [[[each], 4.0] for each in tokens] + [[[END], -50.0]]}
    sampling = Sampling(temperature=1.0, seed=3, max_tokens=200, extra=bias)
    text, finish = await said(engine.complete("abc", grammar=grammar, sampling=sampling))
    free, _, _ = text.partition(trigger)
    assert free
    assert re.fullmatch(re.escape(trigger) + r"\{[a-p]{2,4}\}", text.removeprefix(free))
    assert finish.stop == "end"


async def test_closing_the_iterator_stops_the_model(engine):
    sampling = Sampling(temperature=1.0, max_tokens=200, extra={"sequence_bias": [[[END], -50.0]]})
    stream = engine.complete("abc", sampling=sampling)
    await anext(stream)
    await stream.aclose()
    async with asyncio.timeout(20):
        while any(each.name == "rightcall: generating" for each in threading.enumerate()):
            await asyncio.sleep(0.001)
    assert (await said(engine.complete("abc", sampling=WARM)))[1].stop == "length"


async def test_several_take_turns(engine):
    async def word(number):
        grammar = Grammar(syntax="lark", text=f'start: "number {number}"')
        return (await said(engine.complete("abc", grammar=grammar, sampling=WARM)))[0]

    assert await asyncio.gather(*map(word, range(3))) == [f"number {number}" for number in range(3)]


async def test_a_prompt_that_is_too_long_is_refused_in_words(engine):
    with pytest.raises(VendorError, match="300 tokens, and room for 256") as caught:
        await said(engine.complete("a" * 300))
    assert caught.value.vendor_code == "exceed_context_size_error"


async def test_the_context_ends_a_text_that_fills_it(engine):
    sampling = Sampling(temperature=0, extra={"sequence_bias": [[[END], -50.0]]})
    _, finish = await said(engine.complete("a" * 250, sampling=sampling))
    assert (finish.stop, finish.usage.tokens) == ("length", 256)


async def test_a_model_is_loaded_once_and_unloaded_by_the_last(engine, folder):
    told = []
    other = HuggingFace(str(folder), on_progress=told.append)
    await engine.ready()
    assert await other._loan.get() is await engine._loan.get()
    assert told == [1.0]
    await other.close()
    assert (await said(engine.complete("abc", sampling=WARM)))[0]
    with pytest.raises(UsageError, match="closed"):
        await other.ready()


async def test_a_folder_without_a_model_is_refused_in_words(tmp_path, capfd):
    with pytest.raises(UsageError, match=re.escape(str(tmp_path))):
        await HuggingFace(tmp_path).ready()
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    "grammar",
    [Grammar(syntax="gbnf", text="root ::= x"), Grammar(syntax="lark", text="start: missing")],
    ids=["another language", "broken"],
)
async def test_a_grammar_that_cannot_be_used_is_refused(engine, grammar):
    with pytest.raises(UsageError, match="grammar"):
        await said(engine.complete("abc", grammar=grammar))
