"""An engine for llama.cpp's HTTP server; and the format of that server's completions.

The format is that of ``POST /completion``, which ``llamacpp`` uses too:
https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
"""

import difflib
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing

from msgspec import UNSET, Struct, UnsetType, field

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.options import check_keywords
from rightcall.core.parts import Usage
from rightcall.core.transport import Timeouts, Transport
from rightcall.errors import ProtocolError, TruncatedStream, UsageError, VendorError
from rightcall.local.engine import Card, Finish, Grammar, Piece, Sampling, Syntax, default_max_tokens
from rightcall.local.engines.llama_child import LAST_FIELDS, OPTIONS, SAMPLERS
from rightcall.local.engines.remote import Refusal, RemoteServer, decode_response, refusal_in

_DEFAULT = Sampling()
_TIMEOUTS = Timeouts()
_WORD = 1
"""llama.cpp's number of a text trigger (``COMMON_GRAMMAR_TRIGGER_TYPE_WORD``)."""
_SEEDS = 2**32 - 1
"""The limit of seeds: llama.cpp takes the number itself as a request for a random seed."""
_RETRYABLE = frozenset({408, 429, 502, 503, 504})
_SAMPLERS = ", ".join(SAMPLERS)
_MARK = re.compile(r"<[^<>\s]+>|\[[A-Z_/]+\]")
"""What may be a special token at the beginning of a prompt."""
_MOST_MARKS = 16
_ENDS = {"word": "stop_sequence", "limit": "length", "eos": "end", "none": "end"}
_TOO_LONG = "exceed_context_size_error"


class _Timings(Struct, frozen=True):
    cache_n: int = 0


class Chunk(Struct, frozen=True):
    """A chunk of llama.cpp's stream: for a token, or at the end."""

    content: str = ""
    tokens: tuple[int, ...] = ()
    stop: bool = False
    stop_type: str = "none"
    stopping_word: str = ""
    tokens_predicted: int = 0
    tokens_evaluated: int = 0
    timings: _Timings = _Timings()
    error: Refusal | UnsetType = UNSET


class _Generation(Struct, frozen=True):
    n_ctx: int | None = None
    params: dict[str, JsonValue] = {}
    """The settings of a completion that the server has; of older ones empty."""


class Props(Struct, frozen=True):
    """The response of ``GET /props``."""

    chat_template: str = ""
    bos_token: str = ""
    eos_token: str = ""
    model_alias: str = ""
    model_path: str = ""
    generation: _Generation = field(name="default_generation_settings", default=_Generation())

    @property
    def card(self) -> Card:
        """The same, as an engine's facts."""
        name = (self.model_alias or self.model_path).replace("\\", "/").rpartition("/")[2]
        return Card(
            name=name.removesuffix(".gguf") or "llama.cpp",
            template=self.chat_template,
            bos=self.bos_token,
            eos=self.eos_token,
            context_window=self.generation.n_ctx,
        )


class TokenizeResponse(Struct, frozen=True):
    """The response of ``POST /tokenize``."""

    tokens: tuple[int, ...] = ()


class _Facts(Struct, frozen=True):
    card: Card
    endings: dict[int, str]
    settings: frozenset[str]
    """The names of the settings that this server has; it may be of another version than ours."""


class LlamaServer:
    """A model behind llama.cpp's HTTP server.

    Of the special tokens that the model generates, the server returns those that the sampling or the
    grammar names, unless it was started with ``--special``.
    """

    @check_keywords("rc.local.LlamaServer")
    def __init__(
        self, url: str, transport: Transport, *, key: str = "", timeouts: Timeouts = _TIMEOUTS
    ) -> None:
        self._server = RemoteServer(url, transport, key=key, timeouts=timeouts, refuse=refusal)
        self._facts: _Facts | None = None
        self._marks: dict[str, int | None] = {}
        """By the beginning of a prompt: the special token that it is, or None."""

    @property
    def syntax(self) -> Syntax:
        """llama.cpp's own grammars."""
        return "gbnf"

    async def ready(self) -> Card:
        """Ask the server for its model's facts."""
        return (await self._load_facts()).card

    async def count_tokens(self, text: str) -> int:
        """The number of tokens in a text, with special tokens parsed as such."""
        return len(await self._tokens(text))

    @check_keywords("rc.local.LlamaServer.complete")
    async def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = _DEFAULT
    ) -> AsyncGenerator[Piece | Finish, None]:
        """Generates the text after a prompt. Closing the iterator disconnects, and the server stops."""
        facts = await self._load_facts()
        tokens, left = await self._reading(prompt, sampling.max_tokens, facts.card.context_window)
        body = completion_body(tokens, grammar, sampling, left, facts.settings)
        # Progress events for the prompt keep the connection alive, and let the server notice a
        # disconnect before the end.
        stream = self._server.stream("/completion", {**body, "return_progress": True})
        async with aclosing(stream) as events:
            async for event in events:
                found = read_chunk(decode_response(event.data, Chunk), facts.endings)
                if found is not None:
                    yield found
                if isinstance(found, Finish):
                    return
        raise TruncatedStream("the stream of llama.cpp's server ended before the reply did")

    async def close(self) -> None:
        """Close the connections, and so stop all generation."""
        await self._server.close()

    async def _load_facts(self) -> _Facts:
        if self._facts is None:
            props = decode_response(await self._server.get("/props"), Props)
            card = props.card
            ending = await self._tokens(card.eos) if card.eos else ()
            endings = {ending[0]: card.eos} if len(ending) == 1 else {}
            self._facts = _Facts(card, endings, frozenset(props.generation.params))
        return self._facts

    async def _reading(
        self, prompt: str, most: int | None, window: int | None
    ) -> tuple[Sequence[int | str], int]:
        """The prompt as the server gets it, and the default token limit.

        Tokens and not text: to text, the server may add the model's beginning token. It leaves text
        after a token unchanged, so a special token at the beginning is enough, and the server itself
        stops at the end of its window.
        """
        mark = _MARK.match(prompt)
        limit = window if most is None else most
        if mark is not None and limit is not None and not prompt[mark.end() :][:1].isspace():
            token = await self._special_token(mark[0])
            if token is not None:
                return (token, prompt[mark.end() :]), limit
        tokens = await self._tokens(prompt)
        return tokens, default_max_tokens(window, len(tokens))

    async def _special_token(self, text: str) -> int | None:
        """The special token that a text is; the server is asked once per text."""
        if text not in self._marks and len(self._marks) < _MOST_MARKS:
            tokens = await self._tokens(text)
            plain = await self._tokens(text, special=False)
            self._marks[text] = tokens[0] if len(tokens) == 1 and tokens != plain else None
        return self._marks.get(text)

    async def _tokens(self, text: str, *, special: bool = True) -> tuple[int, ...]:
        body: JsonObject = {"content": text, "add_special": False, "parse_special": special}
        return decode_response(await self._server.post("/tokenize", body), TokenizeResponse).tokens


def completion_body(
    prompt: Sequence[int | str],
    grammar: Grammar | None,
    sampling: Sampling,
    left: int,
    settings: AbstractSet[str] = frozenset(),
) -> dict[str, JsonValue]:
    """The body of a completion request; for ``left`` tokens, unless the sampling sets a limit.

    ``settings`` are names that the server knows besides those that are known here.
    """
    if not sampling.extra.keys() <= OPTIONS:
        # Validates the names of options: llama.cpp silently ignores unknown ones.
        known = OPTIONS | settings
        for name in sampling.extra:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise UsageError(f"Sampling(extra=…): llama.cpp has no option {name!r}{hint}")
    if sampling.max_tokens is not None and sampling.max_tokens < 0:
        raise UsageError(f"max_tokens is {sampling.max_tokens}, and must not be negative")
    body: dict[str, JsonValue] = {
        "cache_prompt": True,
        **sampling.extra,
        "prompt": list(prompt),
        "stream": True,
        "n_predict": left if sampling.max_tokens is None else sampling.max_tokens,
        "response_fields": LAST_FIELDS,
    }
    if sampling.samplers or "samplers" in body:
        # Validates the names of samplers: llama.cpp silently ignores unknown ones.
        names: JsonValue = sampling.samplers or body["samplers"]
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise UsageError(f"samplers are a list of names, not {names!r}; llama.cpp has {_SAMPLERS}")
        for sampler in names:
            if sampler not in SAMPLERS:
                near = difflib.get_close_matches(str(sampler), SAMPLERS, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise UsageError(f"llama.cpp has no sampler {sampler!r}; {hint}there is {_SAMPLERS}")
        body["samplers"] = list(names)
    given = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    body |= {name: value for name, value in given.items() if value is not None}
    if sampling.seed is not None:
        body["seed"] = sampling.seed % _SEEDS
    if sampling.stop:
        body["stop"] = sampling.stop
    markers = [*sampling.special]
    if grammar is not None:
        if grammar.syntax != "gbnf":
            raise UsageError(f"llama.cpp reads grammars in gbnf, and this one is in {grammar.syntax}")
        body["grammar"] = grammar.text
        if grammar.triggers:
            body["grammar_lazy"] = True
            body["grammar_triggers"] = [{"type": _WORD, "value": word} for word in grammar.triggers]
        markers += [*grammar.special, *grammar.triggers]
    if markers:
        body["preserved_tokens"] = list(dict.fromkeys(markers))
    return body


def read_chunk(chunk: Chunk, endings: Mapping[int, str]) -> Piece | Finish | None:
    """The content of a chunk; None if there is none. Raises a refusal."""
    if chunk.error is not UNSET:
        raise _vendor_error(chunk.error)
    if chunk.stop:
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
                raise ProtocolError(
                    f"llama.cpp stopped for a reason that is not known: {chunk.stop_type!r}"
                )
    text = chunk.content
    # Where special tokens are text, so is the token that ends a reply; text that was held back for a
    # stop sequence may come before it.
    if chunk.tokens and chunk.tokens[-1] in endings:
        text = text.removesuffix(endings[chunk.tokens[-1]])
    if text:
        return Piece(text)
    return None


def refusal(status: int, body: bytes) -> VendorError:
    """A refusal that came instead of a stream."""
    return _vendor_error(refusal_in(body), status)


def _vendor_error(refused: Refusal, status: int | None = None) -> VendorError:
    message = ""
    if refused.type == _TOO_LONG:
        message = (
            f"the prompt is longer than the model has room for ({refused.n_prompt_tokens} tokens, "
            f"and room for {refused.n_ctx}): send less, or load the model with a larger context"
        )
    return refused.error("llama.cpp", status, _RETRYABLE, message)
