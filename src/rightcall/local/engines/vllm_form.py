"""Completions into vLLM's requests, and vLLM's chunks into pieces. Sans-I/O.

The form is that of ``POST /v1/completions`` with vLLM's own fields:
https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
"""

import msgspec
from msgspec import UNSET, Struct, UnsetType

from rightcall.core.jsontext import JsonValue
from rightcall.core.usage import Usage
from rightcall.errors import ProtocolError, UsageError, VendorError
from rightcall.local.engine import Grammar, Sampling, Syntax

MOST_TOKENS = 2048
"""How much is generated where nobody says; vLLM itself would stop after 16 tokens."""
_RETRYABLE = frozenset({408, 429, 500, 502, 503, 504})


class _Details(Struct, frozen=True):
    cached_tokens: int | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int | None = 0
    prompt_tokens_details: _Details | None = None


class _Choice(Struct, frozen=True):
    text: str = ""
    finish_reason: str | None = None
    stop_reason: int | str | None = None


class _Error(Struct, frozen=True):
    message: str = ""
    type: str = ""
    code: int | str | None = None


class Chunk(Struct, frozen=True):
    """What vLLM sends for some tokens, or at the end."""

    choices: tuple[_Choice, ...] = ()
    usage: _Usage | None = None
    error: _Error | UnsetType = UNSET


class Served(Struct, frozen=True):
    """One model of ``GET /v1/models``."""

    id: str
    max_model_len: int | None = None


class Models(Struct, frozen=True):
    """The reply of ``GET /v1/models``."""

    data: tuple[Served, ...] = ()


class TokenizerInfo(Struct, frozen=True):
    """The reply of ``GET /tokenizer_info``, which the server's owner may have switched on."""

    chat_template: str | None = None
    bos_token: JsonValue = None
    eos_token: JsonValue = None


class Counted(Struct, frozen=True):
    """The reply of ``POST /tokenize``."""

    count: int


def request(
    model: str, prompt: str, sampling: Sampling, *, most: int, stop: tuple[str, ...], grammar: str | None
) -> dict[str, JsonValue]:
    """What to ask for a completion."""
    body: dict[str, JsonValue] = {
        **sampling.extra,
        "model": model,
        "prompt": prompt,
        "max_tokens": most,
        "stream": True,
        "stream_options": {"include_usage": True},
        # The prompt has its special tokens already, and those of the reply are wanted.
        "add_special_tokens": False,
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
        "include_stop_str_in_output": False,
    }
    given = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "stop": stop or None,
        "structured_outputs": None if grammar is None else {"grammar": grammar},
    }
    return body | {name: value for name, value in given.items() if value is not None}


def checked(grammar: Grammar | None, syntax: Syntax) -> Grammar | None:
    """A grammar that the server can read, or a UsageError."""
    if grammar is not None and grammar.syntax != syntax:
        raise UsageError(f"grammars for this server are written in {syntax}, not in {grammar.syntax}")
    return grammar


def read(data: bytes) -> Chunk:
    """One event of the stream. A refusal is raised."""
    try:
        chunk = msgspec.json.decode(data, type=Chunk)
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"vLLM sent what it should not: {error}") from error
    if chunk.error is not UNSET:
        raise _refused(chunk.error, None)
    return chunk


def usage(found: _Usage) -> Usage:
    """What a completion cost."""
    details = found.prompt_tokens_details or _Details()
    return Usage(
        input_tokens=found.prompt_tokens,
        output_tokens=found.completion_tokens or 0,
        cached_tokens=details.cached_tokens or 0,
    )


def refusal(status: int, body: bytes) -> VendorError:
    """A refusal that came instead of a stream."""
    try:
        found = msgspec.json.decode(body, type=Chunk)
    except msgspec.MsgspecError:
        found = Chunk()
    if found.error is not UNSET:
        return _refused(found.error, status)
    return _refused(_Error(message=body[:500].decode(errors="replace")), status)


def _refused(error: _Error, status: int | None) -> VendorError:
    if status is None and isinstance(error.code, int):
        status = error.code
    return VendorError(
        f"vLLM refused: {error.message or 'it did not say why'}",
        status=status,
        vendor_code=error.type,
        retryable=status in _RETRYABLE,
    )
