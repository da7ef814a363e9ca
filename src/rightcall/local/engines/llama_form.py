"""Completions into llama.cpp's requests, and llama.cpp's chunks into pieces. Sans-I/O.

The form is that of ``POST /completion``, which the server in this process takes too:
https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from rightcall.core.jsontext import JsonValue
from rightcall.core.usage import Usage
from rightcall.errors import ProtocolError, UsageError, VendorError
from rightcall.local.engine import Card, Finish, Grammar, Piece, Sampling

MOST_TOKENS = 2048
"""How much is generated where nobody says: small models can go on for ever."""
_LAST = ("stop", "stop_type", "stopping_word", "tokens_predicted", "tokens_evaluated", "timings")
"""What is wanted of the last chunk, which holds the whole prompt otherwise."""
_WORD = 1
"""llama.cpp's number for a trigger that is text (``COMMON_GRAMMAR_TRIGGER_TYPE_WORD``)."""
_SEEDS = 2**32 - 1
"""The number itself asks llama.cpp for a random seed."""
_RETRYABLE = frozenset({408, 429, 502, 503, 504})
_ENDS = {"word": "stop_sequence", "limit": "length", "eos": "end", "none": "end"}
_TOO_LONG = "exceed_context_size_error"


class _Timings(Struct, frozen=True):
    cache_n: int = 0


class _Refusal(Struct, frozen=True):
    message: str = ""
    code: int | str = 0
    type: str = ""
    n_prompt_tokens: int | None = None
    n_ctx: int | None = None


class Chunk(Struct, frozen=True):
    """What llama.cpp sends for a token, or at the end."""

    content: str = ""
    tokens: tuple[int, ...] = ()
    stop: bool = False
    stop_type: str = "none"
    stopping_word: str = ""
    tokens_predicted: int = 0
    tokens_evaluated: int = 0
    timings: _Timings = _Timings()
    error: _Refusal | UnsetType = UNSET


class _Generation(Struct, frozen=True):
    n_ctx: int | None = None


class Props(Struct, frozen=True):
    """What ``GET /props`` says of the model."""

    chat_template: str = ""
    bos_token: str = ""
    eos_token: str = ""
    model_alias: str = ""
    model_path: str = ""
    generation: _Generation = field(name="default_generation_settings", default=_Generation())

    @property
    def card(self) -> Card:
        """The same, as engines give it."""
        name = (self.model_alias or self.model_path).replace("\\", "/").rpartition("/")[2]
        return Card(
            name=name.removesuffix(".gguf") or "llama.cpp",
            template=self.chat_template,
            bos=self.bos_token,
            eos=self.eos_token,
            context_window=self.generation.n_ctx,
        )


class _Bias(Struct, frozen=True):
    token: int


class Endings(Struct, frozen=True):
    """The reply to ``ASK_ENDINGS``."""

    biases: tuple[_Bias, ...] = field(name="generation_settings/logit_bias", default=())


ASK_ENDINGS: dict[str, JsonValue] = {
    "prompt": "a",
    "n_predict": 1,
    "ignore_eos": True,
    "cache_prompt": False,
    "response_fields": ["generation_settings/logit_bias"],
}
"""Asks which tokens end a reply: they are the ones that must be forbidden for it to go on."""


def request(
    prompt: str | Sequence[int], grammar: Grammar | None, sampling: Sampling
) -> dict[str, JsonValue]:
    """What to ask for a completion."""
    if sampling.max_tokens is not None and sampling.max_tokens < 0:
        raise UsageError(f"max_tokens is {sampling.max_tokens}, and must not be negative")
    body: dict[str, JsonValue] = {
        "cache_prompt": True,
        **sampling.extra,
        "prompt": prompt if isinstance(prompt, str) else list(prompt),
        "stream": True,
        "n_predict": MOST_TOKENS if sampling.max_tokens is None else sampling.max_tokens,
        "response_fields": _LAST,
    }
    given = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    body |= {name: value for name, value in given.items() if value is not None}
    if sampling.seed is not None:
        body["seed"] = sampling.seed % _SEEDS
    if sampling.stop:
        body["stop"] = sampling.stop
    markers = [*sampling.special]
    if grammar is not None:
        body |= _constraint(grammar)
        markers += [*grammar.special, *grammar.triggers]
    if markers:
        body["preserved_tokens"] = list(dict.fromkeys(markers))
    return body


def _constraint(grammar: Grammar) -> dict[str, JsonValue]:
    if grammar.syntax != "gbnf":
        raise UsageError(f"llama.cpp reads grammars in gbnf, and this one is in {grammar.syntax}")
    if not grammar.triggers:
        return {"grammar": grammar.text}
    triggers: list[JsonValue] = [{"type": _WORD, "value": word} for word in grammar.triggers]
    return {"grammar": grammar.text, "grammar_lazy": True, "grammar_triggers": triggers}


def read(chunk: Chunk, endings: Mapping[int, str]) -> Piece | Finish | None:
    """What a chunk says; None when that is nothing. A refusal is raised."""
    if chunk.error is not UNSET:
        raise _refused(chunk.error)
    if chunk.stop:
        return _finish(chunk)
    text = chunk.content
    # The token that ends a reply is text too where special tokens are; text that was held back
    # for a stop sequence may stand before it.
    if chunk.tokens and chunk.tokens[-1] in endings:
        text = text.removesuffix(endings[chunk.tokens[-1]])
    return Piece(text) if text else None


def _finish(chunk: Chunk) -> Finish:
    usage = Usage(
        input_tokens=chunk.tokens_evaluated,
        output_tokens=chunk.tokens_predicted,
        cached_tokens=chunk.timings.cache_n,
    )
    match _ENDS.get(chunk.stop_type):
        case "stop_sequence":
            return Finish("stop_sequence", usage, chunk.stopping_word)
        case "length":
            return Finish("length", usage)
        case "end":
            return Finish("end", usage)
        case _:
            raise ProtocolError(f"llama.cpp stopped for a reason that is not known: {chunk.stop_type!r}")


def refusal(status: int, body: bytes) -> VendorError:
    """A refusal that came instead of a stream."""
    try:
        found = msgspec.json.decode(body, type=Chunk)
    except msgspec.MsgspecError:
        found = Chunk()
    if found.error is not UNSET:
        return _refused(found.error, status)
    return _refused(_Refusal(message=body[:500].decode(errors="replace")), status)


def _refused(error: _Refusal, status: int | None = None) -> VendorError:
    if status is None and isinstance(error.code, int):
        status = error.code
    message = f"llama.cpp refused: {error.message or 'it did not say why'}"
    if error.type == _TOO_LONG:
        message = (
            f"the prompt is longer than the model has room for ({error.n_prompt_tokens} tokens, "
            f"and room for {error.n_ctx}): send less, or load the model with a larger context"
        )
    return VendorError(
        message,
        status=status,
        vendor_code=error.type,
        retryable=status in _RETRYABLE if status else False,
    )
