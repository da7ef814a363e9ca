"""llama.cpp's requests and chunks."""

import msgspec
import pytest

from rightcall.core.parts import Usage
from rightcall.errors import UsageError, VendorError
from rightcall.local.engine import Card, Finish, Grammar, Piece, Sampling
from rightcall.local.engines.llama_server import Chunk, Props, completion_body, read_chunk, refusal

ENDINGS = {2: "<|end|>"}


def chunk(text):
    return msgspec.json.decode(text, type=Chunk)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"content": "a", "tokens": [5], "stop": false}', Piece("a")),
        ('{"content": "", "tokens": [5], "stop": false}', None),
        ('{"content": "held<|end|>", "tokens": [2], "stop": false}', Piece("held")),
        ('{"content": "<|end|>", "tokens": [2], "stop": false}', None),
        ('{"content": "<|end|>", "tokens": [5], "stop": false}', Piece("<|end|>")),
        ('{"content": "", "tokens": [2], "prompt_progress": {"total": 9}}', None),
        (
            """{"stop": true, "stop_type": "word", "stopping_word": "z", "tokens_predicted": 3,
            "tokens_evaluated": 9, "timings": {"cache_n": 7}}""",
            Finish("stop_sequence", Usage(input_tokens=9, output_tokens=3, cached_tokens=7), "z"),
        ),
        ('{"stop": true, "stop_type": "limit"}', Finish("length", Usage())),
        ('{"stop": true, "stop_type": "eos"}', Finish("end", Usage())),
    ],
    ids=["text", "held", "held and end", "end", "spelled", "progress", "word", "limit", "eos"],
)
def test_a_chunk_says_one_thing(text, expected):
    assert read_chunk(chunk(text), ENDINGS) == expected


@pytest.mark.parametrize(
    ("status", "body", "retryable"),
    [(503, b'{"error": {"code": 503, "message": "Loading model"}}', True), (500, b"<html>", False)],
    ids=["loading", "page"],
)
def test_a_refusal_keeps_its_status(status, body, retryable):
    error = refusal(status, body)
    assert (error.status, error.retryable) == (status, retryable)


def test_a_refusal_in_a_stream_is_raised():
    text = '{"error": {"code": 400, "message": "no", "type": "invalid_request_error"}}'
    with pytest.raises(VendorError, match="no") as caught:
        read_chunk(chunk(text), {})
    assert (caught.value.status, caught.value.vendor_code) == (400, "invalid_request_error")


def test_what_is_not_said_is_left_to_llama_cpp_but_for_the_length():
    body = completion_body([1, 2], None, Sampling(), 30)
    del body["response_fields"]
    assert body == {"prompt": [1, 2], "stream": True, "cache_prompt": True, "n_predict": 30}


def test_a_grammar_without_triggers_governs_from_the_start():
    body = completion_body([1], Grammar(syntax="gbnf", text="root ::= x"), Sampling(), 30)
    assert (body["grammar"], "grammar_lazy" in body, "grammar_triggers" in body) == (
        "root ::= x",
        False,
        False,
    )


def test_a_negative_length_is_refused():
    with pytest.raises(UsageError, match="max_tokens is -1"):
        completion_body([1], None, Sampling(max_tokens=-1), 30)


def test_extra_options_do_not_break_the_form():
    extra = {"stream": False, "prompt": [3], "cache_prompt": False}
    body = completion_body([1], None, Sampling(extra=extra), 30)
    assert (body["stream"], body["prompt"], body["cache_prompt"]) == (True, [1], False)


@pytest.mark.parametrize(
    ("props", "name"),
    [
        ({"model_alias": "/models/Tiny.Q4.gguf"}, "Tiny.Q4"),
        ({"model_path": "C:\\models\\Tiny.gguf"}, "Tiny"),
        ({"model_alias": "tiny"}, "tiny"),
        ({}, "llama.cpp"),
    ],
    ids=["path", "windows", "alias", "nameless"],
)
def test_a_model_is_named_by_its_file_or_alias(props, name):
    assert msgspec.convert(props, Props).card == Card(name=name)


@pytest.mark.parametrize(
    ("sampling", "words"),
    [
        (Sampling(samplers=("min_q",)), "no sampler 'min_q'; did you mean 'min_p'"),
        (Sampling(extra={"samplers": ["mirostat"]}), "no sampler 'mirostat'"),
        (Sampling(extra={"samplers": "top_k"}), "a list of names, not 'top_k'"),
    ],
    ids=["misspelt", "as the engine names it", "text"],
)
def test_a_sampler_that_llama_cpp_does_not_have_is_refused(sampling, words):
    with pytest.raises(UsageError, match=words):
        completion_body([1], None, sampling, 30)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"top_k": 1, "nonsense": 1}, r"llama.cpp has no option 'nonsense'$"),
        ({"minp": 0.1}, r"no option 'minp'; did you mean 'min_p'\?"),
        ({"new": 1}, r"no option 'new'"),
    ],
    ids=["unknown", "misspelt", "of another version"],
)
def test_an_option_that_llama_cpp_does_not_have_is_refused(extra, words):
    with pytest.raises(UsageError, match=words):
        completion_body([1], None, Sampling(extra=extra), 30)
    # A server of another version names its own.
    assert completion_body([1], None, Sampling(extra={"new": 1}), 30, frozenset({"new"}))["new"] == 1
